//===- MoeOps.cpp - Route, dispatch and combine ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisLists.h"
#include "MoeChecks.h"
#include "Shunt/IR/Moe.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

Result<Placement> shunt::makePlacement(MoePlacement kind, ArrayAttr table,
                                       int64_t experts, int64_t ranks) {
  switch (kind) {
  case MoePlacement::Even:
    return Placement::even(experts, ranks);
  case MoePlacement::Balanced:
    return Placement::balanced(experts, ranks);
  case MoePlacement::Table:
    break;
  }
  std::vector<std::vector<int64_t>> lists;
  for (Attribute list : table) {
    ArrayRef<int64_t> held = cast<DenseI64ArrayAttr>(list).asArrayRef();
    lists.emplace_back(held.begin(), held.end());
  }
  if (int64_t(lists.size()) != ranks)
    return Error{"E_PLACEMENT",
                 "lists the experts of " + countText(lists.size(), "rank") +
                     ", but a group has " + std::to_string(ranks)};
  return Placement::fromTable(experts, lists);
}

FailureOr<RoutingGroup> shunt::routingGroup(Resolver &resolver,
                                            RoutingType type) {
  FailureOr<Layout> layout = resolver.layout(type.getSource());
  if (failed(layout))
    return failure();
  FailureOr<AxisList> over = resolver.axes(layout->mesh, type.getOver());
  if (failed(over))
    return failure();
  llvm::sort(*over);
  return RoutingGroup{layout->mesh, *over};
}

int64_t shunt::nodeSizeOf(const RoutingGroup &group, int64_t ranksPerNode) {
  std::vector<RankList> groups = group.mesh.groups(group.over);
  auto nodeOf = [&](Rank rank) { return rank / ranksPerNode; };
  const RankList &first = groups.front();
  size_t size = 1;
  while (size < first.size() && nodeOf(first[size]) == nodeOf(first[0]))
    ++size;
  for (const RankList &ranks : groups)
    for (size_t i = 1; i < ranks.size(); ++i)
      if ((nodeOf(ranks[i]) == nodeOf(ranks[i - 1])) != (i % size != 0))
        return 1;
  return size;
}

bool checks::isSummable(Type type) {
  return type.isF32() || type.isBF16() || type.isF16();
}

LogicalResult checks::verifySummable(Operation *op, StringRef name, Type type) {
  if (isSummable(type))
    return success();
  return op->emitOpError() << "has " << name << " of " << type
                           << ", expected f32, bf16 or f16 [X_DTYPE]";
}

static bool sameNames(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return a.size() == b.size() && llvm::all_of(a, [&](StringAttr name) {
           return llvm::is_contained(b, name);
         });
}

/// Axes, as sets, of a layout and of another.
static bool sameLayout(LayoutAttr a, LayoutAttr b) {
  return a.getMesh() == b.getMesh() && a.getInner() == b.getInner() &&
         sameNames(a.getTokens(), b.getTokens()) &&
         sameNames(a.getPartial(), b.getPartial());
}

/// Checks that `type`, of what `name` says, is routed as `routing` says.
static LogicalResult verifyRouted(Operation *op, StringRef name, Type type,
                                  RoutingType routing) {
  RoutedAttr routed = getRouted(type);
  if (routed.getMesh() == routing.getMesh() &&
      sameNames(routed.getTokens(), routing.getTokens()) &&
      sameNames(routed.getOver(), routing.getOver()))
    return success();
  return op->emitOpError() << "has " << name << " with encoding " << routed
                           << " but a routing " << routing
                           << "; state the routing's mesh, tokens and over "
                              "[X_ROUTING]";
}

/// The rows' types, but for encoding and number of rows.
static LogicalResult verifySameRows(Operation *op, RankedTensorType rows,
                                    RankedTensorType other, StringRef what) {
  if (rows.getElementType() == other.getElementType() &&
      rows.getShape().drop_front() == other.getShape().drop_front())
    return success();
  return op->emitOpError() << "has " << what << " of type "
                           << withEncoding(other, {}) << " for rows of type "
                           << withEncoding(rows, {})
                           << "; they differ in the number of rows only "
                              "[X_SHAPE]";
}

//===----------------------------------------------------------------------===//
// RouteOp
//===----------------------------------------------------------------------===//

