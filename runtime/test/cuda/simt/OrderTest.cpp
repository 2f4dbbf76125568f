//===- OrderTest.cpp - Sorting slots by kernels against the core ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMoe.h"

#include "Shunt/Core/Routing.h"
#include "Shunt/Core/RowArithmetic.h"

#include <cmath>

using namespace shunt;
using namespace shunt::rt::test;

namespace {

std::vector<int32_t> identity(int64_t experts) {
  std::vector<int32_t> all(experts);
  for (int64_t i = 0; i < experts; ++i)
    all[i] = static_cast<int32_t>(i);
  return all;
}

/// The kernels' answer is the core's.
void expectCores(const std::vector<int32_t> &ids, int64_t experts,
                 int64_t capacity, const std::vector<float> &scores) {
  RouteRules rules;
  if (capacity)
    rules.capacity = capacity;
  rules.overflow = scores.empty() ? Overflow::DropLast : Overflow::DropLowest;
  auto want = Routing::create(*Placement::even(experts, 1), 0, ids.data(),
                              ids.size(), 1, rules, scores.data());
  ASSERT_TRUE(want);
  Ordered got;
  got.run(ids, identity(experts), experts, capacity,
          scores.empty() ? nullptr : scores.data());
  EXPECT_EQ(got.report().rows, want->rows());
  EXPECT_EQ(got.report().badSlot, INT64_MAX);
  EXPECT_EQ(got.instanceOf, want->instanceOf);
  EXPECT_EQ(got.rowOf, want->rowOf);
  EXPECT_EQ(got.counts, want->counts);
  EXPECT_EQ(got.expertSlots, want->expertSlots);
  got.slotOf.resize(want->rows());
  EXPECT_EQ(got.slotOf, want->slotOf);
  int64_t first = 0;
  for (int64_t i = 0; i < experts; ++i) {
    EXPECT_EQ(got.firstRows[i], first);
    first += got.counts[i];
  }
  EXPECT_EQ(got.firstRows[experts], first);
}

std::vector<int32_t> randomIds(Random &random, int64_t slots, int64_t experts,
                               bool hot) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < slots; ++i)
    ids.push_back(static_cast<int32_t>(
        hot && random.draw(0, 9) ? experts / 2 : random.draw(-1, experts - 1)));
  return ids;
}

// Slots over several parts of the sort, experts over several of its passes.
TEST(Order, ManySlotsAndExperts) {
  Random random(1);
  setResidentBlocks(3);
  for (int64_t experts : {1, 2, 63, 64, 65, 300, 4096, 5000})
    for (int64_t slots : {0, 1, 31, 32, 33, 255, 257, 3000})
      for (bool hot : {false, true})
        expectCores(randomIds(random, slots, experts, hot), experts, 0, {});
}

TEST(Order, MorePartsThanAreLaunched) {
  Random random(2);
  setResidentBlocks(2);
  // 256 parts at most: these have 274 slots each.
  expectCores(randomIds(random, 70000, 7, false), 7, 0, {});
}

TEST(Order, CapacityKeepsTheFirstOrTheHighest) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    int64_t experts = random.draw(1, 9), slots = random.draw(0, 300);
    auto ids = randomIds(random, slots, experts, random.draw(0, 1));
    std::vector<float> scores;
    for (int64_t i = 0; i < slots; ++i) {
      const float special[] = {0.0f, -0.0f, NAN, -NAN, INFINITY, -INFINITY};
      scores.push_back(random.draw(0, 3) == 0 ? special[random.draw(0, 5)]
                                              : float(random.draw(-5, 5)) / 4);
    }
    int64_t capacity = random.draw(1, 40);
    expectCores(ids, experts, capacity, {});
    expectCores(ids, experts, capacity, scores);
  }
}

TEST(Order, ReportsTheFirstBadIdAndTheFirstInstanceThatIsFull) {
  Ordered got;
  std::vector<float> scores = {1, 2, 3, 4, 5, 6, 7, 8};
  got.run({2, 1, 5, 2, -2, 2, 1, 1}, identity(4), 4, 2, nullptr);
  EXPECT_EQ(got.report().badSlot, 2);
  EXPECT_EQ(got.report().rows, 4);
  EXPECT_EQ(got.report().overInstance, 1);
  EXPECT_EQ(got.report().overRows, 3);
  EXPECT_EQ(got.counts, Ints({0, 2, 2, 0}));
  EXPECT_EQ(got.rowOf, Ints({2, 0, -1, 3, -1, -1, 1, -1}));
  got.run({2, 1, 3, 2, -1, 2, 1, 1}, identity(4), 4, 2, scores.data());
  EXPECT_EQ(got.report().badSlot, INT64_MAX);
  EXPECT_EQ(got.report().overInstance, 1);
  EXPECT_EQ(got.report().overRows, 3);
  EXPECT_EQ(got.rowOf, Ints({-1, -1, 4, 2, -1, 3, 0, 1}));
  got.run({2, 1}, identity(4), 4, 2, nullptr);
  EXPECT_EQ(got.report().overInstance, -1);
  EXPECT_EQ(got.report().overRows, 0);
}

TEST(Order, ExpertsWithoutAnInstanceAreDropped) {
  Ordered got;
  got.run({0, 1, 2, 1}, {1, -1, 0}, 2, 0, nullptr);
  EXPECT_EQ(got.rowOf, Ints({1, -1, 0, -1}));
  EXPECT_EQ(got.counts, Ints({1, 1}));
  // Named, all the same.
  EXPECT_EQ(got.expertSlots, Ints({1, 2, 1}));
}

TEST(RowArithmetic, FallingKeysAreInTheOrderOfFallingScores) {
  const float falling[] = {INFINITY, 3e38f, 1,      1e-40f,   0,
                           -1e-40f,  -1,    -3e38f, -INFINITY};
  auto key = [](float score) {
    uint32_t bits;
    std::memcpy(&bits, &score, 4);
    return fallingKey(bits);
  };
  for (size_t i = 1; i < std::size(falling); ++i)
    EXPECT_LT(key(falling[i - 1]), key(falling[i])) << falling[i];
  EXPECT_EQ(key(0.0f), key(-0.0f));
  EXPECT_LT(key(-INFINITY), key(NAN));
  EXPECT_EQ(key(NAN), key(-NAN));
}

TEST(RowArithmetic, SegmentsMayBeEmpty) {
  const int64_t prefix[] = {0, 0, 3, 3, 3, 4, 4};
  EXPECT_EQ(segmentOf(prefix, 6, 0), 1);
  EXPECT_EQ(segmentOf(prefix, 6, 2), 1);
  EXPECT_EQ(segmentOf(prefix, 6, 3), 4);
}

TEST(RowArithmetic, UnitsOfLargeNumbers) {
  EXPECT_EQ(unitsOf(INT64_MAX, 2), int64_t(1) << 62);
  EXPECT_EQ(unitsOf(0, 16), 0);
  EXPECT_EQ(paddedRows(0, 16, false), 0);
  EXPECT_EQ(paddedRows(0, 16, true), 16);
  EXPECT_EQ(paddedRows(17, 16, true), 32);
}

} // namespace
