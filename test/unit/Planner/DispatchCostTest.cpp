//===- DispatchCostTest.cpp - Dispatch and combine's worked values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/DispatchCost.h"

#include "Machines.h"

#include <gtest/gtest.h>

using namespace shunt;

static Placement even(int64_t experts, int64_t members) {
  return *Placement::even(experts, members);
}

/// One expert group of all ranks.
static ExpertExchange exchangeOf(int64_t members, int64_t tokens,
                                 int64_t rowBytes, GroupLimit limit = {}) {
  ExpertExchange e;
  e.groups = {ranks(members)};
  e.tokens = {std::vector<int64_t>(members, tokens)};
  e.topK = 8;
  e.limit = limit;
  e.rowBytes = rowBytes;
  return e;
}

static Cost costOf(const CostModel &model, int64_t experts,
                   const ExpertExchange &e, DispatchAlgorithm algorithm,
                   DispatchKernel kernel = DispatchKernel::Throughput) {
  Result<Cost> cost = expertCost(model, even(experts, e.groups.front().size()),
                                 e, algorithm, kernel);
  EXPECT_TRUE(cost) << cost.error().str();
  return cost ? *cost : Cost();
}

// planning.md 4.5, example 2b: attention tp8 dp8 to ep64, 8 of 256 experts, in
// units of one data-parallel group's tokens (800 here).
TEST(DispatchCost, Example2b) {
  CostModel model(plainCluster(8, 8));
  const double group = 800;
  CollectiveCall call;
  for (int64_t dp = 0; dp < 8; ++dp) {
    call.groups.push_back(ranks(8, 8 * dp));
    call.rows.push_back(std::vector<int64_t>(8, 100));
  }
  call.rowBytes = 1;
  call.kind = CollectiveKind::ReduceScatter;
  double scatter =
      model.price(call, CollectiveAlgorithm::Direct)->moved / group;
  for (std::vector<int64_t> &rows : call.rows)
    rows.assign(8, 800);
  call.kind = CollectiveKind::AllReduce;
  double reduce = model.price(call, CollectiveAlgorithm::Direct)->moved / group;

  auto dedup = DispatchAlgorithm::AllToAllDedup;
  auto twoLevel = DispatchAlgorithm::Hierarchical;
  Cost owners = costOf(model, 256, exchangeOf(64, 100, 1), dedup);
  Cost everybody = costOf(model, 256, exchangeOf(64, 800, 1), dedup);
  EXPECT_NEAR(scatter + owners.moved / group, 1.820, 1e-3);
  EXPECT_NEAR(reduce + owners.moved / group, 2.695, 1e-3);
  EXPECT_NEAR(reduce + everybody.moved / group, 9.31, 5e-3);

  // What enters a node.
  const GroupLimit four{8, 4};
  Cost limited = costOf(model, 256, exchangeOf(64, 100, 1, four), dedup);
  Cost nodes = costOf(model, 256, exchangeOf(64, 100, 1), twoLevel);
  Cost limitedNodes =
      costOf(model, 256, exchangeOf(64, 100, 1, four), twoLevel);
  EXPECT_NEAR(owners.cutBytes[0] / group, 6.72, 1e-2);
  EXPECT_NEAR(limited.cutBytes[0] / group, 6.43, 1e-2);
  EXPECT_NEAR(nodes.cutBytes[0] / group, 4.64, 1e-2);
  EXPECT_NEAR(limitedNodes.cutBytes[0] / group, 3.17, 1e-2);
  EXPECT_EQ(owners.rounds, 1);
  EXPECT_EQ(nodes.rounds, 2);
}

// dispatch.md 3.8: t = latency + T·K·b·(ep - 8)/ep / 50 GB/s.
TEST(DispatchCost, LowLatencyFormula) {
  ClusterSpec spec = plainSpec(4, 8);
  spec.lowLatency.dispatchLatency = 42e-6;
  spec.lowLatency.combineLatency = 50e-6;
  CostModel model(*Cluster::create(spec));
  ExpertExchange e = exchangeOf(32, 128, 7408);
  double far = 128 * 8 * 7408 * 24 / 32.0;
  auto slots = DispatchAlgorithm::AllToAll;
  auto lowLatency = DispatchKernel::LowLatency;
  EXPECT_NEAR(costOf(model, 256, e, slots, lowLatency).seconds,
              42e-6 + far / 50e9, 1e-12);
  e.isCombine = true;
  EXPECT_NEAR(costOf(model, 256, e, slots, lowLatency).seconds,
              50e-6 + far / 50e9, 1e-12);
  // Where each row costs a message too.
  spec.lowLatency.farMessageCost = 0.3e-6;
  Cost messages =
      costOf(CostModel(*Cluster::create(spec)), 256, e, slots, lowLatency);
  EXPECT_NEAR(messages.messages, 128 * 8 * 24 / 32.0, 1e-9);
  EXPECT_NEAR(messages.seconds, 50e-6 + far / 50e9 + 0.3e-6 * 128 * 8 * 24 / 32,
              1e-12);
}