LogicalResult RouteOp::verify() {
  RoutingType routing = getType();
  auto verifySlots = [&](StringRef name, RankedTensorType type,
                         bool rightType) -> LogicalResult {
    if (!rightType)
      return emitOpError() << "has " << name << " of " << type.getElementType()
                           << "; ids are i32, scores f32 [X_DTYPE]";
    if (type.getRank() != 2 || type.getDimSize(1) != routing.getTopK())
      return emitOpError() << "has " << name << " of type "
                           << withEncoding(type, {})
                           << "; give each token top_k = " << routing.getTopK()
                           << " [X_SHAPE]";
    if (!sameLayout(getLayout(type), routing.getSource()))
      return emitOpError() << "has " << name << " with layout "
                           << getLayout(type) << " but routes tokens of layout "
                           << routing.getSource()
                           << "; redistribute them [X_ROUTING]";
    return success();
  };
  RankedTensorType ids = getIds().getType();
  if (failed(verifySlots("ids", ids, ids.getElementType().isInteger(32))))
    return failure();
  if (getScores()) {
    RankedTensorType scores = getScores().getType();
    if (failed(verifySlots("scores", scores, scores.getElementType().isF32())))
      return failure();
  }
  return verifyRouteRules(*this, routing.getExperts(), getAlgorithm(),
                          bool(getScores()));
}

LogicalResult RouteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  if (failed(verifyTokens(*this, resolver, getIds().getType(), getBatch())) ||
      (getScores() && failed(verifyTokens(*this, resolver,
                                          getScores().getType(), getBatch()))))
    return failure();
  FailureOr<RoutingGroup> group = routingGroup(resolver, getType());
  if (failed(group))
    return failure();
  Result<Placement> placement = makePlacement(
      getPlacement(), getTableAttr(), getType().getExperts(), group->size());
  if (!placement)
    return resolver.fail(placement.error());
  if (getAlgorithm() == MoeAlgorithm::Local && group->size() != 1)
    return emitOpError() << "is local but its experts are on groups of "
                         << group->size() << " ranks over "
                         << axesText(group->mesh, group->over) << " of mesh @"
                         << group->mesh.name()
                         << "; leave the algorithm out, or choose one that "
                            "moves rows [X_ROUTING]";
  return success();
}

namespace {
/// Experts that are all on one rank: nothing moves, whatever the algorithm.
struct LocalRoute : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RouteOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getAlgorithm() == MoeAlgorithm::Local)
      return rewriter.notifyMatchFailure(op, "local already");
    Resolver resolver(op, Resolver::Silent());
    FailureOr<RoutingGroup> group = routingGroup(resolver, op.getType());
    if (failed(group) || group->size() != 1)
      return rewriter.notifyMatchFailure(op, "groups of several ranks");
    rewriter.modifyOpInPlace(op, [&] { op.setAlgorithm(MoeAlgorithm::Local); });
    return success();
  }
};

/// Counts that are known are not exchanged: rows go straight to their experts.
struct StaticCounts : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RouteOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getStaticCounts() || op.getAlgorithm())
      return rewriter.notifyMatchFailure(op, "counts unknown, or decided");
    rewriter.modifyOpInPlace(op,
                             [&] { op.setAlgorithm(MoeAlgorithm::AllToAll); });
    return success();
  }
};

/// One slot can be added up in one order only.
struct OneSlot : OpRewritePattern<CombineOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CombineOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getRouting().getType().getTopK() != 1 ||
        op.getOrder() == MoeOrder::Slot)
      return rewriter.notifyMatchFailure(op, "several slots, or slot order");
    rewriter.modifyOpInPlace(op, [&] { op.setOrder(MoeOrder::Slot); });
    return success();
  }
};
} // namespace

void RouteOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<LocalRoute, StaticCounts>(context);
}

void CombineOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<OneSlot>(context);
}

//===----------------------------------------------------------------------===//
// DispatchOp
//===----------------------------------------------------------------------===//

