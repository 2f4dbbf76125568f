//===- OwnershipCollectives.cpp - What collectives do to rows ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipRuns.h"

#include <numeric>

namespace shunt {

static int64_t sumOf(const std::vector<int64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t(0));
}

static std::vector<int64_t> rowsHeld(const RankList &group,
                                     const WorldRows &rows) {
  std::vector<int64_t> held;
  for (Rank rank : group)
    held.push_back(numRows(*rows[rank]));
  return held;
}

/// Does a group take part? Its members do together, or none: see
/// `findMissing`.
static bool takesPart(const RankList &group, const WorldRows &rows) {
  for (Rank rank : group)
    if (!rows[rank])
      return false;
  return true;
}

std::optional<MissingRanks>
Ownership::findMissing(const Groups &groups, const std::vector<bool> &present) {
  for (const RankList &group : groups) {
    RankList missing;
    for (Rank rank : group)
      if (!present[rank])
        missing.push_back(rank);
    if (!missing.empty() && missing.size() < group.size())
      return MissingRanks{group, missing};
  }
  return std::nullopt;
}

MaybeError Ownership::checkLists(const Groups &groups, const CountLists &lists,
                                 const std::vector<bool> &present) {
  for (const RankList &group : groups) {
    if (!present[group[0]])
      continue;
    const std::vector<int64_t> &first = lists[group[0]];
    for (Rank rank : group)
      if (lists[rank] != first)
        return blame(
            {}, {"X_COUNTS_DISAGREE",
                 "is passed different lists within ranks " + ranksText(group) +
                     ": rank " + std::to_string(group[0]) + " passes " +
                     countsText(first) + ", rank " + std::to_string(rank) +
                     " passes " + countsText(lists[rank]) +
                     "; every member passes the same list"});
  }
  for (const RankList &group : groups) {
    if (!present[group[0]])
      continue;
    const std::vector<int64_t> &list = lists[group[0]];
    if (list.size() != group.size())
      return blame({}, {"X_COUNTS_LENGTH",
                        "is passed " + countsText(list) + ", a list of " +
                            std::to_string(list.size()) + ", by ranks " +
                            ranksText(group) + "; give one entry for each of " +
                            std::to_string(group.size()) + " members"});
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i] < 0)
        return blame({}, {"E_COUNTS_NEG",
                          "is passed " + std::to_string(list[i]) +
                              " rows for rank " + std::to_string(group[i]) +
                              "; counts are not negative"});
  }
  return std::nullopt;
}

Result<WorldRows> Ownership::allGather(const Groups &groups,
                                       const WorldRows &rows,
                                       const CountLists &lists) {
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    std::vector<int64_t> held = rowsHeld(group, rows);
    const std::vector<int64_t> &passed = lists[group[0]];
    if (passed == held)
      continue;
    size_t wrong = 0;
    while (passed[wrong] == held[wrong])
      ++wrong;
    const OwnedRows &owned = *rows[group[wrong]];
    return blame(owned.empty() ? std::vector<Stage>()
                               : std::vector<Stage>{owned.front().stage},
                 {"X_AG_ROWS",
                  "is passed " + countsText(passed) + " by ranks " +
                      ranksText(group) + ", which hold " + countsText(held) +
                      " rows: rank " + std::to_string(group[wrong]) +
                      " holds " + std::to_string(held[wrong]) + ", not " +
                      std::to_string(passed[wrong]) +
                      "; pass the rows that each member holds"});
  }
  WorldRows result(rows.size());
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    auto gathered = std::make_shared<OwnedRows>();
    for (Rank rank : group)
      for (const OwnedRun &run : *rows[rank])
        appendRun(*gathered, run);
    for (Rank rank : group)
      result[rank] = gathered;
  }
  return result;
}

