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

/// A change of layout and how it may go.
struct Reshard {
  Held from, to;
  /// The chain that rules choose.
  Transition ruled;
  /// The cheapest chain; nothing where the cluster has one node and no preset,
  /// or the batch is not a literal.
  std::optional<PricedTransition> priced;
};

/// What rules and the cost model say of the changes of layout of one module.
/// Layers repeat each other, so they are asked once for each pair of layouts,
/// batch and size of a row.
class ReshardPrices {
public:
  explicit ReshardPrices(mlir::SymbolTableCollection &symbols)
      : symbols(symbols) {}

  /// How rows of `rowBytes` bytes (0: unknown, so not priced) go from one
  /// layout to the other. Reports at `op`.
  mlir::FailureOr<const Reshard *> plan(mlir::Operation *op, LayoutAttr from,
                                        LayoutAttr to, mlir::Value batch,
                                        int64_t rowBytes);

  /// The cost model of the cluster of `mesh`. Null where the module says no
  /// more of the cluster than its ranks.
  mlir::FailureOr<const CostModel *> modelOf(Resolver &resolver,
                                             mlir::FlatSymbolRefAttr mesh);

  /// A chain through strided layouts needs a mesh of digits: adds a shunt.mesh
  /// after that of the result, unless it is there.
  mlir::LogicalResult declare(const Mesh &mesh, RedistributeOp op);

private:
  using Key = std::tuple<const void *, const void *, const void *, int64_t>;
  mlir::SymbolTableCollection &symbols;
  /// Looked up only, never walked: pointers order nothing that shows.
  std::map<Key, Reshard> reshards;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CostModel>> models;
};

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_RESHARDPRICES_H
