//===- Refinement.cpp - see Refinement.h ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Refinement.h"

#include <algorithm>
#include <set>

namespace shunt {

/// Does each divide the next?
static bool nests(const std::set<int64_t> &breaks) {
  int64_t last = 1;
  for (int64_t at : breaks) {
    if (at % last != 0)
      return false;
    last = at;
  }
  return true;
}

/// Where the digits of a position begin and end.
static void addBreaks(const Mesh &mesh, std::set<int64_t> &breaks) {
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
    breaks.insert(mesh.stride(axis));
    breaks.insert(mesh.stride(axis) * mesh.axes()[axis].size);
  }
}

static void addPrimes(std::set<int64_t> &breaks) {
  std::set<int64_t> finer = breaks;
  int64_t last = 1;
  for (int64_t at : breaks) {
    int64_t ratio = at / last, step = last;
    for (int64_t prime = 2; ratio > 1; ++prime)
      for (; ratio % prime == 0; ratio /= prime)
        finer.insert(step *= prime);
    last = at;
  }
  breaks = finer;
}

/// The axis of `mesh` that the digit [begin, end) is part of.
static unsigned axisAt(const Mesh &mesh, int64_t begin, int64_t end) {
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (mesh.stride(axis) <= begin &&
        end <= mesh.stride(axis) * mesh.axes()[axis].size)
      return axis;
  return 0;
}

std::optional<Refinement> refine(const Mesh &a, const Mesh &b,
                                 const Cluster &cluster, bool primes) {
  if (a.world() != b.world() || a.devices() != b.devices())
    return std::nullopt;
  std::set<int64_t> breaks = {1, a.world()};
  addBreaks(a, breaks);
  addBreaks(b, breaks);
  if (!nests(breaks))
    return std::nullopt;
  // Levels are of ranks: with a device list they say nothing of positions.
  if (a.devices().empty())
    for (unsigned level = 0; level < cluster.numLevels(); ++level) {
      std::set<int64_t> finer = breaks;
      finer.insert(cluster.groupSize(level));
      if (nests(finer) && a.world() % cluster.groupSize(level) == 0)
        breaks = finer;
    }
  if (primes)
    addPrimes(breaks);

  // Slowest first.
  std::vector<int64_t> ends(breaks.rbegin(), breaks.rend());
  std::vector<Axis> axes;
  std::vector<unsigned> parts(b.numAxes()), seen(b.numAxes());
  for (size_t i = 0; i + 1 < ends.size(); ++i)
    ++parts[axisAt(b, ends[i + 1], ends[i])];
  std::set<std::string> names;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    unsigned axis = axisAt(b, ends[i + 1], ends[i]);
    std::string name = b.axes()[axis].name;
    if (parts[axis] > 1)
      name += std::to_string(seen[axis]++);
    while (!names.insert(name).second)
      name += "_";
    axes.push_back({name, ends[i] / ends[i + 1]});
  }
  std::string name =
      a.name() == b.name() ? a.name() + "_digits" : a.name() + "_" + b.name();
  Result<Mesh> mesh =
      Mesh::create(name, std::move(axes), a.world(), a.devices());
  if (!mesh)
    return std::nullopt;
  return Refinement{std::move(*mesh)};
}

AxisList Refinement::digitsOf(const Mesh &coarse, const AxisList &axes) const {
  AxisList digits;
  for (unsigned digit = 0; digit < mesh.numAxes(); ++digit) {
    int64_t begin = mesh.stride(digit);
    unsigned axis = axisAt(coarse, begin, begin * mesh.axes()[digit].size);
    // An axis of size 1 has no digit.
    if (coarse.axes()[axis].size > 1 &&
        std::find(axes.begin(), axes.end(), axis) != axes.end())
      digits.push_back(digit);
  }
  return digits;
}

Layout Refinement::layoutOf(const Layout &coarse) const {
  return {mesh, digitsOf(coarse.mesh, coarse.tokens),
          digitsOf(coarse.mesh, coarse.partial)};
}

} // namespace shunt
