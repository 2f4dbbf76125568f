//===- Passes.h - Conversions out of the shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CONVERSION_PASSES_H
#define SHUNT_CONVERSION_PASSES_H

#include "Shunt/IR/Shunt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shunt {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Shunt/Conversion/Passes.h.inc"
} // namespace shunt

#endif // SHUNT_CONVERSION_PASSES_H
