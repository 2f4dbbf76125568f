//===- Checks.cpp - see Checks.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace shunt::checks {

std::string tableText(ArrayRef<int64_t> table) {
  constexpr size_t kMaxShown = 32;
  std::string text = "[";
  for (int64_t count : table.take_front(kMaxShown))
    text += (text.size() > 1 ? ", " : "") + std::to_string(count);
  if (table.size() > kMaxShown)
    text += ", ... " + std::to_string(table.size()) + " in all";
  return text + "]";
}

std::string axesText(const Mesh &mesh, const AxisList &axes) {
  return "[" + mesh.axisNames(axes, ", ") + "]";
}

std::string axesText(ArrayRef<StringAttr> axes) {
  std::string text = "[";
  for (StringAttr axis : axes)
    text += (text.size() > 1 ? ", " : "") + axis.str();
  return text + "]";
}

std::string countText(int64_t n, StringRef noun) {
  return std::to_string(n) + " " + noun.str() + (n == 1 ? "" : "s");
}

bool contains(const AxisList &axes, unsigned axis) {
  return llvm::is_contained(axes, axis);
}

bool sameAxes(AxisList a, AxisList b) {
  llvm::sort(a);
  llvm::sort(b);
  return a == b;
}

AxisList without(const AxisList &a, const AxisList &b) {
  AxisList rest;
  for (unsigned axis : a)
    if (!contains(b, axis))
      rest.push_back(axis);
  return rest;
}

void noteProducer(InFlightDiagnostic &diag, Value value, StringRef what) {
  if (Operation *producer = value.getDefiningOp())
    diag.attachNote(producer->getLoc()) << what << " is made here";
}

LogicalResult verifySameShape(Operation *op, RankedTensorType input,
                              RankedTensorType result) {
  if (withEncoding(input, {}) == withEncoding(result, {}))
    return success();
  return op->emitOpError()
         << "makes " << withEncoding(result, {}) << " of "
         << withEncoding(input, {})
         << "; operand and result differ in their encoding "
            "only, both are the tokens of all ranks [X_SHAPE]";
}

/// Checks that axes divide the static inner dimensions that they split.
static LogicalResult verifyInner(Operation *op, Resolver &resolver,
                                 const Mesh &mesh, RankedTensorType type) {
  LayoutAttr layout = getLayout(type);
  if (!layout.getInner())
    return success();
  for (auto [index, list] : llvm::enumerate(layout.getInner())) {
    FailureOr<AxisList> axes = resolver.axes(mesh, cast<ArrayAttr>(list));
    if (failed(axes))
      return failure();
    int64_t size = type.getDimSize(index + 1), parts = mesh.groupSize(*axes);
    if (!ShapedType::isDynamic(size) && size % parts != 0)
      return op->emitOpError()
             << "splits dimension " << index + 1 << " of size " << size
             << " over axes " << axesText(mesh, *axes) << " of mesh @"
             << mesh.name() << " into " << parts
             << " parts; take axes that divide it [E_SIZE]";
  }
  return success();
}

FailureOr<Layout> verifyTokens(Operation *op, Resolver &resolver,
                               RankedTensorType type, Value batch) {
  LayoutAttr attr = getLayout(type);
  auto batchType = cast<BatchType>(batch.getType());
  FailureOr<Layout> layout = resolver.layout(attr);
  if (failed(layout) || failed(resolver.batchSpec(batchType)) ||
      failed(resolver.sameCluster(attr.getMesh(), batchType.getMesh())) ||
      failed(verifyInner(op, resolver, layout->mesh, type)))
    return failure();
  if (type.isDynamicDim(0))
    return layout;
  FailureOr<std::optional<Batch>> literal = resolver.batch(batch);
  if (failed(literal))
    return failure();
  if (*literal && (*literal)->totalRows() != type.getDimSize(0)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "has a tensor of "
                              << countText(type.getDimSize(0), "row")
                              << " but its batch has "
                              << countText((*literal)->totalRows(), "row")
                              << " in all; correct one or make the dimension "
                                 "dynamic [X_SHAPE]";
    noteProducer(diag, batch, "batch");
    return failure();
  }
  return layout;
}

LogicalResult verifyNotNegative(Operation *op, ArrayRef<int64_t> counts,
                                StringRef what) {
  for (auto [index, count] : llvm::enumerate(counts))
    if (count < 0)
      return op->emitOpError()
             << "has " << what << " with the count " << count << " at index "
             << index << "; a count is at least 0 [E_COUNTS_NEG]";
  return success();
}

} // namespace shunt::checks
