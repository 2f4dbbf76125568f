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

using EmitError = function_ref<InFlightDiagnostic()>;

/// Checks that `lists` is an array of arrays of strings.
static LogicalResult verifyAxisLists(EmitError emitError, ArrayAttr lists) {
  for (Attribute list : lists) {
    auto names = dyn_cast<ArrayAttr>(list);
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return emitError() << "expects lists of axis names, got " << list;
  }
  return success();
}

/// Reports an axis that is in `seen` already or has no name.
static LogicalResult addAxis(EmitError emitError, llvm::StringSet<> &seen,
                             StringAttr axis) {
  if (axis.getValue().empty())
    return emitError() << "axis with an empty name; name it [E_AXIS]";
  if (!seen.insert(axis.getValue()).second)
    return emitError() << "axis '" << axis.getValue()
                       << "' is used twice; an axis either splits the tokens, "
                          "splits one inner dimension or holds partial sums "
                          "[E_AXIS]";
  return success();
}

/// Parses `, KEY = …` fields, each at most once, up to the closing `>`.
static ParseResult
parseFields(AsmParser &parser,
            function_ref<OptionalParseResult(StringRef)> parseField,
            StringRef allowed) {
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (!seen.insert(key).second)
      return parser.emitError(loc) << "'" << key << "' given twice";
    OptionalParseResult field = parseField(key);
    if (!field.has_value())
      return parser.emitError(loc)
             << "expects " << allowed << ", got '" << key << "'";
    if (failed(*field))
      return failure();
  }
  return parser.parseGreater();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(EmitError emitError, FlatSymbolRefAttr mesh,
                                 ArrayRef<StringAttr> tokens, ArrayAttr inner,
                                 ArrayRef<StringAttr> partial) {
  if (inner && failed(verifyAxisLists(emitError, inner)))
    return failure();
  llvm::StringSet<> seen;
  for (StringAttr axis : tokens)
    if (failed(addAxis(emitError, seen, axis)))
      return failure();
  if (inner)
    for (Attribute list : inner)
      for (StringAttr axis : toStrings(cast<ArrayAttr>(list)))
        if (failed(addAxis(emitError, seen, axis)))
          return failure();
  for (StringAttr axis : partial) {
    // The commonest way to get here is to reduce over ranks that hold
    // different tokens, which has a code of its own.
    if (llvm::is_contained(tokens, axis))
      return emitError() << "axis '" << axis.getValue()
                         << "' splits the tokens and holds partial sums: its "
                            "ranks would add different tokens; gather the "
                            "tokens over it first [X_ROW_MISMATCH]";
    if (failed(addAxis(emitError, seen, axis)))
      return failure();
  }
  return success();
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                         Type elementType,
                                         EmitError emitError) const {
  if (shape.empty())
    return emitError()
           << "a tensor of tokens needs a token dimension [X_SHAPE]";
  if (getInner() && getInner().size() != shape.size() - 1)
    return emitError()
           << "layout has " << getInner().size()
           << " lists of inner axes but the tensor has " << shape.size() - 1
           << " dimensions after the tokens; give one list each [X_SHAPE]";
  return success();
}

ArrayRef<Attribute> LayoutAttr::getInnerAxes(unsigned dim) const {
  if (!getInner() || dim == 0 || dim > getInner().size())
    return {};
  return cast<ArrayAttr>(getInner()[dim - 1]).getValue();
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
  // An inner list that splits nothing says nothing: one spelling each.
  if (inner && llvm::all_of(inner, [](Attribute list) {
        return cast<ArrayAttr>(list).empty();
      }))
    inner = {};
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
