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
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect",
                           "mlir::func::FuncDialect"];
}

#endif // SHUNT_CONVERSION_PASSES_TD
