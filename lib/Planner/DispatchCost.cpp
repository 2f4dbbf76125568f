//===- DispatchCost.cpp - see DispatchCost.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/DispatchCost.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace shunt {

std::string toString(DispatchKernel kernel) {
  return kernel == DispatchKernel::Throughput ? "throughput" : "low_latency";
}

int64_t nodeSizeOf(const Cluster &cluster, const RankList &group) {
  int64_t first = 0, members = group.size();
  while (first < members &&
         cluster.groupOf(group[first], 0) == cluster.groupOf(group[0], 0))
    ++first;
  if (first == 0)
    return 1;
  std::vector<int64_t> seen;
  for (int64_t start = 0; start < members; start += first) {
    int64_t node = cluster.groupOf(group[start], 0);
    if (std::find(seen.begin(), seen.end(), node) != seen.end())
      return 1;
    seen.push_back(node);
    for (int64_t i = start; i < std::min(start + first, members); ++i)
      if (cluster.groupOf(group[i], 0) != node)
        return 1;
  }
  return first;
}

/// The collective that does the same with whole token rows. Also what checks
/// groups and counts.
static CollectiveCall asCollective(const ExpertExchange &exchange) {
  CollectiveCall e;
  e.kind = exchange.isCombine ? CollectiveKind::ReduceScatter
                              : CollectiveKind::AllGather;
  e.groups = exchange.groups;
  e.rows = exchange.tokens;
  e.rowBytes = exchange.rowBytes;
  return e;
}

namespace {
/// The busiest rank's legs, in seconds.
struct Legs {
  double near = 0, far = 0, sms = 0;
};
} // namespace

static double orElse(double value, double otherwise) {
  return value > 0 ? value : otherwise;
}

static double latencyOf(const CostModel &model, const KernelRates &rates,
                        const ExpertExchange &exchange, int level,
                        DispatchAlgorithm algorithm) {
  const Cluster &cluster = model.cluster();
  double own = cluster.level(level).latency;
  if (level > 0 && algorithm == DispatchAlgorithm::Hierarchical)
    own += cluster.level(0).latency;
  return orElse(
      exchange.isCombine ? rates.combineLatency : rates.dispatchLatency, own);
}

Result<Cost> expertCost(const CostModel &model, const ExpertExchange &exchange,
                        const std::vector<std::vector<Volume<double>>> &volumes,
                        DispatchAlgorithm algorithm, DispatchKernel kernel) {
  if (algorithm == DispatchAlgorithm::AllGather)
    return Error{"E_MODE", "an all_gather is no dispatch kernel; price it as a "
                           "collective"};
  // Checks groups and counts.
  CollectiveCall checked = asCollective(exchange);
  Result<std::vector<Phase>> phases =
      model.phases(checked, CollectiveAlgorithm::Direct);
  if (!phases)
    return phases.error();
  const Cluster &cluster = model.cluster();
  const KernelRates &rates = kernel == DispatchKernel::Throughput
                                 ? cluster.spec().throughput
                                 : cluster.spec().lowLatency;
  Phase phase{Traffic(cluster), phases->front().level, {}, false, 0};
  Legs legs;
  bool goesFar = false;
  for (size_t g = 0; g < exchange.groups.size(); ++g) {
    const RankList &group = exchange.groups[g];
    if (g >= volumes.size() || volumes[g].size() != group.size())
      return Error{"E_COUNTS_LEN", "group " + std::to_string(g) + " of " +
                                       std::to_string(group.size()) +
                                       " ranks needs as many volumes"};
    unsigned level = cluster.levelOf(group);
    double nearRate = orElse(rates.nearBandwidth, cluster.level(0).bandwidth);
    double farRate = orElse(rates.farBandwidth, cluster.level(level).bandwidth);
    for (size_t i = 0; i < group.size(); ++i) {
      Volume<double> v = volumes[g][i];
      if (exchange.isCombine) {
        std::swap(v.sent, v.received);
        std::swap(v.sentFar, v.receivedFar);
      }
      double b = static_cast<double>(exchange.rowBytes);
      double nearSent = v.sent - v.sentFar;
      double nearReceived = v.received - v.receivedFar;
      goesFar |= v.sentFar > 0;
      double farMessages = kernel == DispatchKernel::LowLatency ? v.sentFar : 0;
      phase.traffic.send(group[i], 0, nearSent * b, 0);
      phase.traffic.receive(group[i], 0, nearReceived * b, 0);
      phase.traffic.send(group[i], level, v.sentFar * b, farMessages);
      phase.traffic.receive(group[i], level, v.receivedFar * b, 0);
      double near = std::max(nearSent, nearReceived) * b;
      double far = std::max(v.sentFar, v.receivedFar) * b;
      legs.near = std::max(legs.near, near / nearRate);
      legs.far = std::max(legs.far,
                          far / farRate + farMessages * rates.farMessageCost);
      if (model.sms() > 0 && rates.bandwidthPerSm > 0)
        legs.sms = std::max(legs.sms, (near + far) /
                                          (rates.bandwidthPerSm * model.sms()));
    }
  }
  Cost cost = model.cost({phase});
  if (phase.level < 0)
    return cost;
  cost.seconds = latencyOf(model, rates, exchange, phase.level, algorithm) +
                 std::max({legs.near, legs.far, legs.sms});
  if (goesFar && algorithm == DispatchAlgorithm::Hierarchical)
    cost.rounds = cost.steps = 2;
  return cost;
}

