// RUN: shunt-opt %s | shunt-opt | FileCheck %s
// RUN: shunt-opt %s --mlir-print-op-generic | shunt-opt | FileCheck %s

// CHECK-LABEL: func @rank(
func.func @rank() -> (index, index) {
  // CHECK: shunt.rank
  %0 = shunt.rank
  // CHECK: shunt.group_index groups dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>
  %1 = shunt.group_index groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return %0, %1 : index, index
}

// CHECK-LABEL: func @tensors(
func.func @tensors(%x: tensor<?x64xf32>, %o: tensor<?x64xf32>, %c: tensor<4xi64>, %m: tensor<4x4xi64>) -> tensor<?x64xf32> {
  // CHECK: shunt.local.all_gather ins(%{{.*}} : tensor<?x64xf32>) outs(%{{.*}} : tensor<?x64xf32>) counts(%{{.*}} : tensor<4xi64>) groups dense<{{.*}}> : tensor<1x4xi64> {step = "pre_moe"} -> tensor<?x64xf32>
  %0 = shunt.local.all_gather ins(%x : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> {step = "pre_moe"} -> tensor<?x64xf32>
  // CHECK: shunt.local.reduce_scatter ins({{.*}}) outs({{.*}}) counts({{.*}}) groups dense<{{.*}}> : tensor<2x2xi64> -> tensor<?x64xf32>
  %1 = shunt.local.reduce_scatter ins(%0 : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x64xf32>
  // CHECK: shunt.local.all_reduce ins({{.*}}) outs({{.*}}) groups dense<{{.*}}> : tensor<2x2xi64> -> tensor<?x64xf32>
  %2 = shunt.local.all_reduce ins(%1 : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x64xf32>
  // CHECK: shunt.local.slice ins({{.*}}) outs({{.*}}) counts({{.*}}) groups dense<{{.*}}> : tensor<2x2xi64> -> tensor<?x64xf32>
  %3 = shunt.local.slice ins(%2 : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x64xf32>
  // CHECK: shunt.local.all_to_all ins({{.*}}) outs({{.*}}) counts(%{{.*}} : tensor<4x4xi64>) groups dense<{{.*}}> : tensor<1x4xi64> -> tensor<?x64xf32>
  %4 = shunt.local.all_to_all ins(%3 : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) counts(%m : tensor<4x4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x64xf32>
  // CHECK: shunt.local.permute ins({{.*}}) outs({{.*}}) counts({{.*}}) from dense<{{.*}}> : tensor<4x2xi64> to dense<{{.*}}> : tensor<4x2xi64> -> tensor<?x64xf32>
  %5 = shunt.local.permute ins(%4 : tensor<?x64xf32>) outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>) from dense<[[0, 1], [0, 1], [2, 3], [2, -1]]> : tensor<4x2xi64> to dense<[[1, 0], [1, 1], [3, 2], [2, -1]]> : tensor<4x2xi64> -> tensor<?x64xf32>
  return %5 : tensor<?x64xf32>
}

// CHECK-LABEL: func @memrefs(
func.func @memrefs(%x: memref<?x64xf32>, %o: memref<?x64xf32, strided<[?, ?], offset: ?>>, %c: memref<4xi64>) {
  // CHECK: shunt.local.all_gather ins(%{{.*}} : memref<?x64xf32>) outs(%{{.*}} : memref<?x64xf32, strided<[?, ?], offset: ?>>) counts(%{{.*}} : memref<4xi64>) groups dense<{{.*}}> : tensor<1x4xi64>{{$}}
  shunt.local.all_gather ins(%x : memref<?x64xf32>) outs(%o : memref<?x64xf32, strided<[?, ?], offset: ?>>) counts(%c : memref<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
  return
}

// Hand-written lists: one for each rank, of its group's counts.
// CHECK-LABEL: func @lists(
func.func @lists(%x: tensor<3x8xf32>, %o: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %c = arith.constant dense<[[3, 2], [2, 3], [3, 2], [2, 3]]> : tensor<4x2xi64>
  // CHECK: shunt.local.all_gather
  // CHECK-SAME: counts(%{{.*}} : tensor<4x2xi64>)
  %d = tensor.cast %x : tensor<3x8xf32> to tensor<?x8xf32>
  %0 = shunt.local.all_gather ins(%d : tensor<?x8xf32>) outs(%o : tensor<5x8xf32>) counts(%c : tensor<4x2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}
