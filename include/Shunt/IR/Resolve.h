//===- Resolve.h - From attributes to the core's values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_RESOLVE_H
#define SHUNT_IR_RESOLVE_H

#include "Shunt/Core/Layout.h"
#include "Shunt/IR/Shunt.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace shunt {

/// Looks up the symbols that attributes and types name and makes the core's
/// values of them. Every function reports through `emitError` what is wrong
/// and returns failure; nothing is cached across mutations of the symbols.
class Resolver {
public:
  using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

  /// Resolves as seen from `op`, reporting at it (`op.emitOpError`).
  explicit Resolver(mlir::Operation *op);
  /// With a symbol table collection to share look-ups.
  Resolver(mlir::Operation *op, mlir::SymbolTableCollection &symbols);

  mlir::FailureOr<Mesh> mesh(mlir::FlatSymbolRefAttr name);
  mlir::FailureOr<AxisList> axes(const Mesh &mesh,
                                 llvm::ArrayRef<mlir::StringAttr> names);
  mlir::FailureOr<AxisList> axes(const Mesh &mesh, mlir::ArrayAttr names);
  mlir::FailureOr<Layout> layout(LayoutAttr attr);
  mlir::FailureOr<BatchSpec> batchSpec(BatchType type);
  /// The batch, when `value` is a literal `shunt.batch`; std::nullopt when its
  /// counts are not known at compile time.
  mlir::FailureOr<std::optional<Batch>> batch(mlir::Value value);

  /// Reports `error` at the op and returns failure.
  mlir::LogicalResult fail(const Error &error);

private:
  mlir::Operation *lookUp(mlir::FlatSymbolRefAttr name);

  mlir::Operation *op;
  mlir::SymbolTableCollection *symbols;
  mlir::SymbolTableCollection ownSymbols;
};

/// Axis names of `mesh` for `axes`.
llvm::SmallVector<mlir::StringAttr>
axisNames(mlir::MLIRContext *context, const Mesh &mesh, const AxisList &axes);
/// The attribute for `layout`, with the inner axes of `like` (may be null).
LayoutAttr layoutAttr(mlir::MLIRContext *context, const Layout &layout,
                      mlir::ArrayAttr inner = {});

} // namespace shunt

#endif // SHUNT_IR_RESOLVE_H
