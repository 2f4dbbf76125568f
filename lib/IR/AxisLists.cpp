//===- AxisLists.cpp - Parsing and printing of axis lists ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace shunt {

ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<StringAttr> &axes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        std::string name;
        if (failed(parser.parseKeywordOrString(&name)))
          return failure();
        axes.push_back(parser.getBuilder().getStringAttr(name));
        return success();
      });
}

void printAxes(AsmPrinter &printer, ArrayRef<StringAttr> axes) {
  printer << '[';
  llvm::interleaveComma(axes, printer.getStream(), [&](StringAttr axis) {
    printer.printKeywordOrString(axis.getValue());
  });
  printer << ']';
}

ParseResult parseAxisLists(AsmParser &parser, ArrayAttr &lists) {
  SmallVector<Attribute> all;
  if (failed(parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            SmallVector<StringAttr> axes;
            if (failed(parseAxes(parser, axes)))
              return failure();
            all.push_back(parser.getBuilder().getArrayAttr(
                SmallVector<Attribute>(axes.begin(), axes.end())));
            return success();
          })))
    return failure();
  lists = parser.getBuilder().getArrayAttr(all);
  return success();
}

void printAxisLists(AsmPrinter &printer, ArrayAttr lists) {
  printer << '[';
  llvm::interleaveComma(lists, printer.getStream(), [&](Attribute list) {
    printAxes(printer, toStrings(cast<ArrayAttr>(list)));
  });
  printer << ']';
}

SmallVector<StringAttr> toStrings(ArrayAttr array) {
  SmallVector<StringAttr> strings;
  for (Attribute attr : array)
    strings.push_back(cast<StringAttr>(attr));
  return strings;
}

} // namespace shunt
