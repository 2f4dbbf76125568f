//===- LayoutOps.cpp - Redistribute and relabel ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

//===----------------------------------------------------------------------===//
// RedistributeOp
//===----------------------------------------------------------------------===//

LogicalResult RedistributeOp::verify() {
  return verifySameShape(*this, getInput().getType(), getType());
}

/// The first axis of `to.partial` whose ranks are not among those that sum up
/// under `from`.
static std::optional<unsigned> foreignPartialAxis(const Layout &from,
                                                  const Layout &to) {
  std::vector<int64_t> groupOf(from.mesh.world());
  int64_t number = 0;
  for (const RankList &ranks : from.mesh.groups(from.partial)) {
    for (Rank rank : ranks)
      groupOf[rank] = number;
    ++number;
  }
  for (unsigned axis : to.partial)
    for (const RankList &ranks : to.mesh.groups({axis}))
      for (Rank rank : ranks)
        if (groupOf[rank] != groupOf[ranks.front()])
          return axis;
  return std::nullopt;
}

LogicalResult RedistributeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  if (failed(resolver.batchSpec(getBatch().getType())))
    return failure();
  std::optional<Layout> from, to;
  for (auto [type, layout] :
       {std::pair(getInput().getType(), &from), std::pair(getType(), &to)}) {
    if (!isLaidOutTensor(type))
      continue;
    FailureOr<Layout> resolved =
        verifyTokens(*this, resolver, type, getBatch());
    if (failed(resolved))
      return failure();
    *layout = std::move(*resolved);
  }
  if (!from || !to)
    return success();
  std::optional<unsigned> axis = foreignPartialAxis(*from, *to);
  if (!axis)
    return success();
  InFlightDiagnostic diag =
      emitOpError() << "result is partial on axis '"
                    << to->mesh.axes()[*axis].name << "' of mesh @"
                    << to->mesh.name() << " but the operand's partial axes are "
                    << axesText(from->mesh, from->partial) << " of mesh @"
                    << from->mesh.name()
                    << "; only a computation makes partial sums, drop the axis "
                       "from `partial` ["
                    << (from->partial.empty() ? "X_LAYOUT" : "X_WRONG_GROUP")
                    << "]";
  noteProducer(diag, getInput(), "operand");
  return failure();
}

