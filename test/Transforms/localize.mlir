// RUN: shunt-opt %s --shunt-localize | FileCheck %s

// Four ranks; 5 and 3 tokens, so that the ranks' own rows are 3, 2, 2, 1.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#all = #shunt.layout<@attn, tokens = []>
#dp = #shunt.layout<@attn, tokens = [dp]>
#tp = #shunt.layout<@attn, tokens = [tp]>
#own = #shunt.layout<@attn, tokens = [dp, tp]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#allsums = #shunt.layout<@attn, tokens = [], partial = [dp]>
#moe = #shunt.layout<@moe, tokens = [ep]>

// CHECK: module attributes {shunt.world = 4 : i64}

// Counts are those of the operand, one for each rank of the world; the rows of
// the result are those of this rank.
// CHECK-LABEL: func.func @all_gather
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32> {bufferization.writable = false, shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>})
// CHECK-SAME: -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>})
// CHECK-SAME: shunt.batch = [{rows = array<i64: 5, 3>, type = !shunt.batch<@attn, owners = [dp]>}]
// CHECK: %[[SIZES:.*]] = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
// CHECK: %[[RANK:.*]] = shunt.rank
// CHECK: %[[SIZE:.*]] = tensor.extract %[[SIZES]][%[[RANK]]]
// CHECK: %[[ROWS:.*]] = arith.index_cast %[[SIZE]] : i64 to index
// CHECK: %[[INIT:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x8xf32>
// CHECK: %[[COUNTS:.*]] = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
// CHECK: %[[Y:.*]] = shunt.local.all_gather ins(%[[X]] : tensor<?x8xf32>) outs(%[[INIT]] : tensor<?x8xf32>)
// CHECK-SAME: counts(%[[COUNTS]] : tensor<4xi64>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> {step = "final"}
// CHECK-NEXT: return %[[Y]]
func.func @all_gather(%x: tensor<?x8xf32, #own>) -> tensor<?x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_gather %x in %b over [tp] {step = "final"} : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// Counts are those of the result.
// CHECK-LABEL: func.func @reduce_scatter
// CHECK: %[[COUNTS:.*]] = arith.constant dense<[3, 2, 2, 1]>
// CHECK: shunt.local.reduce_scatter ins(%{{.*}}) outs(%{{.*}}) counts(%{{.*}} : tensor<4xi64>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1], [2, 3]]>
func.func @reduce_scatter(%x: tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #own> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.reduce_scatter %x in %b over [tp] : tensor<?x8xf32, #sums>, !b -> tensor<?x8xf32, #own>
  return %y : tensor<?x8xf32, #own>
}

// CHECK-LABEL: func.func @all_reduce
// CHECK: %[[ROWS:.*]] = tensor.dim %arg0
// CHECK: %[[INIT:.*]] = tensor.empty(%[[ROWS]])
// CHECK: shunt.local.all_reduce ins(%arg0 : tensor<?x8xf32>) outs(%[[INIT]] : tensor<?x8xf32>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1], [2, 3]]>
func.func @all_reduce(%x: tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #sums>, !b -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// CHECK-LABEL: func.func @slice
// CHECK: shunt.local.slice ins(%arg0 : tensor<?x8xf32>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1], [2, 3]]>
func.func @slice(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #own> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #dp>, !b -> tensor<?x8xf32, #own>
  return %y : tensor<?x8xf32, #own>
}

// No rows move.
// CHECK-LABEL: func.func @relabel
// CHECK-NEXT: return %arg0
func.func @relabel(%x: tensor<?x8xf32, #own>) -> tensor<?x8xf32, #moe> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #moe>
  return %y : tensor<?x8xf32, #moe>
}

// Members hold cells {0, 2} and {1, 3}; the result holds 0, 1, 2, 3.
// CHECK-LABEL: func.func @gather_over_the_minor_axis_last
// CHECK: %[[G:.*]] = shunt.local.all_gather
// CHECK: %[[CELLS:.*]] = arith.constant dense<[3, 2, 2, 1]>
// CHECK: shunt.local.permute ins(%[[G]] : tensor<?x8xf32>) outs(%{{.*}}) counts(%[[CELLS]] : tensor<4xi64>)
// CHECK-SAME{LITERAL}: from dense<[[0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3]]>
// CHECK-SAME{LITERAL}: to dense<[[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]>
func.func @gather_over_the_minor_axis_last(%x: tensor<?x8xf32, #tp>) -> tensor<?x8xf32, #all> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #tp>, !b -> tensor<?x8xf32, #all>
  return %y : tensor<?x8xf32, #all>
}

// The members of a group then hold {0, 1} and {2, 3}, in this order.
// CHECK-LABEL: func.func @gather_over_the_major_axis_last
// CHECK: shunt.local.all_gather
// CHECK-NOT: shunt.local.permute
// CHECK: return
func.func @gather_over_the_major_axis_last(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #all> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_gather %x in %b over [dp] : tensor<?x8xf32, #dp>, !b -> tensor<?x8xf32, #all>
  return %y : tensor<?x8xf32, #all>
}

// Scattering is gathering backwards: the rows are put together by member first.
// CHECK-LABEL: func.func @slice_over_the_minor_axis_first
// CHECK: %[[P:.*]] = shunt.local.permute ins(%arg0 : tensor<?x8xf32>)
// CHECK-SAME{LITERAL}: from dense<[[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]>
// CHECK-SAME{LITERAL}: to dense<[[0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3]]>
// CHECK: shunt.local.slice ins(%[[P]] : tensor<?x8xf32>)
func.func @slice_over_the_minor_axis_first(%x: tensor<?x8xf32, #all>) -> tensor<?x8xf32, #tp> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #all>, !b -> tensor<?x8xf32, #tp>
  return %y : tensor<?x8xf32, #tp>
}

// CHECK-LABEL: func.func @reduce_scatter_over_the_major_axis
// CHECK-NOT: shunt.local.permute
// CHECK: shunt.local.reduce_scatter
// CHECK-SAME{LITERAL}: groups dense<[[0, 2], [1, 3]]>
func.func @reduce_scatter_over_the_major_axis(%x: tensor<?x8xf32, #allsums>) -> tensor<?x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.reduce_scatter %x in %b over [dp] : tensor<?x8xf32, #allsums>, !b -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// Cells come from the nearest holder at or below the receiver, so ranks 1 and 3
// send three, ranks 0 and 2 one. Row s of the matrix is what rank s sends.
// CHECK-LABEL: func.func @all_to_all
// CHECK: shunt.local.permute
// CHECK-SAME{LITERAL}: to dense<[[0, -1, -1], [1, 0, 1], [2, -1, -1], [2, 3, 3]]>
// CHECK: %[[M:.*]] = arith.constant dense<{{\[\[}}3, 0, 0, 0], [0, 2, 3, 2], [0, 0, 2, 0], [2, 1, 0, 1]]> : tensor<4x4xi64>
// CHECK: shunt.local.all_to_all
// CHECK-SAME: counts(%[[M]] : tensor<4x4xi64>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1, 2, 3]]>
// CHECK-NOT: shunt.local.permute
// CHECK: return
func.func @all_to_all(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #tp> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_to_all %x in %b over [dp, tp] : tensor<?x8xf32, #dp>, !b -> tensor<?x8xf32, #tp>
  return %y : tensor<?x8xf32, #tp>
}
