//===- OwnershipMoe.cpp - Routing on all ranks ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A routing is a relation between tokens and experts of which nothing is known
// but that dispatch and combine share it. So a rank is taken to receive a row
// for every token of its group: which of them are really there depends on the
// routing alone. Routed rows are numbered apart from the tokens and from those
// of other routings.
//
//===----------------------------------------------------------------------===//

#include "OwnershipInterpreter.h"

#include "OwnershipRuns.h"

using namespace mlir;

namespace shunt {

HeldRows Interpreter::routedRows(const Routed &routing, Stage stage) {
  auto rows = std::make_shared<OwnedRows>();
  for (const HeldRows &ids : routing.ids)
    for (const OwnedRun &run : *ids)
      appendRun(*rows, {routedToken(routing.number, run.token), run.rows, stage,
                        kComplete});
  return rows;
}

const Routed *Interpreter::routingOf(Value routing, Rank rank) {
  const Fact &fact = factsOf(routing).on(rank);
  return fact.kind == Fact::Routing ? &routings[fact.numRows] : nullptr;
}

LogicalResult Interpreter::runRoute(LocalRouteOp op) {
  FailureOr<Groups> groups = groupsOf(op, op.getGroups());
  if (failed(groups) || failed(checkPresent(op, *groups)))
    return failure();
  FailureOr<WorldRows> ids = rowsOfInput(op, op.getIds());
  if (failed(ids))
    return failure();
  std::optional<WorldRows> scores;
  if (op.getScores()) {
    FailureOr<WorldRows> rows = rowsOfInput(op, op.getScores());
    if (failed(rows))
      return failure();
    scores = *rows;
  }
  SmallVector<Fact> perRank(own.world());
  for (const RankList &group : *groups) {
    if (!active[group.front()])
      continue;
    // Equal ids make equal routings, also in groups that compute in parallel.
    std::vector<int64_t> key = {idOf(op)};
    Routed routing;
    routing.group = group;
    for (Rank rank : group) {
      std::vector<const OwnedRows *> parts = {(*ids)[rank].get()};
      if (scores)
        parts.push_back((*scores)[rank].get());
      for (const OwnedRows *part : parts)
        if (MaybeError error = own.checkComplete(rank, *part))
          return fail(op, *error);
      if (scores)
        if (MaybeError error =
                own.checkTokens(rank, *parts[1], *parts[0], "X_ROUTE_ROWS")) {
          error->message =
              "has scores of other rows than ids: scores " + error->message;
          return fail(op, *error);
        }
      for (const OwnedRows *part : parts)
        for (const OwnedRun &run : *part)
          key.insert(key.end(), {run.token, run.rows, run.stage});
      key.push_back(-1);
      routing.ids.push_back((*ids)[rank]);
    }
    routing.number =
        routingNumbers.try_emplace(key, int64_t(routingNumbers.size()))
            .first->second;
    for (Rank rank : group)
      perRank[rank] = Fact::routing(int64_t(routings.size()));
    routings.push_back(std::move(routing));
  }
  facts[op.getResult()] = Facts(std::move(perRank));
  return success();
}

LogicalResult Interpreter::checkRouting(Operation *op, Value routing) {
  Groups groups;
  std::vector<bool> grouped(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank] || grouped[rank])
      continue;
    const Routed *known = routingOf(routing, rank);
    if (!known)
      return notProved(op, "uses a routing that is not known on rank " +
                               Twine(rank) +
                               "; make it by shunt.local.route in this "
                               "function");
    for (Rank member : known->group)
      grouped[member] = true;
    groups.push_back(known->group);
  }
  return checkPresent(op, groups);
}

/// `rows` are those of `routing` on `rank`, or what is wrong with them.
LogicalResult Interpreter::checkRouted(Operation *op, Rank rank,
                                       const OwnedRows &rows,
                                       const Routed &routing) {
  for (const OwnedRun &run : rows)
    if (numberOfRouted(run.token) != routing.number) {
      bool plain = !isRoutedToken(run.token);
      return failFrom(op, run.stage,
                      {plain ? "X_ROUTE_ROWS" : "X_WRONG_ROUTING",
                       "is given " + rowText(run.token, 0, rank) + " by " +
                           (plain ? "a value that was not dispatched"
                                  : "another routing than its own") +
                           "; give it the rows that its routing dispatched"});
    }
  HeldRows wanted = routedRows(routing, 0);
  if (MaybeError error = own.checkTokens(rank, rows, *wanted, "X_ROUTE_ROWS")) {
    error->message =
        "is given other rows than were routed: it " + error->message;
    return fail(op, *error);
  }
  return success();
}

LogicalResult Interpreter::runDispatch(LocalDispatchOp op) {
  if (failed(checkRouting(op, op.getRouting())))
    return failure();
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  WorldRows result(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    const Routed &routing = *routingOf(op.getRouting(), rank);
    auto made = std::make_shared<OwnedRows>();
    for (auto [place, source] : llvm::enumerate(routing.group)) {
      if (source == rank) {
        if (MaybeError error = own.checkComplete(rank, *(*rows)[rank]))
          return fail(op, *error);
        if (MaybeError error = own.checkTokens(
                rank, *(*rows)[rank], *routing.ids[place], "X_ROUTE_ROWS")) {
          error->message =
              "sends other rows than were routed: it " + error->message;
          return fail(op, *error);
        }
      }
      for (const OwnedRun &run : *(*rows)[source])
        appendRun(*made, {routedToken(routing.number, run.token), run.rows,
                          own.stage(idOf(op), {run.stage}), kComplete});
    }
    result[rank] = made;
  }
  return finish(op, op.getInit(), result, "X_ROUTE_ROWS");
}

