//===- MoeAttrs.cpp - Routed rows and routings ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"
#include "Shunt/Core/Placement.h"
#include "Shunt/IR/Shunt.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shunt;

/// Checks that `over` is a part of `tokens` and not empty.
static LogicalResult verifyOver(EmitError emitError,
                                ArrayRef<StringAttr> tokens,
                                ArrayRef<StringAttr> over) {
  if (over.empty())
    return emitError() << "is over no axis; name those whose ranks hold the "
                          "experts, as in over = [ep] [E_AXIS]";
  llvm::StringSet<> seen;
  for (StringAttr axis : over) {
    if (failed(addAxis(emitError, seen, axis)))
      return failure();
    if (!llvm::is_contained(tokens, axis))
      return emitError()
             << "axis '" << axis.getValue()
             << "' is in `over` but does not split the tokens: its ranks would "
                "send the same tokens; add it to `tokens` [X_ROUTING]";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RoutedAttr
//===----------------------------------------------------------------------===//

LogicalResult RoutedAttr::verify(EmitError emitError, FlatSymbolRefAttr,
                                 ArrayRef<StringAttr> tokens,
                                 ArrayRef<StringAttr> over, ArrayAttr inner,
                                 ArrayRef<StringAttr> partial, bool, bool) {
  if (failed(verifyAxes(emitError, tokens, inner, partial)))
    return failure();
  return verifyOver(emitError, tokens, over);
}

LogicalResult RoutedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         EmitError emitError) const {
  if (failed(verifyInnerLists(emitError, shape, getInner())))
    return failure();
  if (!ShapedType::isDynamic(shape[0]))
    return emitError() << "has " << shape[0]
                       << " routed rows, but how many arrive is known at run "
                          "time only; make the dimension dynamic [X_SHAPE]";
  return success();
}

LayoutAttr RoutedAttr::getSource() const {
  return LayoutAttr::get(getContext(), getMesh(), getTokens(), getInner(),
                         getPartial());
}

RoutedAttr RoutedAttr::getRows() const {
  return RoutedAttr::get(getContext(), getMesh(), getTokens(), getOver(), {},
                         {}, getRankMajor(), getScored());
}

Attribute RoutedAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> tokens, over, partial;
  ArrayAttr inner;
  bool rankMajor = false, scored = false;
  if (parser.parseLess() || parser.parseAttribute(mesh))
    return {};
  if (failed(parseFields(
          parser,
          [&](StringRef key) -> OptionalParseResult {
            if (key == "tokens")
              return parseAxes(parser, tokens);
            if (key == "over")
              return parseAxes(parser, over);
            if (key == "partial")
              return parseAxes(parser, partial);
            if (key == "inner")
              return parseAxisLists(parser, inner);
            return std::nullopt;
          },
          "'tokens', 'over', 'inner', 'partial', 'rank_major' or 'scored'",
          {{"rank_major", &rankMajor}, {"scored", &scored}})))
    return {};
  dropEmptyInner(inner);
  using Names = ArrayRef<StringAttr>;
  return parser.getChecked<RoutedAttr>(parser.getContext(), mesh, Names(tokens),
                                       Names(over), inner, Names(partial),
                                       rankMajor, scored);
}

void RoutedAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", tokens = ";
  printAxes(printer, getTokens());
  printer << ", over = ";
  printAxes(printer, getOver());
  if (getInner()) {
    printer << ", inner = ";
    printAxisLists(printer, getInner());
  }
  if (!getPartial().empty()) {
    printer << ", partial = ";
    printAxes(printer, getPartial());
  }
  if (getRankMajor())
    printer << ", rank_major";
  if (getScored())
    printer << ", scored";
  printer << '>';
}

//===----------------------------------------------------------------------===//
// RoutingType
//===----------------------------------------------------------------------===//

LogicalResult RoutingType::verify(EmitError emitError, FlatSymbolRefAttr,
                                  ArrayRef<StringAttr> tokens,
                                  ArrayRef<StringAttr> over, int64_t experts,
                                  int64_t topK) {
  if (failed(verifyAxes(emitError, tokens, {}, {})) ||
      failed(verifyOver(emitError, tokens, over)))
    return failure();
  for (auto [name, value, most] :
       {std::tuple("experts", experts, Placement::kMaxExperts),
        std::tuple("top_k", topK, Placement::kMaxTopK)})
    if (value < 1 || value > most)
      return emitError() << "expects " << name << " of 1 to " << most
                         << ", got " << value << " [E_SIZE]";
  return success();
}

LayoutAttr RoutingType::getSource() const {
  return LayoutAttr::get(getContext(), getMesh(), getTokens(), {}, {});
}

Type RoutingType::parse(AsmParser &parser) {
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> tokens, over;
  int64_t experts = 0, topK = 0;
  if (parser.parseLess() || parser.parseAttribute(mesh))
    return {};
  if (failed(parseFields(
          parser,
          [&](StringRef key) -> OptionalParseResult {
            if (key == "tokens")
              return parseAxes(parser, tokens);
            if (key == "over")
              return parseAxes(parser, over);
            if (key == "experts")
              return parser.parseInteger(experts);
            if (key == "top_k")
              return parser.parseInteger(topK);
            return std::nullopt;
          },
          "'tokens', 'over', 'experts' or 'top_k'")))
    return {};
  using Names = ArrayRef<StringAttr>;
  return parser.getChecked<RoutingType>(
      parser.getContext(), mesh, Names(tokens), Names(over), experts, topK);
}

void RoutingType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", tokens = ";
  printAxes(printer, getTokens());
  printer << ", over = ";
  printAxes(printer, getOver());
  printer << ", experts = " << getExperts() << ", top_k = " << getTopK() << '>';
}
