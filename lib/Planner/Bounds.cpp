//===- Bounds.cpp - see Bounds.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace shunt {

static MaybeError check(const Cluster &cluster, const Movement &movement) {
  std::vector<int64_t> seenIn(cluster.world(), -1);
  for (size_t set = 0; set < movement.sets.size(); ++set)
    for (Rank rank : movement.sets[set]) {
      std::string name = "set " + std::to_string(set) + " of a movement ";
      if (rank < 0 || rank >= cluster.world())
        return Error{"E_GROUP", name + "has rank " + std::to_string(rank) +
                                    ", but cluster '" + cluster.name() +
                                    "' has " + std::to_string(cluster.world()) +
                                    " ranks"};
      if (seenIn[rank] == static_cast<int64_t>(set))
        return Error{"E_GROUP",
                     name + "lists rank " + std::to_string(rank) + " twice"};
      seenIn[rank] = set;
    }
  for (size_t i = 0; i < movement.cells.size(); ++i) {
    const Movement::Cell &cell = movement.cells[i];
    std::string name = "cell " + std::to_string(i) + " of a movement ";
    if (!std::isfinite(cell.bytes) || cell.bytes < 0)
      return Error{"E_SIZE", name + "has " + std::to_string(cell.bytes) +
                                 " bytes, expected a number of at least 0"};
    if (cell.classes.empty())
      return Error{"E_GROUP", name + "has no class; data that nobody holds "
                                     "cannot move"};
    std::vector<unsigned> named = cell.classes;
    named.push_back(cell.target);
    for (unsigned set : named)
      if (set >= movement.sets.size())
        return Error{"E_GROUP", name + "names set " + std::to_string(set) +
                                    " of " +
                                    std::to_string(movement.sets.size())};
    for (unsigned set : cell.classes)
      if (movement.sets[set].empty())
        return Error{"E_GROUP", name + "has a class that no rank holds"};
  }
  return std::nullopt;
}

namespace {
/// Adds up the bounds of cells that share holders and target.
class Adder {
public:
  Adder(const Cluster &cluster, const Movement &movement)
      : cluster(cluster), sets(movement.sets), classesHeld(cluster.world()),
        received(cluster.world()), sent(cluster.world()) {
    for (unsigned level = 0; level + 1 < cluster.numLevels(); ++level) {
      into.emplace_back(cluster.numGroups(level));
      outOf.emplace_back(cluster.numGroups(level));
    }
  }

  void add(const std::vector<unsigned> &classes, unsigned target,
           double bytes) {
    const RankList &needers = sets[target];
    if (needers.empty() || bytes == 0)
      return;
    for (unsigned c : classes)
      for (Rank rank : sets[c])
        ++classesHeld[rank];
    addRankBounds(classes, needers, bytes);
    for (unsigned level = 0; level + 1 < cluster.numLevels(); ++level)
      addCut(classes, needers, bytes, level);
    for (unsigned c : classes)
      for (Rank rank : sets[c])
        classesHeld[rank] = 0;
  }

  Bounds bounds(bool inNetwork) const {
    Bounds b;
    b.receive = *std::max_element(received.begin(), received.end());
    b.send = *std::max_element(sent.begin(), sent.end());
    b.work = inNetwork ? std::max(b.receive, b.send)
                       : sends / static_cast<double>(cluster.world());
    b.cut.assign(cluster.numLevels(), 0);
    for (size_t level = 0; level < into.size(); ++level)
      b.cut[level] =
          std::max(*std::max_element(into[level].begin(), into[level].end()),
                   *std::max_element(outOf[level].begin(), outOf[level].end()));
    b.rounds = moves ? 1 : 0;
    b.roundsAtWork = moves && spreadSums && !inNetwork ? 2 : b.rounds;
    return b;
  }

private:
  void addRankBounds(const std::vector<unsigned> &classes,
                     const RankList &needers, double bytes) {
    int64_t numClasses = classes.size();
    int64_t lacking = 0, mostHeld = 1;
    bool targetHolds = false;
    for (Rank rank : needers) {
      targetHolds |= classesHeld[rank] > 0;
      if (classesHeld[rank] < numClasses) {
        received[rank] += bytes;
        ++lacking;
      }
    }
    for (unsigned c : classes)
      for (Rank rank : sets[c])
        mostHeld = std::max(mostHeld, classesHeld[rank]);
    for (Rank rank : soleHolders(classes))
      if (needers.size() > 1 || needers.front() != rank)
        sent[rank] += bytes;
    moves |= lacking > 0;
    if (lacking == 0)
      return;
    int64_t here = lacking;
    if (mostHeld < numClasses) {
      // Nobody has the sum yet. Contributors: at least as many as it takes to
      // have all classes.
      int64_t contributors = (numClasses + mostHeld - 1) / mostHeld;
      int64_t others = static_cast<int64_t>(needers.size()) - 1;
      here = contributors - targetHolds + others;
      spreadSums |= others > 0;
    }
    sends += bytes * static_cast<double>(here);
  }

