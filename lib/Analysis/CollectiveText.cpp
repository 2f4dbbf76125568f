//===- CollectiveText.cpp - see CollectiveText.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/CollectiveText.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace shunt {

/// Longer tables are no help to a reader, and they follow from the layout.
static constexpr size_t kMaxWrittenCounts = 64;

void annotateCounts(Operation *op, ArrayRef<int64_t> table) {
  if (!table.empty() && table.size() <= kMaxWrittenCounts)
    op->setAttr("counts", DenseI64ArrayAttr::get(op->getContext(), table));
}

StringRef functionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

static std::string bracketed(ArrayRef<int64_t> values, char open, char close) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << open;
  llvm::interleaveComma(values, os);
  os << close;
  return text;
}

std::string listText(ArrayRef<int64_t> values) {
  return bracketed(values, '[', ']');
}

std::string groupText(ArrayRef<int64_t> ranks) {
  return bracketed(ranks, '{', '}');
}

} // namespace shunt
