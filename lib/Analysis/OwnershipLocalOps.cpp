//===- OwnershipLocalOps.cpp - shunt.local ops on all ranks ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipInterpreter.h"

#include "OwnershipRuns.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace shunt {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The rows of a 2-D attribute, without the -1 that fill up short ones.
static std::vector<RankList> rowsOfList(DenseIntElementsAttr list) {
  std::vector<RankList> rows(list.getType().getDimSize(0));
  int64_t columns = list.getType().getDimSize(1), index = 0;
  for (int64_t rank : list.getValues<int64_t>()) {
    if (rank != -1)
      rows[index / columns].push_back(rank);
    ++index;
  }
  return rows;
}

FailureOr<Groups> Interpreter::groupsOf(Operation *op, Attribute attr) {
  auto list = dyn_cast_or_null<DenseIntElementsAttr>(attr);
  if (!list || list.getType().getRank() != 2)
    return op->emitOpError("has groups that are no list of ranks for each "
                           "group, as in dense<[[0, 1], [2, 3]]> [X_GROUPS]");
  if (list.getNumElements() != own.world())
    return op->emitOpError()
           << "has groups of " << list.getNumElements()
           << " ranks in a program of " << own.world() << " [X_GROUPS]";
  Groups groups = rowsOfList(list);
  std::vector<bool> seen(own.world());
  for (const RankList &group : groups)
    for (Rank rank : group) {
      if (rank < 0 || rank >= own.world() || seen[rank])
        return op->emitOpError()
               << "has groups that list rank " << rank
               << (rank >= 0 && rank < own.world() ? " twice"
                                                   : ", which is not there")
               << "; each rank is in one group [X_GROUPS]";
      seen[rank] = true;
    }
  return groups;
}

LogicalResult Interpreter::checkPresent(Operation *op, const Groups &groups) {
  ++counted.collectives;
  std::optional<MissingRanks> found = Ownership::findMissing(groups, active);
  if (!found)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError() << "over ranks " << ranksText(found->group)
                        << " is never entered by " << ranksText(found->missing)
                        << ", for which the others wait; let every member "
                           "come, with 0 rows if it has none [X_MISSING_RANK]";
  llvm::SmallDenseSet<Operation *> noted;
  for (Rank rank : found->missing)
    if (Operation *where = leftAt[rank]; where && noted.insert(where).second)
      diag.attachNote(where->getLoc()) << "rank " << rank << " leaves here";
  for (Operation *call : llvm::reverse(calls))
    diag.attachNote(call->getLoc()) << "in the function called here";
  return diag;
}

FailureOr<CountLists> Interpreter::listsOf(Operation *op, Value counts,
                                           const Groups &groups, bool matrix) {
  CountLists lists(own.world());
  for (const RankList &group : groups)
    for (Rank rank : group) {
      if (!active[rank])
        continue;
      const Fact &fact = factsOf(counts).on(rank);
      auto table = dyn_cast_or_null<DenseIntElementsAttr>(fact.value);
      if (fact.kind != Fact::Constant || !table)
        return notProved(op, "has counts that are not known here; a proof "
                             "needs a literal batch (shunt.batch [...]) and "
                             "tables that follow from it");
      SmallVector<int64_t> values(table.getValues<int64_t>());
      ArrayRef<int64_t> shape = table.getType().getShape();
      std::vector<int64_t> &list = lists[rank];
      int64_t world = own.world(), size = group.size();
      if (matrix) {
        if (shape.size() != 2 || shape[0] != world || shape[1] != world)
          return fail(op, {"X_COUNTS_LENGTH",
                           "has a matrix of " + std::to_string(values.size()) +
                               " counts for " + std::to_string(world) +
                               " ranks; give one of " + std::to_string(world) +
                               " by " + std::to_string(world)});
        for (Rank member : group)
          list.push_back(values[rank * world + member]);
        continue;
      }
      if (shape[0] != world) {
        // A table of another length: what is passed is that list.
        list.assign(values.begin(), values.end());
        if (int64_t(list.size()) == size)
          list.push_back(0);
        return fail(op, {"X_COUNTS_LENGTH",
                         "has a table of " + std::to_string(shape[0]) +
                             " counts for " + std::to_string(world) +
                             " ranks; give one entry for each rank"});
      }
      if (shape.size() == 1) {
        for (Rank member : group)
          list.push_back(values[member]);
        continue;
      }
      ArrayRef<int64_t> row = ArrayRef(values).slice(rank * shape[1], shape[1]);
      if (shape[1] == world && world != size)
        for (Rank member : group)
          list.push_back(row[member]);
      else
        list.assign(row.begin(), row.end());
    }
  return lists;
}