  /// Ranks that alone hold some class, each once.
  RankList soleHolders(const std::vector<unsigned> &classes) const {
    RankList ranks;
    for (unsigned c : classes)
      if (sets[c].size() == 1)
        ranks.push_back(sets[c].front());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  void addCut(const std::vector<unsigned> &classes, const RankList &needers,
              double bytes, unsigned level) {
    std::map<int64_t, int64_t> classesIn, needersIn;
    // A class without a holder outside a group must leave it.
    std::map<int64_t, bool> onlyIn;
    for (unsigned c : classes) {
      std::vector<int64_t> groups;
      for (Rank rank : sets[c])
        groups.push_back(cluster.groupOf(rank, level));
      std::sort(groups.begin(), groups.end());
      groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
      for (int64_t group : groups)
        ++classesIn[group];
      if (groups.size() == 1)
        onlyIn[groups.front()] = true;
    }
    for (Rank rank : needers)
      ++needersIn[cluster.groupOf(rank, level)];
    for (auto [group, count] : needersIn) {
      auto at = classesIn.find(group);
      if (at == classesIn.end() ||
          at->second < static_cast<int64_t>(classes.size()))
        into[level][group] += bytes;
    }
    for (auto [group, only] : onlyIn) {
      auto at = needersIn.find(group);
      int64_t inside = at == needersIn.end() ? 0 : at->second;
      if (inside < static_cast<int64_t>(needers.size()))
        outOf[level][group] += bytes;
    }
  }

  const Cluster &cluster;
  const std::vector<RankList> &sets;
  std::vector<int64_t> classesHeld;
  std::vector<double> received, sent;
  std::vector<std::vector<double>> into, outOf; // [level][group]
  double sends = 0;
  bool moves = false, spreadSums = false;
};
} // namespace

Result<Bounds> lowerBounds(const Cluster &cluster, const Movement &movement,
                           bool inNetwork) {
  if (MaybeError error = check(cluster, movement))
    return *error;
  // Equal cells are one: layouts have few kinds of them.
  std::map<std::pair<std::vector<unsigned>, unsigned>, double> bytesOf;
  for (const Movement::Cell &cell : movement.cells)
    bytesOf[{cell.classes, cell.target}] += cell.bytes;
  Adder adder(cluster, movement);
  for (const auto &[sets, bytes] : bytesOf)
    adder.add(sets.first, sets.second, bytes);
  return adder.bounds(inNetwork);
}

double boundSeconds(const CostModel &model, const Bounds &bounds) {
  const Cluster &cluster = model.cluster();
  if (bounds.rounds == 0)
    return 0;
  // Rate of a rank over `level` and all outside it: their ports together,
  // unless they are one.
  unsigned levels = cluster.numLevels();
  std::vector<double> outward(levels);
  for (unsigned level = levels; level-- > 0;) {
    const ClusterLevel &l = cluster.level(level);
    outward[level] = std::max(l.bandwidth, l.reduceBandwidth);
    if (level + 1 < levels && !l.carriesOuter)
      outward[level] += outward[level + 1];
  }
  double seconds = bounds.moved() / outward[0];
  unsigned outermost = 0;
  for (unsigned level = 0; level + 1 < levels; ++level) {
    if (bounds.cut[level] <= 0)
      continue;
    outermost = level + 1;
    seconds = std::max(seconds, bounds.cut[level] / (cluster.groupSize(level) *
                                                     outward[level + 1]));
  }
  double latency = std::numeric_limits<double>::infinity();
  for (unsigned level = outermost; level < levels; ++level)
    latency = std::min(latency, cluster.level(level).latency);
  return seconds + latency;
}

double oneShotCrossover(const ClusterLevel &level, int64_t ranks) {
  if (ranks <= 2)
    return std::numeric_limits<double>::infinity();
  return level.latency * level.bandwidth * ranks /
         static_cast<double>((ranks - 1) * (ranks - 2));
}

int64_t singlePortRounds(int64_t ranks) {
  int64_t rounds = 0;
  while ((int64_t(1) << rounds) < ranks)
    ++rounds;
  return rounds;
}

} // namespace shunt
