//===- AxisLists.h - Parsing and printing of axis lists ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_AXISLISTS_H
#define SHUNT_LIB_IR_AXISLISTS_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

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

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Checks that `lists` is an array of arrays of strings.
mlir::LogicalResult verifyAxisLists(EmitError emitError, mlir::ArrayAttr lists);
/// Reports an axis that is in `seen` already or has no name.
mlir::LogicalResult addAxis(EmitError emitError, llvm::StringSet<> &seen,
                            mlir::StringAttr axis);
/// Checks that each axis has one use.
mlir::LogicalResult verifyAxes(EmitError emitError,
                               llvm::ArrayRef<mlir::StringAttr> tokens,
                               mlir::ArrayAttr inner,
                               llvm::ArrayRef<mlir::StringAttr> partial);
/// Checks that `inner`, if there, has a list for each dimension of `shape`
/// after the first, which there is.
mlir::LogicalResult verifyInnerLists(EmitError emitError,
                                     llvm::ArrayRef<int64_t> shape,
                                     mlir::ArrayAttr inner);
/// Makes inner lists that split nothing null: one spelling each.
void dropEmptyInner(mlir::ArrayAttr &inner);

/// Parses `, KEY = …` fields and `, FLAG`, each at most once, up to the closing
/// `>`.
mlir::ParseResult parseFields(
    mlir::AsmParser &parser,
    llvm::function_ref<mlir::OptionalParseResult(llvm::StringRef)> parseField,
    llvm::StringRef allowed,
    llvm::ArrayRef<std::pair<llvm::StringRef, bool *>> flags = {});

} // namespace shunt

#endif // SHUNT_LIB_IR_AXISLISTS_H
