//===- Moe.h - Dispatchers and routings -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_MOE_H
#define SHUNT_RUNTIME_MOE_MOE_H

#include "Handles.h"
#include "Plan.h"
#include "Pool.h"
#include "RowKernels.h"
#include "Workspace.h"
#include "shunt/moe.h"

#include "Shunt/Core/RoutingVolume.h"

#include <optional>

struct shunt_moe {
  shunt_moe(shunt_comm *comm, shunt_group *group,
            const shunt_moe_options &options, shunt::Placement placement);
  ~shunt_moe();

  /// Whether copies per rank, and per node, must be known.
  bool countsCopies() const {
    return options.algorithm == SHUNT_MOE_ALL_TO_ALL_DEDUP ||
           options.algorithm == SHUNT_MOE_HIERARCHICAL;
  }

  int64_t me() const { return group->me; }
  int64_t ranks() const { return static_cast<int64_t>(group->ranks.size()); }
  shunt::Nodes nodes() const { return {ranks(), options.node_size}; }
  shunt::RowOrder rowOrder() const;
  shunt::RouteRules rules() const;

  shunt_comm *const comm;
  shunt_group *const group;
  /// Defaults filled in; the pointers are those of the caller and null here.
  shunt_moe_options options;
  shunt::Placement placement;
  std::vector<uint8_t> active;
  /// Of every source, for each expert; empty if counts are exchanged.
  std::vector<int64_t> staticCounts;
  /// Rows go straight to their place: ranks share memory.
  bool direct;
  /// What its collectives are part of, as long as a call of the C API lasts.
  shunt::rt::Purpose purpose;
  /// Members have compared their options.
  bool agreed = false;
  shunt::rt::Pool pool;
  shunt::rt::Workspace workspace;
  /// Routings that were given back, for their memory.
  std::vector<std::unique_ptr<shunt_moe_routing>> spare;
};

struct shunt_moe_routing {
  explicit shunt_moe_routing(shunt_moe *moe) : moe(moe) {}

  shunt_moe *const moe;
  /// The group's number of the call that exchanged the counts.
  uint64_t number = 0;
  shunt::Routing own;
  /// One for each slot; empty with SCORE_NONE.
  std::vector<float> scores;
  std::optional<shunt::RouteCounts> counts;
  shunt::Arrivals arrivals;
  std::vector<int64_t> sendSplits, recvSplits;
  /// One copy of a token for each rank, and for each node: from every source.
  /// Empty if the algorithm does not ask.
  std::vector<int64_t> rankCopies, nodeCopies;
  std::vector<int64_t> tokens;
  /// For direct placement.
  shunt::Destinations destinations;
  /// Otherwise.
  shunt::rt::Plan plan;
};

namespace shunt::rt {

/// The core's error as one of a call.
Error asError(const shunt_moe &moe, const char *what,
              const shunt::Error &error);

/// Collectives of the group that return the comm's status.
shunt_status gatherRows(shunt_moe &moe, const void *in, int64_t inRows,
                        void *out, const std::vector<int64_t> &counts,
                        int64_t rowElems, shunt_dtype dtype);
shunt_status exchangeRows(shunt_moe &moe, const void *in,
                          const std::vector<int64_t> &send, void *out,
                          const std::vector<int64_t> &recv, int64_t rowElems,
                          shunt_dtype dtype);
shunt_status reduceRows(shunt_moe &moe, const void *in, void *out,
                        const std::vector<int64_t> &counts, int64_t rowElems,
                        shunt_dtype dtype);

/// Makes the plan of an algorithm that does not place rows directly; exchanges
/// what the owners must know.
shunt_status makePlan(shunt_moe_routing &routing);

/// What combine is asked for.
struct CombineCall {
  const char *in;
  char *out;
  int64_t rowElems, rowBytes;
  shunt_dtype dtype;
  const char *bias;

  const char *biasOf(int64_t token) const {
    return bias ? bias + token * rowBytes : nullptr;
  }
};

shunt_status dispatchDirect(shunt_moe_routing &routing,
                            const shunt_moe_payload &payload);
shunt_status dispatchPlanned(shunt_moe_routing &routing,
                             const shunt_moe_payload &payload);
shunt_status combineDirect(shunt_moe_routing &routing, const CombineCall &call);
/// Slots come back one by one and are added up at their source.
shunt_status combineSlots(shunt_moe_routing &routing, const CombineCall &call);
/// Partial sums come back by the plan's way.
shunt_status combinePartials(shunt_moe_routing &routing,
                             const CombineCall &call);
/// Whether the order of summation and the algorithm allow partial sums.
bool sendsPartials(const shunt_moe_routing &routing, const CombineCall &call);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_MOE_H
