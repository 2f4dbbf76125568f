//===- ReshardPrices.cpp - see ReshardPrices.h ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"

#include "Shunt/Analysis/LayoutRules.h"

using namespace mlir;

namespace shunt {

static FailureOr<Held> resolveHeld(Resolver &resolver, LayoutAttr attr) {
  FailureOr<Layout> layout = resolver.layout(attr);
  if (failed(layout))
    return failure();
  Held held{*layout, {}};
  if (attr.getInner())
    for (Attribute list : attr.getInner()) {
      FailureOr<AxisList> axes =
          resolver.axes(layout->mesh, cast<ArrayAttr>(list));
      if (failed(axes))
        return failure();
      held.inner.push_back(*axes);
    }
  return held;
}

FailureOr<const CostModel *> ReshardPrices::modelOf(Resolver &resolver,
                                                    FlatSymbolRefAttr mesh) {
  FailureOr<ClusterOp> op = resolver.cluster(mesh);
  if (failed(op))
    return failure();
  ClusterOp clusterOp = *op;
  if (clusterOp.getNodes() == 1 && !clusterOp.getPreset())
    return static_cast<const CostModel *>(nullptr);
  std::unique_ptr<CostModel> &model = models[clusterOp];
  if (!model) {
    Result<Cluster> cluster =
        Cluster::fromPreset(clusterOp.getPreset().value_or("generic").str(),
                            clusterOp.getNodes(), clusterOp.getRanksPerNode());
    if (!cluster) {
      clusterOp.emitOpError() << cluster.error().str();
      return failure();
    }
    model = std::make_unique<CostModel>(*cluster);
  }
  return static_cast<const CostModel *>(model.get());
}

FailureOr<const Reshard *> ReshardPrices::plan(Operation *op, LayoutAttr from,
                                               LayoutAttr to, Value batchValue,
                                               int64_t rowBytes) {
  Key key(from.getAsOpaquePointer(), to.getAsOpaquePointer(),
          batchValue.getAsOpaquePointer(), rowBytes);
  if (auto found = reshards.find(key); found != reshards.end())
    return &found->second;
  Resolver resolver(op, symbols);
  FailureOr<Held> source = resolveHeld(resolver, from);
  FailureOr<Held> target = resolveHeld(resolver, to);
  if (failed(source) || failed(target))
    return failure();
  Result<Transition> ruled = planTransition(*source, *target);
  if (!ruled)
    return resolver.fail(ruled.error());
  FailureOr<const CostModel *> model = modelOf(resolver, to.getMesh());
  FailureOr<std::optional<Batch>> batch = resolver.batch(batchValue);
  if (failed(model) || failed(batch))
    return failure();
  Reshard reshard{*source, *target, *ruled, {}};
  if (*model && *batch && rowBytes > 0) {
    Result<std::optional<PricedTransition>> priced =
        priceTransition(**model, **batch, *source, *target, *ruled, rowBytes);
    if (!priced)
      return resolver.fail(priced.error());
    reshard.priced = std::move(*priced);
  }
  return &reshards.emplace(key, std::move(reshard)).first->second;
}

LogicalResult ReshardPrices::declare(const Mesh &mesh, RedistributeOp op) {
  MeshOp like = Resolver(op, symbols).meshOp(getLayout(op.getType()).getMesh());
  SymbolTable &table =
      symbols.getSymbolTable(SymbolTable::getNearestSymbolTable(like));
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  for (const Axis &axis : mesh.axes()) {
    names.push_back(axis.name);
    sizes.push_back(axis.size);
  }
  OpBuilder builder(like);
  ArrayAttr nameList = builder.getStrArrayAttr(names);
  if (Operation *known = table.lookup(mesh.name())) {
    auto same = dyn_cast<MeshOp>(known);
    return success(same && same.getAxisNames() == nameList &&
                   same.getAxisSizes() == ArrayRef<int64_t>(sizes) &&
                   same.getDevicesAttr() == like.getDevicesAttr());
  }
  builder.setInsertionPointAfter(like);
  table.insert(MeshOp::create(
      builder, like.getLoc(), builder.getStringAttr(mesh.name()),
      like.getClusterAttr(), nameList, builder.getDenseI64ArrayAttr(sizes),
      like.getDevicesAttr()));
  return success();
}

} // namespace shunt
