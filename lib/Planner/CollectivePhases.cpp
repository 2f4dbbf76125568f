//===- CollectivePhases.cpp - Flat phases: direct, ring, multicast ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhaseBuilder.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shunt {

Runs::Runs(const Cluster &cluster, const RankList &group)
    : top(cluster.levelOf(group)) {
  for (unsigned level = 0; level <= top; ++level) {
    std::map<int64_t, int64_t> numberOf;
    std::vector<int64_t> of;
    std::vector<std::vector<int64_t>> lists;
    for (size_t i = 0; i < group.size(); ++i) {
      int64_t where = cluster.groupOf(group[i], level);
      auto [at, isNew] = numberOf.emplace(where, lists.size());
      if (isNew)
        lists.emplace_back();
      lists[at->second].push_back(i);
      of.push_back(at->second);
    }
    runOf.push_back(std::move(of));
    members.push_back(std::move(lists));
  }
}

Phase emptyPhase(const Cluster &cluster, const std::vector<RankList> &groups) {
  Phase phase{Traffic(cluster), -1, {}, false, 0};
  for (const RankList &group : groups)
    if (group.size() > 1)
      phase.level =
          std::max(phase.level, static_cast<int>(cluster.levelOf(group)));
  return phase;
}

Phase directGather(const Cluster &cluster, const std::vector<RankList> &groups,
                   const GroupWeights &bytes) {
  Phase phase = emptyPhase(cluster, groups);
  for (size_t g = 0; g < groups.size(); ++g) {
    const RankList &group = groups[g];
    Runs runs(cluster, group);
    // What a run holds, and of how many members: less the run inside, that is
    // what its members exchange over the level.
    std::vector<double> inside = bytes[g];
    std::vector<int64_t> insideCount(group.size());
    for (size_t i = 0; i < group.size(); ++i)
      insideCount[i] = bytes[g][i] > 0;
    for (unsigned level = 0; level <= runs.top; ++level)
      for (const std::vector<int64_t> &run : runs.members[level]) {
        double total = 0, largest = 0;
        int64_t senders = 0;
        for (int64_t i : run) {
          total += bytes[g][i];
          senders += bytes[g][i] > 0;
          largest = std::max(largest, bytes[g][i]);
        }
        int64_t size = run.size();
        for (int64_t i : run) {
          int64_t peers = size - runs.runSize(static_cast<int>(level) - 1, i);
          phase.traffic.send(group[i], level, bytes[g][i] * peers,
                             bytes[g][i] > 0 ? peers : 0);
          phase.traffic.receive(group[i], level, total - inside[i],
                                senders - insideCount[i]);
          if (peers > 0)
            phase.traffic.notePair(level, largest);
          inside[i] = total;
          insideCount[i] = senders;
        }
      }
  }
  return phase;
}

Phase ringGather(const Cluster &cluster, const std::vector<RankList> &groups,
                 const GroupWeights &bytes) {
  Phase phase = emptyPhase(cluster, groups);
  phase.hops.assign(cluster.numLevels(), 0);
  for (size_t g = 0; g < groups.size(); ++g) {
    const RankList &group = groups[g];
    size_t n = group.size();
    if (n < 2)
      continue;
    Runs runs(cluster, group);
    double total = std::accumulate(bytes[g].begin(), bytes[g].end(), 0.0);
    // Neighbours in the ring are neighbours in the machine.
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return group[a] < group[b]; });
    std::vector<int64_t> hops(cluster.numLevels(), 0);
    for (size_t at = 0; at < n; ++at) {
      size_t i = order[at], next = order[(at + 1) % n];
      double out = total - bytes[g][next], in = total - bytes[g][i];
      if (at + 1 < n)
        ++hops[cluster.levelOf(group[i], group[next])];
      // As many rings as a run has members, each of which leaves the run at
      // another member, share the bytes.
      for (unsigned level = 0; level <= runs.top; ++level) {
        double share = 1.0 / runs.runSize(static_cast<int>(level) - 1, i);
        if (level < runs.top)
          share -= 1.0 / runs.runSize(level, i);
        if (share <= 0)
          continue;
        phase.traffic.send(group[i], level, out * share);
        phase.traffic.receive(group[i], level, in * share);
        phase.traffic.notePair(level, out * share / (n - 1));
      }
    }
    // The first step is the round's own.
    --hops[runs.top];
    for (unsigned level = 0; level < cluster.numLevels(); ++level)
      phase.hops[level] = std::max(phase.hops[level], hops[level]);
  }
  return phase;
}

Phase multicastGather(const Cluster &cluster,
                      const std::vector<RankList> &groups,
                      const GroupWeights &bytes) {
  Phase phase = emptyPhase(cluster, groups);
  phase.inNetwork = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    const RankList &group = groups[g];
    if (group.size() < 2)
      continue;
    unsigned level = cluster.levelOf(group);
    double total = std::accumulate(bytes[g].begin(), bytes[g].end(), 0.0);
    for (size_t i = 0; i < group.size(); ++i) {
      phase.traffic.send(group[i], level, bytes[g][i]);
      phase.traffic.receive(group[i], level, total - bytes[g][i]);
    }
  }
  return phase;
}

Phase directExchange(const Cluster &cluster,
                     const std::vector<RankList> &groups,
                     const GroupWeights &sends) {
  Phase phase = emptyPhase(cluster, groups);
  for (size_t g = 0; g < groups.size(); ++g) {
    size_t n = groups[g].size();
    for (size_t from = 0; from < n; ++from)
      for (size_t to = 0; to < n; ++to)
        phase.traffic.move(groups[g][from], groups[g][to],
                           sends[g][from * n + to]);
  }
  return phase;
}

std::vector<Phase> reversed(std::vector<Phase> phases) {
  std::reverse(phases.begin(), phases.end());
  for (Phase &phase : phases)
    phase.traffic = phase.traffic.reversed();
  return phases;
}

} // namespace shunt
