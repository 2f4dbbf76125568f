//===- Search.h - The cheapest way between two layouts ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of a mesh whose axes are digits (Refinement.h) are the states:
// which digits split the tokens, on which sums are pending. Any set of digits
// may be gathered, scattered, reduced or exchanged at once; that is an edge,
// priced by the cost model on the counts of the batch. The way is found by A*
// (Hart, Nilsson and Raphael, 1968): the estimate is what the busiest rank has
// still to receive, at the rate of all its links together, so no way is missed.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_SEARCH_H
#define SHUNT_PLANNER_SEARCH_H

#include "Shunt/Planner/Bounds.h"

namespace shunt {

struct ReshardStep {
  CollectiveKind kind = CollectiveKind::Slice;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
  /// Digits that take part.
  AxisList axes;
  /// What ranks hold afterwards.
  Layout result;
  Cost cost;
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  /// Of all steps in sequence.
  Cost cost;
  Bounds bounds;
  /// Layouts that were looked at.
  int64_t states = 0;

  /// Bytes of the busiest rank above the bound, as a share of it; 0 where
  /// nothing has to move.
  double aboveBound() const;
};

/// The call that a step of `kind` over `axes` makes, from layout `from` to `to`
/// of one mesh, in rows of `rowBytes`.
CollectiveCall reshardCall(const Batch &batch, CollectiveKind kind,
                           const AxisList &axes, const Layout &from,
                           const Layout &to, int64_t rowBytes);

/// The way of least time from `from` to `to`, two layouts of one mesh of at
/// most 20 axes of more than one rank. Of equal ones that with fewer steps.
/// All-to-alls are looked at on at most 256 ranks. Errors: X_LAYOUT (`to` is
/// partial where `from` is not), E_SIZE (too many axes), and those of the cost
/// model.
Result<ReshardPlan> planReshard(const CostModel &model, const Batch &batch,
                                const Layout &from, const Layout &to,
                                int64_t rowBytes);

/// What going from one layout to another moves, for lowerBounds.
Movement movementOf(const Batch &batch, const Layout &from, const Layout &to,
                    int64_t rowBytes);

} // namespace shunt

#endif // SHUNT_PLANNER_SEARCH_H
