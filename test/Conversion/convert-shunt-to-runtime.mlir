// RUN: shunt-opt %s --convert-shunt-to-runtime --canonicalize --cse | FileCheck %s

// Meshes are gone, tables are globals, the runtime's functions are declared.
// CHECK-NOT: shunt.mesh
// CHECK-DAG: memref.global "private" constant @[[PAIRS:.*]] : memref<2x2xi64> = dense<{{\[\[}}0, 1], [2, 3]]>
// CHECK-DAG: func.func private @shunt_rt_all_gather(!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64, i64, i32) -> i32
// CHECK-NOT: shunt.cluster
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

// The communicator comes first; the type without it is kept.
// CHECK-LABEL: func.func @all_gather
// CHECK-SAME: %[[COMM:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x4x2xbf16>, %[[O:.*]]: memref<?x4x2xbf16>, %[[C:.*]]: memref<4xi64>)
// CHECK-SAME: llvm.emit_c_interface
// CHECK-SAME: shunt.signature = (memref<?x4x2xbf16>, memref<?x4x2xbf16>, memref<4xi64>) -> ()
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : i64
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : i64
// CHECK-DAG: %[[BF16:.*]] = arith.constant 1 : i32
// CHECK-DAG: memref.get_global @[[PAIRS]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[C]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[O]]
// CHECK: call @shunt_rt_all_gather(%[[COMM]], %{{.*}}, %[[FOUR]], %[[TWO]], %{{.*}}, %[[FOUR]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[EIGHT]], %[[BF16]])
func.func @all_gather(%x: memref<?x4x2xbf16>, %o: memref<?x4x2xbf16>, %c: memref<4xi64>) {
  shunt.local.all_gather ins(%x : memref<?x4x2xbf16>) outs(%o : memref<?x4x2xbf16>) counts(%c : memref<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return
}

// CHECK-LABEL: func.func @other_collectives
// CHECK: call @shunt_rt_reduce_scatter
// CHECK: call @shunt_rt_slice
// CHECK: call @shunt_rt_all_reduce
// CHECK: call @shunt_rt_all_to_all
// CHECK: call @shunt_rt_permute
func.func @other_collectives(%x: memref<?x8xf32>, %o: memref<?x8xf32>, %c: memref<4xi64>, %m: memref<4x4xi64>) {
  shunt.local.reduce_scatter ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  shunt.local.slice ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  shunt.local.all_reduce ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  shunt.local.all_to_all ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%m : memref<4x4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  shunt.local.permute ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<4xi64>) from dense<[[0, 1], [0, 1], [2, 3], [2, 3]]> : tensor<4x2xi64> to dense<[[1, 0], [1, 0], [3, 2], [3, 2]]> : tensor<4x2xi64>
  return
}

// A row for each rank: what that rank passes.
// CHECK-LABEL: func.func @a_list_for_each_rank
// CHECK: %[[T:.*]] = memref.alloc() : memref<4xi64>
// CHECK: call @shunt_rt_own_counts
// CHECK: call @shunt_rt_all_gather
// CHECK: memref.dealloc %[[T]]
func.func @a_list_for_each_rank(%x: memref<?x8xf32>, %o: memref<?x8xf32>, %c: memref<4x2xi64>) {
  shunt.local.all_gather ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : memref<4x2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return
}

// Strided buffers are copied around the call, in loops of linalg.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[X:.*]]: memref<?x8xf32, strided<[16, 1]>>, %[[O:.*]]: memref<?x8xf32, strided<[16, 1]>>
// CHECK: %[[IN:.*]] = memref.alloc
// CHECK: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[IN]] : memref<?x8xf32>)
// CHECK: %[[OUT:.*]] = memref.alloc
// CHECK: call @shunt_rt_all_reduce
// CHECK-DAG: memref.dealloc %[[IN]]
// CHECK-DAG: linalg.copy ins(%[[OUT]] : memref<?x8xf32>) outs(%[[O]] : {{.*}})
// CHECK: memref.dealloc %[[OUT]]
// CHECK: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[O]] : {{.*}})
// CHECK-NOT: memref.copy
func.func @strided(%x: memref<?x8xf32, strided<[16, 1]>>, %o: memref<?x8xf32, strided<[16, 1]>>) {
  shunt.local.all_reduce ins(%x : memref<?x8xf32, strided<[16, 1]>>) outs(%o : memref<?x8xf32, strided<[16, 1]>>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  memref.copy %x, %o : memref<?x8xf32, strided<[16, 1]>> to memref<?x8xf32, strided<[16, 1]>>
  return
}

// CHECK-LABEL: func.func @rank_and_position
// CHECK: %[[RANK:.*]] = call @shunt_rt_rank
// CHECK: memref.load %{{.*}}[%{{.*}}] : memref<4xi64>
func.func @rank_and_position() -> (index, index) {
  %r = shunt.rank
  %i = shunt.group_index groups dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>
  return %r, %i : index, index
}

// CHECK-LABEL: func.func @count_tables
// CHECK: memref.get_global
// CHECK: call @shunt_rt_part_counts
// CHECK: call @shunt_rt_cell_counts
// CHECK: call @shunt_rt_sum_cells
func.func @count_tables(%t: memref<4xi64>, %p: memref<2xi64>, %c: memref<4xi64>) {
  shunt.local.part_counts ins(%t : memref<4xi64>) outs(%p : memref<2xi64>) of !shunt.batch<@attn, owners = [dp]>
  shunt.local.cell_counts ins(%p : memref<2xi64>) outs(%c : memref<4xi64>) of !shunt.batch<@attn, owners = [dp]>
  shunt.local.sum_cells ins(%c : memref<4xi64>) outs(%t : memref<4xi64>) cells dense<[[0, 1], [0, 1], [2, 3], [2, 3]]> : tensor<4x2xi64>
  return
}

// Calls pass the communicator on; functions without a body do not take one.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: %[[COMM:.*]]: !llvm.ptr
// CHECK: call @rank_and_position(%[[COMM]])
// CHECK: call @outside() : () -> ()
// CHECK: func.func private @outside()
func.func @caller() {
  %r, %i = func.call @rank_and_position() : () -> (index, index)
  func.call @outside() : () -> ()
  return
}
func.func private @outside()
