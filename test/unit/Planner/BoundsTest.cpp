//===- BoundsTest.cpp - The lower bounds' worked values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Bounds.h"

#include "Machines.h"

#include <gtest/gtest.h>

using namespace shunt;

namespace {
/// Adds sets and cells; all tokens together are 1.
struct Builder {
  Movement movement;

  unsigned set(RankList ranks) {
    movement.sets.push_back(std::move(ranks));
    return movement.sets.size() - 1;
  }
  /// A cell of which each rank of `summands` holds one summand.
  void sum(double bytes, const RankList &summands, RankList target) {
    Movement::Cell cell;
    cell.bytes = bytes;
    for (Rank rank : summands)
      cell.classes.push_back(set({rank}));
    cell.target = set(std::move(target));
    movement.cells.push_back(cell);
  }
};
} // namespace

static Bounds boundsOf(const Movement &movement, Cluster cluster,
                       bool inNetwork = false) {
  Result<Bounds> bounds = lowerBounds(cluster, movement, inNetwork);
  EXPECT_TRUE(bounds) << bounds.error().str();
  return bounds ? *bounds : Bounds();
}

// planning.md 4.5, in units of all tokens' bytes.

TEST(Bounds, Example1AttentionTp2Dp2ToTp4) {
  Builder b;
  for (int dp : {0, 1})
    b.sum(0.5, ranks(2, 2 * dp), ranks(4));
  Bounds bounds = boundsOf(b.movement, plainCluster(2, 2));
  EXPECT_DOUBLE_EQ(bounds.receive, 1);
  EXPECT_DOUBLE_EQ(bounds.work, 1);
  EXPECT_DOUBLE_EQ(bounds.moved(), 1);
  EXPECT_DOUBLE_EQ(bounds.cut[0], 0.5);
  EXPECT_EQ(bounds.rounds, 1);
  EXPECT_EQ(bounds.roundsAtWork, 2);
}

TEST(Bounds, Example1Back) {
  Builder b;
  for (int dp : {0, 1})
    b.sum(0.5, ranks(4), ranks(2, 2 * dp));
  Bounds bounds = boundsOf(b.movement, plainCluster(2, 2));
  EXPECT_DOUBLE_EQ(bounds.send, 1);
  EXPECT_DOUBLE_EQ(bounds.work, 1);
  EXPECT_DOUBLE_EQ(bounds.receive, 0.5);
}

TEST(Bounds, Example2aToTokenOwners) {
  Builder b;
  for (int dp = 0; dp < 8; ++dp)
    for (int tp = 0; tp < 8; ++tp)
      b.sum(1.0 / 64, ranks(8, 8 * dp), {8 * dp + tp});
  Bounds bounds = boundsOf(b.movement, plainCluster(8, 8));
  EXPECT_DOUBLE_EQ(bounds.moved(), 7.0 / 64);
  EXPECT_DOUBLE_EQ(bounds.send, 7.0 / 64);
  EXPECT_DOUBLE_EQ(bounds.cut[0], 0);
  EXPECT_EQ(bounds.roundsAtWork, 1);
}

TEST(Bounds, Example3DenseGatherAndBack) {
  Builder there, back;
  for (int cp : {0, 1}) {
    there.sum(0.5, ranks(4, 4 * cp), ranks(8));
    back.sum(0.5, ranks(8), ranks(4, 4 * cp));
  }
  Bounds bounds = boundsOf(there.movement, plainCluster(1, 8));
  EXPECT_DOUBLE_EQ(bounds.work, 1.25);
  EXPECT_DOUBLE_EQ(bounds.receive, 1);
  EXPECT_DOUBLE_EQ(boundsOf(back.movement, plainCluster(1, 8)).moved(), 1.25);
  // A switch that adds leaves what a rank itself must send and receive.
  EXPECT_DOUBLE_EQ(boundsOf(there.movement, plainCluster(1, 8), true).moved(),
                   1);
}

TEST(Bounds, Example4AttentionDp8ToDenseTp8AndBack) {
  Builder there, back;
  for (Rank rank = 0; rank < 8; ++rank) {
    there.sum(0.125, {rank}, ranks(8));
    back.sum(0.125, ranks(8), {rank});
  }
  Bounds bounds = boundsOf(there.movement, plainCluster(1, 8));
  EXPECT_DOUBLE_EQ(bounds.moved(), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bounds.receive, 7.0 / 8);
  bounds = boundsOf(back.movement, plainCluster(1, 8));
  EXPECT_DOUBLE_EQ(bounds.moved(), 7.0 / 8);
  EXPECT_DOUBLE_EQ(bounds.send, 7.0 / 8);
}

