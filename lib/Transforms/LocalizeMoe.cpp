//===- LocalizeMoe.cpp - Routing as one rank sees it ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalizeOps.h"

#include "Shunt/IR/Moe.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shunt {

//===----------------------------------------------------------------------===//
// What is asked of a routing
//===----------------------------------------------------------------------===//

static bool isRouting(Type type) { return isa<RoutingType>(type); }

/// A routing is a handle: it stays in the block that makes it, and regions
/// inside, so that it can be given back at the end.
static LogicalResult checkPlace(Operation *op) {
  bool passesOn = llvm::any_of(op->getOperandTypes(), isRouting) ||
                  llvm::any_of(op->getResultTypes(), isRouting);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      passesOn |= llvm::any_of(block.getArgumentTypes(), isRouting);
  if (!passesOn)
    return success();
  if (!isa<RouteOp, DispatchOp, ExpertMatmulOp, CombineOp>(op))
    return op->emitOpError("passes a routing on; use it in the block of its "
                           "shunt.route, or route again [X_ROUTING]");
  for (Value operand : op->getOperands())
    if (isRouting(operand.getType())) {
      auto route = operand.getDefiningOp<RouteOp>();
      if (!route || !route->getBlock()->findAncestorOpInBlock(*op))
        return op->emitOpError("uses a routing that another block makes; route "
                               "in this one [X_ROUTING]");
    }
  return success();
}

static LogicalResult reportOther(Operation *op, Operation *other,
                                 const Twine &what) {
  InFlightDiagnostic diag =
      op->emitOpError() << what
                        << " than another use of its routing; make a routing "
                           "for each [X_ROUTING]";
  diag.attachNote(other->getLoc()) << "other use is here";
  return diag;
}

static LogicalResult learn(RouteOp route, RouteDemands &demands) {
  if (route.getScores())
    demands.score = MoeScore::After;
  Operation *dispatch = nullptr, *combine = nullptr, *scored = nullptr;
  for (Operation *user : route->getUsers()) {
    if (auto op = dyn_cast<DispatchOp>(user)) {
      for (Type type : op->getResultTypes()) {
        RoutedAttr routed = getRouted(type);
        if (dispatch && routed.getRankMajor() != demands.rankMajor)
          return reportOther(op, dispatch, "has another order of rows");
        demands.rankMajor = routed.getRankMajor();
        dispatch = op;
        if (routed.getScored())
          scored = op;
      }
    }
    auto op = dyn_cast<CombineOp>(user);
    if (!op)
      continue;
    MoeScore score = demands.score;
    if (getRouted(op.getRows().getType()).getScored())
      score = MoeScore::Before;
    else if (score == MoeScore::Before)
      score = MoeScore::After;
    if (combine && (score != demands.score || op.getOrder() != demands.order))
      return reportOther(op, combine,
                         "adds up in another order, or scored "
                         "rows with others,");
    demands.score = score;
    demands.order = op.getOrder();
    combine = op;
  }
  if (!scored)
    return success();
  if (combine && demands.score == MoeScore::After)
    return reportOther(combine, scored,
                       "multiplies rows by scores, at another place");
  demands.score = MoeScore::Before;
  return success();
}

