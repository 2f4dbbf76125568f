//===- LocalizeOps.h - Parts of shunt-localize ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_LOCALIZEOPS_H
#define SHUNT_LIB_TRANSFORMS_LOCALIZEOPS_H

#include "LocalCounts.h"

#include "mlir/IR/BuiltinOps.h"

namespace shunt {

/// What the dispatches and combines of a routing ask of it.
struct RouteDemands {
  bool rankMajor = false;
  MoeScore score = MoeScore::None;
  MoeOrder order = MoeOrder::Slot;
};

/// What the parts of the pass share. Ops are rewritten while values still have
/// their types of the collective level; the pass changes these at the end.
struct LocalizeContext {
  LocalizeContext(mlir::SymbolTableCollection &symbols, const LocalTypes &types)
      : symbols(symbols), types(types) {}

  mlir::SymbolTableCollection &symbols;
  const LocalTypes &types;
  /// Of each shunt.route.
  llvm::DenseMap<mlir::Operation *, RouteDemands> routes;

  mlir::RankedTensorType localType(mlir::Value value) const {
    return llvm::cast<mlir::RankedTensorType>(types(value.getType()));
  }
};

/// A tensor for the local part of a value of type `type` with `rows` rows;
/// further dynamic dimensions are as in `like`.
mlir::Value emptyRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::Value rows,
                      mlir::Value like);

/// Replaces an op of the shunt dialect other than a symbol.
mlir::LogicalResult localizeShuntOp(mlir::Operation *op,
                                    const LocalizeContext &context);

/// Learns what is asked of each routing. Reports users that disagree and
/// routings that leave the block that makes them (X_ROUTING).
mlir::LogicalResult learnRoutes(mlir::ModuleOp module,
                                LocalizeContext &context);
/// Replaces route, dispatch, expert_matmul and combine; any other op stays.
mlir::LogicalResult localizeMoeOp(mlir::Operation *op,
                                  const LocalizeContext &context);

/// Notes on `op`, which makes partial sums, over which groups they are still to
/// be added: those over the axes `made`.
mlir::LogicalResult markPartial(mlir::Operation *op,
                                mlir::FlatSymbolRefAttr mesh,
                                llvm::ArrayRef<mlir::StringAttr> made,
                                const LocalizeContext &context);

/// Reports an op with distributed values whose meaning for one rank is not
/// known, or that a pass should have removed before.
mlir::LogicalResult checkUnderstood(mlir::Operation *op);

/// Adapts what an upstream op says of sizes, positions and constants, and marks
/// producers of partial sums.
mlir::LogicalResult localizeComputeOp(mlir::Operation *op,
                                      const LocalizeContext &context);

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_LOCALIZEOPS_H
