//===- Passes.h - Passes over the shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TRANSFORMS_PASSES_H
#define SHUNT_TRANSFORMS_PASSES_H

#include "Shunt/IR/Shunt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shunt {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Shunt/Transforms/Passes.h.inc"
} // namespace shunt

#endif // SHUNT_TRANSFORMS_PASSES_H
