//===- Cluster.h - The machine: levels of links between ranks ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_CLUSTER_H
#define SHUNT_PLANNER_CLUSTER_H

#include "Shunt/Core/Mesh.h"

namespace shunt {

/// The links over which ranks reach each other that are in one group of this
/// level and in different groups of the level inside. Rates are bytes per
/// second of one rank and direction, as a collective reaches them; times are in
/// seconds.
struct ClusterLevel {
  /// "nvlink", "node", "rail", "fabric", …: unique in a cluster.
  std::string name;
  /// Groups of the level inside that make one group; ranks for the innermost.
  int64_t size = 1;
  double bandwidth = 0;
  /// Of each round of messages: launch, synchronisation, the way there.
  double latency = 0;
  /// Of each further step of a pipelined ring.
  double hop = 0;
  /// Of each message that a rank sends, on top of its bytes.
  double messageCost = 0;
  /// Rate between two ranks where a rank reaches `bandwidth` only with several
  /// peers at once, as in a full mesh of links; 0: as `bandwidth`.
  double pairBandwidth = 0;
  /// Rate of a rank's bytes when the switch adds or copies them (NVLS, SHARP);
  /// 0: it cannot.
  double reduceBandwidth = 0;
  /// Rate that one streaming multiprocessor drives; 0: never the limit.
  double bandwidthPerSm = 0;
  /// Whether traffic to ranks further out leaves through these links too (a NIC
  /// serves rail and fabric), or through its own (NVLink beside a NIC).
  bool carriesOuter = false;

  bool inNetwork() const { return reduceBandwidth > 0; }
};

/// What a fused dispatch or combine kernel reaches, from measured rows; see
/// docs/CostModel.md. Rates as in ClusterLevel.
struct KernelRates {
  /// Time of an exchange of nothing; 0: the levels' own.
  double dispatchLatency = 0, combineLatency = 0;
  /// Rates inside the innermost level and beyond it; 0: the levels' own.
  double nearBandwidth = 0, farBandwidth = 0;
  /// Of each row that crosses the innermost level.
  double farMessageCost = 0;
  /// Rate that one streaming multiprocessor drives; 0: never the limit.
  double bandwidthPerSm = 0;
};

struct ClusterSpec {
  std::string name;
  /// From inside to outside; together they hold every rank.
  std::vector<ClusterLevel> levels;
  /// Of a rank's own memory, bytes per second; 0: local copies cost nothing.
  double memoryBandwidth = 0;
  /// Kernels that move few large messages, and those that send every row as
  /// soon as it is there.
  KernelRates throughput, lowLatency;
};

/// A checked ClusterSpec. World rank r is the r-th of the ranks counted from
/// the innermost level out, so groups of every level are consecutive ranks.
class Cluster {
public:
  /// Errors: E_CLUSTER (no levels, a name twice, a size below 1, a rate or time
  /// that is negative or no number, more than 2^20 ranks).
  static Result<Cluster> create(ClusterSpec spec);

  /// `nodes` machines of `ranksPerNode` ranks of the kind that `preset` names:
  /// `generic`, or GPU, scale-up domain and NIC as in `h200-nvl8-cx7`. Domain
  /// and NIC may be left out (`h200`). `presetHelp` lists what there is.
  /// Errors: E_CLUSTER (unknown: names the part; more ranks per node than the
  /// domain has; domains that nodes do not fill evenly).
  static Result<Cluster> fromPreset(const std::string &preset, int64_t nodes,
                                    int64_t ranksPerNode);
  static std::string presetHelp();

  const ClusterSpec &spec() const { return description; }
  const std::string &name() const { return description.name; }
  unsigned numLevels() const { return description.levels.size(); }
  const ClusterLevel &level(unsigned i) const { return description.levels[i]; }
  int64_t world() const { return groupSizes.back(); }

  /// Ranks of one group of `level`, and how many groups there are.
  int64_t groupSize(unsigned level) const { return groupSizes[level]; }
  int64_t numGroups(unsigned level) const {
    return world() / groupSizes[level];
  }
  int64_t groupOf(Rank rank, unsigned level) const {
    return rank / groupSizes[level];
  }
  /// The level whose links two different ranks use: the innermost one of which
  /// they share a group.
  unsigned levelOf(Rank a, Rank b) const;
  /// The level that spans `group`: the greatest `levelOf` of its pairs, 0 for
  /// one rank.
  unsigned levelOf(const RankList &group) const;

private:
  Cluster(ClusterSpec spec, std::vector<int64_t> groupSizes)
      : description(std::move(spec)), groupSizes(std::move(groupSizes)) {}

  ClusterSpec description;
  std::vector<int64_t> groupSizes;
};

} // namespace shunt

#endif // SHUNT_PLANNER_CLUSTER_H
