//===- Layout.cpp - see Layout.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Layout.h"

#include <algorithm>

namespace shunt {

//===----------------------------------------------------------------------===//
// Comparing groups
//===----------------------------------------------------------------------===//

std::vector<Digit> digits(const Mesh &mesh, const AxisList &axes) {
  AxisList ordered = axes;
  std::sort(ordered.begin(), ordered.end());
  std::vector<Digit> result;
  for (unsigned axis : ordered) {
    Digit digit{mesh.stride(axis), mesh.axes()[axis].size};
    if (digit.size == 1)
      continue;
    // Strides fall along the list, so only the last digit can continue.
    if (!result.empty() && result.back().stride == digit.stride * digit.size) {
      digit.size *= result.back().size;
      result.pop_back();
    }
    result.push_back(digit);
  }
  return result;
}

bool sameGroups(const Mesh &a, const AxisList &axesA, const Mesh &b,
                const AxisList &axesB) {
  if (a.world() != b.world() || a.groupSize(axesA) != b.groupSize(axesB))
    return false;
  // One device list on both sides renames the ranks of both alike.
  if (a.devices() == b.devices())
    return digits(a, axesA) == digits(b, axesB);
  for (const RankList &ranks : a.groups(axesA))
    if (ranks != b.group(ranks.front(), axesB))
      return false;
  return true;
}

bool sameRows(const Layout &a, const Layout &b) {
  return sameGroups(a.mesh, a.gathered(), b.mesh, b.gathered());
}

//===----------------------------------------------------------------------===//
// Rows and counts
//===----------------------------------------------------------------------===//

/// Per rank, the sum of `cell` over the cells it holds. Each group is summed
/// once: the members of a group all hold its cells.
template <typename CellFn>
static std::vector<int64_t> sumCells(const Layout &layout, CellFn cell) {
  std::vector<int64_t> table(layout.mesh.world());
  for (const RankList &ranks : layout.mesh.groups(layout.gathered())) {
    int64_t total = 0;
    for (Rank rank : ranks)
      total += cell(rank);
    for (Rank rank : ranks)
      table[rank] = total;
  }
  return table;
}

std::vector<int64_t> rowCounts(const Batch &batch, const Layout &layout) {
  return sumCells(layout, [&](Rank rank) { return batch.cellRows(rank); });
}

std::vector<int64_t> validCounts(const Batch &batch, const Layout &layout) {
  return sumCells(layout, [&](Rank rank) { return batch.cellValid(rank); });
}

std::vector<int64_t> sumCells(const std::vector<int64_t> &cellTable,
                              const std::vector<RankList> &lists) {
  std::vector<int64_t> sums;
  sums.reserve(lists.size());
  for (const RankList &cells : lists) {
    int64_t rows = 0;
    for (Rank cell : cells)
      rows += cell < 0 ? 0 : cellTable[cell];
    sums.push_back(rows);
  }
  return sums;
}

std::vector<int64_t> countsOf(const std::vector<int64_t> &table,
                              const RankList &ranks) {
  std::vector<int64_t> counts;
  counts.reserve(ranks.size());
  for (Rank rank : ranks)
    counts.push_back(table[rank]);
  return counts;
}

std::vector<RowRun> rowsOf(const Batch &batch, const Layout &layout,
                           Rank rank) {
  std::vector<RowRun> runs;
  for (Rank cell : layout.cells(rank))
    runs.push_back({batch.cellOffset(cell), batch.cellToken(cell),
                    batch.cellRows(cell), batch.cellValid(cell)});
  return runs;
}

int64_t duplicateFactor(const Batch &batch, const Layout &layout) {
  if (batch.spec().replicas.empty())
    return 1;
  int64_t factor = 1;
  for (const RankList &ranks : layout.mesh.groups(layout.gathered())) {
    // All copies of a part are cut alike, so cells that have tokens in common
    // start at the same token.
    std::vector<int64_t> tokens;
    for (Rank rank : ranks)
      if (batch.cellValid(rank) > 0)
        tokens.push_back(batch.cellToken(rank));
    std::sort(tokens.begin(), tokens.end());
    for (size_t i = 0, run = 0; i < tokens.size(); ++i) {
      run = i > 0 && tokens[i] == tokens[i - 1] ? run + 1 : 1;
      factor = std::max<int64_t>(factor, run);
    }
  }
  return factor;
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

Exchange exchange(const Layout &from, const Layout &to) {
  int64_t world = from.mesh.world();
  Exchange result;
  result.cells.assign(world, std::vector<RankList>(world));

  // The holders of a cell are the group of its home rank, sorted so that the
  // nearest holder below a receiver is found by bisection.
  std::vector<RankList> holders = from.mesh.groups(from.gathered());
  std::vector<int64_t> groupOf(world);
  for (size_t i = 0; i < holders.size(); ++i) {
    std::sort(holders[i].begin(), holders[i].end());
    for (Rank rank : holders[i])
      groupOf[rank] = i;
  }
  for (Rank dst = 0; dst < world; ++dst)
    for (Rank cell : to.cells(dst)) {
      const RankList &ranks = holders[groupOf[cell]];
      auto above = std::upper_bound(ranks.begin(), ranks.end(), dst);
      Rank src = above == ranks.begin() ? ranks.back() : *std::prev(above);
      result.cells[src][dst].push_back(cell);
    }
  return result;
}

std::vector<int64_t> Exchange::rows(const Batch &batch) const {
  int64_t world = cells.size();
  std::vector<int64_t> table = batch.cellTable();
  std::vector<int64_t> result(world * world);
  for (int64_t src = 0; src < world; ++src)
    for (int64_t dst = 0; dst < world; ++dst)
      for (Rank cell : cells[src][dst])
        result[src * world + dst] += table[cell];
  return result;
}

} // namespace shunt
