// What communicates is neither dropped nor merged, also on tensors.
// RUN: shunt-opt %s --cse --canonicalize | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

// CHECK-LABEL: func @gather_batch_stays(
// CHECK-COUNT-2: shunt.gather_batch
func.func @gather_batch_stays(%n: i64) {
  %0 = shunt.gather_batch %n : i64 -> !shunt.batch<@attn, owners = [dp]>
  %1 = shunt.gather_batch %n : i64 -> !shunt.batch<@attn, owners = [dp]>
  return
}

// CHECK-LABEL: func @collectives_stay(
// CHECK-COUNT-2: shunt.local.all_gather
// CHECK-COUNT-2: shunt.local.reduce_scatter
// CHECK-COUNT-2: shunt.local.all_reduce
// CHECK-COUNT-2: shunt.local.all_to_all
func.func @collectives_stay(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>, %m: tensor<2x2xi64>) {
  %0 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %1 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %2 = shunt.local.reduce_scatter ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %3 = shunt.local.reduce_scatter ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %4 = shunt.local.all_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %5 = shunt.local.all_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %6 = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%m : tensor<2x2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %7 = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%m : tensor<2x2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @what_moves_nothing_goes(
// CHECK-NEXT:    return
func.func @what_moves_nothing_goes(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  %0 = shunt.local.slice ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  %1 = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[1, 0], [1, 0]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @buffers_are_written(
// CHECK:         shunt.local.slice
// CHECK:         shunt.local.permute
func.func @buffers_are_written(%x: memref<?x8xf32>, %o: memref<?x8xf32>, %c: memref<2xi64>) {
  shunt.local.slice ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64>
  shunt.local.permute ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[1, 0], [1, 0]]> : tensor<2x2xi64>
  return
}
