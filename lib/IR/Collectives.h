//===- Collectives.h - Checks of collectives ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_COLLECTIVES_H
#define SHUNT_LIB_IR_COLLECTIVES_H

#include "Checks.h"

namespace shunt::checks {

/// A collective with its symbols resolved. Both layouts are of one mesh.
struct Transition {
  Transition(mlir::Operation *op, Resolver &resolver, mlir::Value input,
             mlir::Value result, mlir::Value batch, Layout from, Layout to,
             AxisList axes);

  mlir::Operation *op;
  Resolver &resolver;
  mlir::Value input, result, batch;
  Layout from, to;
  AxisList axes;
};

/// What can be said of the counts without symbols.
template <typename OpTy> mlir::LogicalResult verifyCounts(OpTy op) {
  if (auto counts = op.getCounts())
    return verifyNotNegative(op, *counts, "a table");
  return mlir::success();
}

/// Checks length and, where the batch is a literal, the entries of `counts`
/// against the rows of `layout`; checks the shape of the table `given`.
mlir::LogicalResult verifyCounts(const Transition &transition,
                                 const Layout &layout,
                                 std::optional<llvm::ArrayRef<int64_t>> counts,
                                 mlir::Value given);

} // namespace shunt::checks

#endif // SHUNT_LIB_IR_COLLECTIVES_H
