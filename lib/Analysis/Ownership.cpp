//===- Ownership.cpp - Stages, rows and compute ops ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipRuns.h"

namespace shunt {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string listed(const std::vector<int64_t> &values, char open,
                          char close) {
  // Enough to see what is wrong; a message is read by people.
  constexpr size_t kMaxListed = 16;
  std::string text(1, open);
  for (size_t i = 0; i < values.size() && i < kMaxListed; ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  if (values.size() > kMaxListed)
    text += ", … " + std::to_string(values.size()) + " in all";
  return text + close;
}

std::string countsText(const std::vector<int64_t> &counts) {
  return listed(counts, '[', ']');
}

std::string ranksText(const RankList &ranks) { return listed(ranks, '{', '}'); }

std::string tokenText(int64_t token) {
  std::string name = "token " + std::to_string(token % kRoutedBase);
  return isRoutedToken(token) ? "the routed row of " + name : name;
}

std::string rowText(int64_t token, int64_t row, Rank rank) {
  return tokenText(token) + " (row " + std::to_string(row) + " of rank " +
         std::to_string(rank) + ")";
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

int64_t numRows(const OwnedRows &rows) {
  int64_t total = 0;
  for (const OwnedRun &run : rows)
    total += run.rows;
  return total;
}

bool sameTokens(const OwnedRows &a, const OwnedRows &b) {
  if (numRows(a) != numRows(b))
    return false;
  Zip zip({&a, &b});
  while (zip.next())
    if (zip.step()[0].token != zip.step()[1].token)
      return false;
  return true;
}

bool sameSums(const OwnedRows &a, const OwnedRows &b) {
  Zip zip({&a, &b});
  while (zip.next())
    if (zip.step()[0].sum != zip.step()[1].sum)
      return false;
  return true;
}

Stage Ownership::stage(int64_t op, const std::vector<Stage> &inputs) {
  auto [found, isNew] =
      stages.try_emplace({op, inputs}, static_cast<Stage>(stageOps.size()));
  if (isNew)
    stageOps.push_back(op);
  return found->second;
}

int64_t Ownership::partialSum(PartialSum sum) {
  auto [found, isNew] =
      sumNumbers.try_emplace(sum, static_cast<int64_t>(sums.size()));
  if (isNew)
    sums.push_back(std::move(sum));
  return found->second;
}

Error Ownership::blame(std::vector<Stage> stages, Error error) {
  blamed = std::move(stages);
  return error;
}

HeldRows Ownership::complete(const std::vector<RowRun> &runs,
                             Stage stage) const {
  auto rows = std::make_shared<OwnedRows>();
  for (const RowRun &run : runs)
    appendRun(*rows, {run.token, run.rows, stage, kComplete});
  return rows;
}

int64_t Ownership::partialOf(RankList group, Rank rank) {
  if (group.size() == 1)
    return kComplete;
  std::sort(group.begin(), group.end());
  return partialSum({std::move(group), {rank}});
}

HeldRows Ownership::contribution(const OwnedRows &rows, const RankList &group,
                                 Rank rank) {
  int64_t sum = partialOf(group, rank);
  auto result = std::make_shared<OwnedRows>();
  for (const OwnedRun &run : rows)
    appendRun(*result, {run.token, run.rows, run.stage, sum});
  return result;
}

HeldRows Ownership::part(const OwnedRows &rows, int64_t first, int64_t count) {
  auto result = std::make_shared<OwnedRows>();
  int64_t row = 0, end = first + count;
  for (const OwnedRun &run : rows) {
    int64_t from = std::max(row, first), to = std::min(row + run.rows, end);
    if (from < to)
      appendRun(*result,
                {run.token + (from - row), to - from, run.stage, run.sum});
    row += run.rows;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// What to say of partial rows that are read.
static std::string partialText(const PartialSum &sum) {
  return "a partial sum over ranks " + ranksText(sum.group);
}

static const char *const kReduceFirst =
    "; reduce it first (shunt.local.all_reduce or shunt.local.reduce_scatter)";

MaybeError Ownership::checkComplete(Rank rank, const OwnedRows &rows) {
  int64_t row = 0;
  for (const OwnedRun &run : rows) {
    if (run.sum != kComplete)
      return blame({run.stage},
                   {"X_PARTIAL_INPUT",
                    "reads " + rowText(run.token, row, rank) + ", which is " +
                        partialText(sums[run.sum]) + kReduceFirst});
    row += run.rows;
  }
  return std::nullopt;
}

MaybeError Ownership::checkTokens(Rank rank, const OwnedRows &rows,
                                  const OwnedRows &wanted,
                                  const std::string &code) {
  Zip zip({&rows, &wanted});
  while (zip.next()) {
    const OwnedRun &got = zip.step()[0], &want = zip.step()[1];
    if (got.token != want.token)
      return blame({got.stage},
                   {code, "has " + tokenText(got.token) + " in row " +
                              std::to_string(zip.firstRow()) + " of rank " +
                              std::to_string(rank) + " where " +
                              tokenText(want.token) + " belongs"});
  }
  int64_t has = numRows(rows), wants = numRows(wanted);
  if (has != wants) {
    std::vector<Stage> origin;
    if (!rows.empty())
      origin = {rows.back().stage};
    return blame(origin,
                 {code, "has " + std::to_string(has) + " rows on rank " +
                            std::to_string(rank) + " where " +
                            std::to_string(wants) + " belong"});
  }
  return std::nullopt;
}

/// Two operands in different states.
static std::string mixText(const OwnedRun &complete, const PartialSum &sum,
                           int64_t row, Rank rank) {
  return "adds complete rows to " + partialText(sum) + ": " +
         rowText(complete.token, row, rank) + " would be added " +
         std::to_string(sum.group.size()) + " times";
}

Result<HeldRows> Ownership::combine(int64_t op, Rank rank,
                                    const std::vector<HeldRows> &operands,
                                    Reads reads) {
  std::vector<const OwnedRows *> lists;
  for (const HeldRows &operand : operands)
    lists.push_back(operand.get());
  if (reads == Reads::Complete)
    for (const OwnedRows *list : lists)
      if (MaybeError error = checkComplete(rank, *list))
        return *error;

  auto result = std::make_shared<OwnedRows>();
  Zip zip(lists);
  while (zip.next()) {
    const std::vector<OwnedRun> &runs = zip.step();
    const OwnedRun *partial = nullptr, *complete = nullptr;
    std::vector<Stage> inputs;
    for (const OwnedRun &run : runs) {
      if (run.token != runs[0].token)
        return blame(
            {runs[0].stage, run.stage},
            {"X_RESIDUAL_ROWS",
             "combines " + tokenText(runs[0].token) + " with " +
                 tokenText(run.token) + " in row " +
                 std::to_string(zip.firstRow()) + " of rank " +
                 std::to_string(rank) +
                 "; slice or gather one operand to the rows of the other"});
      inputs.push_back(run.stage);
      if (run.sum == kComplete)
        complete = &run;
      else if (partial && partial->sum != run.sum)
        return blame({partial->stage, run.stage},
                     {"X_PARTIAL_INPUT",
                      "combines " + partialText(sums[partial->sum]) + " with " +
                          partialText(sums[run.sum]) + " in " +
                          rowText(run.token, zip.firstRow(), rank) +
                          kReduceFirst});
      else
        partial = &run;
    }
    if (reads == Reads::Added && partial && complete)
      return blame({partial->stage, complete->stage},
                   {"X_PARTIAL_INPUT", mixText(*complete, sums[partial->sum],
                                               zip.firstRow(), rank) +
                                           kReduceFirst});
    appendRun(*result, {runs[0].token, runs[0].rows, stage(op, inputs),
                        partial ? partial->sum : kComplete});
  }
  for (const OwnedRows *list : lists)
    if (numRows(*list) != numRows(*lists[0])) {
      std::vector<Stage> origins;
      for (const OwnedRows *other : {lists[0], list})
        if (!other->empty())
          origins.push_back(other->back().stage);
      return blame(origins,
                   {"X_RESIDUAL_ROWS",
                    "combines " + std::to_string(numRows(*lists[0])) +
                        " rows with " + std::to_string(numRows(*list)) +
                        " on rank " + std::to_string(rank) +
                        "; slice or gather one operand to the rows of the "
                        "other"});
    }
  return HeldRows(result);
}

} // namespace shunt
