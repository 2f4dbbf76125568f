//===- MoeChecks.h - What the verifiers of routing ops share ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_MOECHECKS_H
#define SHUNT_LIB_IR_MOECHECKS_H

#include "Checks.h"

namespace shunt::checks {

/// What a row can be added up in.
bool isSummable(mlir::Type elementType);
/// Reports an element type of `name` that is not f32, bf16 or f16.
mlir::LogicalResult verifySummable(mlir::Operation *op, llvm::StringRef name,
                                   mlir::Type elementType);

/// The rules that shunt.route and shunt.local.route share: placement table,
/// capacity, bound, alignment.
template <typename OpTy>
mlir::LogicalResult verifyRouteRules(OpTy op, int64_t experts,
                                     std::optional<MoeAlgorithm> algorithm,
                                     bool hasScores) {
  if (auto counts = op.getStaticCounts()) {
    if (int64_t(counts->size()) != experts)
      return op.emitOpError()
             << "has " << counts->size() << " static counts for " << experts
             << " experts; give one for each [E_COUNTS_LEN]";
    if (failed(verifyNotNegative(op, *counts, "static counts")))
      return mlir::failure();
    if (op.getCapacity() ||
        (algorithm && *algorithm != MoeAlgorithm::AllToAll &&
         *algorithm != MoeAlgorithm::Local))
      return op.emitOpError()
             << "has static counts with "
             << (op.getCapacity() ? "a capacity"
                                  : stringifyMoeAlgorithm(*algorithm))
             << ", which asks for what the ids say; leave one of them out "
                "[X_ROUTING]";
  }
  if (bool(op.getTable()) != (op.getPlacement() == MoePlacement::Table))
    return op.emitOpError()
           << "has placement " << stringifyMoePlacement(op.getPlacement())
           << (op.getTable() ? " and" : " without")
           << " a list of experts for each rank; give one or "
              "the other [E_PLACEMENT]";
  if (mlir::ArrayAttr table = op.getTableAttr())
    for (mlir::Attribute list : table)
      if (!llvm::isa<mlir::DenseI64ArrayAttr>(list))
        return op.emitOpError() << "has a list of experts " << list
                                << "; give integers [E_PLACEMENT]";
  auto atLeast = [&](llvm::StringRef name, std::optional<int64_t> value,
                     int64_t least) -> mlir::LogicalResult {
    if (!value || *value >= least)
      return mlir::success();
    return op.emitOpError() << "expects " << name << " of at least " << least
                            << ", got " << *value << " [E_SIZE]";
  };
  if (failed(atLeast("capacity", op.getCapacity(), 1)) ||
      failed(atLeast("bound", op.getBound(), 1)) ||
      failed(atLeast("alignment", op.getAlignment(), 1)))
    return mlir::failure();
  if (op.getOverflow() != MoeOverflow::Error && !op.getCapacity())
    return op.emitOpError()
           << "has overflow rule " << stringifyMoeOverflow(op.getOverflow())
           << " but no capacity that rows could exceed; give one [E_CAPACITY]";
  if (op.getOverflow() == MoeOverflow::DropLowest && !hasScores)
    return op.emitOpError() << "drops the lowest scores but has none; give "
                               "scores [E_CAPACITY]";
  return mlir::success();
}

} // namespace shunt::checks

#endif // SHUNT_LIB_IR_MOECHECKS_H
