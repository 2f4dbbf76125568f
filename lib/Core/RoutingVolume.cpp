//===- RoutingVolume.cpp - see RoutingVolume.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/RoutingVolume.h"

#include "Text.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace shunt {

std::string toString(DispatchAlgorithm algorithm) {
  switch (algorithm) {
  case DispatchAlgorithm::AllToAll:
    return "all_to_all";
  case DispatchAlgorithm::AllGather:
    return "all_gather";
  case DispatchAlgorithm::AllToAllDedup:
    return "all_to_all_dedup";
  case DispatchAlgorithm::Hierarchical:
    return "hierarchical";
  }
  return "";
}

Result<DispatchAlgorithm> parseDispatchAlgorithm(const std::string &text) {
  for (DispatchAlgorithm algorithm :
       {DispatchAlgorithm::AllToAll, DispatchAlgorithm::AllGather,
        DispatchAlgorithm::AllToAllDedup, DispatchAlgorithm::Hierarchical})
    if (text == toString(algorithm))
      return algorithm;
  return Error{"E_MODE", "unknown dispatch algorithm '" + text +
                             "'; want all_to_all, all_gather, "
                             "all_to_all_dedup or hierarchical"};
}

Result<int64_t> rowBytes(int64_t rows, int64_t bytesPerRow) {
  int64_t bytes;
  if (__builtin_mul_overflow(rows, bytesPerRow, &bytes))
    return Error{"E_OVERFLOW", plural(rows, "row") + " of " +
                                   plural(bytesPerRow, "byte") +
                                   " do not fit into 64 bits"};
  return bytes;
}

double touchProbability(int64_t experts, int64_t some, int64_t topK) {
  double none = 1;
  for (int64_t i = 0; i < topK; ++i)
    none *= static_cast<double>(std::max<int64_t>(experts - some - i, 0)) /
            static_cast<double>(experts - i);
  return 1 - none;
}

/// Ways to choose `k` of `n`.
static double choose(int64_t n, int64_t k) {
  if (k < 0 || k > n)
    return 0;
  double ways = 1;
  for (int64_t i = 0; i < k; ++i)
    ways *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return ways;
}

double touchProbability(int64_t experts, const std::vector<int64_t> &inGroup,
                        int64_t topK, GroupLimit limit) {
  // ways[j]: number of experts met → ways to choose j of the groups that have
  // some of the experts.
  std::vector<std::map<int64_t, double>> ways(limit.chosen + 1);
  ways[0][0] = 1;
  int64_t others = 0;
  for (int64_t here : inGroup) {
    if (here == 0) {
      ++others;
      continue;
    }
    for (int64_t j = limit.chosen; j > 0; --j)
      for (auto [met, n] : ways[j - 1])
        ways[j][met + here] += n;
  }
  int64_t left = experts / limit.groups * limit.chosen;
  double touched = 0;
  for (int64_t j = 0; j <= limit.chosen; ++j)
    for (auto [met, n] : ways[j])
      touched += n * choose(others, limit.chosen - j) *
                 touchProbability(left, met, topK);
  return touched / choose(limit.groups, limit.chosen);
}

namespace {
template <typename Number> class Counter {
public:
  explicit Counter(Nodes nodes) : nodes(nodes), volumes(nodes.ranks) {}

  void move(int64_t from, int64_t to, Number rows) {
    if (from == to)
      return;
    volumes[from].sent += rows;
    volumes[to].received += rows;
    if (nodes.nodeOf(from) == nodes.nodeOf(to))
      return;
    volumes[from].sentFar += rows;
    volumes[to].receivedFar += rows;
  }

  /// Adds what `source` sends. The lists are those of `Demand`, of this source.
  void count(DispatchAlgorithm algorithm, int64_t source, Number tokens,
             const Number *rows, const Number *rankCopies,
             const Number *nodeCopies) {
    if (algorithm == DispatchAlgorithm::Hierarchical)
      for (int64_t node = 0; node < nodes.count(); ++node)
        move(source, nodes.forwarder(source, node), nodeCopies[node]);
    for (int64_t rank = 0; rank < nodes.ranks; ++rank) {
      switch (algorithm) {
      case DispatchAlgorithm::AllGather:
        move(source, rank, tokens);
        break;
      case DispatchAlgorithm::AllToAll:
        move(source, rank, rows[rank]);
        break;
      case DispatchAlgorithm::AllToAllDedup:
        move(source, rank, rankCopies[rank]);
        break;
      case DispatchAlgorithm::Hierarchical:
        move(nodes.forwarder(source, nodes.nodeOf(rank)), rank,
             rankCopies[rank]);
        break;
      }
    }
  }

  std::vector<Volume<Number>> take() { return std::move(volumes); }

private:
  Nodes nodes;
  std::vector<Volume<Number>> volumes;
};
} // namespace

static MaybeError checkSizes(const Placement &placement, size_t sources,
                             int64_t nodeSize) {
  if (static_cast<int64_t>(sources) != placement.ranks())
    return Error{"E_SIZE", "got " + plural(sources, "source") +
                               ", but the placement has " +
                               plural(placement.ranks(), "rank")};
  if (nodeSize < 1)
    return Error{"E_SIZE", "node size is " + std::to_string(nodeSize) +
                               ", expected at least 1 rank"};
  return std::nullopt;
}