FailureOr<WorldRows> Interpreter::rowsOfInput(Operation *op, Value input) {
  WorldRows rows(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    rows[rank] = held(input, rank);
    if (!rows[rank])
      return notProved(op, "has an input whose rows are not known on rank " +
                               Twine(rank) +
                               "; give the argument that it comes from a "
                               "shunt.layout, and the ops on the way "
                               "shunt.token_wise, shunt.attention or "
                               "shunt.partial");
  }
  return rows;
}

LogicalResult Interpreter::finish(Operation *op, Value init,
                                  Result<WorldRows> rows, StringRef code) {
  if (!rows)
    return fail(op, rows.error());
  own.blameOn({});
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    const Fact &fact = factsOf(init).on(rank);
    int64_t space = fact.kind == Fact::Rows    ? numRows(*fact.held)
                    : fact.kind == Fact::Blank ? fact.numRows
                                               : -1;
    int64_t made = numRows(*(*rows)[rank]);
    if (space != -1 && space != made)
      return fail(op, {code.str(),
                       "writes " + std::to_string(made) + " rows on rank " +
                           std::to_string(rank) + " into an init of " +
                           std::to_string(space) + "; size it by the counts"});
  }
  setRows(op, *rows);
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Is a reduction of the result on its way that completes what this one leaves
/// open: one whose members come from different groups of this one?
bool Interpreter::isContinued(Operation *op, const Groups &groups) {
  std::vector<int64_t> groupOf(own.world());
  for (auto [index, group] : llvm::enumerate(groups))
    for (Rank rank : group)
      groupOf[rank] = index;
  auto crosses = [&](Attribute attr) {
    auto list = dyn_cast<DenseIntElementsAttr>(attr);
    if (!list || list.getNumElements() != own.world() ||
        list.getType().getRank() != 2 || list.getType().getDimSize(1) < 2)
      return false;
    for (const RankList &other : rowsOfList(list)) {
      std::set<int64_t> met;
      for (Rank rank : other)
        if (rank < 0 || rank >= own.world() ||
            !met.insert(groupOf[rank]).second)
          return false;
    }
    return true;
  };
  SmallVector<Operation *> work = {op};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    for (Operation *user : next->getUsers()) {
      if (!seen.insert(user).second)
        continue;
      if (auto reduce = dyn_cast<LocalAllReduceOp>(user))
        if (crosses(reduce.getGroups()))
          return true;
      if (auto scatter = dyn_cast<LocalReduceScatterOp>(user))
        if (crosses(scatter.getGroups()))
          return true;
      // Only what moves rows may stand between the two.
      if (isa<LocalAllGatherOp, LocalSliceOp, LocalPermuteOp, LocalAllToAllOp,
              LocalReduceScatterOp, LocalAllReduceOp, tensor::CastOp>(user))
        work.push_back(user);
    }
  }
  return false;
}

/// Does every active rank hold something that is no rows of tokens, such as the
/// counts that ranks exchange?
static bool isOther(const Facts &facts, const std::vector<bool> &active) {
  for (size_t rank = 0; rank < active.size(); ++rank)
    if (active[rank] && facts.on(rank).kind == Fact::Rows)
      return false;
  return true;
}

