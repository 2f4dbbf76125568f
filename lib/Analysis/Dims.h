//===- Dims.h - Helpers of the layout rules ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_ANALYSIS_DIMS_H
#define SHUNT_LIB_ANALYSIS_DIMS_H

#include "Shunt/Analysis/LayoutRules.h"

namespace shunt {

bool isEncoded(mlir::Type type);

/// Adds `more` to the sorted set `axes`.
void addAxes(AxisNames &axes, llvm::ArrayRef<mlir::StringAttr> more);

/// `'dp', 'tp'`
std::string axesText(llvm::ArrayRef<mlir::StringAttr> axes);
/// `rows split over 'dp' of @attn`, `blocks over 'tp' of @attn`, `all of it`.
std::string splitText(const DimSplit &split);

/// A note at whatever made `value`, or at the function whose argument it is.
void noteProducer(mlir::InFlightDiagnostic &diag, mlir::Value value,
                  llvm::StringRef text);

/// The product of the sizes of `axes`, 0 when they do not resolve.
int64_t groupSizeOf(mlir::Operation *op, mlir::FlatSymbolRefAttr mesh,
                    llvm::ArrayRef<mlir::StringAttr> axes);

/// Reports that `op` reads tokens of two layouts, with a rank that holds
/// different rows under them.
mlir::LogicalResult reportRows(mlir::Operation *op, mlir::Value a,
                               mlir::Value b);

/// Compares the partial axes that `op` derives for `result` with its type's:
/// X_INCOMPLETE, X_DOUBLE_REDUCE.
mlir::LogicalResult checkPartial(mlir::Operation *op, mlir::Value result,
                                 const AxisNames &derived);

/// The rules of linalg ops.
mlir::LogicalResult verifyLinalg(mlir::linalg::LinalgOp op);

} // namespace shunt

#endif // SHUNT_LIB_ANALYSIS_DIMS_H
