//===- Search.cpp - see Search.h ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Search.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace shunt {

double ReshardPlan::aboveBound() const {
  double bound = bounds.moved();
  return bound > 0 ? cost.moved / bound - 1 : 0;
}

namespace {
using Mask = uint32_t;

/// Digits that split the tokens, and digits on which sums are pending.
struct State {
  Mask tokens = 0, partial = 0;
  bool operator<(const State &o) const {
    return std::tie(tokens, partial) < std::tie(o.tokens, o.partial);
  }
  bool operator==(const State &o) const {
    return tokens == o.tokens && partial == o.partial;
  }
};

struct Edge {
  CollectiveKind kind;
  Mask axes;
  State to;
};

class Search {
public:
  Search(const CostModel &model, const Batch &batch, const Layout &from,
         const Layout &to, int64_t rowBytes);
  Result<ReshardPlan> run();

private:
  Mask maskOf(const AxisList &axes) const;
  AxisList axesOf(Mask mask) const;
  Layout layoutOf(const State &state) const {
    return {mesh, axesOf(state.tokens), axesOf(state.partial)};
  }
  /// Rows of each rank when `tokens` split them.
  const std::vector<int64_t> &rowsOf(Mask tokens);
  double estimate(const State &state);
  std::vector<Edge> edges(const State &state) const;
  Result<CostModel::Choice> price(const State &from, const Edge &edge);

  const CostModel &model;
  const Batch &batch;
  const Mesh &mesh;
  const int64_t rowBytes;
  std::vector<int64_t> cells;
  State start, goal;
  Mask all = 0;
  double rate = 0;
  std::map<Mask, std::vector<int64_t>> rows;
};
} // namespace

/// Sums of `cells` over the groups of `axes`, on every member.
static std::vector<int64_t> sumsOver(const Mesh &mesh, const AxisList &axes,
                                     const std::vector<int64_t> &cells) {
  std::vector<int64_t> sums(cells.size());
  for (const RankList &ranks : mesh.groups(axes)) {
    int64_t sum = 0;
    for (Rank rank : ranks)
      sum += cells[rank];
    for (Rank rank : ranks)
      sums[rank] = sum;
  }
  return sums;
}

Search::Search(const CostModel &model, const Batch &batch, const Layout &from,
               const Layout &to, int64_t rowBytes)
    : model(model), batch(batch), mesh(from.mesh), rowBytes(rowBytes),
      cells(batch.cellTable()) {
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (mesh.axes()[axis].size > 1)
      all |= Mask(1) << axis;
  start = {maskOf(from.tokens), maskOf(from.partial)};
  goal = {maskOf(to.tokens), maskOf(to.partial)};
  for (unsigned level = 0; level < model.cluster().numLevels(); ++level) {
    const ClusterLevel &l = model.cluster().level(level);
    rate += std::max({l.bandwidth, l.pairBandwidth, l.reduceBandwidth});
  }
}

Mask Search::maskOf(const AxisList &axes) const {
  Mask mask = 0;
  for (unsigned axis : axes)
    mask |= Mask(1) << axis;
  return mask & all;
}

AxisList Search::axesOf(Mask mask) const {
  AxisList axes;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (mask >> axis & 1)
      axes.push_back(axis);
  return axes;
}

const std::vector<int64_t> &Search::rowsOf(Mask tokens) {
  auto [found, isNew] = rows.try_emplace(tokens);
  if (isNew)
    found->second = sumsOver(mesh, axesOf(all & ~tokens), cells);
  return found->second;
}

double Search::estimate(const State &state) {
  if (rate <= 0)
    return 0;
  // Rows that a rank holds of those it wants are split by both.
  const std::vector<int64_t> &wanted = rowsOf(goal.tokens);
  const std::vector<int64_t> &kept = rowsOf(goal.tokens | state.tokens);
  int64_t most = 0;
  for (size_t rank = 0; rank < cells.size(); ++rank)
    most = std::max(most, wanted[rank] - kept[rank]);
  return double(most) * double(rowBytes) / rate;
}

/// Calls `body` for each set of bits of `mask` but the empty one.
template <typename Body> static void forSubsets(Mask mask, Body body) {
  for (Mask set = mask; set; set = (set - 1) & mask)
    body(set);
}

