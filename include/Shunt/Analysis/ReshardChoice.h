//===- ReshardChoice.h - Chains of collectives by cost ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_RESHARDCHOICE_H
#define SHUNT_ANALYSIS_RESHARDCHOICE_H

#include "Shunt/Analysis/Transition.h"
#include "Shunt/Planner/Bounds.h"

namespace shunt {

/// A chain with what the cost model says of it.
struct PricedTransition {
  Transition transition;
  /// The algorithm of each step, empty for those that do not communicate.
  std::vector<std::string> algorithms;
  Cost cost;
  Bounds bounds;
  /// Bytes of the busiest rank above the lower bound, as a share of it.
  double aboveBound = 0;
  /// Modelled time of the chain that rules chose.
  double ruledSeconds = 0;
  /// The mesh of digits that the chain goes through, if it is none of the two.
  std::optional<Mesh> digits;
};

/// More ranks than these are planned by rules alone.
constexpr int64_t kMaxSearchedWorld = 4096;

/// The cheapest chain from `from` to `to`: `ruled`, the one that planTransition
/// gives, or one through strided layouts that the search finds cheaper. Nothing
/// where the two meshes have no digits in common, where inner dimensions are
/// split, or the world is too large.
/// Errors: those of the cost model.
Result<std::optional<PricedTransition>>
priceTransition(const CostModel &model, const Batch &batch, const Held &from,
                const Held &to, const Transition &ruled, int64_t rowBytes);

} // namespace shunt

#endif // SHUNT_ANALYSIS_RESHARDCHOICE_H
