// RUN: shunt-opt %s | shunt-opt | FileCheck %s
// RUN: shunt-opt %s --mlir-print-op-generic | shunt-opt | FileCheck %s

// CHECK-LABEL: func.func @tensors
func.func @tensors(%ids: tensor<?x2xi32>, %s: tensor<?x2xf32>, %x: tensor<?x16xf32>,
                   %w: tensor<4x16x8xf32>, %o: tensor<?x16xf32>, %h: tensor<?x8xf32>,
                   %z: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[R:.*]] = shunt.local.route ins(%{{.*}}, %{{.*}} : tensor<?x2xi32>, tensor<?x2xf32>)
  // CHECK-SAME: groups dense<{{.*}}> : tensor<1x2xi64> experts 8 algorithm all_to_all placement even {node_size = 2 : i64, score = #shunt<score before>}
  %r = shunt.local.route ins(%ids, %s : tensor<?x2xi32>, tensor<?x2xf32>)
    groups dense<[[0, 1]]> : tensor<1x2xi64> experts 8 algorithm all_to_all
    placement even {node_size = 2 : i64, score = #shunt<score before>}
  // CHECK: shunt.local.routed_rows %[[R]]
  %n = shunt.local.routed_rows %r
  // CHECK: %[[D:.*]] = shunt.local.dispatch ins(%{{.*}} : tensor<?x16xf32>) outs(%{{.*}} : tensor<?x16xf32>) via %[[R]] scored -> tensor<?x16xf32>
  %d = shunt.local.dispatch ins(%x : tensor<?x16xf32>) outs(%o : tensor<?x16xf32>)
    via %r scored -> tensor<?x16xf32>
  // CHECK: %[[Y:.*]] = shunt.local.expert_matmul ins(%[[D]], %{{.*}} : tensor<?x16xf32>, tensor<4x16x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) via %[[R]] -> tensor<?x8xf32>
  %y = shunt.local.expert_matmul ins(%d, %w : tensor<?x16xf32>, tensor<4x16x8xf32>)
    outs(%h : tensor<?x8xf32>) via %r -> tensor<?x8xf32>
  // CHECK: shunt.local.combine ins(%[[Y]] : tensor<?x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) via %[[R]] -> tensor<?x8xf32>
  %c = shunt.local.combine ins(%y : tensor<?x8xf32>) outs(%z : tensor<?x8xf32>)
    via %r -> tensor<?x8xf32>
  // CHECK: shunt.local.release %[[R]]
  shunt.local.release %r
  return %c : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @buffers
func.func @buffers(%ids: memref<?x1xi32>, %y: memref<?x8xbf16, strided<[16, 1]>>,
                   %bias: memref<?x8xbf16>, %z: memref<?x8xbf16>) {
  // CHECK: shunt.local.route ins(%{{.*}} : memref<?x1xi32>) groups
  // CHECK-SAME: experts 2 algorithm local placement {{\[\[}}1, 0]] {score = #shunt<score none>}
  %r = shunt.local.route ins(%ids : memref<?x1xi32>) groups dense<[[0], [1]]> : tensor<2x1xi64>
    experts 2 algorithm local placement [[1, 0]] {score = #shunt<score none>}
  // CHECK: shunt.local.combine ins(%{{.*}}) bias(%{{.*}} : memref<?x8xbf16>) outs(%{{.*}} : memref<?x8xbf16>) via
  shunt.local.combine ins(%y : memref<?x8xbf16, strided<[16, 1]>>) bias(%bias : memref<?x8xbf16>)
    outs(%z : memref<?x8xbf16>) via %r
  shunt.local.release %r
  return
}
