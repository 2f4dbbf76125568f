//===- Attrs.cpp - Layouts and the batch type ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"
#include "Shunt/Core/Split.h"
#include "Shunt/IR/Shunt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shunt;

#include "Shunt/IR/ShuntEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "Shunt/IR/ShuntAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "Shunt/IR/ShuntTypes.cpp.inc"

void ShuntDialect::registerAttrsAndTypes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Shunt/IR/ShuntAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Shunt/IR/ShuntTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(EmitError emitError, FlatSymbolRefAttr mesh,
                                 ArrayRef<StringAttr> tokens, ArrayAttr inner,
                                 ArrayRef<StringAttr> partial) {
  return verifyAxes(emitError, tokens, inner, partial);
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                         Type elementType,
                                         EmitError emitError) const {
  return verifyInnerLists(emitError, shape, getInner());
}

ArrayRef<Attribute> LayoutAttr::getInnerAxes(unsigned dim) const {
  return innerAxes(getInner(), dim);
}

LayoutAttr LayoutAttr::withAxes(ArrayRef<StringAttr> tokens,
                                ArrayRef<StringAttr> partial) const {
  return LayoutAttr::get(getContext(), getMesh(), tokens, getInner(), partial);
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> tokens, partial;
  ArrayAttr inner;
  if (parser.parseLess() || parser.parseAttribute(mesh))
    return {};
  if (failed(parseFields(
          parser,
          [&](StringRef key) -> OptionalParseResult {
            if (key == "tokens")
              return parseAxes(parser, tokens);
            if (key == "partial")
              return parseAxes(parser, partial);
            if (key == "inner")
              return parseAxisLists(parser, inner);
            return std::nullopt;
          },
          "'tokens', 'inner' or 'partial'")))
    return {};
  dropEmptyInner(inner);
  return parser.getChecked<LayoutAttr>(parser.getContext(), mesh, tokens, inner,
                                       partial);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", tokens = ";
  printAxes(printer, getTokens());
  if (getInner()) {
    printer << ", inner = ";
    printAxisLists(printer, getInner());
  }
  if (isPartial()) {
    printer << ", partial = ";
    printAxes(printer, getPartial());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// ShardAttr, AutoAttr
//===----------------------------------------------------------------------===//

LogicalResult ShardAttr::verify(EmitError emitError, FlatSymbolRefAttr mesh,
                                ArrayAttr dims) {
  if (failed(verifyAxisLists(emitError, dims)))
    return failure();
  llvm::StringSet<> seen;
  for (Attribute list : dims)
    for (StringAttr axis : toStrings(cast<ArrayAttr>(list)))
      if (failed(addAxis(emitError, seen, axis)))
        return failure();
  return success();
}

LogicalResult ShardAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                        Type elementType,
                                        EmitError emitError) const {
  if (getDims().size() != shape.size())
    return emitError() << "shard has " << getDims().size()
                       << " lists of axes but the tensor has " << shape.size()
                       << " dimensions; give one list each [X_SHAPE]";
  for (auto [dim, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size) && !cast<ArrayAttr>(getDims()[dim]).empty())
      return emitError() << "dimension " << dim
                         << " is split and must be static [X_SHAPE]";
  return success();
}

Attribute ShardAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  ArrayAttr dims;
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() || parseAxisLists(parser, dims) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ShardAttr>(parser.getContext(), mesh, dims);
}

void ShardAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", ";
  printAxisLists(printer, getDims());
  printer << '>';
}

LogicalResult AutoAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                       Type elementType,
                                       EmitError emitError) const {
  if (shape.empty())
    return emitError()
           << "a tensor of tokens needs a token dimension [X_SHAPE]";
  return success();
}

//===----------------------------------------------------------------------===//
// BatchType
//===----------------------------------------------------------------------===//

LogicalResult BatchType::verify(EmitError emitError, FlatSymbolRefAttr mesh,
                                ArrayRef<StringAttr> owners,
                                ArrayRef<StringAttr> replicas,
                                StringAttr split) {
  llvm::StringSet<> seen;
  for (StringAttr axis : owners)
    if (failed(addAxis(emitError, seen, axis)))
      return failure();
  llvm::StringSet<> seenReplicas;
  for (StringAttr axis : replicas) {
    if (!seen.contains(axis.getValue()))
      return emitError()
             << "replica axis '" << axis.getValue()
             << "' is not among the owners; add it to them [E_AXIS]";
    if (!seenReplicas.insert(axis.getValue()).second)
      return emitError() << "replica axis '" << axis.getValue()
                         << "' is listed twice; list it once [E_AXIS]";
  }
  if (Result<Split> parsed = parseSplit(split.str()); !parsed)
    return emitError() << parsed.error().str();
  return success();
}

Type BatchType::parse(AsmParser &parser) {
  FlatSymbolRefAttr mesh;
  SmallVector<StringAttr> owners, replicas;
  StringAttr split = parser.getBuilder().getStringAttr("balanced");
  if (parser.parseLess() || parser.parseAttribute(mesh))
    return {};
  if (failed(parseFields(
          parser,
          [&](StringRef key) -> OptionalParseResult {
            if (key == "owners")
              return parseAxes(parser, owners);
            if (key == "replicas")
              return parseAxes(parser, replicas);
            if (key == "split")
              return parser.parseAttribute(split);
            return std::nullopt;
          },
          "'owners', 'replicas' or 'split'")))
    return {};
  return parser.getChecked<BatchType>(parser.getContext(), mesh, owners,
                                      replicas, split);
}

void BatchType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", owners = ";
  printAxes(printer, getOwners());
  if (!getReplicas().empty()) {
    printer << ", replicas = ";
    printAxes(printer, getReplicas());
  }
  if (getSplit().getValue() != "balanced") {
    printer << ", split = ";
    printer.printAttribute(getSplit());
  }
  printer << '>';
}
