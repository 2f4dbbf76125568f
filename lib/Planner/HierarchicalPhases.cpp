//===- HierarchicalPhases.cpp - Phases level by level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhaseBuilder.h"

#include <algorithm>
#include <map>

namespace shunt {

/// Position of each member in its run of `level`.
static std::vector<int64_t> places(const Runs &runs, unsigned level) {
  std::vector<int64_t> place(runs.runOf[level].size());
  for (const std::vector<int64_t> &run : runs.members[level])
    for (size_t i = 0; i < run.size(); ++i)
      place[run[i]] = i;
  return place;
}

/// The levels inside `level` that are at work, from the outside in; all groups
/// go through one list, so that a phase is one of all groups.
static unsigned topLevel(const std::vector<Runs> &runs) {
  unsigned top = 0;
  for (const Runs &r : runs)
    top = std::max(top, r.top);
  return top;
}

static std::vector<Runs> allRuns(const Cluster &cluster,
                                 const std::vector<RankList> &groups) {
  std::vector<Runs> runs;
  for (const RankList &group : groups)
    runs.emplace_back(cluster, group);
  return runs;
}

/// Phases in which no rank has a peer never start.
static void keepIfUsed(std::vector<Phase> &phases, Phase phase) {
  if (phase.level >= 0)
    phases.push_back(std::move(phase));
}

std::vector<Phase> hierarchicalGather(const Cluster &cluster,
                                      const std::vector<RankList> &groups,
                                      const GroupWeights &bytes) {
  std::vector<Phase> phases;
  std::vector<Runs> runs = allRuns(cluster, groups);
  GroupWeights held = bytes;
  for (unsigned level = topLevel(runs); level > 0; --level) {
    Phase phase{Traffic(cluster), -1, {}, false, 0};
    for (size_t g = 0; g < groups.size(); ++g) {
      if (level > runs[g].top)
        continue;
      std::vector<int64_t> place = places(runs[g], level - 1);
      std::vector<double> next = held[g];
      for (size_t i = 0; i < groups[g].size(); ++i) {
        // Once to each other run of the level inside.
        for (int64_t peer : runs[g].members[level][runs[g].runOf[level][i]]) {
          int64_t run = runs[g].runOf[level - 1][peer];
          const auto &other = runs[g].members[level - 1][run];
          if (run == runs[g].runOf[level - 1][i] || peer != other.front())
            continue;
          int64_t forwarder = other[place[i] % other.size()];
          phase.traffic.move(groups[g][i], groups[g][forwarder], held[g][i]);
          phase.level = std::max(phase.level, static_cast<int>(level));
          next[forwarder] += held[g][i];
        }
      }
      held[g] = std::move(next);
    }
    keepIfUsed(phases, std::move(phase));
  }
  // Inside the innermost level, among the members of each run.
  std::vector<RankList> inner;
  GroupWeights innerHeld;
  for (size_t g = 0; g < groups.size(); ++g)
    for (const std::vector<int64_t> &run : runs[g].members[0]) {
      inner.emplace_back();
      innerHeld.emplace_back();
      for (int64_t i : run) {
        inner.back().push_back(groups[g][i]);
        innerHeld.back().push_back(held[g][i]);
      }
    }
  keepIfUsed(phases, directGather(cluster, inner, innerHeld));
  return phases;
}

std::vector<Phase> hierarchicalExchange(const Cluster &cluster,
                                        const std::vector<RankList> &groups,
                                        const GroupWeights &sends) {
  std::vector<Phase> phases;
  std::vector<Runs> runs = allRuns(cluster, groups);
  // Bytes on their way: at[group][holder * members + destination].
  GroupWeights at = sends;
  for (unsigned level = topLevel(runs) + 1; level-- > 0;) {
    Phase phase{Traffic(cluster), -1, {}, false, 0};
    for (size_t g = 0; g < groups.size(); ++g) {
      size_t n = groups[g].size();
      if (level > runs[g].top)
        continue;
      std::vector<int64_t> place(n, 0);
      if (level > 0)
        place = places(runs[g], level - 1);
      std::vector<double> next(n * n, 0);
      for (size_t from = 0; from < n; ++from) {
        std::map<size_t, double> packed;
        for (size_t to = 0; to < n; ++to) {
          size_t by = to;
          if (from == to ||
              cluster.levelOf(groups[g][from], groups[g][to]) != level) {
            by = from;
          } else if (level > 0) {
            const auto &run =
                runs[g].members[level - 1][runs[g].runOf[level - 1][to]];
            by = run[place[from] % run.size()];
          }
          next[by * n + to] += at[g][from * n + to];
          if (by == from)
            continue;
          packed[by] += at[g][from * n + to];
          phase.level = std::max(phase.level, static_cast<int>(level));
        }
        // What shares the way shares the message.
        for (auto [by, bytes] : packed)
          phase.traffic.move(groups[g][from], groups[g][by], bytes);
      }
      at[g] = std::move(next);
    }
    keepIfUsed(phases, std::move(phase));
  }
  return phases;
}

} // namespace shunt
