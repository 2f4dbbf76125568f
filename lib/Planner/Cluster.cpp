//===- Cluster.cpp - see Cluster.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Cluster.h"

#include <cmath>
#include <set>

namespace shunt {

/// As for shunt.cluster.
static constexpr int64_t kMaxWorld = int64_t(1) << 20;

static Error clusterError(const ClusterSpec &spec, const std::string &what) {
  return Error{"E_CLUSTER", "cluster '" + spec.name + "': " + what};
}

namespace {
struct Quantity {
  const char *name;
  double value;
  bool required;
};
} // namespace

static MaybeError checkQuantities(const ClusterSpec &spec,
                                  const std::string &where,
                                  const std::vector<Quantity> &quantities) {
  for (const Quantity &q : quantities)
    if (!std::isfinite(q.value) || q.value < 0 || (q.required && q.value == 0))
      return clusterError(spec, std::string(q.name) + " of " + where + " is " +
                                    std::to_string(q.value) +
                                    "; want a finite number " +
                                    (q.required ? "above 0" : "of at least 0"));
  return std::nullopt;
}

static MaybeError checkKernel(const ClusterSpec &spec, const char *which,
                              const KernelRates &rates) {
  return checkQuantities(
      spec, which,
      {{"dispatch latency", rates.dispatchLatency, false},
       {"combine latency", rates.combineLatency, false},
       {"near bandwidth", rates.nearBandwidth, false},
       {"far bandwidth", rates.farBandwidth, false},
       {"message cost", rates.farMessageCost, false},
       {"bandwidth per multiprocessor", rates.bandwidthPerSm, false}});
}

Result<Cluster> Cluster::create(ClusterSpec spec) {
  if (spec.levels.empty())
    return clusterError(spec, "has no levels; give at least one");
  std::set<std::string> names;
  std::vector<int64_t> sizes;
  int64_t ranks = 1;
  for (const ClusterLevel &level : spec.levels) {
    if (level.name.empty() || !names.insert(level.name).second)
      return clusterError(spec,
                          level.name.empty()
                              ? std::string("a level has no name")
                              : "two levels are named '" + level.name + "'");
    std::string where = "level '" + level.name + "'";
    if (level.size < 1)
      return clusterError(spec, where + " has size " +
                                    std::to_string(level.size) +
                                    ", expected at least 1");
    if (level.size > kMaxWorld / ranks)
      return clusterError(spec, where + " takes it beyond " +
                                    std::to_string(kMaxWorld) + " ranks");
    ranks *= level.size;
    sizes.push_back(ranks);
    if (MaybeError error = checkQuantities(
            spec, where,
            {{"bandwidth", level.bandwidth, true},
             {"latency", level.latency, false},
             {"hop", level.hop, false},
             {"message cost", level.messageCost, false},
             {"pair bandwidth", level.pairBandwidth, false},
             {"reduce bandwidth", level.reduceBandwidth, false},
             {"bandwidth per multiprocessor", level.bandwidthPerSm, false}}))
      return *error;
  }
  if (MaybeError error = checkQuantities(
          spec, "it", {{"memory bandwidth", spec.memoryBandwidth, false}}))
    return *error;
  if (MaybeError error =
          checkKernel(spec, "the throughput kernel", spec.throughput))
    return *error;
  if (MaybeError error =
          checkKernel(spec, "the low-latency kernel", spec.lowLatency))
    return *error;
  return Cluster(std::move(spec), std::move(sizes));
}

unsigned Cluster::levelOf(Rank a, Rank b) const {
  unsigned level = 0;
  while (level + 1 < numLevels() && groupOf(a, level) != groupOf(b, level))
    ++level;
  return level;
}

unsigned Cluster::levelOf(const RankList &group) const {
  unsigned level = 0;
  for (Rank rank : group)
    level = std::max(level, levelOf(group.front(), rank));
  return level;
}

} // namespace shunt
