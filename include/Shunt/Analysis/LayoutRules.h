//===- LayoutRules.h - How compute ops act on layouts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_LAYOUTRULES_H
#define SHUNT_ANALYSIS_LAYOUTRULES_H

#include "Shunt/IR/Resolve.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"

namespace shunt {

/// Axis names, sorted and without duplicates.
using AxisNames = llvm::SmallVector<mlir::StringAttr>;

/// How the ranks share one dimension of a tensor, or one loop of an op.
struct DimSplit {
  enum Kind {
    Whole,  ///< every rank has all of it
    Tokens, ///< the ranks have rows, as a layout says
    Blocks, ///< equal blocks of a static size
  };
  Kind kind = Whole;
  /// Null for `Whole`, and for the tokens of `#shunt.auto`.
  mlir::FlatSymbolRefAttr mesh;
  /// Sorted for `Tokens` (a set), major to minor for `Blocks`.
  llvm::SmallVector<mlir::StringAttr> axes;
  /// For the `Tokens` of routed rows: which rows they are.
  RoutedAttr routed;

  bool operator==(const DimSplit &o) const {
    return kind == o.kind && mesh == o.mesh && axes == o.axes &&
           routed == o.routed;
  }
  bool operator!=(const DimSplit &o) const { return !(*this == o); }
};

/// How the encoding of `type` splits dimension `dim`.
DimSplit dimSplit(mlir::Type type, unsigned dim);
/// Axes on which a value of `type` is a partial sum.
AxisNames partialAxes(mlir::Type type);

/// The split of each loop of `op`, which all operands that a loop indexes agree
/// on. Reports where they do not: X_RESIDUAL_ROWS (different tokens), X_LAYOUT
/// (split against whole, different meshes, an axis that splits two loops),
/// X_ROW_MISMATCH (work shared over an axis on which tokens differ).
mlir::FailureOr<llvm::SmallVector<DimSplit>>
loopSplits(mlir::linalg::LinalgOp op);

/// Unit attribute by which the author of an op that we know nothing of says
/// that it is token-wise.
constexpr llvm::StringLiteral kTokenWise = "shunt.token_wise";

/// Does `op` compute each row of its token results from the same row of its
/// token operands, so that it may run in any layout with complete rows?
bool isTokenWise(mlir::Operation *op);

/// Checks that `op` agrees with the layouts of its operands and results:
/// derives the layout of each result and compares. Ops without encoded values
/// and the ops of the shunt dialect, which have verifiers, pass.
mlir::LogicalResult verifyLayouts(mlir::Operation *op);

/// The same for all ops of `module`, reporting each; also checks that split
/// dimensions divide (E_SIZE) and that no function returns a partial sum
/// (X_INCOMPLETE).
mlir::LogicalResult verifyLayouts(mlir::ModuleOp module);

} // namespace shunt

#endif // SHUNT_ANALYSIS_LAYOUTRULES_H
