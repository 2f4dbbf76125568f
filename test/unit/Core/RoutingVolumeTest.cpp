//===- RoutingVolumeTest.cpp - Volumes of the four algorithms ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/RoutingVolume.h"
#include "TestSupport.h"

#include <limits>

using namespace shunt;
using namespace shunt::test;

namespace {

constexpr DispatchAlgorithm algorithms[] = {
    DispatchAlgorithm::AllToAll, DispatchAlgorithm::AllGather,
    DispatchAlgorithm::AllToAllDedup, DispatchAlgorithm::Hierarchical};

TEST(RoutingVolume, NamesRoundTrip) {
  for (DispatchAlgorithm algorithm : algorithms)
    EXPECT_EQ(*parseDispatchAlgorithm(toString(algorithm)), algorithm);
  EXPECT_EQ(codeOf(parseDispatchAlgorithm("alltoall")), "E_MODE");
}

/// The table of the performance reference: expected groups that 8 of 256
/// experts touch.
TEST(RoutingVolume, ExpectedGroupsTouched) {
  auto touched = [](int64_t groups) {
    return groups * touchProbability(256, 256 / groups, 8);
  };
  EXPECT_NEAR(touched(2), 1.993, 5e-4);
  EXPECT_NEAR(touched(4), 3.614, 5e-4);
  EXPECT_NEAR(touched(8), 5.295, 5e-4);
  EXPECT_NEAR(touched(16), 6.523, 5e-4);
  EXPECT_NEAR(touched(64), 7.676, 5e-4);
  EXPECT_EQ(touchProbability(4, 0, 2), 0);
  EXPECT_EQ(touchProbability(4, 3, 2), 1);
}

TEST(RoutingVolume, ByHand) {
  // Four ranks on two nodes, one expert each; one token of rank 0 goes to
  // ranks 0, 2 and 3, and twice to 3.
  Placement placement = take(Placement::even(4, 4));
  std::vector<int32_t> ids = {0, 2, 3, 3};
  std::vector<Routing> routings = {
      take(Routing::create(placement, 0, ids.data(), 1, 4))};
  for (int64_t rank = 1; rank < 4; ++rank)
    routings.push_back(take(Routing::create(placement, rank, nullptr, 0, 4)));
  auto sent = [&](DispatchAlgorithm algorithm) {
    auto volumes = take(dispatchRows(algorithm, placement, routings, 2));
    std::vector<Ints> rows;
    for (auto &v : volumes)
      rows.push_back({v.sent, v.received, v.sentFar, v.receivedFar});
    return rows;
  };
  using Rows = std::vector<Ints>;
  EXPECT_EQ(sent(DispatchAlgorithm::AllGather),
            (Rows{{3, 0, 2, 0}, {0, 1, 0, 0}, {0, 1, 0, 1}, {0, 1, 0, 1}}));
  EXPECT_EQ(sent(DispatchAlgorithm::AllToAll),
            (Rows{{3, 0, 3, 0}, {0, 0, 0, 0}, {0, 1, 0, 1}, {0, 2, 0, 2}}));
  EXPECT_EQ(sent(DispatchAlgorithm::AllToAllDedup),
            (Rows{{2, 0, 2, 0}, {0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 0, 1}}));
  // One copy to rank 2, its place in the other node, which passes it on.
  EXPECT_EQ(sent(DispatchAlgorithm::Hierarchical),
            (Rows{{1, 0, 1, 0}, {0, 0, 0, 0}, {1, 1, 0, 1}, {0, 1, 0, 0}}));
}

TEST(RoutingVolume, ExpectationIsTheMeanOfExactVolumes) {
  Placement placement =
      take(Placement::fromTable(6, {{0, 1}, {2, 0}, {3, 4}, {5}, {0}}));
  const int64_t topK = 3, draws = 400;
  Ints tokens = {7, 0, 3, 5, 2};
  std::mt19937 rng(4);
  std::vector<Volume<double>> sums(4 * placement.ranks());
  for (int64_t draw = 0; draw < draws; ++draw) {
    std::vector<Routing> routings;
    for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
      std::vector<int32_t> ids;
      for (int64_t token = 0; token < tokens[rank]; ++token) {
        RankList all = randomPermutation(rng, placement.experts());
        ids.insert(ids.end(), all.begin(), all.begin() + topK);
      }
      routings.push_back(take(
          Routing::create(placement, rank, ids.data(), tokens[rank], topK)));
    }
    for (int a = 0; a < 4; ++a) {
      auto exact = take(dispatchRows(algorithms[a], placement, routings, 2));
      for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
        Volume<double> &sum = sums[a * placement.ranks() + rank];
        sum.sent += exact[rank].sent;
        sum.received += exact[rank].received;
        sum.sentFar += exact[rank].sentFar;
        sum.receivedFar += exact[rank].receivedFar;
      }
    }
  }
  for (int a = 0; a < 4; ++a) {
    auto expected =
        take(expectedDispatchRows(algorithms[a], placement, tokens, topK, 2));
    for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
      const Volume<double> &sum = sums[a * placement.ranks() + rank];
      EXPECT_NEAR(sum.sent / draws, expected[rank].sent, 0.35);
      EXPECT_NEAR(sum.received / draws, expected[rank].received, 0.35);
      EXPECT_NEAR(sum.sentFar / draws, expected[rank].sentFar, 0.35);
      EXPECT_NEAR(sum.receivedFar / draws, expected[rank].receivedFar, 0.35);
    }
  }
}

