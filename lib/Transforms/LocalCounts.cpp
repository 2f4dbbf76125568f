//===- LocalCounts.cpp - see LocalCounts.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalCounts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace shunt {

DenseIntElementsAttr cellsAttr(MLIRContext *context, ArrayRef<RankList> lists) {
  size_t width = 1;
  for (const RankList &cells : lists)
    width = std::max(width, cells.size());
  SmallVector<int64_t> flat;
  for (const RankList &cells : lists) {
    llvm::append_range(flat, cells);
    flat.append(width - cells.size(), -1);
  }
  auto type = RankedTensorType::get({int64_t(lists.size()), int64_t(width)},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, ArrayRef<int64_t>(flat));
}

FailureOr<LocalCounts> LocalCounts::create(OpBuilder &builder, Operation *op,
                                           Value batch,
                                           SymbolTableCollection &symbols) {
  Resolver resolver(op, symbols);
  FailureOr<BatchSpec> spec =
      resolver.batchSpec(cast<BatchType>(batch.getType()));
  if (failed(spec))
    return failure();
  FailureOr<std::optional<Batch>> literal = resolver.batch(batch);
  if (failed(literal))
    return failure();
  return LocalCounts(builder, op->getLoc(), batch, std::move(*spec),
                     std::move(*literal));
}

static Value constantTable(OpBuilder &builder, Location loc,
                           ArrayRef<int64_t> values, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseIntElementsAttr::get(type, values));
}

Value LocalCounts::cellTable() const {
  int64_t world = spec.world();
  if (batch)
    return constantTable(builder, loc, batch->cellTable(), {world});
  Value init =
      tensor::EmptyOp::create(builder, loc, {world}, builder.getI64Type());
  return LocalCellCountsOp::create(builder, loc, init.getType(), value, init,
                                   cast<BatchType>(value.getType()))
      .getResult(0);
}

Value LocalCounts::sums(ArrayRef<RankList> lists,
                        ArrayRef<int64_t> shape) const {
  if (batch)
    return constantTable(
        builder, loc,
        sumCells(batch->cellTable(), {lists.begin(), lists.end()}), shape);
  Value cells = cellTable();
  Value init =
      tensor::EmptyOp::create(builder, loc, shape, builder.getI64Type());
  return LocalSumCellsOp::create(builder, loc, init.getType(), cells, init,
                                 cellsAttr(builder.getContext(), lists))
      .getResult(0);
}

Value LocalCounts::rows(const Layout &layout) const {
  // With everything scattered, in rank order, there is nothing to sum.
  if (layout.mesh.groupSize(layout.gathered()) == 1)
    return cellTable();
  std::vector<RankList> lists;
  for (Rank rank = 0; rank < spec.world(); ++rank)
    lists.push_back(layout.cells(rank));
  return sums(lists, {spec.world()});
}

Value LocalCounts::matrix(const Exchange &exchange) const {
  std::vector<RankList> lists;
  for (const std::vector<RankList> &row : exchange.cells)
    llvm::append_range(lists, row);
  return sums(lists, {spec.world(), spec.world()});
}

Value LocalCounts::ofThisRank(Value table) const {
  Value rank = RankOp::create(builder, loc);
  Value rows = tensor::ExtractOp::create(builder, loc, table, rank);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), rows);
}

} // namespace shunt
