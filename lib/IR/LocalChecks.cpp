//===- LocalChecks.cpp - see LocalChecks.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalChecks.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shunt::checks {

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

int64_t LocalCounts::of(Rank lister, ArrayRef<Rank> ranks, size_t index) const {
  if (columns == 0)
    return values[ranks[index]];
  bool byGroup = columns == int64_t(ranks.size());
  return at(lister, byGroup ? int64_t(index) : ranks[index]);
}

int64_t LocalCounts::sumFor(Rank lister, ArrayRef<Rank> ranks) const {
  int64_t total = 0;
  for (size_t i = 0; i < ranks.size(); ++i)
    total += of(lister, ranks, i);
  return total;
}

int64_t LocalCounts::sumOf(ArrayRef<Rank> cells) const {
  int64_t total = 0;
  for (Rank cell : cells)
    total += values[cell];
  return total;
}

/// Entries above which a constant is not looked at.
static constexpr int64_t kMaxElements = int64_t(1) << 22;

/// The product of static sizes, or nothing when there are more elements than
/// `kMaxElements`.
static std::optional<int64_t> numElements(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(product, size, product) ||
        product > kMaxElements)
      return std::nullopt;
  return product;
}

/// The constant behind `counts`, checked for numbers that no batch has, so that
/// sums of them fit.
static FailureOr<LocalCounts> readCounts(Operation *op, Value counts) {
  DenseIntElementsAttr constant;
  if (!matchPattern(counts, m_Constant(&constant)) ||
      !numElements(constant.getType().getShape()))
    return LocalCounts();
  std::vector<int64_t> values;
  constexpr int64_t kMaxCount = int64_t(1) << 40;
  for (int64_t value : constant.getValues<int64_t>()) {
    if (value > kMaxCount)
      return LocalCounts();
    values.push_back(value);
  }
  if (failed(verifyNotNegative(op, values, "counts")))
    return failure();
  ArrayRef<int64_t> shape = constant.getType().getShape();
  return LocalCounts(std::move(values), shape.size() == 2 ? shape[1] : 0);
}

static LogicalResult failLength(Operation *op, ShapedType type, int64_t world,
                                const Twine &wanted) {
  return op->emitOpError() << "has counts of type " << type << " for "
                           << countText(world, "rank") << "; give " << wanted
                           << " [X_COUNTS_LENGTH]";
}

/// Is `size`, where static, `wanted`?
static bool mayBe(int64_t size, int64_t wanted) {
  return ShapedType::isDynamic(size) || size == wanted;
}

FailureOr<LocalCounts> verifyTable(Operation *op, Value counts,
                                   ArrayRef<RankList> groups) {
  auto type = cast<ShapedType>(counts.getType());
  int64_t members = groups.front().size(), world = groups.size() * members;
  if (!mayBe(type.getDimSize(0), world) ||
      (type.getRank() == 2 && !mayBe(type.getDimSize(1), members) &&
       !mayBe(type.getDimSize(1), world)))
    return failLength(op, type, world,
                      "one entry for each rank, or for each rank a list of " +
                          Twine(members) + " or " + Twine(world));
  return readCounts(op, counts);
}

FailureOr<LocalCounts> verifyMatrix(Operation *op, Value counts,
                                    ArrayRef<RankList> groups) {
  auto type = cast<ShapedType>(counts.getType());
  int64_t world = groups.size() * groups.front().size();
  if (type.getRank() != 2 || !mayBe(type.getDimSize(0), world) ||
      !mayBe(type.getDimSize(1), world))
    return failLength(op, type, world,
                      "a matrix of " + Twine(world) + " by " + Twine(world));
  return readCounts(op, counts);
}

FailureOr<LocalCounts> verifyCellCounts(Operation *op, Value counts,
                                        int64_t world) {
  auto type = cast<ShapedType>(counts.getType());
  if (type.getRank() != 1 || !mayBe(type.getDimSize(0), world))
    return failLength(op, type, world, "one entry for each rank");
  return readCounts(op, counts);
}

LogicalResult verifyRows(Operation *op, StringRef name, int64_t rows, Rank rank,
                         int64_t wanted, StringRef code) {
  if (mayBe(rows, wanted))
    return success();
  return op->emitOpError() << "has an " << name << " of "
                           << countText(rows, "row")
                           << " but by its counts rank " << rank << " has "
                           << wanted << " [" << code << "]";
}

//===----------------------------------------------------------------------===//
// Groups and cells
//===----------------------------------------------------------------------===//