std::vector<Volume<int64_t>> dispatchRows(DispatchAlgorithm algorithm,
                                          const RouteDemand &demand,
                                          Nodes nodes) {
  Counter<int64_t> counter(nodes);
  // A list that the algorithm does not read may be empty.
  auto from = [](const std::vector<int64_t> &list, int64_t begin) {
    return list.empty() ? nullptr : list.data() + begin;
  };
  for (int64_t source = 0; source < nodes.ranks; ++source)
    counter.count(algorithm, source,
                  demand.tokens.empty() ? 0 : demand.tokens[source],
                  from(demand.rows, source * nodes.ranks),
                  from(demand.rankCopies, source * nodes.ranks),
                  from(demand.nodeCopies, source * nodes.count()));
  return counter.take();
}

static void append(std::vector<int64_t> &all,
                   const std::vector<int64_t> &more) {
  all.insert(all.end(), more.begin(), more.end());
}

Result<std::vector<Volume<int64_t>>>
dispatchRows(DispatchAlgorithm algorithm, const Placement &placement,
             const std::vector<Routing> &routings, int64_t nodeSize) {
  if (MaybeError error = checkSizes(placement, routings.size(), nodeSize))
    return *error;
  RouteDemand demand;
  int64_t most = (int64_t(1) << 62) / placement.ranks() / 2;
  for (const Routing &routing : routings) {
    // No rank moves more than every slot, or every token, of every source.
    if (routing.slots() > most / placement.ranks())
      return Error{"E_OVERFLOW", plural(routing.slots(), "slot") +
                                     " on each of " +
                                     plural(placement.ranks(), "rank") +
                                     " are more than 2^62 rows"};
    demand.tokens.push_back(routing.tokens);
    append(demand.rows, routing.sendSplits);
    append(demand.rankCopies, CopyPlan::create(placement, routing).counts);
    append(demand.nodeCopies,
           CopyPlan::create(placement, routing, nodeSize).counts);
  }
  return dispatchRows(algorithm, demand, {placement.ranks(), nodeSize});
}

Result<std::vector<Volume<double>>>
expectedDispatchRows(DispatchAlgorithm algorithm, const Placement &placement,
                     const std::vector<int64_t> &tokens, int64_t topK,
                     int64_t nodeSize, GroupLimit limit) {
  if (MaybeError error = checkSizes(placement, tokens.size(), nodeSize))
    return *error;
  int64_t experts = placement.experts();
  if (limit.groups < 1 || experts % limit.groups != 0 || limit.chosen < 1 ||
      limit.chosen > limit.groups)
    return Error{"E_SIZE", "a token cannot choose " +
                               std::to_string(limit.chosen) + " of " +
                               plural(limit.groups, "group") + " of " +
                               plural(experts, "expert")};
  int64_t inReach = experts / limit.groups * limit.chosen;
  if (topK < 1 || topK > inReach)
    return Error{"E_SIZE", "a token cannot choose " + std::to_string(topK) +
                               " different ones of " +
                               plural(inReach, "expert")};
  Nodes nodes{placement.ranks(), nodeSize};
  // Of one token: rows and copies that it makes for each rank and node.
  std::vector<double> rows, rankCopies, nodeCopies;
  auto expect = [&](int64_t source) {
    // Experts in each place, by their group.
    std::vector<std::vector<int64_t>> onRank(
        placement.ranks(), std::vector<int64_t>(limit.groups));
    std::vector<std::vector<int64_t>> onNode(
        nodes.count(), std::vector<int64_t>(limit.groups));
    for (int64_t expert = 0; expert < experts; ++expert) {
      int64_t rank = placement.rankOf(placement.instanceFor(expert, source));
      int64_t group = expert / (experts / limit.groups);
      ++onRank[rank][group];
      ++onNode[nodes.nodeOf(rank)][group];
    }
    // Places repeat each other.
    std::map<std::vector<int64_t>, double> known;
    auto touch = [&](const std::vector<int64_t> &here) {
      auto [found, isNew] = known.try_emplace(here, 0);
      if (isNew)
        found->second = touchProbability(experts, here, topK, limit);
      return found->second;
    };
    rows.clear();
    rankCopies.clear();
    nodeCopies.clear();
    for (const std::vector<int64_t> &here : onRank) {
      int64_t all = std::accumulate(here.begin(), here.end(), int64_t(0));
      rows.push_back(static_cast<double>(topK * all) / experts);
      rankCopies.push_back(touch(here));
    }
    for (const std::vector<int64_t> &here : onNode)
      nodeCopies.push_back(touch(here));
  };
  Counter<double> counter(nodes);
  std::vector<double> sourceRows, sourceRankCopies, sourceNodeCopies;
  auto scaled = [](const std::vector<double> &one, double tokens,
                   std::vector<double> &all) {
    all.clear();
    for (double value : one)
      all.push_back(value * tokens);
    return all.data();
  };
  // Without replicas every source finds an expert on the same rank.
  bool replicas = placement.instances() != experts;
  for (int64_t source = 0; source < placement.ranks(); ++source) {
    if (source == 0 || replicas)
      expect(source);
    double mine = static_cast<double>(tokens[source]);
    counter.count(algorithm, source, mine, scaled(rows, mine, sourceRows),
                  scaled(rankCopies, mine, sourceRankCopies),
                  scaled(nodeCopies, mine, sourceNodeCopies));
  }
  return counter.take();
}

} // namespace shunt