std::vector<Edge> Search::edges(const State &state) const {
  std::vector<Edge> edges;
  auto add = [&](CollectiveKind kind, Mask axes, State to) {
    edges.push_back({kind, axes, to});
  };
  Mask pending = state.partial & ~goal.partial;
  Mask free = all & ~state.tokens & ~state.partial;
  forSubsets(pending, [&](Mask axes) {
    State rest = {state.tokens, state.partial & ~axes};
    add(CollectiveKind::AllReduce, axes, rest);
    rest.tokens |= axes;
    add(CollectiveKind::ReduceScatter, axes, rest);
  });
  forSubsets(state.tokens, [&](Mask axes) {
    add(CollectiveKind::AllGather, axes, {state.tokens & ~axes, state.partial});
    // Who sends what to whom is a matrix over the world.
    constexpr int64_t kMostExchanged = 256;
    if (!state.partial && mesh.world() <= kMostExchanged)
      forSubsets(free, [&](Mask split) {
        add(CollectiveKind::AllToAll, axes | split,
            {(state.tokens & ~axes) | split, 0});
      });
  });
  forSubsets(free, [&](Mask axes) {
    add(CollectiveKind::Slice, axes, {state.tokens | axes, state.partial});
  });
  return edges;
}

CollectiveCall reshardCall(const Batch &batch, CollectiveKind kind,
                           const AxisList &axes, const Layout &from,
                           const Layout &to, int64_t rowBytes) {
  CollectiveCall call;
  call.kind = kind;
  call.rowBytes = rowBytes;
  call.groups = from.mesh.groups(axes);
  if (kind == CollectiveKind::AllToAll) {
    std::vector<int64_t> matrix = exchange(from, to).rows(batch);
    int64_t world = from.mesh.world();
    // The nearest holder of a row may be a replica outside of the group.
    std::vector<int64_t> groupOf(world);
    for (size_t g = 0; g < call.groups.size(); ++g)
      for (Rank rank : call.groups[g])
        groupOf[rank] = int64_t(g);
    bool inside = true;
    for (int64_t i = 0; i < world * world; ++i)
      inside &= matrix[i] == 0 || groupOf[i / world] == groupOf[i % world];
    if (!inside)
      call.groups = from.mesh.groups(from.mesh.complement({}));
    for (const RankList &ranks : call.groups) {
      std::vector<int64_t> &sends = call.sends.emplace_back();
      for (Rank source : ranks)
        for (Rank target : ranks)
          sends.push_back(matrix[source * world + target]);
    }
    return call;
  }
  const Layout &counted =
      kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Slice
          ? to
          : from;
  std::vector<int64_t> rows =
      sumsOver(counted.mesh, counted.gathered(), batch.cellTable());
  for (const RankList &ranks : call.groups)
    call.rows.push_back(countsOf(rows, ranks));
  return call;
}

Result<CostModel::Choice> Search::price(const State &from, const Edge &edge) {
  // Nothing moves.
  if (edge.kind == CollectiveKind::Slice) {
    CostModel::Choice none;
    none.cost.levelBytes.resize(model.cluster().numLevels());
    none.cost.cutBytes.resize(model.cluster().numLevels());
    return none;
  }
  return model.best(reshardCall(batch, edge.kind, axesOf(edge.axes),
                                layoutOf(from), layoutOf(edge.to), rowBytes));
}

