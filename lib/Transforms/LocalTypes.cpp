//===- LocalTypes.cpp - see LocalTypes.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalTypes.h"

using namespace mlir;

namespace shunt {

SmallVector<StringAttr> blockAxes(Attribute encoding, unsigned dim) {
  ArrayRef<Attribute> axes;
  if (auto layout = dyn_cast_or_null<LayoutAttr>(encoding)) {
    if (dim > 0 && layout.getInner())
      axes = layout.getInnerAxes(dim);
  } else if (auto routed = dyn_cast_or_null<RoutedAttr>(encoding)) {
    axes = innerAxes(routed.getInner(), dim);
  } else if (auto shard = dyn_cast_or_null<ShardAttr>(encoding)) {
    axes = cast<ArrayAttr>(shard.getDims()[dim]).getValue();
  }
  return llvm::map_to_vector(axes,
                             [](Attribute a) { return cast<StringAttr>(a); });
}

FlatSymbolRefAttr meshOf(Attribute encoding) {
  if (auto layout = dyn_cast<LayoutAttr>(encoding))
    return layout.getMesh();
  if (auto routed = dyn_cast<RoutedAttr>(encoding))
    return routed.getMesh();
  return cast<ShardAttr>(encoding).getMesh();
}

DenseIntElementsAttr groupsAttr(MLIRContext *context, const Mesh &mesh,
                                const AxisList &axes) {
  SmallVector<int64_t> ranks;
  int64_t size = mesh.groupSize(axes);
  for (const RankList &group : mesh.groups(axes)) {
    SmallVector<int64_t> row(size);
    for (Rank rank : group) {
      int64_t position = 0;
      for (unsigned axis : axes)
        position =
            position * mesh.axes()[axis].size + mesh.coordinate(rank, axis);
      row[position] = rank;
    }
    llvm::append_range(ranks, row);
  }
  auto type = RankedTensorType::get({int64_t(ranks.size()) / size, size},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, ArrayRef<int64_t>(ranks));
}

bool isDistributed(Type type) {
  if (isa<BatchType, RoutingType>(type))
    return true;
  if (auto function = dyn_cast<FunctionType>(type))
    return llvm::any_of(function.getInputs(), isDistributed) ||
           llvm::any_of(function.getResults(), isDistributed);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr, ShardAttr, AutoAttr, RoutedAttr>(
                       tensor.getEncoding());
}

LogicalResult LocalTypes::noteWorld(const Mesh &mesh, Operation *op) {
  if (worldSize && worldSize != mesh.world())
    return op->emitOpError()
           << "is on mesh @" << mesh.name() << " of " << mesh.world()
           << " ranks in a program of " << worldSize << " ranks [E_MESH]";
  worldSize = mesh.world();
  return success();
}

FailureOr<Type> LocalTypes::convertTensor(RankedTensorType type,
                                          Operation *op) {
  Resolver resolver(op, symbols);
  Attribute encoding = type.getEncoding();
  if (isa<AutoAttr>(encoding))
    return op->emitOpError() << "has a value of type " << type
                             << " whose layout is not decided; run "
                                "shunt-assign-layouts first [X_NOT_PLANNED]";
  FailureOr<Mesh> mesh = resolver.mesh(meshOf(encoding));
  if (failed(mesh) || failed(noteWorld(*mesh, op)))
    return failure();
  if (auto layout = dyn_cast<LayoutAttr>(encoding))
    if (failed(resolver.layout(layout)))
      return failure();

  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, size] : llvm::enumerate(shape)) {
    SmallVector<StringAttr> names = blockAxes(encoding, dim);
    if (names.empty())
      continue;
    FailureOr<AxisList> axes = resolver.axes(*mesh, names);
    if (failed(axes))
      return failure();
    int64_t parts = mesh->groupSize(*axes);
    if (ShapedType::isDynamic(size) && parts > 1)
      return op->emitOpError()
             << "splits the dynamic dimension " << dim << " of " << type
             << " over " << mesh->axisNames(*axes)
             << "; only static dimensions are cut into blocks [E_SIZE]";
    if (ShapedType::isStatic(size) && size % parts != 0)
      return op->emitOpError()
             << "splits dimension " << dim << " of " << type << ", of size "
             << size << ", over " << mesh->axisNames(*axes) << " of " << parts
             << " ranks, which does not divide it [E_SIZE]";
    if (ShapedType::isStatic(size))
      shape[dim] = size / parts;
  }
  if (isa<LayoutAttr, RoutedAttr>(encoding))
    shape[0] = ShapedType::kDynamic;
  return Type(RankedTensorType::get(shape, type.getElementType()));
}

FailureOr<Type> LocalTypes::convertBatch(BatchType type, Operation *op) {
  FailureOr<BatchSpec> spec = Resolver(op, symbols).batchSpec(type);
  if (failed(spec) || failed(noteWorld(spec->mesh, op)))
    return failure();
  return Type(RankedTensorType::get({spec->numParts()},
                                    IntegerType::get(type.getContext(), 64)));
}

LogicalResult LocalTypes::add(Type type, Operation *op) {
  if (!isDistributed(type) || types.contains(type))
    return success();
  FailureOr<Type> local = failure();
  if (isa<RoutingType>(type)) {
    local = Type(LocalRoutingType::get(type.getContext()));
  } else if (auto batch = dyn_cast<BatchType>(type)) {
    local = convertBatch(batch, op);
  } else if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    local = convertTensor(tensor, op);
  } else {
    auto function = cast<FunctionType>(type);
    for (TypeRange list :
         {TypeRange(function.getInputs()), TypeRange(function.getResults())})
      for (Type part : list)
        if (failed(add(part, op)))
          return failure();
    auto convert = [&](Type part) { return (*this)(part); };
    local = Type(FunctionType::get(
        type.getContext(), llvm::map_to_vector(function.getInputs(), convert),
        llvm::map_to_vector(function.getResults(), convert)));
  }
  if (failed(local))
    return failure();
  types[type] = *local;
  return success();
}

Type LocalTypes::operator()(Type type) const {
  auto known = types.find(type);
  return known == types.end() ? type : known->second;
}

} // namespace shunt