/// The state of the sum of `column`, one run for each member of `group`.
Result<int64_t> Ownership::reducedSum(const RankList &group,
                                      const std::vector<OwnedRun> &column,
                                      int64_t row, bool continued) {
  RankList members = group, have;
  std::sort(members.begin(), members.end());
  const OwnedRun &first = column[0];
  // A part of the group may finish what another reduction began.
  size_t contributions = 0;
  for (const OwnedRun &run : column)
    contributions += run.sum == kComplete ? 0 : sums[run.sum].summed.size();
  const PartialSum *target = nullptr;
  for (size_t i = 0; i < group.size(); ++i) {
    const OwnedRun &run = column[i];
    if (run.token != first.token)
      return blame(
          {first.stage, run.stage},
          {"X_ROW_MISMATCH", "adds " + rowText(run.token, row, group[i]) +
                                 " to " + rowText(first.token, row, group[0]) +
                                 " over ranks " + ranksText(group) +
                                 "; members must hold the same rows"});
    if (run.stage != first.stage)
      return blame({first.stage, run.stage},
                   {"X_ROW_MISMATCH",
                    "adds " + rowText(run.token, row, group[i]) +
                        " of one computation to that of another on rank " +
                        std::to_string(group[0]) +
                        "; members must hold summands of the same value"});
    if (run.sum == kComplete)
      return blame(
          {run.stage},
          {"X_DOUBLE_REDUCE", "reduces " + rowText(run.token, row, group[i]) +
                                  " over ranks " + ranksText(group) +
                                  ", but it is complete and would count " +
                                  std::to_string(group.size()) +
                                  " times; drop one of the reductions"});
    const PartialSum &sum = sums[run.sum];
    bool inGroup = std::includes(sum.group.begin(), sum.group.end(),
                                 members.begin(), members.end());
    bool all = sum.group == members;
    bool ends = contributions == sum.group.size();
    if (!inGroup || !(all || continued || ends) ||
        (target && target->group != sum.group))
      return blame({run.stage},
                   {"X_WRONG_GROUP",
                    "reduces " + rowText(run.token, row, group[i]) +
                        " over ranks " + ranksText(group) +
                        ", but it is a partial sum over ranks " +
                        ranksText(sum.group) + "; reduce it over those"});
    target = &sum;
    have.insert(have.end(), sum.summed.begin(), sum.summed.end());
  }
  std::sort(have.begin(), have.end());
  if (have == target->group)
    return kComplete;
  bool twice = std::adjacent_find(have.begin(), have.end()) != have.end();
  if (!continued || twice)
    return blame({first.stage},
                 {"X_INCOMPLETE", "adds up the contributions of ranks " +
                                      ranksText(have) + " to " +
                                      rowText(first.token, row, group[0]) +
                                      ", which needs one of each of " +
                                      ranksText(target->group)});
  return partialSum({target->group, have});
}

Result<HeldRows> Ownership::reduce(const RankList &group, const WorldRows &rows,
                                   bool continued) {
  std::vector<int64_t> held = rowsHeld(group, rows);
  for (size_t i = 1; i < group.size(); ++i)
    if (held[i] != held[0])
      return blame(
          {},
          {"X_RAGGED_REDUCE",
           "reduces over ranks " + ranksText(group) + ", which hold " +
               countsText(held) + " rows: rank " + std::to_string(group[i]) +
               " holds " + std::to_string(held[i]) + ", rank " +
               std::to_string(group[0]) + " " + std::to_string(held[0]) +
               "; members must hold the same rows"});
  std::vector<const OwnedRows *> lists;
  for (Rank rank : group)
    lists.push_back(rows[rank].get());
  auto result = std::make_shared<OwnedRows>();
  Zip zip(lists);
  while (zip.next()) {
    Result<int64_t> sum =
        reducedSum(group, zip.step(), zip.firstRow(), continued);
    if (!sum)
      return sum.error();
    OwnedRun run = zip.step()[0];
    run.sum = *sum;
    appendRun(*result, run);
  }
  return HeldRows(result);
}

Result<WorldRows> Ownership::allReduce(const Groups &groups,
                                       const WorldRows &rows, bool continued) {
  WorldRows result(rows.size());
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    Result<HeldRows> reduced = reduce(group, rows, continued);
    if (!reduced)
      return reduced.error();
    for (Rank rank : group)
      result[rank] = *reduced;
  }
  return result;
}

