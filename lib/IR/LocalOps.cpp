//===- LocalOps.cpp - Verifiers of the local level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalChecks.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

LogicalResult GroupIndexOp::verify() {
  return failure(failed(verifyGroups(*this, getGroups())));
}

/// Checks static rows against constant counts. `whole` is the operand that has
/// the rows of all members, `share` the one that has this rank's.
static LogicalResult verifyStaticRows(Operation *op, ArrayRef<RankList> groups,
                                      const LocalCounts &counts, Value whole,
                                      StringRef wholeName, Value share,
                                      StringRef shareName, StringRef code) {
  int64_t wholeRows = cast<ShapedType>(whole.getType()).getDimSize(0);
  int64_t shareRows = cast<ShapedType>(share.getType()).getDimSize(0);
  for (const RankList &ranks : groups) {
    int64_t total = counts.sumFor(ranks.front(), ranks);
    for (auto [i, rank] : llvm::enumerate(ranks)) {
      // One table is the same to all members.
      if (counts.perRank())
        total = counts.sumFor(rank, ranks);
      if (failed(verifyRows(op, shareName, shareRows, rank,
                            counts.of(rank, ranks, i), code)) ||
          failed(verifyRows(op, wholeName, wholeRows, rank, total, code)))
        return failure();
    }
  }
  return success();
}

template <typename OpTy>
static LogicalResult verifyCounted(OpTy op, bool gathers, StringRef code) {
  FailureOr<std::vector<RankList>> groups = verifyGroups(op, op.getGroups());
  if (failed(groups) ||
      failed(verifyOperands(op, op.getInput(), op.getInit(), op.getCounts())))
    return failure();
  FailureOr<LocalCounts> counts = verifyTable(op, op.getCounts(), *groups);
  if (failed(counts))
    return failure();
  if (!counts->known())
    return success();
  Value whole = gathers ? op.getInit() : op.getInput();
  Value share = gathers ? op.getInput() : op.getInit();
  return verifyStaticRows(op, *groups, *counts, whole,
                          gathers ? "init" : "input", share,
                          gathers ? "input" : "init", code);
}

LogicalResult LocalAllGatherOp::verify() {
  return verifyCounted(*this, /*gathers=*/true, "X_AG_ROWS");
}

LogicalResult LocalReduceScatterOp::verify() {
  return verifyCounted(*this, /*gathers=*/false, "X_RS_SUM");
}

LogicalResult LocalSliceOp::verify() {
  return verifyCounted(*this, /*gathers=*/false, "X_RS_SUM");
}

LogicalResult LocalAllReduceOp::verify() {
  if (failed(verifyGroups(*this, getGroups())) ||
      failed(verifyOperands(*this, getInput(), getInit(), Value())))
    return failure();
  int64_t input = cast<ShapedType>(getInput().getType()).getDimSize(0);
  int64_t init = cast<ShapedType>(getInit().getType()).getDimSize(0);
  if (input != init && !ShapedType::isDynamic(input) &&
      !ShapedType::isDynamic(init))
    return emitOpError() << "has an input of " << input
                         << " rows but an init of " << init
                         << "; all rows stay on all members [X_RAGGED_REDUCE]";
  return success();
}

LogicalResult LocalAllToAllOp::verify() {
  FailureOr<std::vector<RankList>> groups = verifyGroups(*this, getGroups());
  if (failed(groups) ||
      failed(verifyOperands(*this, getInput(), getInit(), getCounts())))
    return failure();
  FailureOr<LocalCounts> counts = verifyMatrix(*this, getCounts(), *groups);
  if (failed(counts))
    return failure();
  if (!counts->known())
    return success();
  int64_t inputRows = cast<ShapedType>(getInput().getType()).getDimSize(0);
  int64_t initRows = cast<ShapedType>(getInit().getType()).getDimSize(0);
  for (const RankList &ranks : *groups)
    for (Rank rank : ranks) {
      int64_t sent = 0, received = 0;
      for (Rank other : ranks) {
        sent += counts->at(rank, other);
        received += counts->at(other, rank);
      }
      if (failed(
              verifyRows(*this, "input", inputRows, rank, sent, "X_RS_SUM")) ||
          failed(
              verifyRows(*this, "init", initRows, rank, received, "X_AG_ROWS")))
        return failure();
    }
  return success();
}

LogicalResult LocalPermuteOp::verify() {
  FailureOr<std::vector<RankList>> from = verifyCells(*this, getFrom(), "from");
  if (failed(from))
    return failure();
  FailureOr<std::vector<RankList>> to = verifyCells(*this, getTo(), "to");
  if (failed(to) ||
      failed(verifyOperands(*this, getInput(), getInit(), getCounts())))
    return failure();
  int64_t world = from->size();
  if (int64_t(to->size()) != world)
    return emitOpError() << "has " << world << " rows in from but "
                         << to->size()
                         << " in to; give each rank one row in both "
                            "[X_GROUPS]";
  for (Rank rank = 0; rank < world; ++rank) {
    RankList held = (*from)[rank];
    llvm::sort(held);
    for (Rank cell : (*to)[rank])
      if (!std::binary_search(held.begin(), held.end(), cell))
        return emitOpError()
               << "has rank " << rank << " make cell " << cell
               << ", which is not in its row of from "
               << tableText((*from)[rank])
               << "; a permute moves nothing between ranks [X_GROUPS]";
  }
  FailureOr<LocalCounts> counts = verifyCellCounts(*this, getCounts(), world);
  if (failed(counts))
    return failure();
  if (!counts->known())
    return success();
  int64_t inputRows = cast<ShapedType>(getInput().getType()).getDimSize(0);
  int64_t initRows = cast<ShapedType>(getInit().getType()).getDimSize(0);
  for (Rank rank = 0; rank < world; ++rank)
    if (failed(verifyRows(*this, "input", inputRows, rank,
                          counts->sumOf((*from)[rank]), "X_AG_ROWS")) ||
        failed(verifyRows(*this, "init", initRows, rank,
                          counts->sumOf((*to)[rank]), "X_AG_ROWS")))
      return failure();
  return success();
}
