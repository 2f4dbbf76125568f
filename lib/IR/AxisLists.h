//===- AxisLists.h - Parsing and printing of axis lists ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_AXISLISTS_H
#define SHUNT_LIB_IR_AXISLISTS_H

#include "mlir/IR/OpImplementation.h"

namespace shunt {

/// `[dp, cp]`: bare names, or quoted where they are no keyword.
mlir::ParseResult parseAxes(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<mlir::StringAttr> &axes);
void printAxes(mlir::AsmPrinter &printer,
               llvm::ArrayRef<mlir::StringAttr> axes);

/// `[[ep], [], [tp]]` as an array of arrays of strings.
mlir::ParseResult parseAxisLists(mlir::AsmParser &parser,
                                 mlir::ArrayAttr &lists);
void printAxisLists(mlir::AsmPrinter &printer, mlir::ArrayAttr lists);

/// The strings of an array of strings.
llvm::SmallVector<mlir::StringAttr> toStrings(mlir::ArrayAttr array);

} // namespace shunt

#endif // SHUNT_LIB_IR_AXISLISTS_H
