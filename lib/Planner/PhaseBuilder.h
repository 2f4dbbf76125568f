//===- PhaseBuilder.h - Phases of one collective of all groups ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather's phases, read backwards with senders and receivers swapped, are
// those of the scatter of the same rows: the functions here make gathers, and
// the callers turn them round.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_PLANNER_PHASEBUILDER_H
#define SHUNT_LIB_PLANNER_PHASEBUILDER_H

#include "Shunt/Planner/CostModel.h"

namespace shunt {

/// rows[group][member], or bytes where it says so.
using GroupWeights = std::vector<std::vector<double>>;

/// For each level, the members of a group that are together in one group of
/// that level: a *run*.
struct Runs {
  Runs(const Cluster &cluster, const RankList &group);

  /// runOf[level][member], runs numbered by their first member.
  std::vector<std::vector<int64_t>> runOf;
  /// members[level][run], in the order of the group.
  std::vector<std::vector<std::vector<int64_t>>> members;
  /// The level that spans the group.
  unsigned top;

  /// Members in the run of `member` at `level`; 1 below the innermost level.
  int64_t runSize(int level, int64_t member) const {
    return level < 0 ? 1 : members[level][runOf[level][member]].size();
  }
};

/// An empty phase over the levels that the groups span.
Phase emptyPhase(const Cluster &cluster, const std::vector<RankList> &groups);

/// Each member sends its bytes to every other one.
Phase directGather(const Cluster &cluster, const std::vector<RankList> &groups,
                   const GroupWeights &bytes);
/// The same bytes along a ring in each group.
Phase ringGather(const Cluster &cluster, const std::vector<RankList> &groups,
                 const GroupWeights &bytes);
/// The switch copies: each member sends its bytes once.
Phase multicastGather(const Cluster &cluster,
                      const std::vector<RankList> &groups,
                      const GroupWeights &bytes);
/// From the outermost level in, each between members at the same place, so that
/// every byte enters a group of each level once.
std::vector<Phase> hierarchicalGather(const Cluster &cluster,
                                      const std::vector<RankList> &groups,
                                      const GroupWeights &bytes);
/// sends[group][from * members + to] bytes, from member to member.
Phase directExchange(const Cluster &cluster,
                     const std::vector<RankList> &groups,
                     const GroupWeights &sends);
/// The same by way of a member at the sender's place in the receiver's run.
std::vector<Phase> hierarchicalExchange(const Cluster &cluster,
                                        const std::vector<RankList> &groups,
                                        const GroupWeights &sends);

/// Backwards, with senders and receivers swapped.
std::vector<Phase> reversed(std::vector<Phase> phases);

} // namespace shunt

#endif // SHUNT_LIB_PLANNER_PHASEBUILDER_H
