//===- ReshardChoice.cpp - see ReshardChoice.h ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/ReshardChoice.h"

#include "Shunt/Planner/Refinement.h"
#include "Shunt/Planner/Search.h"

#include <algorithm>

namespace shunt {

static std::optional<CollectiveKind> kindOf(Move move) {
  switch (move) {
  case Move::AllGather:
    return CollectiveKind::AllGather;
  case Move::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case Move::AllReduce:
    return CollectiveKind::AllReduce;
  case Move::AllToAll:
    return CollectiveKind::AllToAll;
  case Move::Slice:
  case Move::Relabel:
    break;
  }
  return std::nullopt;
}

static Move moveOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return Move::AllGather;
  case CollectiveKind::ReduceScatter:
    return Move::ReduceScatter;
  case CollectiveKind::AllReduce:
    return Move::AllReduce;
  case CollectiveKind::AllToAll:
    return Move::AllToAll;
  case CollectiveKind::Slice:
    break;
  }
  return Move::Slice;
}

static bool splitsInside(const Held &held) {
  return std::any_of(held.inner.begin(), held.inner.end(),
                     [](const AxisList &axes) { return !axes.empty(); });
}

/// What the chain that rules chose takes, step by step.
static MaybeError priceRuled(const CostModel &model, const Batch &batch,
                             const Layout &from, int64_t rowBytes,
                             PricedTransition &priced) {
  Layout at = from;
  for (const TransitionStep &step : priced.transition.steps) {
    std::string &algorithm = priced.algorithms.emplace_back();
    if (std::optional<CollectiveKind> kind = kindOf(step.move);
        kind && at.mesh.groupSize(step.axes) > 1) {
      Result<CostModel::Choice> choice = model.best(
          reshardCall(batch, *kind, step.axes, at, step.result, rowBytes));
      if (!choice)
        return choice.error();
      priced.cost += choice->cost;
      algorithm = toString(choice->algorithm);
    }
    at = step.result;
  }
  return std::nullopt;
}

Result<std::optional<PricedTransition>>
priceTransition(const CostModel &model, const Batch &batch, const Held &from,
                const Held &to, const Transition &ruled, int64_t rowBytes) {
  using Answer = std::optional<PricedTransition>;
  if (splitsInside(from) || splitsInside(to) ||
      from.layout.mesh.world() > kMaxSearchedWorld)
    return Answer();
  std::optional<Refinement> digits =
      refine(from.layout.mesh, to.layout.mesh, model.cluster());
  if (!digits)
    return Answer();
  PricedTransition priced;
  priced.transition = ruled;
  unsigned levels = model.cluster().numLevels();
  priced.cost.levelBytes.resize(levels);
  priced.cost.cutBytes.resize(levels);
  if (MaybeError error =
          priceRuled(model, batch, from.layout, rowBytes, priced))
    return *error;
  priced.ruledSeconds = priced.cost.seconds;

  Result<ReshardPlan> plan =
      planReshard(model, batch, digits->layoutOf(from.layout),
                  digits->layoutOf(to.layout), rowBytes);
  if (!plan)
    return plan.error();
  priced.bounds = plan->bounds;
  // Rules say the same of equal costs, in the names of the two meshes.
  constexpr double kGain = 1e-6;
  if (plan->cost.seconds < priced.ruledSeconds * (1 - kGain)) {
    Transition chain;
    priced.algorithms.clear();
    auto add = [&](Move move, AxisList axes, Layout result,
                   const std::string &algorithm) {
      chain.steps.push_back({move, std::move(axes), std::move(result)});
      priced.algorithms.push_back(algorithm);
    };
    add(Move::Relabel, {}, digits->layoutOf(from.layout), "");
    for (const ReshardStep &step : plan->steps) {
      Move move = moveOf(step.kind);
      bool moves = move != Move::Slice;
      add(move, step.axes, step.result, moves ? toString(step.algorithm) : "");
      chain.collectives += moves;
    }
    add(Move::Relabel, {}, to.layout, "");
    priced.transition = std::move(chain);
    priced.cost = plan->cost;
    priced.digits = digits->mesh;
  }
  double bound = priced.bounds.moved();
  priced.aboveBound = bound > 0 ? priced.cost.moved / bound - 1 : 0;
  return Answer(std::move(priced));
}

} // namespace shunt