LogicalResult DispatchOp::verify() {
  RoutingType routing = getRouting().getType();
  if (getPayloads().empty())
    return emitOpError() << "has no payload; give at least one [X_SHAPE]";
  if (getPayloads().size() != getResults().size())
    return emitOpError() << "has " << getPayloads().size() << " payloads but "
                         << getResults().size()
                         << " results; give one for each [X_SHAPE]";
  auto route = getRouting().getDefiningOp<RouteOp>();
  for (auto [payload, result] : llvm::zip(getPayloads(), getResults())) {
    auto from = cast<RankedTensorType>(payload.getType());
    auto to = cast<RankedTensorType>(result.getType());
    RoutedAttr routed = getRouted(to);
    if (failed(verifySameRows(*this, from, to, "a result")) ||
        failed(verifyRouted(*this, "a result", to, routing)))
      return failure();
    if (getLayout(from).isPartial()) {
      InFlightDiagnostic diag = emitOpError()
                                << "sends partial sums over "
                                << axesText(getLayout(from).getPartial())
                                << "; reduce them first (shunt.all_reduce or "
                                   "shunt.reduce_scatter) [X_PARTIAL_INPUT]";
      noteProducer(diag, payload, "payload");
      return diag;
    }
    if (!sameLayout(getLayout(from), routed.getSource()))
      return emitOpError()
             << "has a payload with layout " << getLayout(from)
             << " but a result with encoding " << routed
             << "; tokens, inner and partial axes are the same before and "
                "after [X_ROUTING]";
    if (routed.getRankMajor() !=
        getRouted(getResult(0).getType()).getRankMajor())
      return emitOpError() << "has results that are rank-major and others that "
                              "are not; make all one [X_ROUTING]";
    if (routed.getScored() &&
        failed(verifySummable(*this, "scored rows", to.getElementType())))
      return failure();
    if (!route)
      continue;
    if (routed.getScored() && !route.getScores()) {
      InFlightDiagnostic diag =
          emitOpError() << "makes scored rows by a routing without scores; "
                           "give the route scores [X_ROUTING]";
      diag.attachNote(route.getLoc()) << "routing is made here";
      return diag;
    }
    if (routed.getRankMajor() && route.getAlignment() != 1) {
      InFlightDiagnostic diag =
          emitOpError() << "makes rank-major rows by a routing with alignment "
                        << route.getAlignment()
                        << "; only expert-major rows are padded [E_ALIGN]";
      diag.attachNote(route.getLoc()) << "routing is made here";
      return diag;
    }
  }
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  if (failed(routingGroup(resolver, getRouting().getType())))
    return failure();
  for (Value payload : getPayloads())
    if (failed(resolver.layout(getLayout(payload.getType()))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// ExpertMatmulOp
//===----------------------------------------------------------------------===//

/// How dimension `dim` of the weights is split.
static SmallVector<StringAttr> weightAxes(RankedTensorType weights,
                                          unsigned dim) {
  auto shard = dyn_cast_or_null<ShardAttr>(weights.getEncoding());
  return shard ? toStrings(cast<ArrayAttr>(shard.getDims()[dim]))
               : SmallVector<StringAttr>();
}

static SmallVector<StringAttr> innerNames(RoutedAttr routed, unsigned dim) {
  return llvm::map_to_vector(
      innerAxes(routed.getInner(), dim),
      [](Attribute axis) { return cast<StringAttr>(axis); });
}

/// The experts of the weights: all of them, or those of an even placement.
static LogicalResult verifyExperts(ExpertMatmulOp op, Resolver &resolver) {
  RankedTensorType weights = op.getWeights().getType();
  RoutingType routing = op.getRouting().getType();
  SmallVector<StringAttr> split = weightAxes(weights, 0);
  FailureOr<RoutingGroup> group = routingGroup(resolver, routing);
  if (failed(group))
    return failure();
  if (split.empty())
    return success();
  FailureOr<AxisList> axes = resolver.axes(group->mesh, split);
  if (failed(axes))
    return failure();
  if (*axes != group->over)
    return op.emitOpError()
           << "has experts split over " << axesText(split)
           << " but a routing over " << axesText(group->mesh, group->over)
           << "; split them over the same axes, in mesh order, or not at all "
              "[X_ROUTING]";
  auto route = op.getRouting().getDefiningOp<RouteOp>();
  if (!route || route.getPlacement() == MoePlacement::Even)
    return success();
  InFlightDiagnostic diag =
      op.emitOpError() << "has experts split over " << axesText(split)
                       << ", into equal blocks, but a routing of placement "
                       << stringifyMoePlacement(route.getPlacement())
                       << "; place them evenly, or leave the weights' experts "
                          "whole [E_PLACEMENT]";
  diag.attachNote(route.getLoc()) << "routing is made here";
  return diag;
}

LogicalResult ExpertMatmulOp::verify() {
  RankedTensorType rows = getRows().getType(), weights = getWeights().getType(),
                   result = getType();
  RoutingType routing = getRouting().getType();
  Attribute encoding = weights.getEncoding();
  if (encoding && !isa<ShardAttr>(encoding))
    return emitOpError() << "has weights with encoding " << encoding
                         << "; weights have #shunt.shard or none [X_LAYOUT]";
  if (failed(verifyRouted(*this, "rows", rows, routing)) ||
      failed(verifyRouted(*this, "a result", result, routing)) ||
      failed(verifySummable(*this, "rows", rows.getElementType())))
    return failure();
  bool shapes = rows.getRank() == 2 && weights.getRank() == 3 &&
                result.getRank() == 2 && weights.hasStaticShape() &&
                rows.getDimSize(1) == weights.getDimSize(1) &&
                result.getDimSize(1) == weights.getDimSize(2) &&
                rows.getElementType() == weights.getElementType() &&
                rows.getElementType() == result.getElementType();
  if (!shapes || weights.getDimSize(0) != routing.getExperts())
    return emitOpError() << "multiplies rows " << withEncoding(rows, {})
                         << " by weights " << withEncoding(weights, {})
                         << " to " << withEncoding(result, {}) << "; with "
                         << routing.getExperts()
                         << " experts these are [?, k], ["
                         << routing.getExperts()
                         << ", k, n] and [?, n] of one type [X_SHAPE]";
  RoutedAttr from = getRouted(rows), to = getRouted(result);
  if (from.getRankMajor())
    return emitOpError() << "has rank-major rows, in which an expert's are not "
                            "together; dispatch them expert-major [X_ROUTING]";
  if (!from.getPartial().empty())
    return emitOpError() << "has rows that are partial sums over "
                         << axesText(from.getPartial())
                         << "; reduce them before dispatch [X_PARTIAL_INPUT]";
  if (from.getScored() != to.getScored() || to.getRankMajor())
    return emitOpError() << "makes rows " << to << " of rows " << from
                         << "; order and scores stay as they are [X_ROUTING]";
  if (auto shard = dyn_cast_or_null<ShardAttr>(encoding))
    if (shard.getMesh() != routing.getMesh())
      return emitOpError() << "has weights on mesh " << shard.getMesh()
                           << " and a routing on mesh " << routing.getMesh()
                           << "; use one mesh [X_LAYOUT]";
  SmallVector<StringAttr> k = weightAxes(weights, 1),
                          n = weightAxes(weights, 2);
  for (StringAttr axis : llvm::concat<StringAttr>(k, n))
    if (llvm::is_contained(routing.getTokens(), axis))
      return emitOpError() << "has weights split over '" << axis.getValue()
                           << "', which splits the tokens too: the parts "
                              "belong to different tokens; gather the tokens "
                              "over it first [X_ROW_MISMATCH]";
  if (innerNames(from, 1) != k)
    return emitOpError() << "multiplies rows split over "
                         << axesText(innerNames(from, 1))
                         << " by weights of which that dimension is split over "
                         << axesText(k) << "; split both alike [X_LAYOUT]";
  if (innerNames(to, 1) != n)
    return emitOpError() << "has a result split over "
                         << axesText(innerNames(to, 1))
                         << " but weights split over " << axesText(n)
                         << "; state what follows [X_LAYOUT]";
  if (!sameNames(to.getPartial(), k))
    return emitOpError() << "computes partial sums over " << axesText(k)
                         << ", but its result is partial on "
                         << axesText(to.getPartial())
                         << "; state what follows ["
                         << (to.getPartial().size() < k.size()
                                 ? "X_INCOMPLETE"
                                 : "X_DOUBLE_REDUCE")
                         << "]";
  return success();
}

LogicalResult ExpertMatmulOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  return verifyExperts(*this, resolver);
}

//===----------------------------------------------------------------------===//
// CombineOp
//===----------------------------------------------------------------------===//

LogicalResult CombineOp::verify() {
  RankedTensorType rows = getRows().getType(), result = getType();
  RoutingType routing = getRouting().getType();
  if (failed(verifySameRows(*this, rows, result, "a result")) ||
      failed(verifyRouted(*this, "rows", rows, routing)) ||
      failed(verifySummable(*this, "rows", rows.getElementType())))
    return failure();
  RoutedAttr routed = getRouted(rows);
  if (!sameLayout(routed.getSource(), getLayout(result)))
    return emitOpError() << "brings rows " << routed << " back to layout "
                         << getLayout(result) << "; they come back to "
                         << routed.getSource() << " [X_ROUTING]";
  if (getBias() && getBias().getType() != result)
    return emitOpError() << "has a bias of type " << getBias().getType()
                         << " for a result of type " << result
                         << "; both are the same rows [X_SHAPE]";
  return success();
}

LogicalResult CombineOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  if (failed(routingGroup(resolver, getRouting().getType())))
    return failure();
  return failure(failed(resolver.layout(getLayout(getType()))));
}
