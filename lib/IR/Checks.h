//===- Checks.h - What the verifiers have in common ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_CHECKS_H
#define SHUNT_LIB_IR_CHECKS_H

#include "Shunt/IR/Resolve.h"

namespace shunt::checks {

/// `[5, 5, 3, 3]`, cut when it is too long to be read.
std::string tableText(llvm::ArrayRef<int64_t> table);
/// `[dp, tp]`
std::string axesText(const Mesh &mesh, const AxisList &axes);
std::string axesText(llvm::ArrayRef<mlir::StringAttr> axes);
/// `2 ranks`
std::string countText(int64_t n, llvm::StringRef noun);

bool contains(const AxisList &axes, unsigned axis);
/// As sets.
bool sameAxes(AxisList a, AxisList b);
/// The axes of `a` that are not in `b`, in order of `a`.
AxisList without(const AxisList &a, const AxisList &b);

/// Adds a note at the op that makes `value`, if one does.
void noteProducer(mlir::InFlightDiagnostic &diag, mlir::Value value,
                  llvm::StringRef what);

/// Checks that the types differ in their encoding only.
mlir::LogicalResult verifySameShape(mlir::Operation *op,
                                    mlir::RankedTensorType input,
                                    mlir::RankedTensorType result);

/// The layout of a laid out tensor of the tokens of `batch`, once its axes, its
/// cluster and its static dimensions are found right.
mlir::FailureOr<Layout> verifyTokens(mlir::Operation *op, Resolver &resolver,
                                     mlir::RankedTensorType type,
                                     mlir::Value batch);

/// Is going from one laid out type to the other a relabel: does every rank hold
/// the same rows, blocks and partial sums under both?
bool isRelabel(Resolver &resolver, mlir::RankedTensorType from,
               mlir::RankedTensorType to);

/// Checks that no count is negative; `what` says whose they are.
mlir::LogicalResult verifyNotNegative(mlir::Operation *op,
                                      llvm::ArrayRef<int64_t> counts,
                                      llvm::StringRef what);

} // namespace shunt::checks

#endif // SHUNT_LIB_IR_CHECKS_H
