//===- BatchOps.cpp - Batches and the tables that follow from them ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

//===----------------------------------------------------------------------===//
// BatchOp, GatherBatchOp
//===----------------------------------------------------------------------===//

LogicalResult BatchOp::verify() {
  if (getRows() && getFrom())
    return emitOpError() << "has literal counts and a tensor of counts; give "
                            "one of them [E_COUNTS_LEN]";
  if (!getRows() && !getFrom())
    return emitOpError() << "has no counts; give literal ones ([5, 3]) or a "
                            "tensor (from %n) [E_COUNTS_MISSING]";
  if (getValid() && !getRows())
    return emitOpError() << "has valid counts beside a tensor of counts; they "
                            "stand with literal counts only [E_COUNTS_LEN]";
  // The core reads an empty list as none.
  if (getValid() && getValid()->empty() && !getRows()->empty())
    return emitOpError() << "has 0 valid counts beside "
                         << countText(getRows()->size(), "count")
                         << "; give one for each, or none [E_COUNTS_LEN]";
  return success();
}

LogicalResult BatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<BatchSpec> spec = resolver.batchSpec(getType());
  if (failed(spec))
    return failure();
  if (getRows())
    return failure(failed(resolver.batch(getResult())));
  int64_t size = cast<RankedTensorType>(getFrom().getType()).getDimSize(0);
  if (!ShapedType::isDynamic(size) && size != spec->numParts())
    return emitOpError() << "got " << countText(size, "count") << "; want "
                         << spec->numParts() << " (one for each part, owners "
                         << axesText(spec->mesh, spec->owners)
                         << ") [E_COUNTS_LEN]";
  return success();
}

LogicalResult GatherBatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return failure(failed(Resolver(*this, symbols).batchSpec(getType())));
}

//===----------------------------------------------------------------------===//
// TokenCountsOp, ExchangeCountsOp
//===----------------------------------------------------------------------===//

/// Checks that every dimension of `type` is the world.
static LogicalResult verifyWorldShape(Operation *op, ShapedType type,
                                      int64_t world) {
  for (int64_t size : type.getShape())
    if (size != world) {
      InFlightDiagnostic diag =
          op->emitOpError() << "makes a table of type " << type << " for "
                            << countText(world, "rank") << "; it has " << world;
      if (type.getRank() == 2)
        diag << " by " << world;
      return diag << " entries [X_COUNTS_LENGTH]";
    }
  return success();
}

LogicalResult TokenCountsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Layout> layout = resolver.layout(getLayout());
  BatchType batchType = getBatch().getType();
  if (failed(layout) || failed(resolver.batchSpec(batchType)) ||
      failed(resolver.sameCluster(getLayout().getMesh(), batchType.getMesh())))
    return failure();
  return verifyWorldShape(*this, getType(), layout->mesh.world());
}

LogicalResult ExchangeCountsOp::verify() {
  for (LayoutAttr layout : {getFrom(), getTo()})
    if (layout.isPartial())
      return emitOpError() << "exchanges partial sums on axes "
                           << axesText(layout.getPartial())
                           << "; reduce them first [X_PARTIAL_INPUT]";
  return success();
}

LogicalResult
ExchangeCountsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  BatchType batchType = getBatch().getType();
  FailureOr<Layout> from = resolver.layout(getFrom());
  if (failed(from))
    return failure();
  FailureOr<Layout> to = resolver.layout(getTo());
  if (failed(to) || failed(resolver.batchSpec(batchType)) ||
      failed(resolver.sameCluster(getFrom().getMesh(), batchType.getMesh())) ||
      failed(resolver.sameCluster(getTo().getMesh(), batchType.getMesh())))
    return failure();
  return verifyWorldShape(*this, getType(), from->mesh.world());
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Longest table and widest matrix that become constants: beyond, the constant
/// costs more than the function call that makes it.
static constexpr int64_t kMaxFoldedTable = 1 << 16;
static constexpr int64_t kMaxFoldedMatrix = 256;

/// The batch of `value` if it is a literal that resolves.
static std::optional<Batch> literalBatch(Resolver &resolver, Value value) {
  FailureOr<std::optional<Batch>> batch = resolver.batch(value);
  return succeeded(batch) ? *batch : std::nullopt;
}

/// Is `type` a shape of `world` in every dimension?
static bool isWorldShape(ShapedType type, int64_t world) {
  return llvm::all_of(type.getShape(),
                      [&](int64_t size) { return size == world; });
}

OpFoldResult TokenCountsOp::fold(FoldAdaptor) {
  if (!getBatch().getDefiningOp<BatchOp>())
    return {};
  Resolver resolver(*this, Resolver::Silent());
  FailureOr<Layout> layout = resolver.layout(getLayout());
  std::optional<Batch> batch = literalBatch(resolver, getBatch());
  if (failed(layout) || !batch)
    return {};
  int64_t world = layout->mesh.world();
  if (batch->spec().world() != world || world > kMaxFoldedTable ||
      !isWorldShape(getType(), world))
    return {};
  return DenseIntElementsAttr::get(getType(), getValid()
                                                  ? validCounts(*batch, *layout)
                                                  : rowCounts(*batch, *layout));
}

OpFoldResult ExchangeCountsOp::fold(FoldAdaptor) {
  if (!getBatch().getDefiningOp<BatchOp>())
    return {};
  Resolver resolver(*this, Resolver::Silent());
  FailureOr<Layout> from = resolver.layout(getFrom());
  FailureOr<Layout> to = resolver.layout(getTo());
  std::optional<Batch> batch = literalBatch(resolver, getBatch());
  if (failed(from) || failed(to) || !batch)
    return {};
  int64_t world = from->mesh.world();
  if (to->mesh.world() != world || batch->spec().world() != world ||
      world > kMaxFoldedMatrix || !isWorldShape(getType(), world))
    return {};
  return DenseIntElementsAttr::get(getType(),
                                   exchange(*from, *to).rows(*batch));
}
