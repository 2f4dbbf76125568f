//===- Ops.cpp - Assembly of the shunt ops ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"
#include "Shunt/IR/Shunt.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shunt;

/// `<dp = 4, cp = 1, tp = 4>`
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &names,
                                 DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> nameList;
  SmallVector<int64_t> sizeList;
  if (failed(parser.parseCommaSeparatedList(
          AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
            std::string name;
            int64_t size;
            if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
                parser.parseInteger(size))
              return failure();
            nameList.push_back(parser.getBuilder().getStringAttr(name));
            sizeList.push_back(size);
            return success();
          })))
    return failure();
  names = parser.getBuilder().getArrayAttr(nameList);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(sizeList);
  return success();
}

static void printMeshAxes(OpAsmPrinter &printer, Operation *, ArrayAttr names,
                          DenseI64ArrayAttr sizes) {
  printer << '<';
  llvm::interleaveComma(llvm::zip(toStrings(names), sizes.asArrayRef()),
                        printer.getStream(), [&](auto axis) {
                          printer.printKeywordOrString(
                              std::get<0>(axis).getValue());
                          printer << " = " << std::get<1>(axis);
                        });
  printer << '>';
}

/// `[5, 3]`
static ParseResult parseI64List(OpAsmParser &parser, DenseI64ArrayAttr &list) {
  SmallVector<int64_t> values;
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(values.emplace_back());
      })))
    return failure();
  list = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

/// The same where an op may start with a list or with something else.
static OptionalParseResult parseLeadingI64List(OpAsmParser &parser,
                                               DenseI64ArrayAttr &list) {
  SmallVector<int64_t> values;
  if (failed(parser.parseOptionalLSquare()))
    return std::nullopt;
  if (failed(parser.parseOptionalRSquare()) &&
      (failed(parser.parseCommaSeparatedList(
           [&] { return parser.parseInteger(values.emplace_back()); })) ||
       failed(parser.parseRSquare())))
    return failure();
  list = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

static void printI64List(OpAsmPrinter &printer, Operation *,
                         DenseI64ArrayAttr list) {
  printer << '[';
  llvm::interleaveComma(list.asArrayRef(), printer.getStream());
  printer << ']';
}

static void printLeadingI64List(OpAsmPrinter &printer, Operation *op,
                                DenseI64ArrayAttr list) {
  printI64List(printer, op, list);
}

/// `[dp, tp]`
static ParseResult parseAxisNames(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<StringAttr> names;
  if (failed(parseAxes(parser, names)))
    return failure();
  axes = parser.getBuilder().getArrayAttr(
      SmallVector<Attribute>(names.begin(), names.end()));
  return success();
}

static void printAxisNames(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  printAxes(printer, toStrings(axes));
}

#define GET_OP_CLASSES
#include "Shunt/IR/ShuntOps.cpp.inc"