LogicalResult Interpreter::runExpertMatmul(LocalExpertMatmulOp op) {
  WorldRows result;
  if (failed(combine(op, {op.getInput()}, Reads::Complete, result)))
    return failure();
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    const Routed *routing = routingOf(op.getRouting(), rank);
    if (!routing)
      return notProved(op, "uses a routing that is not known on rank " +
                               Twine(rank));
    if (failed(checkRouted(op, rank, *held(op.getInput(), rank), *routing)))
      return failure();
  }
  if (Attribute partial = op->getAttr(kPartialAttr))
    if (failed(makePartial(op, partial, result)))
      return failure();
  return finish(op, op.getInit(), result, "X_ROUTE_ROWS");
}

/// The group over which the sums of `rank` are to be completed when those that
/// come from each member of its routing are to be over `groups`: those of the
/// ranks whose routings take one member from each of these. Nothing if the
/// groups do not form such a grid.
std::optional<RankList>
Interpreter::combinedGroup(Value routing, Rank rank,
                           const std::vector<RankList> &groups) {
  const Routed &own = *routingOf(routing, rank);
  const RankList *mine = nullptr;
  for (auto [place, member] : llvm::enumerate(own.group))
    if (member == rank)
      mine = &groups[place];
  for (Rank other : *mine) {
    const Routed *theirs = routingOf(routing, other);
    if (!theirs || theirs->group.size() != own.group.size() ||
        theirs->number != own.number)
      return std::nullopt;
    for (auto [member, group] : llvm::zip(theirs->group, groups))
      if (!llvm::is_contained(group, member))
        return std::nullopt;
  }
  return *mine;
}

LogicalResult Interpreter::runCombine(LocalCombineOp op) {
  if (failed(checkRouting(op, op.getRouting())))
    return failure();
  FailureOr<WorldRows> rows = rowsOfInput(op, op.getInput());
  if (failed(rows))
    return failure();
  for (Rank rank = 0; rank < own.world(); ++rank)
    if (active[rank] && failed(checkRouted(op, rank, *(*rows)[rank],
                                           *routingOf(op.getRouting(), rank))))
      return failure();
  WorldRows result(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    const Routed &routing = *routingOf(op.getRouting(), rank);
    // The rows of this rank's tokens on each member.
    std::vector<HeldRows> parts;
    int64_t first = 0, mine = 0;
    while (routing.group[mine] != rank)
      first += numRows(*routing.ids[mine++]);
    const OwnedRows &tokens = *routing.ids[mine];
    std::vector<const OwnedRows *> lists = {&tokens};
    for (Rank member : routing.group)
      parts.push_back(
          Ownership::part(*(*rows)[member], first, numRows(tokens)));
    for (const HeldRows &part : parts)
      lists.push_back(part.get());

    auto made = std::make_shared<OwnedRows>();
    Zip zip(lists);
    while (zip.next()) {
      const std::vector<OwnedRun> &step = zip.step();
      std::vector<int64_t> inputs = {-1 - routing.number};
      std::vector<RankList> groups;
      for (auto [place, member] : llvm::enumerate(routing.group)) {
        const OwnedRun &run = step[place + 1];
        if (inputs.size() == 1 || inputs.back() != run.stage)
          inputs.push_back(run.stage);
        if (run.sum == kComplete)
          continue;
        const PartialSum &sum = own.sum(run.sum);
        if (sum.summed == RankList{member})
          groups.push_back(sum.group);
      }
      int64_t sum = kComplete;
      if (step[1].sum != kComplete || !groups.empty()) {
        std::optional<RankList> group;
        if (groups.size() == routing.group.size())
          group = combinedGroup(op.getRouting(), rank, groups);
        if (!group)
          return failFrom(
              op, step[1].stage,
              {"X_WRONG_GROUP",
               "adds up partial sums of experts that other ranks do not "
               "complete in the same way, in " +
                   rowText(step[0].token, zip.firstRow(), rank) +
                   "; reduce over the same axes on every rank, or before the "
                   "combine"});
        sum = own.partialOf(*group, rank);
      }
      appendRun(*made, {step[0].token, step[0].rows,
                        own.stage(idOf(op), inputs), sum});
    }
    result[rank] = made;
  }
  if (op.getBias()) {
    // Added last, to rows in the same state.
    FailureOr<WorldRows> bias = rowsOfInput(op, op.getBias());
    if (failed(bias))
      return failure();
    for (Rank rank = 0; rank < own.world(); ++rank) {
      if (!active[rank])
        continue;
      Result<HeldRows> sum = own.combine(
          idOf(op), rank, {result[rank], (*bias)[rank]}, Reads::Added);
      if (!sum)
        return fail(op, sum.error());
      result[rank] = *sum;
    }
  }
  return finish(op, op.getInit(), result, "X_ROUTE_ROWS");
}

} // namespace shunt
