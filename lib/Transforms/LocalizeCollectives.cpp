//===- LocalizeCollectives.cpp - Collectives with counts and groups ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalizeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace shunt {

Value emptyRows(OpBuilder &builder, Location loc, RankedTensorType type,
                Value rows, Value like) {
  SmallVector<Value> sizes;
  for (int64_t dim = 0, e = type.getRank(); dim < e; ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(
          dim == 0
              ? rows
              : tensor::DimOp::create(builder, loc, like, dim).getResult());
  return tensor::EmptyOp::create(builder, loc, type, sizes);
}

namespace {

/// One collective: its layouts, groups and counts, and the ops made of them.
class Lowering {
public:
  Lowering(Operation *op, const LocalizeContext &context)
      : op(op), loc(op->getLoc()), builder(op), context(context) {}

  template <typename OpTy> LogicalResult resolve(OpTy collective) {
    input = collective.getInput();
    step = collective.getStepAttr();
    type = context.localType(collective.getResult());
    Resolver resolver(op, context.symbols);
    FailureOr<Layout> fromLayout = resolver.layout(getLayout(input.getType()));
    FailureOr<Layout> toLayout =
        resolver.layout(getLayout(collective.getResult().getType()));
    if (failed(fromLayout) || failed(toLayout))
      return failure();
    from = std::move(*fromLayout);
    to = std::move(*toLayout);
    FailureOr<AxisList> axisList =
        resolver.axes(from->mesh, collective.getAxes());
    FailureOr<LocalCounts> counted = LocalCounts::create(
        builder, op, collective.getBatch(), context.symbols);
    if (failed(axisList) || failed(counted))
      return failure();
    // Members are in mesh order, however the axes are listed.
    axes = from->mesh.complement(from->mesh.complement(*axisList));
    counts.emplace(std::move(*counted));
    return success();
  }

  bool isTrivial() const { return from->mesh.groupSize(axes) == 1; }
  Value allGather();
  /// local.reduce_scatter or local.slice: both share rows out.
  template <typename LocalOpTy> Value shareOut();
  Value allReduce();
  Value allToAll();

private:
  Location where() const { return loc; }
  DenseIntElementsAttr groups() const {
    return groupsAttr(builder.getContext(), from->mesh, axes);
  }
  Value empty(Value rows) { return emptyRows(builder, loc, type, rows, input); }
  Value rowsUnder(const Layout &layout) {
    return counts->ofThisRank(counts->rows(layout));
  }
  /// What each rank holds under `layout`, in order.
  std::vector<RankList> held(const Layout &layout) const;
  /// The rows under `layout` of all members of each rank's group, one member
  /// after the other.
  std::vector<RankList> concatenated(const Layout &layout) const;
  /// `value`, whose blocks are the cells `has`, with the blocks `wants`.
  Value permute(Value value, const std::vector<RankList> &has,
                const std::vector<RankList> &wants);

  Operation *op;
  Location loc;
  OpBuilder builder;
  const LocalizeContext &context;
  Value input;
  StringAttr step;
  RankedTensorType type;
  std::optional<Layout> from, to;
  AxisList axes;
  std::optional<LocalCounts> counts;
};

std::vector<RankList> Lowering::held(const Layout &layout) const {
  std::vector<RankList> lists;
  for (Rank rank = 0; rank < layout.mesh.world(); ++rank)
    lists.push_back(layout.cells(rank));
  return lists;
}

std::vector<RankList> Lowering::concatenated(const Layout &layout) const {
  std::vector<RankList> lists(layout.mesh.world());
  for (Rank rank = 0; rank < layout.mesh.world(); ++rank)
    for (Rank member : layout.mesh.group(rank, axes))
      llvm::append_range(lists[rank], layout.cells(member));
  return lists;
}

Value Lowering::permute(Value value, const std::vector<RankList> &has,
                        const std::vector<RankList> &wants) {
  if (has == wants)
    return value;
  Value init =
      empty(counts->ofThisRank(counts->sums(wants, {from->mesh.world()})));
  return LocalPermuteOp::create(builder, loc, type, value, init,
                                counts->cellTable(),
                                cellsAttr(builder.getContext(), has),
                                cellsAttr(builder.getContext(), wants))
      .getResult(0);
}

Value Lowering::allGather() {
  Value gathered =
      LocalAllGatherOp::create(builder, loc, type, input, empty(rowsUnder(*to)),
                               counts->rows(*from), groups(), step)
          .getResult(0);
  return permute(gathered, concatenated(*from), held(*to));
}

template <typename LocalOpTy> Value Lowering::shareOut() {
  Value ordered = permute(input, held(*from), concatenated(*to));
  return LocalOpTy::create(builder, loc, type, ordered, empty(rowsUnder(*to)),
                           counts->rows(*to), groups(), step)
      .getResult(0);
}

Value Lowering::allReduce() {
  Value rows = tensor::DimOp::create(builder, loc, input, 0);
  return LocalAllReduceOp::create(builder, loc, type, input, empty(rows),
                                  groups(), step)
      .getResult(0);
}

Value Lowering::allToAll() {
  Exchange moved = exchange(*from, *to);
  int64_t world = from->mesh.world();

  // The nearest holder of a cell may be outside of the group over `axes`, in a
  // replica: then all ranks take part.
  bool inGroups = true;
  for (Rank src = 0; src < world; ++src) {
    RankList group = from->mesh.group(src, axes);
    for (Rank dst = 0; dst < world; ++dst)
      inGroups &=
          moved.cells[src][dst].empty() || llvm::is_contained(group, dst);
  }
  DenseIntElementsAttr members = groups();
  std::vector<RankList> order = from->mesh.groups(axes);
  if (!inGroups) {
    RankList all(world);
    std::iota(all.begin(), all.end(), 0);
    order = {all};
    members = DenseIntElementsAttr::get(
        RankedTensorType::get({1, world}, builder.getI64Type()),
        ArrayRef<int64_t>(all));
  }

  std::vector<RankList> sent(world), received(world);
  for (const RankList &group : order)
    for (Rank rank : group)
      for (Rank peer : group) {
        llvm::append_range(sent[rank], moved.cells[rank][peer]);
        llvm::append_range(received[rank], moved.cells[peer][rank]);
      }
  Value ordered = permute(input, held(*from), sent);
  Value arrived = LocalAllToAllOp::create(builder, loc, type, ordered,
                                          empty(rowsUnder(*to)),
                                          counts->matrix(moved), members, step)
                      .getResult(0);
  return permute(arrived, received, held(*to));
}

/// Replaces `collective` by what `lower` makes, or by its operand when its
/// groups have one member.
template <typename OpTy>
LogicalResult localize(OpTy collective, const LocalizeContext &context,
                       Value (Lowering::*lower)()) {
  Lowering lowering(collective, context);
  if (failed(lowering.resolve(collective)))
    return failure();
  Value result =
      lowering.isTrivial() ? collective.getInput() : (lowering.*lower)();
  collective.getResult().replaceAllUsesWith(result);
  collective.erase();
  return success();
}

LogicalResult localizeGatherBatch(GatherBatchOp op,
                                  const LocalizeContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  BatchType batch = op.getType();
  FailureOr<BatchSpec> spec = Resolver(op, context.symbols).batchSpec(batch);
  if (failed(spec))
    return failure();
  int64_t world = spec->world();
  auto worldType = RankedTensorType::get({world}, builder.getI64Type());
  RankList all(world);
  std::iota(all.begin(), all.end(), 0);
  auto groups = DenseIntElementsAttr::get(
      RankedTensorType::get({1, world}, builder.getI64Type()),
      ArrayRef<int64_t>(all));
  Value ones = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(worldType, int64_t(1)));
  Value own = tensor::FromElementsOp::create(builder, loc, op.getRows());
  Value init = tensor::EmptyOp::create(builder, loc, worldType, ValueRange());
  Value gathered =
      LocalAllGatherOp::create(builder, loc, worldType, own, init, ones, groups,
                               builder.getStringAttr("batch"))
          .getResult(0);
  auto partType = cast<RankedTensorType>(context.types(batch));
  Value parts = tensor::EmptyOp::create(builder, loc, partType, ValueRange());
  Value counts =
      LocalPartCountsOp::create(builder, loc, partType, gathered, parts, batch)
          .getResult(0);
  op.getResult().replaceAllUsesWith(counts);
  op.erase();
  return success();
}

LogicalResult localizeTokenCounts(TokenCountsOp op,
                                  const LocalizeContext &context) {
  OpBuilder builder(op);
  FailureOr<Layout> layout =
      Resolver(op, context.symbols).layout(op.getLayout());
  FailureOr<LocalCounts> counts =
      LocalCounts::create(builder, op, op.getBatch(), context.symbols);
  if (failed(layout) || failed(counts))
    return failure();
  Value table;
  if (!op.getValid()) {
    table = counts->rows(*layout);
  } else if (counts->literal()) {
    table = arith::ConstantOp::create(
        builder, op.getLoc(),
        DenseIntElementsAttr::get(
            RankedTensorType::get({layout->mesh.world()}, builder.getI64Type()),
            ArrayRef<int64_t>(validCounts(*counts->literal(), *layout))));
  } else {
    return op.emitOpError()
           << "asks for the valid rows of a batch whose counts "
              "are not literal; a run-time batch has rows "
              "only [X_COUNTS_UNKNOWN]";
  }
  if (table.getType() != op.getType())
    table = tensor::CastOp::create(builder, op.getLoc(), op.getType(), table);
  op.getResult().replaceAllUsesWith(table);
  op.erase();
  return success();
}

LogicalResult localizeExchangeCounts(ExchangeCountsOp op,
                                     const LocalizeContext &context) {
  OpBuilder builder(op);
  Resolver resolver(op, context.symbols);
  FailureOr<Layout> from = resolver.layout(op.getFrom());
  FailureOr<Layout> to = resolver.layout(op.getTo());
  FailureOr<LocalCounts> counts =
      LocalCounts::create(builder, op, op.getBatch(), context.symbols);
  if (failed(from) || failed(to) || failed(counts))
    return failure();
  Value matrix = counts->matrix(exchange(*from, *to));
  if (matrix.getType() != op.getType())
    matrix = tensor::CastOp::create(builder, op.getLoc(), op.getType(), matrix);
  op.getResult().replaceAllUsesWith(matrix);
  op.erase();
  return success();
}

} // namespace

LogicalResult localizeShuntOp(Operation *op, const LocalizeContext &context) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](AllGatherOp gather) {
        return localize(gather, context, &Lowering::allGather);
      })
      .Case([&](ReduceScatterOp scatter) {
        return localize(scatter, context,
                        &Lowering::shareOut<LocalReduceScatterOp>);
      })
      .Case([&](SliceOp slice) {
        return localize(slice, context, &Lowering::shareOut<LocalSliceOp>);
      })
      .Case([&](AllReduceOp reduce) {
        return localize(reduce, context, &Lowering::allReduce);
      })
      .Case([&](AllToAllOp exchange) {
        return localize(exchange, context, &Lowering::allToAll);
      })
      .Case([&](RelabelOp relabel) {
        relabel.getResult().replaceAllUsesWith(relabel.getInput());
        relabel.erase();
        return success();
      })
      .Case([&](GatherBatchOp gather) {
        return localizeGatherBatch(gather, context);
      })
      .Case([&](TokenCountsOp counts) {
        return localizeTokenCounts(counts, context);
      })
      .Case([&](ExchangeCountsOp counts) {
        return localizeExchangeCounts(counts, context);
      })
      .Default([&](Operation *op) { return localizeMoeOp(op, context); });
}

} // namespace shunt
