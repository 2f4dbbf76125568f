//===- CostModel.h - What a collective costs on a cluster ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An α–β model. A collective is a list of *phases*; in a phase every rank sends
// and receives at once, so its time is the latency of the outermost level used
// and the time of the busiest port. All inputs are values that every rank
// knows, so every rank computes the same costs and makes the same choice.
//
// Bytes are doubles: whole numbers below 2^53 stay exact, expectations of
// routings are none, and nothing overflows.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_COSTMODEL_H
#define SHUNT_PLANNER_COSTMODEL_H

#include "Shunt/Core/Layout.h"
#include "Shunt/Core/RoutingVolume.h"
#include "Shunt/Planner/Cluster.h"

namespace shunt {

enum class CollectiveKind {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Slice, ///< keeps a part of its own rows: nothing moves
};
std::string toString(CollectiveKind kind);

enum class CollectiveAlgorithm {
  Direct,       ///< each member sends to each other what is for it
  Padded,       ///< as direct, every part as large as the largest
  Ring,         ///< pipelined along a ring per root: loads even out
  Rebalanced,   ///< an all-to-all to even parts, in order, then direct
  Hierarchical, ///< level by level, between members at the same place
  OneShot,      ///< all-reduce: everything to everyone, each adds
  InNetwork,    ///< the switch adds and copies
};
/// "direct", "padded", "ring", "rebalanced", "hierarchical", "one_shot",
/// "in_network".
std::string toString(CollectiveAlgorithm algorithm);
/// Errors: E_MODE.
Result<CollectiveAlgorithm> parseCollectiveAlgorithm(const std::string &text);

/// One collective, run at once by each of several groups: those of a mesh over
/// some axes, say. A rank in no group does nothing.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::Slice;
  /// World ranks in the order of the group; disjoint.
  std::vector<RankList> groups;
  /// rows[group][member]: rows a member has before a gather; gets by a scatter;
  /// all-reduces (of every member the same). Not for AllToAll.
  std::vector<std::vector<int64_t>> rows;
  /// Only for AllToAll: sends[group][from * members + to] rows. The diagonal
  /// stays where it is.
  std::vector<std::vector<int64_t>> sends;
  int64_t rowBytes = 0;
};

/// Bytes that ranks move at the same time.
class Traffic {
public:
  explicit Traffic(const Cluster &cluster);

  /// `bytes` from one rank to another, of `messages` messages; nothing when
  /// they are the same rank.
  void move(Rank from, Rank to, double bytes, double messages = 1);
  /// The same without a pair: `level` is the one whose links are used.
  void send(Rank from, unsigned level, double bytes, double messages = 1);
  void receive(Rank to, unsigned level, double bytes, double messages = 1);
  /// The largest load between two ranks over `level`.
  void notePair(unsigned level, double bytes);

  double sent(Rank rank, unsigned level) const {
    return sentBytes[rank * levels + level];
  }
  double received(Rank rank, unsigned level) const {
    return receivedBytes[rank * levels + level];
  }
  /// Messages that it sends.
  double messages(Rank rank, unsigned level) const {
    return sentMessages[rank * levels + level];
  }
  double pair(unsigned level) const { return pairBytes[level]; }
  int64_t world() const { return ranks; }
  unsigned numLevels() const { return levels; }

  /// Bytes one after another.
  Traffic &operator+=(const Traffic &other);
  /// Swaps what ranks send with what they receive.
  Traffic reversed() const;

private:
  const Cluster *cluster;
  int64_t ranks;
  unsigned levels;
  std::vector<double> sentBytes, receivedBytes, pairBytes;
  std::vector<double> sentMessages, receivedMessages;
};

/// Traffic between two synchronisations.
struct Phase {
  Traffic traffic;
  /// The outermost level that a group spans; -1 when no group has two members,
  /// so that nothing starts. A phase of no bytes still takes its latency.
  int level = -1;
  /// Further steps of a ring beyond the first, per level; empty for direct
  /// messages.
  std::vector<int64_t> hops;
  /// Whether switches add or copy: other rates then.
  bool inNetwork = false;
  /// Bytes that a rank's memory moves before or after (compaction).
  double localBytes = 0;
};

/// Of one collective or of several in sequence. The byte figures are maxima
/// over ranks or groups; those of a sequence are sums of maxima unless they
/// come from the sum of the traffic (`CostModel::cost`).
struct Cost {
  double seconds = 0;
  /// Most bytes that one rank sends; receives; and the greater of the two.
  double sent = 0, received = 0, moved = 0;
  /// Per level: most bytes (greater of sent, received) of a rank over it.
  std::vector<double> levelBytes;
  /// Per level: most bytes that enter or leave one of its groups; 0 for the
  /// outermost.
  std::vector<double> cutBytes;
  /// Synchronised rounds; dependent messages (a ring of n has n - 1).
  int64_t rounds = 0, steps = 0;
  /// Most messages that one rank sends.
  double messages = 0;

  /// In sequence.
  Cost &operator+=(const Cost &next);
};

struct CostOptions {
  /// Streaming multiprocessors that a collective may use; 0: as many as it
  /// wants.
  int64_t sms = 0;
};

class CostModel {
public:
  explicit CostModel(Cluster cluster, CostOptions options = {})
      : machine(std::move(cluster)), options(options) {}

  const Cluster &cluster() const { return machine; }
  int64_t sms() const { return options.sms; }

  /// Whether there is such an algorithm for `kind` on these groups: in-network
  /// needs groups of which all pairs use one level whose switch can,
  /// hierarchical a group that spans levels, one-shot is of all-reduce only.
  bool applies(const CollectiveCall &exchange,
               CollectiveAlgorithm algorithm) const;

  /// Errors: E_GROUP (a rank beyond the world or in two groups), E_COUNTS_LEN
  /// (a vector that is not as long as its group), E_COUNTS_NEG,
  /// X_RAGGED_REDUCE (an all-reduce of different numbers of rows), E_MODE (an
  /// algorithm that does not apply).
  Result<std::vector<Phase>> phases(const CollectiveCall &exchange,
                                    CollectiveAlgorithm algorithm) const;
  Result<Cost> price(const CollectiveCall &exchange,
                     CollectiveAlgorithm algorithm) const;

  struct Choice {
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
    Cost cost;
  };
  /// The algorithm of least time; of equal ones the one with fewer bytes, then
  /// the first of the enum. Same errors.
  Result<Choice> best(const CollectiveCall &exchange) const;

  /// Time, bytes and rounds of phases in sequence. Byte maxima are of the sums.
  Cost cost(const std::vector<Phase> &phases) const;

private:
  double seconds(const Phase &phase) const;
  double rate(unsigned level, bool inNetwork) const;

  Cluster machine;
  CostOptions options;
};

} // namespace shunt

#endif // SHUNT_PLANNER_COSTMODEL_H