TEST(DispatchCost, TheLongestLegDecides) {
  ClusterSpec spec = plainSpec(2, 8);
  ExpertExchange e = exchangeOf(16, 4096, 7392);
  Volume<double> v = (*expectedDispatchRows(
      DispatchAlgorithm::Hierarchical, even(256, 16), e.tokens[0], 8, 8))[0];
  double far = v.sentFar * 7392, near = (v.sent - v.sentFar) * 7392;
  auto seconds = [&](int64_t sms) {
    return costOf(CostModel(*Cluster::create(spec), {sms}), 256, e,
                  DispatchAlgorithm::Hierarchical)
        .seconds;
  };
  // Without latencies of its own the kernel has those of both levels.
  EXPECT_NEAR(seconds(0), 15e-6 + far / 50e9, 1e-12);
  spec.throughput.nearBandwidth = 100e9;
  spec.throughput.dispatchLatency = 1e-6;
  EXPECT_NEAR(seconds(0), 1e-6 + near / 100e9, 1e-12);
  EXPECT_NEAR(seconds(8), 1e-6 + near / 100e9, 1e-12);
  spec.throughput.bandwidthPerSm = 10e9;
  EXPECT_NEAR(seconds(8), 1e-6 + (near + far) / 80e9, 1e-12);
  EXPECT_NEAR(seconds(0), 1e-6 + near / 100e9, 1e-12);
}

TEST(DispatchCost, SmallBatchesGoByLowLatencyLargeOnesByNode) {
  CostModel model(*Cluster::fromPreset("h800-nvl8-cx7", 8, 8));
  Result<ExpertChoice> decode =
      bestExpertCost(model, even(256, 64), exchangeOf(64, 8, 7392));
  ASSERT_TRUE(decode) << decode.error().str();
  EXPECT_LT(decode->cost.seconds, 100e-6);
  Result<ExpertChoice> prefill =
      bestExpertCost(model, even(256, 64), exchangeOf(64, 4096, 7392));
  ASSERT_TRUE(prefill);
  EXPECT_EQ(prefill->algorithm, DispatchAlgorithm::Hierarchical);
  // dispatch.md 3.8: T·u_node·(1 - 1/nodes)·b / 44 GB/s.
  EXPECT_NEAR(prefill->cost.seconds, 4096 * 5.295 * 7 / 8 * 7392 / 43.9e9,
              0.01 * prefill->cost.seconds);
  // The choice is the least of all.
  for (DispatchAlgorithm algorithm :
       {DispatchAlgorithm::AllToAll, DispatchAlgorithm::AllGather,
        DispatchAlgorithm::AllToAllDedup, DispatchAlgorithm::Hierarchical})
    EXPECT_GE(costOf(model, 256, exchangeOf(64, 8, 7392), algorithm).seconds,
              decode->cost.seconds);
}

// planning.md 4.5, example 3: dispatch pays only if a token touches fewer ranks
// than a gather sends it to.
TEST(DispatchCost, AllGatherWhereTokensTouchAllRanks) {
  CostModel model(plainCluster(1, 4));
  ExpertExchange e = exchangeOf(4, 4096, 14336);
  Result<ExpertChoice> many = bestExpertCost(model, even(64, 4), e);
  ASSERT_TRUE(many);
  e.topK = 1;
  Result<ExpertChoice> one = bestExpertCost(model, even(64, 4), e);
  ASSERT_TRUE(one);
  EXPECT_NE(one->algorithm, DispatchAlgorithm::AllGather);
  Cost gather = costOf(model, 64, e, DispatchAlgorithm::AllGather);
  EXPECT_DOUBLE_EQ(gather.moved, 3.0 * 4096 * 14336);
  EXPECT_LT(one->cost.moved, gather.moved / 3);
  e.isCombine = true;
  EXPECT_DOUBLE_EQ(costOf(model, 64, e, DispatchAlgorithm::AllGather).sent,
                   3.0 * 4096 * 14336);
}

