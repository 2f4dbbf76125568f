//===- Passes.td - Conversions out of the shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CONVERSION_PASSES_TD
#define SHUNT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertShuntToRuntime : Pass<"convert-shunt-to-runtime", "mlir::ModuleOp"> {
  let summary = "Convert local ops on buffers to calls of the runtime";
  let description = [{
    Each local op becomes a call of its `shunt_rt_*` function (the C ABI in
    `shunt/compiled.h`), each function with a body takes the communicator as
    first argument, and groups and lists of cells become constant globals. The
    status that calls return is not looked at: errors stay in the communicator.
    Public functions get a C interface (`_mlir_ciface_*`) and keep their type,
    without the communicator, as `shunt.signature`.

    ```mlir
    shunt.local.all_reduce ins(%x : memref<?x64xf32>) outs(%o : memref<?x64xf32>)
      groups dense<[[0, 1]]> : tensor<1x2xi64>
    // becomes, with pointers and sizes taken from the buffers
    func.call @shunt_rt_all_reduce(%comm, %groups, %c2, %c2, %in, %out, %rows,
      %c64, %f32) : (!llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, i64,
      i64, i32) -> i32
    ```

    Runs after bufferization and deallocation. Buffers that are not contiguous
    are copied around the call, and other copies of such buffers become
    linalg.copy. Meshes, clusters and the notes of shunt-localize go, except
    `shunt.world` on the module: what runs the program asks for it.
    `shunt.local.expert_matmul` becomes a loop over the rank's experts with a
    linalg.matmul of each one's rows. Refuses ops of other levels, functions
    taken as values, and routings that are passed on.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
                           "mlir::linalg::LinalgDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::func::FuncDialect", "mlir::scf::SCFDialect"];
}

#endif // SHUNT_CONVERSION_PASSES_TD
