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

/// Gives each `#shunt.auto` value of `function` a layout.
mlir::LogicalResult assignLayouts(mlir::FunctionOpInterface function,
                                  RowMode mode,
                                  mlir::SymbolTableCollection &symbols);

/// Where a value and what token-wise ops make of it are both gathered, gathers
/// the value once and runs the ops on all rows.
mlir::LogicalResult shareGathers(mlir::FunctionOpInterface function,
                                 mlir::SymbolTableCollection &symbols);

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_ASSIGNLAYOUTS_H