template <typename OpTy> LogicalResult Interpreter::runCounted(OpTy op) {
  FailureOr<Groups> groups = groupsOf(op, op.getGroups());
  if (failed(groups))
    return failure();
  if (!isa<LocalSliceOp>(op) && failed(checkPresent(op, *groups)))
    return failure();
  auto type = cast<ShapedType>(op.getInput().getType());
  if (type.getElementType().isInteger(64) && type.getRank() == 1 &&
      isOther(factsOf(op.getInput()), active)) {
    facts[op->getResult(0)] = Fact::unknown(groups->size() == 1);
    return success();
  }
  FailureOr<CountLists> lists =
      listsOf(op, op.getCounts(), *groups, /*matrix=*/false);
  if (failed(lists))
    return failure();
  if (MaybeError error = own.checkLists(*groups, *lists, active))
    return fail(op, *error);
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  if constexpr (std::is_same_v<OpTy, LocalAllGatherOp>)
    return finish(op, op.getInit(), own.allGather(*groups, *rows, *lists),
                  "X_AG_ROWS");
  else if constexpr (std::is_same_v<OpTy, LocalReduceScatterOp>)
    return finish(
        op, op.getInit(),
        own.reduceScatter(*groups, *rows, *lists, isContinued(op, *groups)),
        "X_RS_SUM");
  else
    return finish(op, op.getInit(), own.slice(*groups, *rows, *lists),
                  "X_RS_SUM");
}

LogicalResult Interpreter::runAllReduce(LocalAllReduceOp op) {
  FailureOr<Groups> groups = groupsOf(op, op.getGroups());
  if (failed(groups) || failed(checkPresent(op, *groups)))
    return failure();
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  return finish(op, op.getInit(),
                own.allReduce(*groups, *rows, isContinued(op, *groups)),
                "X_RAGGED_REDUCE");
}

LogicalResult Interpreter::runAllToAll(LocalAllToAllOp op) {
  FailureOr<Groups> groups = groupsOf(op, op.getGroups());
  if (failed(groups) || failed(checkPresent(op, *groups)))
    return failure();
  FailureOr<CountLists> lists =
      listsOf(op, op.getCounts(), *groups, /*matrix=*/true);
  if (failed(lists))
    return failure();
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  // A matrix of its own on each rank would be as bad as a list of its own.
  for (const RankList &group : *groups)
    for (Rank rank : group)
      if (active[rank] && factsOf(op.getCounts()).on(rank).value !=
                              factsOf(op.getCounts()).on(group[0]).value)
        return fail(
            op, {"X_COUNTS_DISAGREE", "is passed different matrices by rank " +
                                          std::to_string(group[0]) +
                                          " and rank " + std::to_string(rank) +
                                          "; every member passes the same"});
  return finish(op, op.getInit(), own.allToAll(*groups, *rows, *lists),
                "X_AG_ROWS");
}

LogicalResult Interpreter::runPermute(LocalPermuteOp op) {
  std::vector<RankList> from =
      rowsOfList(cast<DenseIntElementsAttr>(op.getFrom()));
  std::vector<RankList> to = rowsOfList(cast<DenseIntElementsAttr>(op.getTo()));
  if (int64_t(from.size()) != own.world())
    return op.emitOpError()
           << "is for " << from.size() << " ranks in a program of "
           << own.world() << " [X_GROUPS]";
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  // Each rank by itself, with its own table.
  WorldRows result(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    const Fact &fact = factsOf(op.getCounts()).on(rank);
    auto table = dyn_cast_or_null<DenseIntElementsAttr>(fact.value);
    if (fact.kind != Fact::Constant || !table)
      return notProved(op, "has counts that are not known here; a proof needs "
                           "a literal batch (shunt.batch [...])");
    if (table.getNumElements() != own.world())
      return fail(op, {"X_COUNTS_LENGTH",
                       "has " + std::to_string(table.getNumElements()) +
                           " counts for " + std::to_string(own.world()) +
                           " ranks; give one for each"});
    WorldRows mine(own.world());
    mine[rank] = (*rows)[rank];
    std::vector<int64_t> counts;
    for (int64_t count : table.getValues<int64_t>())
      counts.push_back(count);
    Result<WorldRows> permuted = own.permute(from, to, mine, counts);
    if (!permuted)
      return fail(op, permuted.error());
    result[rank] = (*permuted)[rank];
  }
  return finish(op, op.getInit(), result, "X_AG_ROWS");
}

