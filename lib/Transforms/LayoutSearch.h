//===- LayoutSearch.h - The cheapest layouts of a function ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_LAYOUTSEARCH_H
#define SHUNT_LIB_TRANSFORMS_LAYOUTSEARCH_H

#include "ReshardPrices.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shunt {

/// Where the values of `#shunt.auto` of one function are to live.
struct LayoutChoice {
  /// Of each redistribute that leaves a block with partial sums, and of each
  /// token-wise op.
  llvm::DenseMap<mlir::Operation *, LayoutAttr> layouts;
  /// Modelled time of all changes of layout and of the token-wise ops.
  double seconds = 0;
  /// The same, least, where every sum is completed for all that hold its rows,
  /// and where every sum is scattered.
  double reduced = 0, scattered = 0;
};

/// The layouts of least modelled time, by dynamic programming over the ops in
/// program order. A state says of each value that is still to be read in which
/// layouts ranks have it, so a row that is gathered once is paid for once; a
/// token-wise op costs the memory traffic of the rank with most rows, fused
/// with those before it where it runs in the same layout. Nothing
/// where the cost model does not know the links or the counts, or the function
/// is not what shunt-assign-layouts takes.
mlir::FailureOr<std::optional<LayoutChoice>>
searchLayouts(mlir::FunctionOpInterface function, ReshardPrices &prices,
              mlir::SymbolTableCollection &symbols);

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_LAYOUTSEARCH_H
