//===- TestSupport.h - What the tests of the core share ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TEST_UNIT_CORE_TESTSUPPORT_H
#define SHUNT_TEST_UNIT_CORE_TESTSUPPORT_H

#include "Shunt/Core/Layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace shunt::test {

using Ints = std::vector<int64_t>;

/// The value of a result that the test knows to be one.
template <typename T> T take(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().str();
    return T();
  }
  return *result;
}

/// The code of an error, or "" for a value.
template <typename T> std::string codeOf(const Result<T> &result) {
  return result ? "" : result.error().code;
}
template <typename T> std::string messageOf(const Result<T> &result) {
  return result ? "" : result.error().str();
}

/// The mesh whose world is the product of its sizes.
inline Mesh mesh(const std::string &name, const std::vector<Axis> &axes,
                 RankList devices = {}) {
  int64_t world = 1;
  for (const Axis &axis : axes)
    world *= axis.size;
  return take(Mesh::create(name, axes, world, std::move(devices)));
}
inline Mesh attnMesh(int64_t dp, int64_t cp, int64_t tp) {
  return mesh("attn", {{"dp", dp}, {"cp", cp}, {"tp", tp}});
}
inline Mesh moeMesh(int64_t dp, int64_t ep, int64_t tp) {
  return mesh("moe", {{"dp", dp}, {"ep", ep}, {"tp", tp}});
}
inline Mesh denseMesh(int64_t dp, int64_t tp) {
  return mesh("dense", {{"dp", dp}, {"tp", tp}});
}

inline Layout layout(const Mesh &mesh, const std::vector<std::string> &tokens) {
  return {mesh, take(mesh.axisIndices(tokens)), {}};
}

/// Owners dp and cp of an attention mesh; cp shards, or replicates.
inline BatchSpec attnSpec(const Mesh &attn, bool replicate = false,
                          Split split = {}) {
  return take(BatchSpec::create(
      attn, take(attn.axisIndices({"dp", "cp"})),
      replicate ? take(attn.axisIndices({"cp"})) : AxisList(), split));
}

/// All ways to write `world` as an ordered product of `axes` sizes.
inline std::vector<Ints> factorisations(int64_t world, int axes) {
  if (axes == 1)
    return {{world}};
  std::vector<Ints> all;
  for (int64_t size = 1; size <= world; ++size)
    if (world % size == 0)
      for (Ints rest : factorisations(world / size, axes - 1)) {
        rest.insert(rest.begin(), size);
        all.push_back(rest);
      }
  return all;
}

/// Counts that often are 0 or 1 and seldom large.
inline Ints randomCounts(std::mt19937 &rng, int64_t size) {
  const int64_t usual[] = {0, 0, 1, 2, 3, 5, 7, 8, 17, 33};
  Ints counts(size);
  for (int64_t &count : counts)
    count = usual[rng() % 10];
  return counts;
}

inline RankList randomPermutation(std::mt19937 &rng, int64_t size) {
  RankList ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), rng);
  return ranks;
}

/// A random subset of the axes of `mesh`.
inline AxisList randomAxes(std::mt19937 &rng, const Mesh &mesh) {
  AxisList axes;
  for (unsigned i = 0; i < mesh.numAxes(); ++i)
    if (rng() % 2)
      axes.push_back(i);
  return axes;
}

} // namespace shunt::test

#endif // SHUNT_TEST_UNIT_CORE_TESTSUPPORT_H
