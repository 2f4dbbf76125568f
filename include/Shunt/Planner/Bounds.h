//===- Bounds.h - What no plan can do better than ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_BOUNDS_H
#define SHUNT_PLANNER_BOUNDS_H

#include "Shunt/Planner/CostModel.h"

#include <algorithm>

namespace shunt {

/// Where data is and where it must be. A *cell* is a block of it that moves as
/// one: each of its classes is a summand, held whole by every rank of a set
/// (one class: plain data, no sum); every rank of the target needs the sum.
struct Movement {
  struct Cell {
    double bytes = 0;
    /// Indices into `sets`: the holders of each class, and the target.
    std::vector<unsigned> classes;
    unsigned target = 0;
  };

  /// Ranks without duplicates, shared by cells.
  std::vector<RankList> sets;
  std::vector<Cell> cells;
};

/// Bytes that every plan moves, whatever it does.
struct Bounds {
  /// Of the busiest rank: it must receive what it needs and lacks; send what
  /// only it has and others need; and some rank does its part of all sends that
  /// sums and copies take: a rank that completes a sum of m classes comes after
  /// m - 1 sends (m if it holds none), each further target takes one.
  double receive = 0, send = 0, work = 0;
  /// Per level: bytes that must enter, or leave, one of its groups; 0 for the
  /// outermost.
  std::vector<double> cut;
  /// Rounds of messages: 0 when nothing has to move, or 1.
  int64_t rounds = 0;
  /// Rounds in which `work` can be met: 2 where a sum goes to several ranks.
  int64_t roundsAtWork = 0;

  /// Bytes of the busiest rank.
  double moved() const { return std::max({receive, send, work}); }
};

/// `inNetwork`: plans may let switches add and copy, so that `work` is no more
/// than one rank's own bytes. O(kinds of cells · ranks they name).
/// Errors: E_GROUP (a rank beyond the world, or twice in a set; a set that a
/// cell names and that is not there; a cell without a class; a class without a
/// rank), E_SIZE (bytes that are negative or no number).
Result<Bounds> lowerBounds(const Cluster &cluster, const Movement &movement,
                           bool inNetwork = false);

/// Seconds that every plan of `model` takes at least: no rank beats its ports
/// together, no group its links outward. Admissible as the heuristic of A*.
double boundSeconds(const CostModel &model, const Bounds &bounds);

/// The sizes at which a one-shot all-reduce (one round, everything to everyone)
/// takes as long as a direct one (two rounds) on `ranks` ranks of one level, in
/// bytes: latency · bandwidth · P / ((P - 1)(P - 2)). Infinite for 2 ranks,
/// where one-shot always wins.
double oneShotCrossover(const ClusterLevel &level, int64_t ranks);

/// ⌈log2 ranks⌉: rounds of a gather or scatter on a network on which a rank
/// sends to one rank at a time.
int64_t singlePortRounds(int64_t ranks);

} // namespace shunt

#endif // SHUNT_PLANNER_BOUNDS_H
