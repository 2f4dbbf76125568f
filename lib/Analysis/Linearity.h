//===- Linearity.h - Which values are partial sums ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_ANALYSIS_LINEARITY_H
#define SHUNT_LIB_ANALYSIS_LINEARITY_H

#include "Shunt/Analysis/LayoutRules.h"

#include <functional>

namespace shunt {

/// A value as a partial sum: the sum of the ranks' values over the groups of
/// `axes` is the value meant. Complete when `axes` is empty.
struct Summand {
  AxisNames axes;
  /// A value outside that it was read from, for messages.
  mlir::Value origin;

  bool complete() const { return axes.empty(); }
};

/// What `op`, applied to each rank's `operands`, yields. Reports at `reportAt`
/// when the result is no partial sum of anything: X_PARTIAL_INPUT.
mlir::FailureOr<Summand> applyOp(mlir::Operation *op,
                                 llvm::ArrayRef<Summand> operands,
                                 mlir::Operation *reportAt);

/// Follows partial sums through the body of a linalg op. `summed` are the axes
/// over which a summed loop is split.
class BodySums {
public:
  /// The axes on which an operand of the op is partial.
  using PartialOf = std::function<AxisNames(mlir::Value)>;

  /// Reads what is partial off the types.
  explicit BodySums(mlir::linalg::LinalgOp op)
      : BodySums(op, [](mlir::Value value) {
          return partialAxes(value.getType());
        }) {}
  BodySums(mlir::linalg::LinalgOp op, PartialOf partialOf)
      : op(op), partialOf(std::move(partialOf)) {}

  /// The partial axes of result `index`. `summed`: axes that split the loops
  /// this result is reduced over; the body must then add to its init.
  mlir::FailureOr<AxisNames> resultAxes(unsigned index,
                                        const AxisNames &summed);

private:
  mlir::FailureOr<Summand> evaluate(mlir::Value value);
  /// Sets `found` when `value` is `init + s` with `s` free of `init`, and
  /// `added` to that `s`.
  mlir::LogicalResult addedTo(mlir::Value value, mlir::Value init,
                              Summand &added, bool &found);
  bool dependsOn(mlir::Value value, mlir::Value on);

  mlir::linalg::LinalgOp op;
  PartialOf partialOf;
  llvm::DenseMap<mlir::Value, Summand> known;
};

} // namespace shunt

#endif // SHUNT_LIB_ANALYSIS_LINEARITY_H
