//===- RoutingTest.cpp - Errors and rules of routing ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Routing.h"
#include "TestSupport.h"

#include <cmath>
#include <limits>

using namespace shunt;
using namespace shunt::test;

namespace {

using Ids = std::vector<int32_t>;
constexpr int64_t huge = std::numeric_limits<int64_t>::max();

Result<Routing> route(const Ids &ids, int64_t topK, RouteRules rules = {},
                      const std::vector<float> &scores = {}) {
  Placement placement = take(Placement::even(4, 2));
  return Routing::create(placement, 0, ids.data(), ids.size() / topK, topK,
                         rules, scores.empty() ? nullptr : scores.data());
}

Result<RouteCounts> matrix(const Ints &counts) {
  return RouteCounts::create(take(Placement::even(2, 2)), counts);
}

TEST(Routing, NamesTheIdThatIsWrong) {
  EXPECT_EQ(messageOf(route({0, 1, 2, 3, 1, 4}, 2)),
            "token 2, slot 1 of rank 0 names expert 4; want 0 to 3, or -1 for "
            "a dropped slot [E_EXPERT_ID]");
  EXPECT_EQ(codeOf(route({0, -2}, 2)), "E_EXPERT_ID");
  EXPECT_EQ(codeOf(route({std::numeric_limits<int32_t>::min()}, 1)),
            "E_EXPERT_ID");
}

TEST(Routing, SortIsStable) {
  Routing routing = take(route({1, 1, 0, 1, 0, 0}, 2));
  EXPECT_EQ(routing.slotOf, (Ints{2, 4, 5, 0, 1, 3}));
  EXPECT_EQ(routing.tokenOf, (Ints{1, 2, 2, 0, 0, 1}));
}

TEST(Routing, BadShapes) {
  Placement placement = take(Placement::even(4, 2));
  auto create = [&](int64_t source, int64_t tokens, int64_t topK) {
    return codeOf(Routing::create(placement, source, nullptr, tokens, topK));
  };
  EXPECT_EQ(create(2, 0, 1), "E_SIZE");
  EXPECT_EQ(create(-1, 0, 1), "E_SIZE");
  EXPECT_EQ(create(0, -1, 1), "E_SIZE");
  EXPECT_EQ(create(0, 1, 0), "E_SIZE");
  EXPECT_EQ(create(0, huge / 4, 8), "E_OVERFLOW");
  EXPECT_EQ(create(0, 0, huge), "");
}

TEST(Routing, GivenCounts) {
  Routing routing = take(route({1, 1, 0, -1}, 2));
  EXPECT_FALSE(routing.checkCounts({1, 2, 0, 0}));
  EXPECT_EQ(routing.checkCounts({1, 1, 0, 0})->str(),
            "expert 1 is named by 2 slots of rank 0, but its given count is 1; "
            "count slots, not tokens [E_EXPERT_COUNTS]");
  EXPECT_EQ(routing.checkCounts({1, 2})->code, "E_COUNTS_LEN");
}

TEST(Routing, CapacityIsAnErrorUnlessRowsMayBeDropped) {
  RouteRules rules;
  rules.capacity = 1;
  EXPECT_EQ(messageOf(route({2, 2}, 1, rules)),
            "rank 0 sends 2 rows to expert 2 on rank 1, over the capacity of "
            "1; use a larger capacity, or let rows be dropped [E_CAPACITY]");
  rules.overflow = Overflow::DropLast;
  EXPECT_EQ(take(route({2, 2}, 1, rules)).slotOf, (Ints{0}));
  rules.overflow = Overflow::DropLowest;
  EXPECT_EQ(codeOf(route({2, 2}, 1, rules)), "E_CAPACITY");
  rules.capacity = -1;
  EXPECT_EQ(codeOf(route({2, 2}, 1, rules)), "E_CAPACITY");
}

TEST(Routing, LowestScoresAreDropped) {
  RouteRules rules;
  rules.capacity = 2;
  rules.overflow = Overflow::DropLowest;
  Routing routing =
      take(route({1, 1, 1, 1}, 1, rules, {NAN, 0.5f, 0.75f, 0.5f}));
  EXPECT_EQ(routing.slotOf, (Ints{1, 2}));
  EXPECT_EQ(routing.rowOf, (Ints{-1, 0, 1, -1}));
  EXPECT_EQ(routing.expertSlots, (Ints{0, 4, 0, 0}));
}

TEST(Routing, CapacityOfAFactor) {
  EXPECT_EQ(take(capacityFor(4, 2, 4, 1.0)), 2);
  EXPECT_EQ(take(capacityFor(10, 1, 1, 1.1)), 11);
  EXPECT_EQ(take(capacityFor(3, 1, 2, 1.0)), 2);
  EXPECT_EQ(take(capacityFor(0, 1, 2, 1.0)), 0);
  EXPECT_EQ(codeOf(capacityFor(1, 1, 1, -1.0)), "E_SIZE");
  EXPECT_EQ(codeOf(capacityFor(1, 1, 1, NAN)), "E_SIZE");
  EXPECT_EQ(codeOf(capacityFor(1, 1, 0, 1.0)), "E_SIZE");
  EXPECT_EQ(codeOf(capacityFor(huge, 8, 1, 1.0)), "E_OVERFLOW");
}

TEST(Routing, ActiveNeedsEveryRank) {
  RouteRules rules;
  rules.active = {1};
  EXPECT_EQ(codeOf(route({0}, 1, rules)), "E_COUNTS_LEN");
  rules.active = {1, 0};
  EXPECT_EQ(take(route({0, 2}, 1, rules)).sendSplits, (Ints{1, 0}));
  rules.active = {0, 1};
  EXPECT_EQ(take(route({0, 2}, 1, rules)).rows(), 0);
}

TEST(RouteCounts, BadCounts) {
  EXPECT_EQ(codeOf(matrix({1, 2, 3})), "E_COUNTS_LEN");
  EXPECT_EQ(messageOf(matrix({1, 2, -3, 4})),
            "rank 1 sends -3 rows to expert 0; a count is at least 0 "
            "[E_COUNTS_NEG]");
  EXPECT_EQ(codeOf(matrix({huge / 2, 2, 3, 4})), "E_OVERFLOW");
}

TEST(Arrivals, BadOrders) {
  RouteCounts counts = *matrix({1, 2, 3, 4});
  RowOrder order;
  order.alignment = 0;
  EXPECT_EQ(codeOf(Arrivals::create(counts, 0, order)), "E_ALIGN");
  order = {false, 8, false};
  EXPECT_EQ(messageOf(Arrivals::create(counts, 0, order)),
            "only expert-major rows can be padded to 8 rows; a rank-major "
            "expert has many segments [E_ALIGN]");
  order = {true, huge / 2 - 1, true};
  EXPECT_EQ(codeOf(Arrivals::create(counts, 0, order)), "");
}

TEST(Arrivals, PaddingThatDoesNotFit) {
  Placement placement = take(Placement::even(2, 1));
  RouteCounts counts = *RouteCounts::create(placement, {5, 5});
  int64_t half = (int64_t(1) << 61) + 1;
  EXPECT_EQ(codeOf(Arrivals::create(counts, 0, {true, half, false})),
            "E_OVERFLOW");
}

TEST(Arrivals, RankMajorIsTheOrderOfArrival) {
  Placement placement = take(Placement::even(4, 2));
  RouteCounts counts =
      *RouteCounts::create(placement, {2, 1, 0, 0, 3, 2, 0, 0});
  RowOrder order;
  order.expertMajor = false;
  Arrivals arrivals = *Arrivals::create(counts, 0, order);
  EXPECT_EQ(arrivals.arrivalOf(), (Ints{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(arrivals.start(1, 1), 6);
  EXPECT_EQ(arrivals.counts, (Ints{5, 3}));
}

TEST(Nodes, TheLastMayBeSmaller) {
  Nodes nodes{5, 3};
  EXPECT_EQ(nodes.count(), 2);
  EXPECT_EQ(nodes.sizeOf(0), 3);
  EXPECT_EQ(nodes.sizeOf(1), 2);
  EXPECT_EQ(nodes.forwarder(2, 1), 3); // place 2 of 3 wraps to place 0 of 2
  EXPECT_EQ(nodes.forwarder(4, 1), 4);
  EXPECT_EQ(nodes.forwarder(4, 0), 1);
}

} // namespace
