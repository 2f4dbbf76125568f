//===- Proof.h - Proves local programs right ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_PROOF_H
#define SHUNT_ANALYSIS_PROOF_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace shunt {

/// The attributes that a proof reads, on ops or on the functions they call.
/// `shunt.partial` holds groups (a row each) over whose members the rows that
/// the op makes are still to be summed.
constexpr llvm::StringLiteral kPartialAttr = "shunt.partial";
/// The op reads exactly the rows of this layout, in order.
constexpr llvm::StringLiteral kAttentionAttr = "shunt.attention";
/// Of an argument or a result: its layout.
constexpr llvm::StringLiteral kLayoutAttr = "shunt.layout";
/// Of a function: its literal batches, `[{type, rows, valid}]`.
constexpr llvm::StringLiteral kBatchAttr = "shunt.batch";
/// Of the module: the number of ranks.
constexpr llvm::StringLiteral kWorldAttr = "shunt.world";
/// Of an argument: the same on all ranks, though it is no tensor.
constexpr llvm::StringLiteral kUniformAttr = "shunt.uniform";

/// What was proved.
struct Proof {
  int64_t ranks = 0;
  /// Rows of the batch.
  int64_t tokens = 0;
  /// Ops and collectives interpreted, once for each time they run.
  int64_t ops = 0;
  int64_t collectives = 0;
};

/// Interprets `function`, which works on local tensors, for all ranks at once.
/// Reports the first thing that is wrong, or that cannot be known.
mlir::FailureOr<Proof> prove(mlir::func::FuncOp function,
                             mlir::SymbolTableCollection &symbols);

} // namespace shunt

#endif // SHUNT_ANALYSIS_PROOF_H
