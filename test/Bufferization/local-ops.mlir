// RUN: shunt-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s

// CHECK-LABEL: func.func @all_gather
// CHECK-SAME: %[[X:.*]]: memref<?x8xf32>, %[[C:.*]]: memref<4xi64>, %[[N:.*]]: index
// CHECK: %[[O:.*]] = memref.alloc(%[[N]])
// CHECK-NEXT: shunt.local.all_gather ins(%[[X]] : memref<?x8xf32>) outs(%[[O]] : memref<?x8xf32>) counts(%[[C]] : memref<4xi64>)
// CHECK-SAME: {step = "pre_moe"}
// CHECK-NEXT: return %[[O]]
func.func @all_gather(%x: tensor<?x8xf32>, %c: tensor<4xi64>, %n: index) -> tensor<?x8xf32> {
  %o = tensor.empty(%n) : tensor<?x8xf32>
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> {step = "pre_moe"} -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Two ops that write into one empty tensor get a buffer each, without a copy.
// CHECK-LABEL: func.func @two_results_in_one_init
// CHECK-DAG: %[[A:.*]] = memref.alloc
// CHECK-DAG: %[[B:.*]] = memref.alloc
// CHECK-NOT: memref.copy
// CHECK: shunt.local.reduce_scatter {{.*}} outs(%[[P:.*]] : memref<?x8xf32>)
// CHECK-NOT: shunt.local.slice {{.*}} outs(%[[P]] :
// CHECK: shunt.local.slice
// CHECK-NOT: memref.copy
// CHECK: return
func.func @two_results_in_one_init(%x: tensor<?x8xf32>, %c: tensor<4xi64>, %n: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %o = tensor.empty(%n) : tensor<?x8xf32>
  %a = shunt.local.reduce_scatter ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %b = shunt.local.slice ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
}

// Rows are not received into the buffer that they are sent from.
// CHECK-LABEL: func.func @input_as_init
// CHECK-SAME: %[[X:.*]]: memref<8x8xf32>
// CHECK: %[[O:.*]] = memref.alloc()
// CHECK-NOT: memref.copy
// CHECK: shunt.local.permute ins(%[[X]] : memref<8x8xf32>) outs(%[[O]] : memref<8x8xf32>)
// CHECK: return %[[O]]
func.func @input_as_init(%x: tensor<8x8xf32>, %c: tensor<2xi64>) -> tensor<8x8xf32> {
  %y = shunt.local.permute ins(%x : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[1, 0], [1, 0]]> : tensor<2x2xi64> -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// What was in the init is overwritten, so the fill needs no copy of it.
// CHECK-LABEL: func.func @with_linalg
// CHECK: linalg.fill
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}}) outs(%[[M:.*]] : memref<?x8xf32>)
// CHECK: shunt.local.all_reduce ins(%[[M]] : memref<?x8xf32>) outs(%[[O:.*]] : memref<?x8xf32>)
// CHECK: return %[[O]]
func.func @with_linalg(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %n: index) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%f : tensor<?x8xf32>) -> tensor<?x8xf32>
  %o = tensor.empty(%n) : tensor<?x8xf32>
  %y = shunt.local.all_reduce ins(%m : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

// CHECK-LABEL: func.func @count_tables
// CHECK: shunt.local.part_counts ins(%arg0 : memref<4xi64>) outs(%[[P:.*]] : memref<2xi64>) of !shunt.batch<@attn, owners = [dp]>
// CHECK: shunt.local.cell_counts ins(%[[P]] : memref<2xi64>) outs(%[[C:.*]] : memref<4xi64>) of !shunt.batch<@attn, owners = [dp]>
// CHECK: shunt.local.sum_cells ins(%[[C]] : memref<4xi64>) outs(%[[S:.*]] : memref<4x4xi64>)
// CHECK: return %[[S]]
func.func @count_tables(%t: tensor<4xi64>) -> tensor<4x4xi64> {
  %e0 = tensor.empty() : tensor<2xi64>
  %p = shunt.local.part_counts ins(%t : tensor<4xi64>) outs(%e0 : tensor<2xi64>) of !shunt.batch<@attn, owners = [dp]> -> tensor<2xi64>
  %e1 = tensor.empty() : tensor<4xi64>
  %c = shunt.local.cell_counts ins(%p : tensor<2xi64>) outs(%e1 : tensor<4xi64>) of !shunt.batch<@attn, owners = [dp]> -> tensor<4xi64>
  %e2 = tensor.empty() : tensor<4x4xi64>
  %s = shunt.local.sum_cells ins(%c : tensor<4xi64>) outs(%e2 : tensor<4x4xi64>) cells dense<[[0], [1], [2], [3], [0], [1], [2], [3], [0], [1], [2], [3], [0], [1], [2], [3]]> : tensor<16x1xi64> -> tensor<4x4xi64>
  return %s : tensor<4x4xi64>
}