Result<ReshardPlan> Search::run() {
  if (mesh.numAxes() > 20)
    return Error{"E_SIZE", "mesh @" + mesh.name() + " has " +
                               std::to_string(mesh.numAxes()) +
                               " axes; plan on at most 20"};
  if (goal.partial & ~start.partial)
    return Error{"X_LAYOUT",
                 "the result is partial on '" +
                     mesh.axisNames(axesOf(goal.partial & ~start.partial)) +
                     "', on which the operand is complete"};
  struct Node {
    double seconds = 0;
    int64_t steps = 0;
    State before;
    ReshardStep step;
    bool done = false;
  };
  std::map<State, Node> nodes;
  // Least estimated time first; then fewer steps; then the state, so that equal
  // ways are one on every machine.
  using Entry = std::tuple<double, int64_t, State>;
  struct Later {
    bool operator()(const Entry &a, const Entry &b) const { return b < a; }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> open;
  nodes[start] = {};
  open.push({estimate(start), 0, start});
  ReshardPlan plan;
  while (!open.empty()) {
    State state = std::get<State>(open.top());
    open.pop();
    Node &node = nodes[state];
    if (node.done)
      continue;
    node.done = true;
    ++plan.states;
    if (state == goal)
      break;
    double seconds = node.seconds;
    int64_t steps = node.steps;
    for (const Edge &edge : edges(state)) {
      if (auto known = nodes.find(edge.to);
          known != nodes.end() && known->second.done)
        continue;
      Result<CostModel::Choice> choice = price(state, edge);
      if (!choice)
        return choice.error();
      Node next;
      next.seconds = seconds + choice->cost.seconds;
      next.steps = steps + 1;
      next.before = state;
      auto [at, isNew] = nodes.try_emplace(edge.to, next);
      if (!isNew && std::tie(at->second.seconds, at->second.steps) <=
                        std::tie(next.seconds, next.steps))
        continue;
      next.step = {edge.kind, choice->algorithm, axesOf(edge.axes),
                   layoutOf(edge.to), choice->cost};
      at->second = std::move(next);
      open.push(
          {at->second.seconds + estimate(edge.to), at->second.steps, edge.to});
    }
  }
  // Every layout leads to every other: gather everything, slice.
  for (State at = goal; !(at == start); at = nodes[at].before)
    plan.steps.push_back(nodes[at].step);
  std::reverse(plan.steps.begin(), plan.steps.end());
  plan.cost.levelBytes.resize(model.cluster().numLevels());
  plan.cost.cutBytes.resize(model.cluster().numLevels());
  for (const ReshardStep &step : plan.steps)
    plan.cost += step.cost;
  bool inNetwork = false;
  for (unsigned level = 0; level < model.cluster().numLevels(); ++level)
    inNetwork |= model.cluster().level(level).inNetwork();
  Result<Bounds> bounds = lowerBounds(
      model.cluster(),
      movementOf(batch, layoutOf(start), layoutOf(goal), rowBytes), inNetwork);
  if (!bounds)
    return bounds.error();
  plan.bounds = *bounds;
  return plan;
}

Result<ReshardPlan> planReshard(const CostModel &model, const Batch &batch,
                                const Layout &from, const Layout &to,
                                int64_t rowBytes) {
  return Search(model, batch, from, to, rowBytes).run();
}

Movement movementOf(const Batch &batch, const Layout &from, const Layout &to,
                    int64_t rowBytes) {
  Movement movement;
  std::map<RankList, unsigned> known;
  auto setOf = [&](RankList ranks) {
    auto [found, isNew] =
        known.try_emplace(std::move(ranks), unsigned(movement.sets.size()));
    if (isNew)
      movement.sets.push_back(found->first);
    return found->second;
  };
  auto without = [](AxisList axes, const AxisList &drop) {
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](unsigned axis) {
                                return std::find(drop.begin(), drop.end(),
                                                 axis) != drop.end();
                              }),
               axes.end());
    return axes;
  };
  // A sum that stays pending on some axes is one of its own for each of their
  // coordinates.
  const Mesh &mesh = from.mesh;
  AxisList copies = without(from.gathered(), from.partial);
  AxisList summed = without(from.partial, to.partial);
  AxisList wanted = without(to.gathered(), to.partial);
  for (Rank cell = 0; cell < mesh.world(); ++cell) {
    double bytes = double(batch.cellRows(cell)) * double(rowBytes);
    if (bytes == 0)
      continue;
    for (Rank part : mesh.group(cell, to.partial)) {
      Movement::Cell c;
      c.bytes = bytes;
      // The ranks that hold one summand differ on replicated axes only.
      for (Rank rank : mesh.group(part, summed))
        c.classes.push_back(setOf(mesh.group(rank, copies)));
      c.target = setOf(mesh.group(part, wanted));
      movement.cells.push_back(std::move(c));
    }
  }
  return movement;
}

} // namespace shunt