// planning.md 4.5, example 2b: rows that enter a node, for those of one of 8
// data-parallel groups, with and without group-limited routing.
TEST(RoutingVolume, GroupLimited) {
  Placement placement = take(Placement::even(256, 64));
  auto far = [&](DispatchAlgorithm algorithm, GroupLimit limit) {
    return take(expectedDispatchRows(algorithm, placement, Ints(64, 1), 8, 8,
                                     limit))[0]
        .receivedFar;
  };
  const GroupLimit none, four{8, 4};
  EXPECT_NEAR(far(DispatchAlgorithm::Hierarchical, none), 4.633, 5e-3);
  EXPECT_NEAR(far(DispatchAlgorithm::AllToAllDedup, none), 6.72, 5e-3);
  EXPECT_NEAR(far(DispatchAlgorithm::Hierarchical, four), 3.175, 5e-3);
  EXPECT_NEAR(far(DispatchAlgorithm::AllToAllDedup, four), 6.43, 1e-2);
  // Slots are as many as ever.
  EXPECT_NEAR(far(DispatchAlgorithm::AllToAll, four), 7, 1e-9);
}

TEST(RoutingVolume, GroupsThatNodesCut) {
  // 2 of 3 groups of 2 experts, 2 choices: {0,1},{2,3}; {0,1},{4,5}; or
  // {2,3},{4,5}, 6 ways to choose in each. Experts 1 and 2 are missed in
  // 1, 3 and 3 of these.
  EXPECT_DOUBLE_EQ(touchProbability(6, {1, 1, 0}, 2, {3, 2}), 1 - 7.0 / 18);
  EXPECT_DOUBLE_EQ(touchProbability(6, {0, 0, 0}, 2, {3, 2}), 0);
  EXPECT_DOUBLE_EQ(touchProbability(6, {2, 2, 2}, 2, {3, 2}), 1);
  EXPECT_DOUBLE_EQ(touchProbability(6, {3}, 2, {}), touchProbability(6, 3, 2));
}

TEST(RoutingVolume, BadInput) {
  Placement placement = take(Placement::even(2, 2));
  auto expect = [&](const Ints &tokens, int64_t topK, int64_t nodeSize) {
    return codeOf(expectedDispatchRows(DispatchAlgorithm::AllToAll, placement,
                                       tokens, topK, nodeSize));
  };
  EXPECT_EQ(expect({1, 1}, 2, 1), "");
  EXPECT_EQ(expect({1, 1}, 3, 1), "E_SIZE");
  EXPECT_EQ(expect({1, 1}, 2, 0), "E_SIZE");
  EXPECT_EQ(expect({1}, 2, 1), "E_SIZE");
  auto expectLimit = [&](int64_t topK, GroupLimit limit) {
    return codeOf(expectedDispatchRows(DispatchAlgorithm::AllToAll, placement,
                                       {1, 1}, topK, 1, limit));
  };
  EXPECT_EQ(expectLimit(1, {2, 1}), "");
  EXPECT_EQ(expectLimit(2, {2, 1}), "E_SIZE");
  EXPECT_EQ(expectLimit(1, {3, 1}), "E_SIZE");
  EXPECT_EQ(expectLimit(1, {2, 3}), "E_SIZE");
  EXPECT_EQ(expectLimit(1, {2, 0}), "E_SIZE");
  EXPECT_EQ(expectLimit(1, {0, 1}), "E_SIZE");
  EXPECT_EQ(codeOf(rowBytes(std::numeric_limits<int64_t>::max() / 2, 4)),
            "E_OVERFLOW");
  EXPECT_EQ(take(rowBytes(int64_t(1) << 40, 14336)),
            (int64_t(1) << 40) * 14336);
}

} // namespace
