//===- CollectiveText.h - What is written on and said of collectives ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_COLLECTIVETEXT_H
#define SHUNT_ANALYSIS_COLLECTIVETEXT_H

#include "Shunt/Core/Layout.h"

#include "mlir/IR/Operation.h"

namespace shunt {

/// Writes `table` on collective `op` as `counts`, for the reader, unless it is
/// empty (not known) or too long to be read.
void annotateCounts(mlir::Operation *op, llvm::ArrayRef<int64_t> table);

/// The function that `op` is in, for remarks; empty outside of one.
llvm::StringRef functionName(mlir::Operation *op);

/// `[5, 5, 3, 3]`
std::string listText(llvm::ArrayRef<int64_t> values);
/// `{0, 1}`
std::string groupText(llvm::ArrayRef<int64_t> ranks);

} // namespace shunt

#endif // SHUNT_ANALYSIS_COLLECTIVETEXT_H