TEST(DispatchCost, CombineMovesTheSameBack) {
  // One rank has all tokens.
  CostModel model(plainCluster(2, 2));
  ExpertExchange e = exchangeOf(4, 0, 10);
  e.tokens = {{1000, 0, 0, 0}};
  Cost there = costOf(model, 16, e, DispatchAlgorithm::AllToAllDedup);
  e.isCombine = true;
  Cost back = costOf(model, 16, e, DispatchAlgorithm::AllToAllDedup);
  EXPECT_DOUBLE_EQ(there.sent, back.received);
  EXPECT_DOUBLE_EQ(there.received, back.sent);
  EXPECT_GT(there.sent, there.received);
}

TEST(DispatchCost, NodeSizes) {
  Cluster cluster = plainCluster(3, 4);
  EXPECT_EQ(nodeSizeOf(cluster, ranks(12)), 4);
  EXPECT_EQ(nodeSizeOf(cluster, ranks(4)), 4);
  EXPECT_EQ(nodeSizeOf(cluster, ranks(6, 0, 2)), 2);
  EXPECT_EQ(nodeSizeOf(cluster, ranks(3, 1, 4)), 1);
  EXPECT_EQ(nodeSizeOf(cluster, ranks(6)), 4);
  EXPECT_EQ(nodeSizeOf(cluster, RankList{0, 4, 1, 5}), 1);
  EXPECT_EQ(nodeSizeOf(cluster, RankList{0, 1, 4, 2, 3}), 1);
  EXPECT_EQ(nodeSizeOf(cluster, RankList{0, 4, 5, 8}), 1);
  EXPECT_EQ(nodeSizeOf(cluster, {}), 1);
}

// dispatch.md 3.4: 11.75 us on 8 and 28.2 us on 32 GPUs of one NVL72.
TEST(DispatchCost, CountExchange) {
  for (auto [nodes, microseconds] : {std::pair{2, 11.75}, std::pair{8, 28.2}}) {
    CostModel model(*Cluster::fromPreset("gb200-nvl72-cx7", nodes, 4));
    Result<Cost> cost =
        countExchangeCost(model, even(256, 4 * nodes), {ranks(4 * nodes)});
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->seconds * 1e6, microseconds, 0.05 * microseconds);
  }
}

TEST(DispatchCost, RefusesNonsense) {
  CostModel model(plainCluster(1, 4));
  auto code = [&](int64_t members, const ExpertExchange &e) {
    Result<Cost> cost =
        expertCost(model, even(16, members), e, DispatchAlgorithm::AllToAll,
                   DispatchKernel::Throughput);
    return cost ? "" : cost.error().code;
  };
  ExpertExchange e = exchangeOf(4, 5, 2);
  EXPECT_EQ(code(4, e), "");
  EXPECT_EQ(code(2, e), "E_SIZE");
  e.groups = {{0, 1, 2, 4}};
  EXPECT_EQ(code(4, e), "E_GROUP");
  e.groups = {{0, 1, 1, 2}};
  EXPECT_EQ(code(4, e), "E_GROUP");
  e = exchangeOf(4, -5, 2);
  EXPECT_EQ(code(4, e), "E_COUNTS_NEG");
  e = exchangeOf(4, 5, -2);
  EXPECT_EQ(code(4, e), "E_SIZE");
  e = exchangeOf(4, 5, 2);
  e.topK = 17;
  EXPECT_EQ(code(4, e), "E_SIZE");
  e.topK = 8;
  e.tokens = {};
  EXPECT_EQ(code(4, e), "E_COUNTS_LEN");
  e.tokens = {{1, 2}};
  EXPECT_EQ(code(4, e), "E_COUNTS_LEN");
  Result<Cost> cost =
      expertCost(model, exchangeOf(4, 5, 2), {{}}, DispatchAlgorithm::AllToAll,
                 DispatchKernel::Throughput);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().code, "E_COUNTS_LEN");
  EXPECT_FALSE(countExchangeCost(model, even(16, 2), {ranks(4)}));
}