/// The rows of a 2-D list of ranks, of which there are `world` (0: as many as
/// elements).
static FailureOr<std::vector<RankList>>
readRanks(Operation *op, DenseIntElementsAttr list, StringRef name) {
  ArrayRef<int64_t> shape = list.getType().getShape();
  if (shape.size() != 2) {
    op->emitOpError() << "has " << name << " of type " << list.getType()
                      << "; give a row of ranks each, as in dense<[[0, 1], "
                         "[2, 3]]> [X_GROUPS]";
    return failure();
  }
  std::optional<int64_t> size = numElements(shape);
  if (!size || *size == 0) {
    op->emitOpError() << "has " << name << " of type " << list.getType()
                      << "; list between 1 and " << kMaxElements
                      << " ranks [X_GROUPS]";
    return failure();
  }
  std::vector<RankList> rows(shape[0]);
  int64_t index = 0;
  for (int64_t rank : list.getValues<int64_t>())
    rows[index++ / shape[1]].push_back(rank);
  return rows;
}

/// Reports a number that is no rank.
static LogicalResult verifyRank(Operation *op, StringRef name, Rank rank,
                                int64_t world) {
  if (rank >= 0 && rank < world)
    return success();
  return op->emitOpError() << "has rank " << rank << " in " << name
                           << "; ranks are 0 to " << world - 1 << " [X_GROUPS]";
}

FailureOr<std::vector<RankList>> verifyGroups(Operation *op,
                                              DenseIntElementsAttr groups) {
  FailureOr<std::vector<RankList>> rows = readRanks(op, groups, "groups");
  if (failed(rows))
    return failure();
  int64_t world = groups.getNumElements();
  std::vector<int64_t> groupOf(world, -1);
  for (auto [group, ranks] : llvm::enumerate(*rows))
    for (Rank rank : ranks) {
      if (failed(verifyRank(op, "groups", rank, world)))
        return failure();
      if (groupOf[rank] != -1) {
        op->emitOpError() << "lists rank " << rank << " in groups "
                          << groupOf[rank] << " and " << group
                          << "; each of the ranks 0 to " << world - 1
                          << " is in one group [X_GROUPS]";
        return failure();
      }
      groupOf[rank] = group;
    }
  return rows;
}

FailureOr<std::vector<RankList>>
verifyCells(Operation *op, DenseIntElementsAttr cells, StringRef name) {
  FailureOr<std::vector<RankList>> rows = readRanks(op, cells, name);
  if (failed(rows))
    return failure();
  for (RankList &row : *rows) {
    // Rows that list fewer cells than others are filled up.
    while (!row.empty() && row.back() == -1)
      row.pop_back();
    for (Rank cell : row)
      if (failed(verifyRank(op, name, cell, rows->size())))
        return failure();
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Checks that `type`, of operand `name`, is `tensors` or not, and not laid
/// out: a rank's rows are no longer those of all.
static LogicalResult verifyKind(Operation *op, StringRef name, Type type,
                                bool tensors) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (bool(tensor) != tensors)
    return op->emitOpError()
           << "has an input that is a " << (tensors ? "tensor" : "memref")
           << " but " << name << " of type " << type
           << "; use tensors or memrefs throughout [X_SHAPE]";
  if (tensor && tensor.getEncoding())
    return op->emitOpError() << "has " << name << " of type " << type
                             << "; what one rank holds has no encoding, see "
                                "shunt-localize [X_SHAPE]";
  return success();
}

LogicalResult verifyOperands(Operation *op, Value input, Value init,
                             Value counts) {
  auto inputType = cast<ShapedType>(input.getType());
  auto initType = cast<ShapedType>(init.getType());
  bool tensors = isa<RankedTensorType>(inputType);
  if (failed(verifyKind(op, "input", inputType, tensors)) ||
      failed(verifyKind(op, "init", initType, tensors)) ||
      (counts && failed(verifyKind(op, "counts", counts.getType(), tensors))))
    return failure();
  bool same = inputType.getRank() > 0 &&
              inputType.getRank() == initType.getRank() &&
              inputType.getElementType() == initType.getElementType();
  for (int64_t dim = 1; same && dim < inputType.getRank(); ++dim)
    same = inputType.isDynamicDim(dim) ||
           mayBe(initType.getDimSize(dim), inputType.getDimSize(dim));
  if (!same)
    return op->emitOpError() << "has an input of type " << inputType
                             << " but an init of type " << initType
                             << "; both are rows of one element type and size "
                                "[X_SHAPE]";
  if (op->getNumResults() != (tensors ? 1 : 0))
    return op->emitOpError() << "has " << op->getNumResults()
                             << " results; on tensors there is one, on memrefs "
                                "none [X_SHAPE]";
  if (tensors && op->getResult(0).getType() != initType)
    return op->emitOpError()
           << "has a result of type " << op->getResult(0).getType()
           << " but an init of type " << initType
           << "; the result is the init with new contents "
              "[X_SHAPE]";
  return success();
}

} // namespace shunt::checks