MaybeError Ownership::checkSum(const RankList &group, const WorldRows &rows,
                               const CountLists &lists) {
  const std::vector<int64_t> &passed = lists[group[0]];
  int64_t sum = sumOf(passed);
  for (Rank rank : group)
    if (int64_t held = numRows(*rows[rank]); held != sum)
      return blame(
          rows[rank]->empty() ? std::vector<Stage>()
                              : std::vector<Stage>{rows[rank]->front().stage},
          {"X_RS_SUM",
           "is passed " + countsText(passed) + ", " + std::to_string(sum) +
               " rows in all, by ranks " + ranksText(group) + ", but rank " +
               std::to_string(rank) + " holds " + std::to_string(held) +
               "; pass counts that add up to the rows held"});
  return std::nullopt;
}

Result<WorldRows> Ownership::reduceScatter(const Groups &groups,
                                           const WorldRows &rows,
                                           const CountLists &lists,
                                           bool continued) {
  WorldRows result(rows.size());
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    // Where members hold different numbers of rows, that is the finding.
    Result<HeldRows> reduced = HeldRows();
    std::vector<int64_t> held = rowsHeld(group, rows);
    if (held[0] == sumOf(lists[group[0]]))
      reduced = reduce(group, rows, continued);
    else
      return *checkSum(group, rows, lists);
    if (!reduced)
      return reduced.error();
    int64_t offset = 0;
    for (size_t i = 0; i < group.size(); ++i) {
      int64_t count = lists[group[0]][i];
      result[group[i]] = part(**reduced, offset, count);
      offset += count;
    }
  }
  return result;
}

Result<WorldRows> Ownership::slice(const Groups &groups, const WorldRows &rows,
                                   const CountLists &lists) {
  WorldRows result(rows.size());
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    if (MaybeError error = checkSum(group, rows, lists))
      return *error;
    int64_t offset = 0;
    for (size_t i = 0; i < group.size(); ++i) {
      int64_t count = lists[group[0]][i];
      result[group[i]] = part(*rows[group[i]], offset, count);
      offset += count;
    }
  }
  return result;
}

Result<WorldRows> Ownership::allToAll(const Groups &groups,
                                      const WorldRows &rows,
                                      const CountLists &lists) {
  WorldRows result(rows.size());
  for (const RankList &group : groups) {
    if (!takesPart(group, rows))
      continue;
    std::vector<OwnedRows> received(group.size());
    for (Rank source : group) {
      const std::vector<int64_t> &sent = lists[source];
      int64_t held = numRows(*rows[source]);
      if (sumOf(sent) != held)
        return blame({}, {"X_RS_SUM", "has rank " + std::to_string(source) +
                                          " send " + countsText(sent) + ", " +
                                          std::to_string(sumOf(sent)) +
                                          " rows in all, to ranks " +
                                          ranksText(group) + ", but it holds " +
                                          std::to_string(held) +
                                          "; send every row once"});
      int64_t offset = 0;
      for (size_t i = 0; i < group.size(); ++i) {
        HeldRows block = part(*rows[source], offset, sent[i]);
        for (const OwnedRun &run : *block)
          appendRun(received[i], run);
        offset += sent[i];
      }
    }
    for (size_t i = 0; i < group.size(); ++i)
      result[group[i]] = std::make_shared<OwnedRows>(std::move(received[i]));
  }
  return result;
}

Result<WorldRows> Ownership::permute(const std::vector<RankList> &from,
                                     const std::vector<RankList> &to,
                                     const WorldRows &rows,
                                     const std::vector<int64_t> &table) {
  WorldRows result(rows.size());
  for (Rank rank = 0; rank < worldSize; ++rank) {
    if (!rows[rank])
      continue;
    std::map<Rank, int64_t> offsets;
    int64_t total = 0;
    for (Rank cell : from[rank]) {
      offsets.emplace(cell, total);
      total += table[cell];
    }
    int64_t held = numRows(*rows[rank]);
    if (total != held)
      return blame(
          {}, {"X_AG_ROWS", "takes cells " + countsText(from[rank]) + " of " +
                                std::to_string(total) +
                                " rows in all on rank " + std::to_string(rank) +
                                ", which holds " + std::to_string(held) +
                                "; list the cells that it holds"});
    auto permuted = std::make_shared<OwnedRows>();
    for (Rank cell : to[rank]) {
      HeldRows block = part(*rows[rank], offsets[cell], table[cell]);
      for (const OwnedRun &run : *block)
        appendRun(*permuted, run);
    }
    result[rank] = permuted;
  }
  return result;
}

} // namespace shunt
