//===- DispatchCost.h - What dispatch and combine cost ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dispatch kernels are not made of collectives: they overlap their legs. So
// their time is a latency and the longest of three legs: rows that stay inside
// the innermost level, rows that leave it (each with its bytes and its
// message), and what the multiprocessors can drive. The rates are the cluster's
// KernelRates; docs/CostModel.md has the fits and their errors.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_DISPATCHCOST_H
#define SHUNT_PLANNER_DISPATCHCOST_H

#include "Shunt/Planner/CostModel.h"

namespace shunt {

enum class DispatchKernel {
  Throughput, ///< few large messages
  LowLatency, ///< every row a message, sent as soon as it is there
};
/// "throughput", "low_latency".
std::string toString(DispatchKernel kernel);

/// Dispatch, or combine, of several expert groups at once. Their members hold
/// experts by one placement.
struct ExpertExchange {
  bool isCombine = false;
  /// World ranks in the order of the placement's; disjoint.
  std::vector<RankList> groups;
  /// tokens[group][member]: tokens whose rows the member sends out, or gets
  /// back.
  std::vector<std::vector<int64_t>> tokens;
  int64_t topK = 1;
  GroupLimit limit;
  /// Of a row on the wire, scales included.
  int64_t rowBytes = 0;
};

/// Expected cost for uniform routing. An all-gather is the cheapest one of
/// whole token rows (back: a reduce-scatter); the others are kernels. Combine
/// moves what dispatch by the same algorithm moves, the other way.
/// Errors: E_GROUP, E_COUNTS_LEN, E_COUNTS_NEG as for collectives; E_SIZE (a
/// group that is not as large as the placement, choices beyond the experts).
Result<Cost> expertCost(const CostModel &model, const Placement &placement,
                        const ExpertExchange &exchange,
                        DispatchAlgorithm algorithm, DispatchKernel kernel);

/// The same from known rows: volumes[group][member] as `dispatchRows` counts
/// them, with nodes of `nodeSizeOf` members. Not for all-gathers (E_MODE).
Result<Cost> expertCost(const CostModel &model, const ExpertExchange &exchange,
                        const std::vector<std::vector<Volume<double>>> &volumes,
                        DispatchAlgorithm algorithm, DispatchKernel kernel);

/// Consecutive members that share a group of the innermost level: the node size
/// of RoutingVolume.h. 1 where they are not blocks of equal size (the last one
/// maybe smaller): then every other rank counts as far.
int64_t nodeSizeOf(const Cluster &cluster, const RankList &group);

struct ExpertChoice {
  DispatchAlgorithm algorithm = DispatchAlgorithm::AllToAll;
  DispatchKernel kernel = DispatchKernel::Throughput;
  Cost cost;
};
/// The algorithm and kernel of least time; of equal ones the one with fewer
/// bytes, then the first. Low-latency kernels send slots (AllToAll) only.
Result<ExpertChoice> bestExpertCost(const CostModel &model,
                                    const Placement &placement,
                                    const ExpertExchange &exchange);

/// The exchange of counts that comes before a dispatch of exact sizes: each
/// rank tells each other one the rows for its experts, in 4 bytes each.
Result<Cost> countExchangeCost(const CostModel &model,
                               const Placement &placement,
                               const std::vector<RankList> &groups);

} // namespace shunt

#endif // SHUNT_PLANNER_DISPATCHCOST_H
