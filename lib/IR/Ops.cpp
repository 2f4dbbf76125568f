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

/// `even`, `balanced`, or the experts of each rank: `[[0, 1], [2, 1]]`
static ParseResult parsePlacement(OpAsmParser &parser,
                                  MoePlacementAttr &placement,
                                  ArrayAttr &table) {
  SmallVector<Attribute> lists;
  auto parseList = [&]() -> ParseResult {
    SmallVector<int64_t> experts;
    if (failed(
            parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
              return parser.parseInteger(experts.emplace_back());
            })))
      return failure();
    lists.push_back(parser.getBuilder().getDenseI64ArrayAttr(experts));
    return success();
  };
  MoePlacement kind = MoePlacement::Table;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    std::optional<MoePlacement> known = symbolizeMoePlacement(keyword);
    if (!known || *known == MoePlacement::Table)
      return parser.emitError(loc)
             << "expects placement even, balanced or a list of experts for "
                "each rank, as in [[0, 1], [2, 3]]; got '"
             << keyword << "'";
    kind = *known;
  } else if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                                   parseList))) {
    return failure();
  } else {
    table = parser.getBuilder().getArrayAttr(lists);
  }
  placement = MoePlacementAttr::get(parser.getContext(), kind);
  return success();
}

static void printPlacement(OpAsmPrinter &printer, Operation *,
                           MoePlacementAttr placement, ArrayAttr table) {
  if (!table) {
    printer << stringifyMoePlacement(placement.getValue());
    return;
  }
  printer << '[';
  llvm::interleaveComma(table, printer.getStream(), [&](Attribute list) {
    printer << '[';
    // Generic IR may hold anything before it is verified.
    if (auto experts = dyn_cast<DenseI64ArrayAttr>(list))
      llvm::interleaveComma(experts.asArrayRef(), printer.getStream());
    printer << ']';
  });
  printer << ']';
}

#define GET_OP_CLASSES
#include "Shunt/IR/ShuntOps.cpp.inc"