LogicalResult learnRoutes(ModuleOp module, LocalizeContext &context) {
  WalkResult walk = module.walk([&](Operation *op) {
    if (failed(checkPlace(op)))
      return WalkResult::interrupt();
    auto route = dyn_cast<RouteOp>(op);
    if (route && failed(learn(route, context.routes[op])))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static LogicalResult localizeRoute(RouteOp op, const LocalizeContext &context) {
  Resolver resolver(op, context.symbols);
  FailureOr<RoutingGroup> group = routingGroup(resolver, op.getType());
  FailureOr<ClusterOp> cluster = resolver.cluster(op.getType().getMesh());
  if (failed(group) || failed(cluster))
    return failure();
  std::optional<MoeAlgorithm> algorithm = op.getAlgorithm();
  if (group->size() == 1)
    algorithm = MoeAlgorithm::Local;
  if (!algorithm)
    return op.emitOpError("has no algorithm yet; run shunt-plan first, or "
                          "state one [X_NOT_PLANNED]");
  RouteDemands demands = context.routes.lookup(op);
  OpBuilder builder(op);
  auto local = LocalRouteOp::create(
      builder, op.getLoc(), LocalRoutingType::get(op.getContext()), op.getIds(),
      demands.score == MoeScore::None ? Value() : op.getScores(),
      groupsAttr(op.getContext(), group->mesh, group->over),
      op.getType().getExperts(), *algorithm, op.getPlacement(),
      op.getTableAttr(), op.getStaticCountsAttr(), demands.score, demands.order,
      op.getOverflow(), op.getCapacityAttr(), op.getBoundAttr(),
      op.getAlignment(), nodeSizeOf(*group, cluster->getRanksPerNode()),
      op.getPadEmpty(), demands.rankMajor, op.getStepAttr());
  // The order of rows over capacity asks for scores that no sum needs.
  if (op.getOverflow() == MoeOverflow::DropLowest && !local.getScores())
    local.getScoresMutable().assign(op.getScores());
  builder.setInsertionPoint(op->getBlock()->getTerminator());
  LocalReleaseOp::create(builder, op.getLoc(), local);
  op.getResult().replaceAllUsesWith(local);
  op.erase();
  return success();
}

static Value routedRows(OpBuilder &builder, Location loc, Value routing) {
  return LocalRoutedRowsOp::create(builder, loc, builder.getIndexType(),
                                   routing);
}

static LogicalResult localizeDispatch(DispatchOp op,
                                      const LocalizeContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value rows = routedRows(builder, loc, op.getRouting());
  for (auto [payload, result] : llvm::zip(op.getPayloads(), op.getResults())) {
    RankedTensorType type = context.localType(result);
    Value init = emptyRows(builder, loc, type, rows, payload);
    auto local = LocalDispatchOp::create(
        builder, loc, TypeRange(type), payload, init, op.getRouting(),
        getRouted(result.getType()).getScored(), op.getStepAttr());
    result.replaceAllUsesWith(local.getResult(0));
  }
  op.erase();
  return success();
}

static LogicalResult localizeExpertMatmul(ExpertMatmulOp op,
                                          const LocalizeContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType type = context.localType(op.getResult());
  Value rows = tensor::DimOp::create(builder, loc, op.getRows(), 0);
  auto local = LocalExpertMatmulOp::create(
      builder, loc, TypeRange(type), op.getRows(), op.getWeights(),
      emptyRows(builder, loc, type, rows, op.getRows()), op.getRouting());
  RoutedAttr routed = getRouted(op.getType());
  if (failed(
          markPartial(local, routed.getMesh(), routed.getPartial(), context)))
    return failure();
  op.getResult().replaceAllUsesWith(local.getResult(0));
  op.erase();
  return success();
}

static LogicalResult localizeCombine(CombineOp op,
                                     const LocalizeContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType type = context.localType(op.getResult());
  auto route = op.getRouting().getDefiningOp<RouteOp>();
  Value rows = tensor::DimOp::create(builder, loc, route.getIds(), 0);
  auto local = LocalCombineOp::create(
      builder, loc, TypeRange(type), op.getRows(), op.getBias(),
      emptyRows(builder, loc, type, rows, op.getRows()), op.getRouting(),
      op.getStepAttr());
  op.getResult().replaceAllUsesWith(local.getResult(0));
  op.erase();
  return success();
}

LogicalResult localizeMoeOp(Operation *op, const LocalizeContext &context) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](RouteOp route) { return localizeRoute(route, context); })
      .Case([&](DispatchOp send) { return localizeDispatch(send, context); })
      .Case([&](ExpertMatmulOp product) {
        return localizeExpertMatmul(product, context);
      })
      .Case([&](CombineOp sum) { return localizeCombine(sum, context); })
      .Default([](Operation *) { return success(); });
}

} // namespace shunt