Result<Cost> expertCost(const CostModel &model, const Placement &placement,
                        const ExpertExchange &exchange,
                        DispatchAlgorithm algorithm, DispatchKernel kernel) {
  if (algorithm == DispatchAlgorithm::AllGather) {
    Result<CostModel::Choice> choice = model.best(asCollective(exchange));
    if (!choice)
      return choice.error();
    return choice->cost;
  }
  std::vector<std::vector<Volume<double>>> volumes;
  for (size_t g = 0; g < exchange.groups.size(); ++g) {
    if (g >= exchange.tokens.size() ||
        exchange.tokens[g].size() != exchange.groups[g].size())
      return Error{"E_COUNTS_LEN",
                   "group " + std::to_string(g) + " of " +
                       std::to_string(exchange.groups[g].size()) +
                       " ranks needs as many token counts"};
    Result<std::vector<Volume<double>>> rows = expectedDispatchRows(
        algorithm, placement, exchange.tokens[g], exchange.topK,
        nodeSizeOf(model.cluster(), exchange.groups[g]), exchange.limit);
    if (!rows)
      return rows.error();
    volumes.push_back(std::move(*rows));
  }
  return expertCost(model, exchange, volumes, algorithm, kernel);
}

Result<ExpertChoice> bestExpertCost(const CostModel &model,
                                    const Placement &placement,
                                    const ExpertExchange &exchange) {
  std::optional<ExpertChoice> best;
  for (auto [algorithm, kernel] :
       {std::pair{DispatchAlgorithm::Hierarchical, DispatchKernel::Throughput},
        std::pair{DispatchAlgorithm::AllToAllDedup, DispatchKernel::Throughput},
        std::pair{DispatchAlgorithm::AllToAll, DispatchKernel::LowLatency},
        std::pair{DispatchAlgorithm::AllToAll, DispatchKernel::Throughput},
        std::pair{DispatchAlgorithm::AllGather, DispatchKernel::Throughput}}) {
    Result<Cost> cost =
        expertCost(model, placement, exchange, algorithm, kernel);
    if (!cost)
      return cost.error();
    if (!best || std::tie(cost->seconds, cost->moved) <
                     std::tie(best->cost.seconds, best->cost.moved))
      best = ExpertChoice{algorithm, kernel, *cost};
  }
  return *best;
}

Result<Cost> countExchangeCost(const CostModel &model,
                               const Placement &placement,
                               const std::vector<RankList> &groups) {
  CollectiveCall e;
  e.kind = CollectiveKind::AllToAll;
  e.groups = groups;
  e.rowBytes = 4;
  for (const RankList &group : groups) {
    int64_t members = group.size();
    if (members != placement.ranks())
      return Error{"E_SIZE", "a group of " + std::to_string(members) +
                                 " ranks holds experts placed on " +
                                 std::to_string(placement.ranks())};
    std::vector<int64_t> counts;
    for (int64_t from = 0; from < members; ++from)
      for (int64_t to = 0; to < members; ++to)
        counts.push_back(placement.localInstances(to));
    e.sends.push_back(std::move(counts));
  }
  return model.price(e, CollectiveAlgorithm::Direct);
}

} // namespace shunt
