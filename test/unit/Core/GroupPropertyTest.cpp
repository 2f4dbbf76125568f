//===- GroupPropertyTest.cpp - Coordinates and groups, over all meshes ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <set>

using namespace shunt;
using namespace shunt::test;

static Mesh threeAxes(const Ints &sizes, RankList devices = {}) {
  return mesh("m", {{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}},
              std::move(devices));
}

static AxisList subset(unsigned bits) {
  AxisList axes;
  for (unsigned i = 0; i < 3; ++i)
    if (bits >> i & 1)
      axes.push_back(i);
  return axes;
}

/// The definition: scan the world for ranks that agree on the other axes, by
/// position.
static RankList groupByDefinition(const Mesh &mesh, Rank rank,
                                  const AxisList &axes) {
  RankList ranks;
  for (int64_t position = 0; position < mesh.world(); ++position) {
    Rank other = mesh.devices().empty() ? position : mesh.devices()[position];
    bool agrees = true;
    for (unsigned axis : mesh.complement(axes))
      agrees &= mesh.coordinates(other)[axis] == mesh.coordinates(rank)[axis];
    if (agrees)
      ranks.push_back(other);
  }
  return ranks;
}

TEST(GroupProperty, coordinates_and_rank_at_are_inverse) {
  std::mt19937 rng(1);
  for (int64_t world = 1; world <= 64; ++world)
    for (const Ints &sizes : factorisations(world, 3))
      for (bool permuted : {false, true}) {
        Mesh m = threeAxes(sizes, permuted ? randomPermutation(rng, world)
                                           : RankList());
        std::set<Ints> seen;
        for (Rank rank = 0; rank < world; ++rank) {
          Ints coords = m.coordinates(rank);
          ASSERT_EQ(m.rankAt(coords), rank);
          seen.insert(coords);
          for (unsigned axis = 0; axis < 3; ++axis) {
            ASSERT_EQ(m.coordinate(rank, axis), coords[axis]);
            ASSERT_LT(coords[axis], sizes[axis]);
          }
        }
        ASSERT_EQ(int64_t(seen.size()), world);
      }
}

TEST(GroupProperty, groups_partition_the_world) {
  std::mt19937 rng(2);
  for (int64_t world = 1; world <= 64; ++world)
    for (const Ints &sizes : factorisations(world, 3)) {
      Mesh m = threeAxes(sizes, rng() % 2 ? randomPermutation(rng, world)
                                          : RankList());
      for (unsigned bits = 0; bits < 8; ++bits) {
        AxisList axes = subset(bits);
        std::set<Rank> seen;
        for (const RankList &ranks : m.groups(axes)) {
          ASSERT_EQ(int64_t(ranks.size()), m.groupSize(axes));
          for (size_t i = 0; i < ranks.size(); ++i) {
            ASSERT_EQ(m.rankInGroup(ranks[i], axes), int64_t(i));
            ASSERT_EQ(m.group(ranks[i], axes), ranks);
            seen.insert(ranks[i]);
          }
        }
        ASSERT_EQ(int64_t(seen.size()), world);
      }
    }
}

TEST(GroupProperty, group_is_what_it_is_defined_to_be) {
  std::mt19937 rng(3);
  for (int64_t world : {1, 2, 6, 8, 12, 30, 36, 64})
    for (const Ints &sizes : factorisations(world, 3)) {
      Mesh m = threeAxes(sizes, rng() % 2 ? randomPermutation(rng, world)
                                          : RankList());
      AxisList axes = subset(rng() % 8);
      Rank rank = rng() % world;
      ASSERT_EQ(m.group(rank, axes), groupByDefinition(m, rank, axes));
    }
}

/// Compares all groups member by member.
static bool sameByDefinition(const Mesh &a, const AxisList &axesA,
                             const Mesh &b, const AxisList &axesB) {
  for (Rank rank = 0; rank < a.world(); ++rank)
    if (a.group(rank, axesA) != b.group(rank, axesB))
      return false;
  return true;
}

TEST(GroupProperty, digits_decide_same_groups) {
  int equal = 0;
  for (int64_t world = 1; world <= 16; ++world)
    for (const Ints &sizesA : factorisations(world, 3))
      for (const Ints &sizesB : factorisations(world, 3)) {
        Mesh a = threeAxes(sizesA), b = threeAxes(sizesB);
        for (unsigned bits = 0; bits < 64; ++bits) {
          AxisList axesA = subset(bits % 8), axesB = subset(bits / 8);
          bool same = sameByDefinition(a, axesA, b, axesB);
          ASSERT_EQ(sameGroups(a, axesA, b, axesB), same);
          ASSERT_EQ(digits(a, axesA) == digits(b, axesB), same);
          equal += same;
        }
      }
  EXPECT_GT(equal, 1000);
}

TEST(GroupProperty, same_groups_of_large_worlds_and_device_lists) {
  std::mt19937 rng(4);
  int equal = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t world = 1 + rng() % 64;
    std::vector<Ints> all = factorisations(world, 3);
    RankList devices = rng() % 2 ? randomPermutation(rng, world) : RankList();
    RankList others = rng() % 2 ? devices : randomPermutation(rng, world);
    Mesh a = threeAxes(all[rng() % all.size()], devices);
    Mesh b = threeAxes(all[rng() % all.size()], others);
    AxisList axesA = randomAxes(rng, a), axesB = randomAxes(rng, b);
    bool same = sameByDefinition(a, axesA, b, axesB);
    ASSERT_EQ(sameGroups(a, axesA, b, axesB), same);
    equal += same;
  }
  EXPECT_GT(equal, 100);
}
