// RUN: shunt-opt %s --shunt-localize | FileCheck %s

// Compute ops, sizes, constants and positions as one rank has them.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#dp = #shunt.layout<@attn, tokens = [dp]>
#heads = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#own = #shunt.layout<@attn, tokens = [dp, tp]>
#columns = #shunt.shard<@attn, [[], [tp]]>
#rows = #shunt.shard<@attn, [[tp], []]>
#blocks = #shunt.shard<@attn, [[tp, dp]]>
#copy = affine_map<(d0) -> (d0)>

// Split dimensions are divided; the second product is what tp ranks still have
// to add.
// CHECK-LABEL: func.func @column_then_row_parallel
// CHECK-SAME: %{{.*}}: tensor<?x8xf32> {{{.*}}}, %{{.*}}: tensor<8x8xf32> {{{.*}}}, %{{.*}}: tensor<8x8xf32>
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK: linalg.matmul {shunt.partial = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>} ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x8xf32>)
func.func @column_then_row_parallel(%x: tensor<?x8xf32, #dp>, %a: tensor<8x16xf32, #columns>, %w: tensor<16x8xf32, #rows>) -> tensor<?x8xf32, #sums> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #dp>
  %e0 = tensor.empty(%n) : tensor<?x16xf32, #heads>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x16xf32, #heads>) -> tensor<?x16xf32, #heads>
  %h = linalg.matmul ins(%x, %a : tensor<?x8xf32, #dp>, tensor<8x16xf32, #columns>) outs(%f0 : tensor<?x16xf32, #heads>) -> tensor<?x16xf32, #heads>
  %e1 = tensor.empty(%n) : tensor<?x8xf32, #sums>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #sums>
  %y = linalg.matmul ins(%h, %w : tensor<?x16xf32, #heads>, tensor<16x8xf32, #rows>) outs(%f1 : tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #sums>
  return %y : tensor<?x8xf32, #sums>
}

// The size is of rows of this layout: it stays.
// CHECK-LABEL: func.func @empty_of_the_same_rows
// CHECK: %[[N:.*]] = tensor.dim %arg0
// CHECK: tensor.empty(%[[N]]) : tensor<?x4xf32>
func.func @empty_of_the_same_rows(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #heads> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #dp>
  %e = tensor.empty(%n) : tensor<?x8xf32, #heads>
  return %e : tensor<?x8xf32, #heads>
}

// The size is of other rows: they are counted from the batch.
// CHECK-LABEL: func.func @empty_of_other_rows
// CHECK: %[[COUNTS:.*]] = arith.constant dense<[3, 2, 2, 1]>
// CHECK: %[[RANK:.*]] = shunt.rank
// CHECK: %[[ROWS:.*]] = tensor.extract %[[COUNTS]][%[[RANK]]]
// CHECK: %[[N:.*]] = arith.index_cast %[[ROWS]]
// CHECK: tensor.empty(%[[N]]) : tensor<?x8xf32>
func.func @empty_of_other_rows(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #own> {
  %c0 = arith.constant 0 : index
  %b = shunt.batch [5, 3] : !b
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #dp>
  %e = tensor.empty(%n) : tensor<?x8xf32, #own>
  return %e : tensor<?x8xf32, #own>
}

// CHECK-LABEL: func.func @empty_of_static_tokens
// CHECK: arith.constant dense<[5, 5, 3, 3]>
// CHECK: tensor.empty(%{{.*}}) : tensor<?x8xf32>
func.func @empty_of_static_tokens() -> tensor<8x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %e = tensor.empty() : tensor<8x8xf32, #dp>
  return %e : tensor<8x8xf32, #dp>
}

// A split dimension counts as the program wrote it.
// CHECK-LABEL: func.func @size_of_a_split_dimension
// CHECK: %[[SIZE:.*]] = arith.constant 16 : index
// CHECK: return %[[SIZE]]
func.func @size_of_a_split_dimension(%x: tensor<8x16xf32, #columns>) -> index {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<8x16xf32, #columns>
  return %n : index
}

// CHECK-LABEL: func.func @splat_weight
// CHECK: arith.constant dense<2.000000e+00> : tensor<8x8xf32>
func.func @splat_weight() -> tensor<8x16xf32, #columns> {
  %c = arith.constant dense<2.0> : tensor<8x16xf32, #columns>
  return %c : tensor<8x16xf32, #columns>
}

// CHECK-LABEL: func.func @splat_tokens
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: linalg.fill ins(%[[TWO]] : f32) outs(%{{.*}} : tensor<?x8xf32>)
func.func @splat_tokens() -> tensor<8x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %c = arith.constant dense<2.0> : tensor<8x8xf32, #dp>
  return %c : tensor<8x8xf32, #dp>
}

// A rank's block starts at its number times the size, with tp the major axis:
// ranks 0, 2, 1, 3 hold the blocks in order.
// CHECK-LABEL: func.func @position_in_a_split_dimension
// CHECK: %[[BLOCK:.*]] = shunt.group_index groups dense<{{\[\[}}0, 2, 1, 3]]> : tensor<1x4xi64>
// CHECK: %[[SIZE:.*]] = arith.constant 2 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[BLOCK]], %[[SIZE]]
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = arith.addi %[[I]], %[[OFFSET]]
// CHECK: arith.index_cast %[[J]]
func.func @position_in_a_split_dimension() -> tensor<8xi64, #blocks> {
  %e = tensor.empty() : tensor<8xi64, #blocks>
  %r = linalg.generic {indexing_maps = [#copy], iterator_types = ["parallel"]} outs(%e : tensor<8xi64, #blocks>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<8xi64, #blocks>
  return %r : tensor<8xi64, #blocks>
}

// CHECK-LABEL: func.func @control_flow
// CHECK: scf.if %{{.*}} -> (tensor<?x8xf32>)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %arg0) -> (tensor<?x8xf32>)
// CHECK: math.exp %{{.*}} : tensor<?x8xf32>
// CHECK: call @callee(%{{.*}}) : (tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @control_flow(%x: tensor<?x8xf32, #dp>, %p: i1, %n: index) -> tensor<?x8xf32, #dp> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.if %p -> (tensor<?x8xf32, #dp>) {
    scf.yield %x : tensor<?x8xf32, #dp>
  } else {
    %l = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (tensor<?x8xf32, #dp>) {
      %e = math.exp %v : tensor<?x8xf32, #dp>
      scf.yield %e : tensor<?x8xf32, #dp>
    }
    scf.yield %l : tensor<?x8xf32, #dp>
  }
  %z = func.call @callee(%y) : (tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #dp>
  return %z : tensor<?x8xf32, #dp>
}
// CHECK: func.func private @callee(tensor<?x8xf32> {{{.*}}}) -> (tensor<?x8xf32>
func.func private @callee(%x: tensor<?x8xf32, #dp>) -> tensor<?x8xf32, #dp>