//===----------------------------------------------------------------------===//
// Tables and ranks
//===----------------------------------------------------------------------===//

static Attribute tableAttr(Type type, const std::vector<int64_t> &values) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape() ||
      tensor.getNumElements() != int64_t(values.size()))
    return {};
  return DenseIntElementsAttr::get(tensor, ArrayRef<int64_t>(values));
}

LogicalResult Interpreter::runTable(Operation *op) {
  Value result = op->getResult(0);
  const Facts input = factsOf(op->getOperand(0));
  const Fact &fact = input.on(0);
  facts[result] = Fact::unknown(input.uniform());
  auto table = dyn_cast_or_null<DenseIntElementsAttr>(fact.value);
  if (!input.oneForAll() || fact.kind != Fact::Constant || !table)
    return success();
  std::vector<int64_t> counts;
  for (int64_t count : table.getValues<int64_t>())
    counts.push_back(count);
  Attribute value;
  if (auto sums = dyn_cast<LocalSumCellsOp>(op)) {
    value = tableAttr(result.getType(),
                      sumCells(counts, rowsOfList(cast<DenseIntElementsAttr>(
                                           sums.getCells()))));
  } else if (auto cells = dyn_cast<LocalCellCountsOp>(op)) {
    FailureOr<BatchSpec> spec =
        Resolver(op, symbols).batchSpec(cells.getBatch());
    if (failed(spec))
      return failure();
    Result<Batch> made = Batch::create(*spec, counts);
    if (!made)
      return fail(op, made.error());
    value = tableAttr(result.getType(), made->cellTable());
  }
  if (value)
    facts[result] = Fact::constant(value);
  return success();
}

LogicalResult Interpreter::runLocal(Operation *op) {
  if (isa<LocalReleaseOp>(op))
    return success();
  if (op->getNumResults() != 1) {
    if (isa<DestinationStyleOpInterface>(op))
      return notProved(op, "works on memrefs; prove the program before it is "
                           "bufferized");
    setUnknown(op);
    return success();
  }
  Type indexType = IndexType::get(op->getContext());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LocalAllGatherOp, LocalReduceScatterOp, LocalSliceOp>(
          [&](auto collective) { return runCounted(collective); })
      .Case([&](LocalAllReduceOp reduce) { return runAllReduce(reduce); })
      .Case([&](LocalAllToAllOp exchange) { return runAllToAll(exchange); })
      .Case([&](LocalPermuteOp permute) { return runPermute(permute); })
      .Case([&](LocalRouteOp route) { return runRoute(route); })
      .Case([&](LocalDispatchOp send) { return runDispatch(send); })
      .Case(
          [&](LocalExpertMatmulOp product) { return runExpertMatmul(product); })
      .Case([&](LocalCombineOp sum) { return runCombine(sum); })
      // How many rows come depends on the routing.
      .Case([&](LocalRoutedRowsOp rows) {
        facts[rows.getResult()] = Fact::unknown(false);
        return success();
      })
      .Case<LocalSumCellsOp, LocalCellCountsOp, LocalPartCountsOp>(
          [&](auto table) { return runTable(table); })
      .Case([&](RankOp rankOp) {
        SmallVector<Fact> ranks;
        for (Rank rank = 0; rank < own.world(); ++rank)
          ranks.push_back(Fact::constant(IntegerAttr::get(indexType, rank)));
        facts[rankOp.getResult()] = Facts(std::move(ranks));
        return success();
      })
      .Case([&](GroupIndexOp index) -> LogicalResult {
        FailureOr<Groups> groups = groupsOf(op, index.getGroups());
        if (failed(groups))
          return failure();
        SmallVector<Fact> places(own.world());
        for (const RankList &group : *groups)
          for (auto [place, rank] : llvm::enumerate(group))
            places[rank] =
                Fact::constant(IntegerAttr::get(indexType, int64_t(place)));
        facts[index.getResult()] = Facts(std::move(places));
        return success();
      })
      .Case([&](BatchOp) {
        setUnknown(op);
        return success();
      })
      .Default([&](Operation *) {
        return notProved(op, "is no op of a local program; run shunt-localize "
                             "first");
      });
}

} // namespace shunt
