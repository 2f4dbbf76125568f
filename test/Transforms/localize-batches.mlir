// RUN: shunt-opt %s --shunt-localize | FileCheck %s

// Batches whose counts are not literal: tables are computed at run time.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#dp = #shunt.layout<@attn, tokens = [dp]>
#own = #shunt.layout<@attn, tokens = [dp, tp]>

// CHECK-LABEL: func.func @argument
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<2xi64>
// CHECK: %[[CELLS:.*]] = shunt.local.cell_counts ins(%[[N]] : tensor<2xi64>) outs(%{{.*}} : tensor<4xi64>) of !shunt.batch<@attn, owners = [dp]> -> tensor<4xi64>
// CHECK: %[[ROWS:.*]] = shunt.local.sum_cells ins(%[[CELLS]] : tensor<4xi64>)
// CHECK-SAME{LITERAL}: cells dense<[[0, 1], [0, 1], [2, 3], [2, 3]]>
// CHECK: tensor.extract %[[ROWS]]
// CHECK: %[[COUNTS:.*]] = shunt.local.cell_counts
// CHECK: shunt.local.all_gather {{.*}} counts(%[[COUNTS]] : tensor<4xi64>)
func.func @argument(%x: tensor<?x8xf32, #own>, %b: !b) -> tensor<?x8xf32, #dp> {
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// A literal batch that is passed on becomes the counts of its parts.
// CHECK-LABEL: func.func @literal_passed_on
// CHECK: %[[N:.*]] = arith.constant dense<[5, 3]> : tensor<2xi64>
// CHECK: call @argument(%arg0, %[[N]])
func.func @literal_passed_on(%x: tensor<?x8xf32, #own>) -> tensor<?x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %y = func.call @argument(%x, %b) : (tensor<?x8xf32, #own>, !b) -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// CHECK-LABEL: func.func @from_a_tensor
// CHECK: shunt.local.cell_counts ins(%arg0 : tensor<2xi64>)
func.func @from_a_tensor(%n: tensor<2xi64>) -> tensor<4xi64> {
  %b = shunt.batch from %n : tensor<2xi64> -> !b
  %c = shunt.token_counts %b : !b, #own -> tensor<4xi64>
  return %c : tensor<4xi64>
}

// One integer a rank goes to all; ranks of one part must say the same.
// CHECK-LABEL: func.func @exchanged
// CHECK-SAME: %[[N:.*]]: i64
// CHECK: %[[ONE:.*]] = arith.constant dense<1> : tensor<4xi64>
// CHECK: %[[OWN:.*]] = tensor.from_elements %[[N]] : tensor<1xi64>
// CHECK: %[[ALL:.*]] = shunt.local.all_gather ins(%[[OWN]] : tensor<1xi64>) outs(%{{.*}} : tensor<4xi64>) counts(%[[ONE]] : tensor<4xi64>)
// CHECK-SAME{LITERAL}: groups dense<[[0, 1, 2, 3]]>
// CHECK: %[[PARTS:.*]] = shunt.local.part_counts ins(%[[ALL]] : tensor<4xi64>) outs(%{{.*}} : tensor<2xi64>) of !shunt.batch<@attn, owners = [dp]>
// CHECK: shunt.local.cell_counts ins(%[[PARTS]] : tensor<2xi64>)
func.func @exchanged(%n: i64) -> tensor<4xi64> {
  %b = shunt.gather_batch %n : i64 -> !b
  %c = shunt.token_counts %b : !b, #own -> tensor<4xi64>
  return %c : tensor<4xi64>
}

// Tables of a literal batch are constants.
// CHECK-LABEL: func.func @valid_counts
// CHECK: arith.constant dense<[4, 1, 2, 0]>
func.func @valid_counts() -> tensor<4xi64> {
  %b = shunt.batch [8, 4] valid [5, 2] : !b
  %c = shunt.token_counts valid %b : !b, #own -> tensor<4xi64>
  return %c : tensor<4xi64>
}

// CHECK-LABEL: func.func @exchange_counts
// CHECK: arith.constant dense<{{\[\[}}3, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]> : tensor<4x4xi64>
func.func @exchange_counts() -> tensor<4x4xi64> {
  %b = shunt.batch [5, 3] : !b
  %c = shunt.exchange_counts %b : !b, #dp to #own -> tensor<4x4xi64>
  return %c : tensor<4x4xi64>
}
