//===- DispatchChoice.cpp - see DispatchChoice.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/DispatchChoice.h"

#include "Shunt/Planner/DispatchCost.h"

using namespace mlir;

namespace shunt {

static_assert(int(DispatchAlgorithm::AllToAll) == int(MoeAlgorithm::AllToAll) &&
                  int(DispatchAlgorithm::AllGather) ==
                      int(MoeAlgorithm::AllGather) &&
                  int(DispatchAlgorithm::AllToAllDedup) ==
                      int(MoeAlgorithm::AllToAllDedup) &&
                  int(DispatchAlgorithm::Hierarchical) ==
                      int(MoeAlgorithm::Hierarchical),
              "the dialect's algorithms are those of the core");

DispatchAlgorithm combineAlgorithm(DispatchAlgorithm algorithm,
                                   MoeOrder order) {
  bool byRank = order == MoeOrder::RankSlot;
  bool byNode = order == MoeOrder::NodeRankSlot;
  switch (algorithm) {
  case DispatchAlgorithm::AllGather:
  case DispatchAlgorithm::AllToAllDedup:
    return byRank ? algorithm : DispatchAlgorithm::AllToAll;
  case DispatchAlgorithm::Hierarchical:
    return byNode ? algorithm : DispatchAlgorithm::AllToAll;
  case DispatchAlgorithm::AllToAll:
    break;
  }
  return DispatchAlgorithm::AllToAll;
}

namespace {
/// One use of a routing that moves rows.
struct Leg {
  bool isCombine;
  int64_t rowBytes;
  MoeOrder order;
};
} // namespace

static SmallVector<Leg> legsOf(RouteOp op) {
  SmallVector<Leg> legs;
  for (Operation *user : op->getUsers()) {
    if (auto dispatch = dyn_cast<DispatchOp>(user))
      for (Type type : dispatch->getResultTypes())
        legs.push_back(
            {false, rowBytes(cast<RankedTensorType>(type)), MoeOrder::Slot});
    if (auto combine = dyn_cast<CombineOp>(user))
      legs.push_back({true, rowBytes(combine.getType()), combine.getOrder()});
  }
  return legs;
}

FailureOr<std::vector<DispatchEstimate>>
estimateDispatch(RouteOp op, SymbolTableCollection &symbols) {
  Resolver resolver(op, symbols);
  RoutingType routing = op.getType();
  FailureOr<RoutingGroup> group = routingGroup(resolver, routing);
  FailureOr<Layout> source = resolver.layout(routing.getSource());
  FailureOr<ClusterOp> clusterOp = resolver.cluster(routing.getMesh());
  if (failed(group) || failed(source) || failed(clusterOp))
    return failure();
  FailureOr<std::optional<Batch>> batch = resolver.batch(op.getBatch());
  if (failed(batch))
    return failure();
  Result<Placement> placement =
      makePlacement(op.getPlacement(), op.getTableAttr(), routing.getExperts(),
                    group->size());
  if (!placement)
    return resolver.fail(placement.error());
  Result<Cluster> cluster =
      Cluster::fromPreset(clusterOp->getPreset().value_or("generic").str(),
                          clusterOp->getNodes(), clusterOp->getRanksPerNode());
  if (!cluster) {
    (*clusterOp)->emitOpError() << cluster.error().str();
    return failure();
  }

  std::vector<DispatchEstimate> estimates;
  if (group->size() == 1) {
    estimates.push_back({MoeAlgorithm::Local, 0, 0, 0});
    return estimates;
  }
  if (routing.getTopK() > routing.getExperts())
    return estimates;
  std::vector<int64_t> rows =
      *batch ? rowCounts(**batch, *source)
             : std::vector<int64_t>(source->mesh.world(), kAssumedTokens);
  ExpertExchange exchange;
  exchange.topK = routing.getTopK();
  exchange.groups = group->mesh.groups(group->over);
  for (const RankList &ranks : exchange.groups)
    exchange.tokens.push_back(countsOf(rows, ranks));
  CostModel model(*cluster);
  SmallVector<Leg> legs = legsOf(op);
  for (DispatchAlgorithm algorithm :
       {DispatchAlgorithm::AllToAll, DispatchAlgorithm::AllGather,
        DispatchAlgorithm::AllToAllDedup, DispatchAlgorithm::Hierarchical}) {
    DispatchEstimate estimate;
    estimate.algorithm = static_cast<MoeAlgorithm>(algorithm);
    for (const Leg &leg : legs) {
      exchange.isCombine = leg.isCombine;
      exchange.rowBytes = leg.rowBytes;
      Result<Cost> cost = expertCost(
          model, *placement, exchange,
          leg.isCombine ? combineAlgorithm(algorithm, leg.order) : algorithm,
          DispatchKernel::Throughput);
      if (!cost)
        return resolver.fail(cost.error());
      estimate.seconds += cost->seconds;
      estimate.bytes += cost->moved;
      for (double bytes : llvm::drop_begin(cost->levelBytes))
        estimate.farBytes += bytes;
    }
    estimates.push_back(estimate);
  }
  // Of equal ones the one that moves less, then the first.
  llvm::sort(estimates, [](const auto &a, const auto &b) {
    return std::tuple(a.seconds, a.bytes, a.algorithm) <
           std::tuple(b.seconds, b.bytes, b.algorithm);
  });
  return estimates;
}

} // namespace shunt