OpFoldResult RedistributeOp::fold(FoldAdaptor) {
  // Two open layouts of one spelling may be decided differently. In a graph
  // region a value may be made of itself, and there is nothing to fold to.
  if (getInput().getType() == getType() && isLaidOutTensor(getType()) &&
      getInput() != getResult())
    return getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// RelabelOp
//===----------------------------------------------------------------------===//

LogicalResult RelabelOp::verify() {
  return verifySameShape(*this, getInput().getType(), getType());
}

/// The groups over `axesA` and `axesB` of the first rank for which they differ.
static std::pair<RankList, RankList> firstDifference(const Mesh &a,
                                                     const AxisList &axesA,
                                                     const Mesh &b,
                                                     const AxisList &axesB) {
  for (RankList &ranks : a.groups(axesA)) {
    RankList others = b.group(ranks.front(), axesB);
    if (ranks != others)
      return {std::move(ranks), std::move(others)};
  }
  return {};
}

/// The block of an inner dimension that `rank` holds when `axes`, major to
/// minor, split it.
static int64_t blockOf(const Mesh &mesh, ArrayRef<unsigned> axes, Rank rank) {
  int64_t block = 0;
  for (unsigned axis : axes)
    block = block * mesh.axes()[axis].size + mesh.coordinate(rank, axis);
  return block;
}

namespace {
/// A rank that holds another block of an inner dimension under two layouts.
struct InnerDifference {
  unsigned dim;
  Rank rank;
  int64_t fromBlock, fromParts, toBlock, toParts;
};
} // namespace

/// Compares the blocks of the inner dimensions of tensors of `rank` dimensions.
static FailureOr<std::optional<InnerDifference>>
compareInner(Resolver &resolver, int64_t rank, const Mesh &from,
             LayoutAttr fromAttr, const Mesh &to, LayoutAttr toAttr) {
  auto axesOf = [&](const Mesh &mesh, LayoutAttr attr, unsigned dim) {
    return resolver.axes(
        mesh, ArrayAttr::get(attr.getContext(), attr.getInnerAxes(dim)));
  };
  for (unsigned dim = 1; dim < rank; ++dim) {
    FailureOr<AxisList> fromAxes = axesOf(from, fromAttr, dim);
    FailureOr<AxisList> toAxes = axesOf(to, toAttr, dim);
    if (failed(fromAxes) || failed(toAxes))
      return failure();
    if (fromAxes->empty() && toAxes->empty())
      continue;
    int64_t fromParts = from.groupSize(*fromAxes);
    int64_t toParts = to.groupSize(*toAxes);
    for (Rank rank = 0; rank < from.world(); ++rank) {
      int64_t fromBlock = blockOf(from, *fromAxes, rank);
      int64_t toBlock = blockOf(to, *toAxes, rank);
      if (fromBlock != toBlock || fromParts != toParts)
        return std::optional(
            InnerDifference{dim, rank, fromBlock, fromParts, toBlock, toParts});
    }
  }
  return std::optional<InnerDifference>();
}

bool checks::isRelabel(Resolver &resolver, RankedTensorType from,
                       RankedTensorType to) {
  LayoutAttr fromAttr = getLayout(from), toAttr = getLayout(to);
  FailureOr<Layout> a = resolver.layout(fromAttr), b = resolver.layout(toAttr);
  if (failed(a) || failed(b) || !sameRows(*a, *b) ||
      !sameGroups(a->mesh, a->partial, b->mesh, b->partial))
    return false;
  FailureOr<std::optional<InnerDifference>> difference = compareInner(
      resolver, from.getRank(), a->mesh, fromAttr, b->mesh, toAttr);
  return succeeded(difference) && !*difference;
}

/// Says that the two layouts of `op` differ, with notes at their meshes.
static InFlightDiagnostic reportDifference(RelabelOp op, Resolver &resolver,
                                           const Twine &message) {
  InFlightDiagnostic diag = op.emitOpError() << message;
  FlatSymbolRefAttr from = getLayout(op.getInput().getType()).getMesh();
  FlatSymbolRefAttr to = getLayout(op.getType()).getMesh();
  for (FlatSymbolRefAttr name : {from, to})
    if (MeshOp mesh = resolver.meshOp(name);
        mesh && (name == from || from != to))
      diag.attachNote(mesh.getLoc()) << "mesh " << name << " is here";
  return diag;
}

LogicalResult RelabelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Layout> from =
      verifyTokens(*this, resolver, getInput().getType(), getBatch());
  if (failed(from))
    return failure();
  FailureOr<Layout> to = verifyTokens(*this, resolver, getType(), getBatch());
  if (failed(to))
    return failure();

  std::string fromName = "@" + from->mesh.name(),
              toName = "@" + to->mesh.name();
  if (!sameRows(*from, *to)) {
    auto [cells, others] =
        firstDifference(from->mesh, from->gathered(), to->mesh, to->gathered());
    if (cells.empty())
      return emitOpError() << "goes to a mesh of another world [E_MESH]";
    reportDifference(*this, resolver,
                     "relabels rows that are not the same: rank " +
                         Twine(cells.front()) + " holds the cells of ranks " +
                         tableText(cells) + " under " + fromName + " but of " +
                         tableText(others) + " under " + toName +
                         "; move the rows first (shunt.all_gather, "
                         "shunt.slice, shunt.all_to_all) or let shunt-plan "
                         "choose (shunt.redistribute) [X_ROW_MISMATCH]");
    return failure();
  }
  if (!sameGroups(from->mesh, from->partial, to->mesh, to->partial)) {
    auto [ranks, others] =
        firstDifference(from->mesh, from->partial, to->mesh, to->partial);
    if (to->partial.empty())
      return emitOpError() << "drops the partial sums on axes "
                           << axesText(from->mesh, from->partial) << " of mesh "
                           << fromName
                           << "; reduce them first (shunt.all_reduce or "
                              "shunt.reduce_scatter) [X_INCOMPLETE]";
    reportDifference(*this, resolver,
                     "relabels partial sums over other ranks: ranks " +
                         tableText(ranks) + " add up under " + fromName +
                         " but " + tableText(others) + " under " + toName +
                         "; reduce before the relabel [X_WRONG_GROUP]");
    return failure();
  }
  FailureOr<std::optional<InnerDifference>> inner = compareInner(
      resolver, getType().getRank(), from->mesh,
      getLayout(getInput().getType()), to->mesh, getLayout(getType()));
  if (failed(inner))
    return failure();
  if (*inner)
    return emitOpError() << "splits dimension " << (*inner)->dim
                         << " differently: rank " << (*inner)->rank
                         << " holds block " << (*inner)->fromBlock << " of "
                         << (*inner)->fromParts << " under " << fromName
                         << " but block " << (*inner)->toBlock << " of "
                         << (*inner)->toParts << " under " << toName
                         << "; a relabel moves no data [X_LAYOUT]";
  return success();
}

OpFoldResult RelabelOp::fold(FoldAdaptor) {
  if (getInput() == getResult())
    return {};
  if (getInput().getType() == getType())
    return getInput();
  // The name in between does not matter.
  auto producer = getInput().getDefiningOp<RelabelOp>();
  if (!producer || producer.getBatch() != getBatch() ||
      producer.getInput() == producer.getResult() ||
      producer.getInput() == getResult())
    return {};
  getInputMutable().assign(producer.getInput());
  return getResult();
}
