//===- Resolve.h - From attributes to the core's values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_RESOLVE_H
#define SHUNT_IR_RESOLVE_H

#include "Shunt/Core/Layout.h"
#include "Shunt/IR/Shunt.h"

namespace shunt {

/// Looks up the symbols that attributes and types name and makes the core's
/// values of them. Every function reports at the op what is wrong and returns
/// failure; nothing is cached across mutations of the symbols.
class Resolver {
public:
  /// Asks for failures without diagnostics: folders and patterns run on IR that
  /// is in transit and have nothing to report.
  struct Silent {};

  /// Resolves as seen from `op`, reporting at it (`op.emitOpError`).
  explicit Resolver(mlir::Operation *op);
  Resolver(mlir::Operation *op, Silent);
  /// With a symbol table collection to share look-ups.
  Resolver(mlir::Operation *op, mlir::SymbolTableCollection &symbols);
  Resolver(const Resolver &) = delete;
  Resolver &operator=(const Resolver &) = delete;

  mlir::FailureOr<Mesh> mesh(mlir::FlatSymbolRefAttr name);
  mlir::FailureOr<Mesh> mesh(MeshOp mesh);
  mlir::FailureOr<AxisList> axes(const Mesh &mesh,
                                 llvm::ArrayRef<mlir::StringAttr> names);
  mlir::FailureOr<AxisList> axes(const Mesh &mesh, mlir::ArrayAttr names);
  mlir::FailureOr<Layout> layout(LayoutAttr attr);
  mlir::FailureOr<BatchSpec> batchSpec(BatchType type);
  /// The batch, when `value` is a literal `shunt.batch`; std::nullopt when its
  /// counts are not known at compile time.
  mlir::FailureOr<std::optional<Batch>> batch(mlir::Value value);

  /// Checks that both meshes view the ranks of one cluster.
  mlir::LogicalResult sameCluster(mlir::FlatSymbolRefAttr mesh,
                                  mlir::FlatSymbolRefAttr other);

  /// The cluster that `mesh` views.
  mlir::FailureOr<ClusterOp> cluster(mlir::FlatSymbolRefAttr mesh);

  /// The op of mesh `name`, or null, without a report.
  MeshOp meshOp(mlir::FlatSymbolRefAttr name);

  /// Reports `error` at the op and returns failure.
  mlir::LogicalResult fail(const Error &error);

private:
  /// The op of the cluster that `mesh` views; null and reported if none is.
  ClusterOp clusterOf(MeshOp mesh);
  /// A diagnostic at the op; an inactive one when silent.
  mlir::InFlightDiagnostic report();

  mlir::Operation *op;
  mlir::SymbolTableCollection *symbols;
  mlir::SymbolTableCollection ownSymbols;
  bool silent = false;
};

/// Axis names of `mesh` for `axes`.
llvm::SmallVector<mlir::StringAttr>
axisNames(mlir::MLIRContext *context, const Mesh &mesh, const AxisList &axes);
/// The attribute for `layout`, with the inner axes of `like` (may be null).
LayoutAttr layoutAttr(mlir::MLIRContext *context, const Layout &layout,
                      mlir::ArrayAttr inner = {});

} // namespace shunt

#endif // SHUNT_IR_RESOLVE_H
