//===- Resolve.cpp - From attributes to the core's values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Resolve.h"

#include "AxisLists.h"

using namespace mlir;
using namespace shunt;

Resolver::Resolver(Operation *op) : op(op), symbols(&ownSymbols) {}
Resolver::Resolver(Operation *op, Silent)
    : op(op), symbols(&ownSymbols), silent(true) {}
Resolver::Resolver(Operation *op, SymbolTableCollection &symbols)
    : op(op), symbols(&symbols) {}

InFlightDiagnostic Resolver::report() {
  return silent ? InFlightDiagnostic() : op->emitOpError();
}

LogicalResult Resolver::fail(const Error &error) {
  report() << error.str();
  return failure();
}

MeshOp Resolver::meshOp(FlatSymbolRefAttr name) {
  return dyn_cast_or_null<MeshOp>(symbols->lookupNearestSymbolFrom(op, name));
}

FailureOr<Mesh> Resolver::mesh(FlatSymbolRefAttr name) {
  if (MeshOp mesh = meshOp(name))
    return this->mesh(mesh);
  report() << "names " << name
           << ", which is no shunt.mesh of this module; declare it: shunt.mesh "
           << name << " on @cluster <dp = 2, tp = 2> [E_MESH]";
  return failure();
}

ClusterOp Resolver::clusterOf(MeshOp meshOp) {
  auto cluster = dyn_cast_or_null<ClusterOp>(
      symbols->lookupNearestSymbolFrom(meshOp, meshOp.getClusterAttr()));
  if (!cluster) {
    InFlightDiagnostic diag = report();
    diag << "needs mesh @" << meshOp.getSymName() << " on cluster "
         << meshOp.getClusterAttr()
         << ", which is no shunt.cluster of this module [E_MESH]";
    if (!silent && meshOp != op)
      diag.attachNote(meshOp.getLoc()) << "mesh is here";
  }
  return cluster;
}

FailureOr<ClusterOp> Resolver::cluster(FlatSymbolRefAttr name) {
  MeshOp meshOp = this->meshOp(name);
  if (!meshOp)
    return (void)mesh(name), failure();
  ClusterOp cluster = clusterOf(meshOp);
  if (!cluster)
    return failure();
  return cluster;
}

FailureOr<Mesh> Resolver::mesh(MeshOp meshOp) {
  ClusterOp cluster = clusterOf(meshOp);
  if (!cluster)
    return failure();
  std::vector<Axis> axes;
  for (auto [axis, size] :
       llvm::zip(toStrings(meshOp.getAxisNames()), meshOp.getAxisSizes()))
    axes.push_back({axis.str(), size});
  RankList devices;
  if (auto list = meshOp.getDevices())
    devices.assign(list->begin(), list->end());
  Result<Mesh> mesh = Mesh::create(meshOp.getSymName().str(), std::move(axes),
                                   cluster.getWorld(), std::move(devices));
  if (!mesh)
    return fail(mesh.error());
  return *mesh;
}

LogicalResult Resolver::sameCluster(FlatSymbolRefAttr mesh,
                                    FlatSymbolRefAttr other) {
  MeshOp meshOp = this->meshOp(mesh), otherOp = this->meshOp(other);
  if (!meshOp || !otherOp)
    return failure(failed(this->mesh(mesh)) || failed(this->mesh(other)));
  if (meshOp.getClusterAttr() == otherOp.getClusterAttr())
    return success();
  InFlightDiagnostic diag = report();
  diag << "has mesh " << mesh << " on cluster " << meshOp.getClusterAttr()
       << " but mesh " << other << " on cluster " << otherOp.getClusterAttr()
       << "; use meshes of one cluster [E_MESH]";
  if (!silent) {
    diag.attachNote(meshOp.getLoc()) << "mesh " << mesh << " is here";
    diag.attachNote(otherOp.getLoc()) << "mesh " << other << " is here";
  }
  return failure();
}

FailureOr<AxisList> Resolver::axes(const Mesh &mesh,
                                   ArrayRef<StringAttr> names) {
  std::vector<std::string> strings;
  for (StringAttr name : names)
    strings.push_back(name.str());
  Result<AxisList> axes = mesh.axisIndices(strings);
  if (!axes)
    return fail(axes.error());
  return *axes;
}

FailureOr<AxisList> Resolver::axes(const Mesh &mesh, ArrayAttr names) {
  return axes(mesh, toStrings(names));
}

FailureOr<Layout> Resolver::layout(LayoutAttr attr) {
  FailureOr<Mesh> mesh = this->mesh(attr.getMesh());
  if (failed(mesh))
    return failure();
  FailureOr<AxisList> tokens = axes(*mesh, attr.getTokens());
  FailureOr<AxisList> partial = axes(*mesh, attr.getPartial());
  if (failed(tokens) || failed(partial))
    return failure();
  if (attr.getInner())
    for (Attribute list : attr.getInner())
      if (failed(axes(*mesh, cast<ArrayAttr>(list))))
        return failure();
  return Layout{*mesh, *tokens, *partial};
}

FailureOr<BatchSpec> Resolver::batchSpec(BatchType type) {
  FailureOr<Mesh> mesh = this->mesh(type.getMesh());
  if (failed(mesh))
    return failure();
  FailureOr<AxisList> owners = axes(*mesh, type.getOwners());
  FailureOr<AxisList> replicas = axes(*mesh, type.getReplicas());
  if (failed(owners) || failed(replicas))
    return failure();
  Result<Split> split = parseSplit(type.getSplit().str());
  if (!split)
    return fail(split.error());
  Result<BatchSpec> spec = BatchSpec::create(*mesh, *owners, *replicas, *split);
  if (!spec)
    return fail(spec.error());
  return *spec;
}

FailureOr<std::optional<Batch>> Resolver::batch(Value value) {
  FailureOr<BatchSpec> spec = batchSpec(cast<BatchType>(value.getType()));
  if (failed(spec))
    return failure();
  auto literal = value.getDefiningOp<BatchOp>();
  if (!literal || !literal.getRows())
    return std::optional<Batch>();
  std::vector<int64_t> rows(literal.getRows()->begin(),
                            literal.getRows()->end());
  std::vector<int64_t> valid;
  if (auto list = literal.getValid())
    valid.assign(list->begin(), list->end());
  Result<Batch> batch =
      Batch::create(std::move(*spec), std::move(rows), std::move(valid));
  if (!batch)
    return fail(batch.error());
  return std::optional<Batch>(*batch);
}

SmallVector<StringAttr> shunt::axisNames(MLIRContext *context, const Mesh &mesh,
                                         const AxisList &axes) {
  SmallVector<StringAttr> names;
  for (unsigned axis : axes)
    names.push_back(StringAttr::get(context, mesh.axes()[axis].name));
  return names;
}

LayoutAttr shunt::layoutAttr(MLIRContext *context, const Layout &layout,
                             ArrayAttr inner) {
  return LayoutAttr::get(context,
                         FlatSymbolRefAttr::get(context, layout.mesh.name()),
                         axisNames(context, layout.mesh, layout.tokens), inner,
                         axisNames(context, layout.mesh, layout.partial));
}
