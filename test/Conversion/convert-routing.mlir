// RUN: shunt-opt %s --convert-shunt-to-runtime --canonicalize --cse | FileCheck %s

// CHECK-DAG: memref.global "private" constant @[[OPTIONS:.*]] : memref<13xi64> = dense<[8, 2, 2, 1, 0, 0, 0, 1, 0, 0, 2, 0, 0]>
// CHECK-DAG: memref.global "private" constant @[[SIZES:.*]] : memref<2xi64> = dense<[2, 1]>

// CHECK-LABEL: func.func @layer
// CHECK-SAME: (%[[COMM:.*]]: !llvm.ptr,
func.func @layer(%ids: memref<?x2xi32>, %s: memref<?x2xf32>, %x: memref<?x16xf32>,
                 %w: memref<4x16x8xf32>, %z: memref<?x8xf32>) {
  // CHECK: %[[R:.*]] = call @shunt_rt_moe_route(%[[COMM]],
  %r = shunt.local.route ins(%ids, %s : memref<?x2xi32>, memref<?x2xf32>)
    groups dense<[[0, 1]]> : tensor<1x2xi64> experts 8 algorithm all_gather
    placement even {node_size = 2 : i64, order = #shunt<order rank_slot>}
  // CHECK: call @shunt_rt_moe_rows(%[[COMM]], %[[R]])
  %n = shunt.local.routed_rows %r
  %d = memref.alloc(%n) : memref<?x16xf32>
  // CHECK: call @shunt_rt_moe_dispatch(%[[COMM]], %[[R]],
  shunt.local.dispatch ins(%x : memref<?x16xf32>) outs(%d : memref<?x16xf32>) via %r
  %h = memref.alloc(%n) : memref<?x8xf32>
  // Each expert's rows, one expert after the other.
  // CHECK: call @shunt_rt_moe_experts(%[[COMM]], %[[R]],
  // CHECK: scf.for {{.*}} iter_args(%[[START:.*]] = %{{.*}}) -> (index)
  // CHECK: memref.subview %{{.*}}[%[[START]], 0]
  // CHECK: linalg.fill
  // CHECK: linalg.matmul
  // CHECK: scf.yield
  shunt.local.expert_matmul ins(%d, %w : memref<?x16xf32>, memref<4x16x8xf32>)
    outs(%h : memref<?x8xf32>) via %r
  // CHECK: call @shunt_rt_moe_combine(%[[COMM]], %[[R]],
  shunt.local.combine ins(%h : memref<?x8xf32>) outs(%z : memref<?x8xf32>) via %r
  // CHECK: call @shunt_rt_moe_release(%[[COMM]], %[[R]])
  shunt.local.release %r
  return
}

// CHECK-LABEL: func.func @table
func.func @table(%ids: memref<?x1xi32>) {
  // CHECK: memref.get_global @[[SIZES]]
  // CHECK: call @shunt_rt_moe_route
  %r = shunt.local.route ins(%ids : memref<?x1xi32>) groups dense<[[0, 1]]> : tensor<1x2xi64>
    experts 2 algorithm all_to_all placement [[1, 0], [0]] {score = #shunt<score none>}
  shunt.local.release %r
  return
}

// Steps of the model are named for the runtime's trace.
// CHECK-LABEL: func.func @labelled
// CHECK: call @shunt_rt_label(%{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK: call @shunt_rt_all_reduce
func.func @labelled(%x: memref<?x4xf32>, %o: memref<?x4xf32>) {
  shunt.local.all_reduce ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>)
    groups dense<[[0, 1]]> : tensor<1x2xi64> {step = "post_moe@1"}
  return
}
