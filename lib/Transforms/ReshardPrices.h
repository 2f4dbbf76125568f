//===- ReshardPrices.h - Prices of the redistributes of a module ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_RESHARDPRICES_H
#define SHUNT_LIB_TRANSFORMS_RESHARDPRICES_H

#include "Shunt/Analysis/ReshardChoice.h"
#include "Shunt/IR/Resolve.h"

#include <map>
#include <tuple>

namespace shunt {

/// What the cost model says of the redistributes of one module. Layers repeat
/// each other, so it is asked once for each pair of layouts and batch.
class ReshardPrices {
public:
  explicit ReshardPrices(mlir::SymbolTableCollection &symbols)
      : symbols(symbols) {}

  /// The cheapest chain for `op`; nothing where the cluster has one node and no
  /// preset, or the batch is not a literal. A chain through strided layouts
  /// needs a mesh of digits: it is declared in the module.
  mlir::FailureOr<std::optional<PricedTransition>>
  price(RedistributeOp op, const Held &from, const Held &to,
        const Transition &ruled);

private:
  /// Null where the module says no more of the cluster than its ranks.
  mlir::FailureOr<const CostModel *> modelOf(Resolver &resolver,
                                             mlir::FlatSymbolRefAttr mesh);
  /// Adds a shunt.mesh after that of the result, unless it is there.
  mlir::LogicalResult declare(const Mesh &mesh, RedistributeOp op);

  using Key = std::tuple<mlir::Type, mlir::Type, mlir::Value>;
  struct ByPointer {
    bool operator()(const Key &a, const Key &b) const;
  };
  mlir::SymbolTableCollection &symbols;
  /// Looked up only, never walked: pointers order nothing that shows.
  std::map<Key, std::optional<PricedTransition>, ByPointer> prices;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CostModel>> models;
};

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_RESHARDPRICES_H
