//===- AxisLists.cpp - Parsing and printing of axis lists ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
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

/// Checks that `lists` is an array of arrays of strings.
LogicalResult verifyAxisLists(EmitError emitError, ArrayAttr lists) {
  for (Attribute list : lists) {
    auto names = dyn_cast<ArrayAttr>(list);
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return emitError() << "expects lists of axis names, got " << list;
  }
  return success();
}

/// Reports an axis that is in `seen` already or has no name.
LogicalResult addAxis(EmitError emitError, llvm::StringSet<> &seen,
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
ParseResult parseFields(AsmParser &parser,
                        function_ref<OptionalParseResult(StringRef)> parseField,
                        StringRef allowed,
                        ArrayRef<std::pair<StringRef, bool *>> flags) {
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return failure();
    if (!seen.insert(key).second)
      return parser.emitError(loc) << "'" << key << "' given twice";
    const auto *flag = llvm::find_if(
        flags, [&](const auto &known) { return known.first == key; });
    if (flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (parser.parseEqual())
      return failure();
    OptionalParseResult field = parseField(key);
    if (!field.has_value())
      return parser.emitError(loc)
             << "expects " << allowed << ", got '" << key << "'";
    if (failed(*field))
      return failure();
  }
  return parser.parseGreater();
}

LogicalResult verifyAxes(EmitError emitError, ArrayRef<StringAttr> tokens,
                         ArrayAttr inner, ArrayRef<StringAttr> partial) {
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

LogicalResult verifyInnerLists(EmitError emitError, ArrayRef<int64_t> shape,
                               ArrayAttr inner) {
  if (shape.empty())
    return emitError()
           << "a tensor of tokens needs a token dimension [X_SHAPE]";
  if (inner && inner.size() != shape.size() - 1)
    return emitError()
           << "layout has " << inner.size()
           << " lists of inner axes but the tensor has " << shape.size() - 1
           << " dimensions after the tokens; give one list each [X_SHAPE]";
  return success();
}

void dropEmptyInner(ArrayAttr &inner) {
  if (inner && llvm::all_of(inner, [](Attribute list) {
        return cast<ArrayAttr>(list).empty();
      }))
    inner = {};
}

} // namespace shunt
