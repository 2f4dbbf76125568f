//===- ReshardPrices.cpp - see ReshardPrices.h ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"

#include "Shunt/Analysis/LayoutRules.h"

using namespace mlir;

namespace shunt {

bool ReshardPrices::ByPointer::operator()(const Key &a, const Key &b) const {
  auto words = [](const Key &key) {
    return std::tuple(std::get<0>(key).getAsOpaquePointer(),
                      std::get<1>(key).getAsOpaquePointer(),
                      std::get<2>(key).getAsOpaquePointer());
  };
  return words(a) < words(b);
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

FailureOr<std::optional<PricedTransition>>
ReshardPrices::price(RedistributeOp op, const Held &from, const Held &to,
                     const Transition &ruled) {
  Resolver resolver(op, symbols);
  FailureOr<const CostModel *> model =
      modelOf(resolver, getLayout(op.getType()).getMesh());
  FailureOr<std::optional<Batch>> batch = resolver.batch(op.getBatch());
  if (failed(model) || failed(batch))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t bits = type.getElementTypeBitWidth();
  for (int64_t size : type.getShape().drop_front())
    bits *= ShapedType::isDynamic(size) ? 1 : size;
  if (!*model || !*batch || bits <= 0)
    return std::optional<PricedTransition>();
  auto [found, isNew] = prices.try_emplace(
      {op.getInput().getType(), op.getType(), op.getBatch()});
  if (!isNew)
    return found->second;
  Result<std::optional<PricedTransition>> priced = priceTransition(
      **model, **batch, from, to, ruled, std::max<int64_t>(bits / 8, 1));
  if (!priced)
    return resolver.fail(priced.error());
  if (*priced && (*priced)->digits && failed(declare(*(*priced)->digits, op)))
    return resolver.fail(
        {"E_MESH", "needs a mesh @" + (*priced)->digits->name() +
                       " for strided layouts, and the module has another "
                       "symbol of that name; rename it"});
  found->second = *priced;
  return found->second;
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
