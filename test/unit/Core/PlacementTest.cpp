//===- PlacementTest.cpp - Where experts live ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Placement.h"
#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

TEST(Placement, EvenBlocks) {
  Placement placement = take(Placement::even(6, 3));
  EXPECT_EQ(placement.instances(), 6);
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(placement.expertOf(i), i);
    EXPECT_EQ(placement.rankOf(i), i / 2);
    EXPECT_EQ(placement.localOf(i), i % 2);
  }
}

TEST(Placement, EvenRefusesARest) {
  EXPECT_EQ(messageOf(Placement::even(5, 2)),
            "5 experts cannot be shared equally by 2 ranks; use the balanced "
            "placement or a table [E_PLACEMENT]");
}

TEST(Placement, BalancedGivesTheFirstRanksMore) {
  Placement placement = take(Placement::balanced(5, 3));
  EXPECT_EQ(placement.localInstances(0), 2);
  EXPECT_EQ(placement.localInstances(1), 2);
  EXPECT_EQ(placement.localInstances(2), 1);
  Placement few = take(Placement::balanced(1, 3));
  EXPECT_EQ(few.ranks(), 3);
  EXPECT_EQ(few.localInstances(2), 0);
}

TEST(Placement, ReplicasAreSharedAmongSources) {
  Placement placement = take(Placement::fromTable(2, {{0, 1}, {0}, {}, {0}}));
  EXPECT_EQ(placement.ranks(), 4);
  EXPECT_EQ(placement.replicas(0), (Ints{0, 2, 3}));
  Ints to;
  for (int64_t source = 0; source < 4; ++source)
    to.push_back(placement.rankOf(placement.instanceFor(0, source)));
  EXPECT_EQ(to, (Ints{0, 1, 3, 0}));
  EXPECT_EQ(placement.instanceFor(1, 3), 1);
}

TEST(Placement, BadTables) {
  EXPECT_EQ(messageOf(Placement::fromTable(2, {{0, 2}, {1}})),
            "the placement gives rank 0 expert 2, but there are 2 experts "
            "[E_PLACEMENT]");
  EXPECT_EQ(messageOf(Placement::fromTable(3, {{0}, {2, -0}})),
            "the placement gives expert 1 to no rank; every expert of 3 needs "
            "one [E_PLACEMENT]");
  EXPECT_EQ(codeOf(Placement::fromTable(1, {{-1}})), "E_PLACEMENT");
  EXPECT_EQ(codeOf(Placement::fromTable(1, {})), "E_SIZE");
}

TEST(Placement, BadSizes) {
  EXPECT_EQ(codeOf(Placement::even(0, 1)), "E_SIZE");
  EXPECT_EQ(codeOf(Placement::balanced(1, 0)), "E_SIZE");
}
