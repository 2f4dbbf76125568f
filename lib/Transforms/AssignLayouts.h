//===- AssignLayouts.h - Parts of shunt-assign-layouts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_ASSIGNLAYOUTS_H
#define SHUNT_LIB_TRANSFORMS_ASSIGNLAYOUTS_H

#include "Shunt/IR/Resolve.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shunt {

/// How rows travel between blocks.
enum class RowMode { Auto, Scatter, Reduce };

/// The rows of `layout`, each rank's shared out over the axes on which it holds
/// partial sums.
Layout scatteredOver(const Layout &layout);

/// Where a value is gathered twice to the same rows, gathers it once. With
/// `hoist` also where a value and what token-wise ops make of it are both
/// gathered: the ops then run on all rows.
mlir::LogicalResult shareGathers(mlir::FunctionOpInterface function, bool hoist,
                                 mlir::SymbolTableCollection &symbols);

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_ASSIGNLAYOUTS_H