// 4.2, bound 3: 2(P-1)/P for an all-reduce; bound 5: 1 with a switch.
TEST(Bounds, AllReduce) {
  for (int64_t n : {2, 3, 8, 11}) {
    Builder b;
    b.sum(1, ranks(n), ranks(n));
    EXPECT_DOUBLE_EQ(boundsOf(b.movement, plainCluster(1, n)).moved(),
                     2.0 * (n - 1) / n);
    EXPECT_DOUBLE_EQ(boundsOf(b.movement, plainCluster(1, n), true).moved(), 1);
  }
}

TEST(Bounds, ReplicasNeedNotSend) {
  // Two ranks hold the same data; two others want it.
  Builder b;
  unsigned holders = b.set({0, 1});
  b.movement.cells.push_back({10, {holders}, b.set({1, 2, 3})});
  Bounds bounds = boundsOf(b.movement, plainCluster(2, 2));
  EXPECT_DOUBLE_EQ(bounds.receive, 10);
  EXPECT_DOUBLE_EQ(bounds.send, 0);
  EXPECT_DOUBLE_EQ(bounds.work, 2 * 10.0 / 4);
  EXPECT_DOUBLE_EQ(bounds.cut[0], 10);
  EXPECT_EQ(bounds.roundsAtWork, 1);
}

TEST(Bounds, SumsThatOneRankHoldsWhole) {
  // Rank 0 has both summands, rank 1 one of them.
  Builder b;
  unsigned first = b.set({0, 1}), second = b.set({0});
  b.movement.cells.push_back({4, {first, second}, b.set({0, 1})});
  Bounds bounds = boundsOf(b.movement, plainCluster(1, 2));
  EXPECT_DOUBLE_EQ(bounds.receive, 4);
  EXPECT_DOUBLE_EQ(bounds.send, 4);
  EXPECT_DOUBLE_EQ(bounds.work, 4.0 / 2);
}

TEST(Bounds, NothingToMove) {
  Builder b;
  b.sum(3, {2}, {2});
  b.movement.cells.push_back({5, {b.set({0, 1})}, b.set({1})});
  b.movement.cells.push_back({7, {b.set({0})}, b.set({})});
  Bounds bounds = boundsOf(b.movement, plainCluster(2, 2));
  EXPECT_EQ(bounds.moved(), 0);
  EXPECT_EQ(bounds.rounds, 0);
  EXPECT_EQ(bounds.cut[0], 0);
  EXPECT_EQ(boundSeconds(CostModel(plainCluster(2, 2)), bounds), 0);
  EXPECT_EQ(boundsOf(Movement(), plainCluster(1, 1)).moved(), 0);
}

TEST(Bounds, RefusesNonsense) {
  auto code = [](std::vector<RankList> sets, Movement::Cell cell) {
    Result<Bounds> bounds =
        lowerBounds(plainCluster(1, 4), {std::move(sets), {cell}});
    return bounds ? "" : bounds.error().code;
  };
  EXPECT_EQ(code({{0}}, {1, {0}, 0}), "");
  EXPECT_EQ(code({{4}}, {1, {0}, 0}), "E_GROUP");
  EXPECT_EQ(code({{-1}}, {1, {0}, 0}), "E_GROUP");
  EXPECT_EQ(code({{1, 1}}, {1, {0}, 0}), "E_GROUP");
  EXPECT_EQ(code({{1}}, {1, {1}, 0}), "E_GROUP");
  EXPECT_EQ(code({{1}}, {1, {0}, 1}), "E_GROUP");
  EXPECT_EQ(code({{1}}, {1, {}, 0}), "E_GROUP");
  EXPECT_EQ(code({{1}, {}}, {1, {1}, 0}), "E_GROUP");
  EXPECT_EQ(code({{1}}, {-1, {0}, 0}), "E_SIZE");
}

// 4.2, bound 6.
TEST(Bounds, OneShotCrossover) {
  ClusterLevel level = plainSpec(1, 8).levels[0];
  EXPECT_NEAR(oneShotCrossover(level, 8), 428e3, 1e3);
  CostModel model(plainCluster(1, 8));
  for (auto [bytes, oneShotWins] :
       {std::pair<int64_t, bool>{428000, true}, {429000, false}}) {
    CollectiveCall e;
    e.kind = CollectiveKind::AllReduce;
    e.groups = {ranks(8)};
    e.rows = {std::vector<int64_t>(8, bytes / 8)};
    e.rowBytes = 8;
    double oneShot = model.price(e, CollectiveAlgorithm::OneShot)->seconds;
    double direct = model.price(e, CollectiveAlgorithm::Direct)->seconds;
    EXPECT_EQ(oneShot < direct, oneShotWins) << bytes;
  }
  EXPECT_EQ(singlePortRounds(1), 0);
  EXPECT_EQ(singlePortRounds(8), 3);
  EXPECT_EQ(singlePortRounds(9), 4);
}
