//===- Routed.cpp - Dispatches and combines of a plan ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "Shunt/Analysis/DispatchChoice.h"

using namespace mlir;

namespace shunt::plan {

namespace {
/// A routing with its symbols resolved.
struct RouteInfo {
  RouteInfo(RoutingGroup group, Placement placement)
      : group(std::move(group)), placement(std::move(placement)) {}

  RoutingGroup group;
  Placement placement;
  int64_t topK = 1, nodeSize = 1;
  /// Of each group the tokens, and the routings if ids are known, of its
  /// members.
  std::vector<std::vector<int64_t>> tokens;
  std::vector<std::vector<Routing>> routings;
};
} // namespace

/// The ids of all rows of the batch, -1 in padding.
static Result<std::vector<int32_t>> idsOfRows(const Batch &batch,
                                              const RoutingSource &source,
                                              uint64_t seed, int64_t experts,
                                              int64_t topK) {
  Result<std::vector<int32_t>> valid =
      readExpertIds(source, batch.totalValid(), experts, topK, seed);
  if (!valid)
    return valid.error();
  std::vector<int32_t> ids;
  auto next = valid->begin();
  for (auto [rows, kept] : llvm::zip(batch.partRows(), batch.partValid())) {
    ids.insert(ids.end(), next, next + kept * topK);
    next += kept * topK;
    ids.insert(ids.end(), (rows - kept) * topK, -1);
  }
  return ids;
}

/// What each member of each group routes, when ids are known.
static MaybeError route(RouteInfo &info, const Batch &batch,
                        const Layout &source, const std::vector<int32_t> &ids) {
  for (const RankList &ranks : info.group.mesh.groups(info.group.over)) {
    std::vector<Routing> &routings = info.routings.emplace_back();
    for (auto [position, rank] : llvm::enumerate(ranks)) {
      std::vector<int32_t> own;
      int64_t tokens = 0;
      for (const RowRun &run : rowsOf(batch, source, rank)) {
        auto first = ids.begin() + run.offset * info.topK;
        own.insert(own.end(), first, first + run.rows * info.topK);
        tokens += run.rows;
      }
      Result<Routing> routing = Routing::create(info.placement, position,
                                                own.data(), tokens, info.topK);
      if (!routing)
        return routing.error();
      routings.push_back(std::move(*routing));
    }
  }
  return std::nullopt;
}

static FailureOr<RouteInfo> readRoute(RouteOp op, const LayerStack &stack,
                                      const Options &options,
                                      SymbolTableCollection &symbols) {
  Resolver resolver(op, symbols);
  RoutingType type = op.getType();
  FailureOr<RoutingGroup> group = routingGroup(resolver, type);
  FailureOr<Layout> source = resolver.layout(type.getSource());
  FailureOr<ClusterOp> cluster = resolver.cluster(type.getMesh());
  if (failed(group) || failed(source) || failed(cluster))
    return failure();
  Result<Placement> placement = makePlacement(
      op.getPlacement(), op.getTableAttr(), type.getExperts(), group->size());
  if (!placement)
    return resolver.fail(placement.error());
  RouteInfo info(*group, *placement);
  info.topK = type.getTopK();
  info.nodeSize = nodeSizeOf(*group, (*cluster).getRanksPerNode());
  std::vector<int64_t> rows = rowCounts(stack.batch, *source);
  for (const RankList &ranks : group->mesh.groups(group->over))
    info.tokens.push_back(countsOf(rows, ranks));
  if (!options.routing)
    return info;
  Result<std::vector<int32_t>> ids =
      idsOfRows(stack.batch, *options.routing, options.seed, type.getExperts(),
                info.topK);
  if (!ids)
    return resolver.fail(ids.error());
  if (MaybeError error = route(info, stack.batch, *source, *ids))
    return resolver.fail(*error);
  return info;
}

/// Rows of the members of group `index`, for the known ids or as expected.
static Result<std::vector<Volume<double>>>
rowsOfGroup(const RouteInfo &info, size_t index, DispatchAlgorithm how) {
  if (info.routings.empty())
    return expectedDispatchRows(how, info.placement, info.tokens[index],
                                info.topK, info.nodeSize);
  Result<std::vector<Volume<int64_t>>> known =
      dispatchRows(how, info.placement, info.routings[index], info.nodeSize);
  if (!known)
    return known.error();
  std::vector<Volume<double>> volumes;
  for (const Volume<int64_t> &v : *known)
    volumes.push_back({double(v.sent), double(v.received), double(v.sentFar),
                       double(v.receivedFar)});
  return volumes;
}

static LogicalResult addStep(Operation *op, RouteOp route,
                             const RouteInfo &info, RankedTensorType rows,
                             std::optional<MoeOrder> combineOrder,
                             Report &report) {
  RoutedStep step;
  auto label = op->getAttrOfType<StringAttr>("step");
  auto [name, block] = (label ? label.getValue() : StringRef()).split('@');
  step.step = name.str();
  block.getAsInteger(10, step.block);
  step.op = combineOrder ? "combine" : "dispatch";
  step.mesh = info.group.mesh.name();
  for (unsigned axis : info.group.over)
    step.axes.push_back(info.group.mesh.axes()[axis].name);
  step.placement = stringifyMoePlacement(route.getPlacement()).str();
  step.experts = route.getType().getExperts();
  step.topK = info.topK;
  int64_t bits = rows.getElementTypeBitWidth();
  for (int64_t size : rows.getShape().drop_front())
    bits *= size;
  step.rowBytes = bits / 8;
  MoeAlgorithm algorithm = *route.getAlgorithm();
  step.algorithm = stringifyMoeAlgorithm(algorithm).str();
  auto how = algorithm == MoeAlgorithm::Local
                 ? DispatchAlgorithm::AllToAll
                 : static_cast<DispatchAlgorithm>(algorithm);
  if (combineOrder && algorithm != MoeAlgorithm::Local) {
    how = combineAlgorithm(how, *combineOrder);
    step.algorithm = toString(how);
  }
  for (auto [index, ranks] :
       llvm::enumerate(info.group.mesh.groups(info.group.over))) {
    Result<std::vector<Volume<double>>> volumes = rowsOfGroup(info, index, how);
    if (!volumes)
      return op->emitOpError() << volumes.error().str();
    RoutedStep::Group group;
    group.ranks = ranks;
    for (const Volume<double> &v : *volumes) {
      group.sent.push_back(combineOrder ? v.received : v.sent);
      group.received.push_back(combineOrder ? v.sent : v.received);
      step.bytes += group.received.back() * double(step.rowBytes);
    }
    step.groups.push_back(std::move(group));
  }
  report.routed.push_back(std::move(step));
  return success();
}

LogicalResult readRouted(ModuleOp module, const LayerStack &stack,
                         const Options &options, Report &report) {
  report.exactRouting = options.routing.has_value();
  SymbolTableCollection symbols;
  std::map<Operation *, RouteInfo> routes;
  WalkResult walk = module.walk([&](Operation *op) {
    if (auto route = dyn_cast<RouteOp>(op)) {
      FailureOr<RouteInfo> info = readRoute(route, stack, options, symbols);
      if (failed(info))
        return WalkResult::interrupt();
      routes.emplace(op, std::move(*info));
      return WalkResult::advance();
    }
    auto dispatch = dyn_cast<DispatchOp>(op);
    auto combine = dyn_cast<CombineOp>(op);
    if (!dispatch && !combine)
      return WalkResult::advance();
    Value routing = dispatch ? dispatch.getRouting() : combine.getRouting();
    auto route = routing.getDefiningOp<RouteOp>();
    const RouteInfo &info = routes.at(route);
    LogicalResult added = success();
    if (combine)
      added = addStep(op, route, info, combine.getType(), combine.getOrder(),
                      report);
    else
      for (Type type : op->getResultTypes())
        if (succeeded(added))
          added = addStep(op, route, info, cast<RankedTensorType>(type),
                          std::nullopt, report);
    return failed(added) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

} // namespace shunt::plan
