//===- Transition.cpp - see Transition.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/Transition.h"

#include <algorithm>
#include <tuple>

namespace shunt {

const char *toString(Move move) {
  switch (move) {
  case Move::AllGather:
    return "all_gather";
  case Move::ReduceScatter:
    return "reduce_scatter";
  case Move::AllReduce:
    return "all_reduce";
  case Move::AllToAll:
    return "all_to_all";
  case Move::Slice:
    return "slice";
  case Move::Relabel:
    return "relabel";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Axis sets
//===----------------------------------------------------------------------===//

static bool has(const AxisList &axes, unsigned axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

static AxisList without(const AxisList &axes, const AxisList &drop) {
  AxisList result;
  for (unsigned axis : axes)
    if (!has(drop, axis))
      result.push_back(axis);
  std::sort(result.begin(), result.end());
  return result;
}

static AxisList join(const AxisList &a, const AxisList &b) {
  AxisList result = without(a, b);
  result.insert(result.end(), b.begin(), b.end());
  std::sort(result.begin(), result.end());
  return result;
}

static bool sameSet(const AxisList &a, const AxisList &b) {
  return without(a, b).empty() && without(b, a).empty();
}

static bool sameLayout(const Layout &a, const Layout &b) {
  return a.mesh.name() == b.mesh.name() && sameSet(a.tokens, b.tokens) &&
         sameSet(a.partial, b.partial);
}

/// The axes of size 1 (`trivial`) or of more among `axes`.
static AxisList pick(const Mesh &mesh, const AxisList &axes, bool trivial) {
  AxisList result;
  for (unsigned axis : axes)
    if ((mesh.axes()[axis].size == 1) == trivial)
      result.push_back(axis);
  std::sort(result.begin(), result.end());
  return result;
}

static AxisList allAxes(const Mesh &mesh) { return mesh.complement({}); }

static AxisList subset(const AxisList &axes, uint64_t mask) {
  AxisList result;
  for (size_t i = 0; i < axes.size(); ++i)
    if (mask >> i & 1)
      result.push_back(axes[i]);
  return result;
}

static int64_t cellsHeld(const Layout &layout) {
  return layout.mesh.world() / layout.mesh.groupSize(layout.tokens);
}

//===----------------------------------------------------------------------===//
// Chains of steps
//===----------------------------------------------------------------------===//

namespace {
/// A chain under construction. Axes of size 1 travel with others of their kind
/// and need no collective of their own.
class Chain {
public:
  explicit Chain(const Layout &start) : current(start) {}

  /// Completes `dropped`, those in `scattered` by a reduce-scatter.
  void reduce(const AxisList &dropped, const AxisList &scattered);
  /// Goes to another set of token axes of the same mesh.
  void moveTo(const AxisList &tokens);
  /// Goes to a layout that holds the same rows.
  void relabelTo(const Layout &layout);

  const Layout &layout() const { return current; }
  const Transition &transition() const { return chain; }
  /// Smaller is better.
  std::tuple<int64_t, int64_t, size_t, int64_t> cost() const {
    return {chain.received, chain.collectives, chain.steps.size(),
            gathersBeforeRelabel};
  }

private:
  void add(Move move, AxisList axes, Layout result, int64_t received);

  Layout current;
  Transition chain;
  /// Gathers on the source's mesh: a reader expects those of the block that
  /// wants the rows.
  int64_t gathersBeforeRelabel = 0;
  int64_t gathers = 0;
};
} // namespace

void Chain::add(Move move, AxisList axes, Layout result, int64_t received) {
  std::sort(axes.begin(), axes.end());
  current = result;
  chain.received += received;
  chain.collectives += move != Move::Slice && move != Move::Relabel;
  gathers += move == Move::AllGather;
  chain.steps.push_back({move, std::move(axes), std::move(result)});
}

void Chain::reduce(const AxisList &dropped, const AxisList &scattered) {
  const Mesh &mesh = current.mesh;
  AxisList trivial = pick(mesh, dropped, true);
  AxisList reduced = without(pick(mesh, dropped, false), scattered);
  if (!scattered.empty()) {
    AxisList axes = reduced.empty() ? join(scattered, trivial) : scattered;
    int64_t held = cellsHeld(current);
    add(Move::ReduceScatter, axes,
        {mesh, join(current.tokens, axes), without(current.partial, axes)},
        held - held / mesh.groupSize(axes));
  }
  if (!reduced.empty()) {
    AxisList axes = join(reduced, trivial);
    int64_t held = cellsHeld(current);
    add(Move::AllReduce, axes,
        {mesh, current.tokens, without(current.partial, axes)},
        2 * (held - held / mesh.groupSize(axes)));
  }
  if (scattered.empty() && reduced.empty() && !trivial.empty())
    relabelTo({mesh, current.tokens, without(current.partial, trivial)});
}

void Chain::moveTo(const AxisList &tokens) {
  const Mesh &mesh = current.mesh;
  AxisList split = without(tokens, current.tokens);
  AxisList gathered = without(current.tokens, tokens);
  bool splits = mesh.groupSize(split) > 1,
       gathers = mesh.groupSize(gathered) > 1;
  if (splits && gathers && current.partial.empty()) {
    int64_t kept = cellsHeld({mesh, join(tokens, current.tokens), {}});
    Layout result{mesh, tokens, {}};
    int64_t received = cellsHeld(result) - kept;
    add(Move::AllToAll, join(split, gathered), std::move(result), received);
    return;
  }
  if (splits)
    add(Move::Slice, split,
        {mesh, join(current.tokens, split), current.partial}, 0);
  if (gathers) {
    Layout result{mesh, without(current.tokens, gathered), current.partial};
    int64_t received = cellsHeld(result) - cellsHeld(current);
    add(Move::AllGather, gathered, std::move(result), received);
  }
  relabelTo({mesh, tokens, current.partial});
}

void Chain::relabelTo(const Layout &layout) {
  if (sameLayout(current, layout))
    return;
  if (current.mesh.name() != layout.mesh.name())
    gathersBeforeRelabel = gathers;
  // Two names in a row are one.
  if (!chain.steps.empty() && chain.steps.back().move == Move::Relabel) {
    chain.steps.back().result = layout;
    current = layout;
    return;
  }
  add(Move::Relabel, {}, layout, 0);
}

//===----------------------------------------------------------------------===//
// Choosing a chain
//===----------------------------------------------------------------------===//

/// More token axes than this are not tried one by one.
static constexpr size_t kMaxTriedAxes = 8;

static std::string layoutText(const Layout &layout) {
  std::string text = "tokens = [" + layout.mesh.axisNames(layout.tokens, ", ");
  if (!layout.partial.empty())
    text += "], partial = [" + layout.mesh.axisNames(layout.partial, ", ");
  return text + "] of @" + layout.mesh.name();
}

static MaybeError checkInner(const Held &from, const Held &to) {
  size_t dims = std::max(from.inner.size(), to.inner.size());
  for (size_t dim = 0; dim < dims; ++dim) {
    AxisList a = dim < from.inner.size() ? from.inner[dim] : AxisList();
    AxisList b = dim < to.inner.size() ? to.inner[dim] : AxisList();
    // Blocks are numbered by the axes as listed.
    bool same = from.layout.mesh.name() == to.layout.mesh.name()
                    ? a == b
                    : std::is_sorted(a.begin(), a.end()) &&
                          std::is_sorted(b.begin(), b.end()) &&
                          sameGroups(from.layout.mesh, a, to.layout.mesh, b);
    if (!same)
      return Error{"X_LAYOUT",
                   "dimension " + std::to_string(dim + 1) + " is split over [" +
                       from.layout.mesh.axisNames(a, ", ") + "] of @" +
                       from.layout.mesh.name() + " and should be over [" +
                       to.layout.mesh.axisNames(b, ", ") + "] of @" +
                       to.layout.mesh.name() +
                       "; only the layout of the tokens can change"};
  }
  return std::nullopt;
}

/// The partial axes of `from` that stay partial in `to`.
static Result<AxisList> keptPartial(const Layout &from, const Layout &to) {
  AxisList wanted = pick(to.mesh, to.partial, false);
  if (from.mesh.name() == to.mesh.name()) {
    if (AxisList extra = without(to.partial, from.partial); !extra.empty())
      return Error{"X_LAYOUT", "the result is partial on '" +
                                   to.mesh.axisNames(extra) +
                                   "', on which the operand is complete"};
    return to.partial;
  }
  AxisList partial = pick(from.mesh, from.partial, false);
  for (uint64_t mask = 0; mask < uint64_t(1) << partial.size(); ++mask) {
    AxisList kept = subset(partial, mask);
    if (sameGroups(from.mesh, kept, to.mesh, wanted))
      return kept;
  }
  return Error{"X_WRONG_GROUP", "partial sums of " + layoutText(from) +
                                    " are over other ranks than those of " +
                                    layoutText(to) +
                                    "; reduce them on the mesh that made them"};
}

static AxisList flat(const std::vector<AxisList> &lists) {
  AxisList axes;
  for (const AxisList &list : lists)
    axes.insert(axes.end(), list.begin(), list.end());
  return axes;
}

/// Token sets of a mesh (axes of size 1 left out) at which to change meshes.
static std::vector<AxisList> crossings(const Mesh &mesh, const AxisList &fixed,
                                       const AxisList &here) {
  AxisList free = without(pick(mesh, allAxes(mesh), false), fixed);
  if (free.size() > kMaxTriedAxes)
    return {here, free};
  std::vector<AxisList> sets;
  for (uint64_t mask = 0; mask < uint64_t(1) << free.size(); ++mask)
    sets.push_back(subset(free, mask));
  return sets;
}

Result<Transition> planTransition(const Held &from, const Held &to) {
  const Mesh &source = from.layout.mesh, &target = to.layout.mesh;
  if (MaybeError error = checkInner(from, to))
    return *error;
  Result<AxisList> kept = keptPartial(from.layout, to.layout);
  if (!kept)
    return kept.error();
  AxisList dropped = without(from.layout.partial, *kept);
  AxisList reduced = pick(source, dropped, false);

  std::optional<Chain> best;
  auto offer = [&](Chain chain) {
    chain.relabelTo(to.layout);
    if (!best || chain.cost() < best->cost())
      best = std::move(chain);
  };

  AxisList fixedSource = join(flat(from.inner), *kept);
  AxisList fixedTarget = join(flat(to.inner), to.layout.partial);
  AxisList targetTokens = pick(target, to.layout.tokens, false);
  std::vector<AxisList> targetSets =
      crossings(target, fixedTarget, targetTokens);
  // From everything scattered to everything reduced, so that of equals the one
  // that shares the work is kept.
  size_t tried = std::min(reduced.size(), kMaxTriedAxes);
  for (uint64_t mask = uint64_t(1) << tried; mask-- > 0;) {
    Chain start(from.layout);
    start.reduce(dropped, subset(reduced, mask));
    if (source.name() == target.name()) {
      start.moveTo(to.layout.tokens);
      offer(std::move(start));
      continue;
    }
    AxisList here = pick(source, start.layout().tokens, false);
    AxisList trivial = pick(source, start.layout().tokens, true);
    for (const AxisList &a : crossings(source, fixedSource, here))
      for (const AxisList &b : targetSets) {
        if (!sameRows({source, a, {}}, {target, b, {}}))
          continue;
        Chain chain = start;
        chain.moveTo(join(a, trivial));
        AxisList tokens = to.layout.tokens;
        if (!sameSet(b, targetTokens))
          tokens = join(
              b, without(pick(target, allAxes(target), true), fixedTarget));
        chain.relabelTo({target, tokens, to.layout.partial});
        chain.moveTo(to.layout.tokens);
        offer(std::move(chain));
      }
  }
  if (!best)
    return Error{"X_LAYOUT", "found no way from " + layoutText(from.layout) +
                                 " to " + layoutText(to.layout)};
  return best->transition();
}

} // namespace shunt
