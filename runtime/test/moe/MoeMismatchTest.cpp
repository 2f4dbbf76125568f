//===- MoeMismatchTest.cpp - One rank fails, or differs, and all know -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoeLayer.h"

#include <chrono>
#include <thread>

using namespace shunt::rt::test;

namespace {

TEST(MoeMismatch, AnIdOutOfRange) {
  expectError("token 1, slot 0 of rank 2 names expert 4; want 0 to 3, or -1 "
              "for a dropped slot [E_EXPERT_ID]",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                return layer.route({0, 1, me == 2 ? 4 : 2, 3});
              });
}

TEST(MoeMismatch, CountsThatAreNotTheIds) {
  expectError("expert 3 is named by 1 slot of rank 1, but its given count is "
              "2; count slots, not tokens [E_EXPERT_COUNTS]",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                Ints counts = {1, 1, 1, me == 1 ? 2 : 1};
                return layer.route({0, 1, 2, 3}, counts.data());
              });
}

TEST(MoeMismatch, TypesThatDiffer) {
  expectError("dtypes differ: ranks [0, 1, 2] have f32, rank 3 has bf16",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return layer.dispatch(4, me == 3 ? SHUNT_BF16 : SHUNT_F32);
              });
}

TEST(MoeMismatch, TypesThatDifferInCombine) {
  expectError("dtypes differ: ranks [0, 1, 3] have f32, rank 2 has f16",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                if (shunt_status status = layer.dispatch())
                  return status;
                return layer.combine(me == 2 ? SHUNT_F16 : SHUNT_F32);
              });
}

// Partial sums travel as f32 whatever the rows are.
TEST(MoeMismatch, TypesThatDifferInPartialSums) {
  for (shunt_moe_algorithm algorithm :
       {SHUNT_MOE_ALL_GATHER, SHUNT_MOE_ALL_TO_ALL_DEDUP}) {
    Ranks ranks(2);
    ranks.run([&](shunt_comm *comm) {
      shunt_moe_options options = {};
      options.algorithm = algorithm;
      options.order = SHUNT_MOE_ORDER_RANK_SLOT;
      Layer layer(comm, options);
      if (shunt_status status = layer.route())
        return status;
      if (shunt_status status = layer.dispatch())
        return status;
      shunt_status status =
          layer.combine(shunt_comm_rank(comm) ? SHUNT_BF16 : SHUNT_F32);
      EXPECT_EQ(status, SHUNT_MISMATCH);
      EXPECT_TRUE(isZero(layer.out));
      return status;
    });
    for (int64_t rank : {0, 1})
      EXPECT_NE(ranks.error(rank).find(
                    "dtypes differ: rank 0 has f32, rank 1 has bf16"),
                std::string::npos)
          << ranks.error(rank);
  }
}

// Every split is the same, so that only the step tells the calls apart.
TEST(MoeMismatch, DispatchMeetsCombine) {
  expectError("ops differ: ranks [0, 1, 2] have combine, rank 3 has dispatch",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                if (shunt_status status = layer.dispatch())
                  return status;
                return me == 3 ? layer.dispatch() : layer.combine();
              });
}

TEST(MoeMismatch, DispatchMeetsAnotherCollective) {
  expectError("collective over ranks [0, 1, 2, 3]: ops differ: ranks [0, 2, "
              "3] have dispatch, rank 1 has all_to_all",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                if (me != 1)
                  return layer.dispatch();
                Ints counts(4, 1);
                float in[16] = {}, out[16];
                return shunt_all_to_all(layer.comm, nullptr, in, 4,
                                        counts.data(), out, 4, counts.data(), 4,
                                        SHUNT_F32);
              });
}

// The splits of another batch: one that sends otherwise, and one that differs
// in nothing but the experts' order.
TEST(MoeMismatch, RoutingsThatDiffer) {
  const std::vector<int32_t> others[] = {{3, 3, 3, 3}, {1, 0, 3, 2}};
  for (const auto &other : others)
    expectError("rank 1 has the one of call ", {0, 1, 2, 3},
                [&](Layer &layer, int64_t me) {
                  if (shunt_status status = layer.route())
                    return status;
                  shunt_moe_routing *first = layer.routing;
                  shunt_status status = layer.route(other);
                  if (status != SHUNT_OK)
                    return status;
                  if (me == 1)
                    std::swap(first, layer.routing);
                  status = layer.dispatch();
                  EXPECT_EQ(status, SHUNT_MISMATCH);
                  EXPECT_TRUE(isZero(layer.out));
                  shunt_moe_routing_destroy(first);
                  return status;
                });
}

TEST(MoeMismatch, RowsThatDiffer) {
  expectError("row_elems differ: ranks [0, 2, 3] have 4, rank 1 has 5",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return layer.dispatch(me == 1 ? 5 : 4);
              });
}

TEST(MoeMismatch, ARankThatDiesBetweenDispatchAndCombine) {
  expectError("rank 3 failed: the engine died", {0, 1, 2},
              [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                if (shunt_status status = layer.dispatch())
                  return status;
                if (me == 3)
                  return shunt_comm_abort(layer.comm, SHUNT_INTERNAL,
                                          "the engine died");
                shunt_status status = layer.combine();
                EXPECT_TRUE(isZero(layer.out));
                return status;
              });
}

// Between two payloads of one dispatch: the first one has arrived.
TEST(MoeMismatch, ARankThatDiesInADispatch) {
  expectError("rank 2 failed: the engine died", {0, 1, 3},
              [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                if (shunt_status status = layer.dispatch())
                  return status;
                if (me == 2)
                  return shunt_comm_abort(layer.comm, SHUNT_INTERNAL,
                                          "the engine died");
                shunt_status status = layer.dispatch();
                EXPECT_TRUE(isZero(layer.out));
                return status;
              });
}

// Others are in the exchange already, and asleep.
TEST(MoeMismatch, ARankThatDiesWhileOthersWait) {
  for (bool inRoute : {true, false})
    expectError("rank 0 failed: the engine died", {1, 2, 3},
                [&](Layer &layer, int64_t me) {
                  if (!inRoute)
                    if (shunt_status status = layer.route())
                      return status;
                  if (me != 0)
                    return inRoute ? layer.route() : layer.dispatch();
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  return shunt_comm_abort(layer.comm, SHUNT_INTERNAL,
                                          "the engine died");
                });
}

TEST(MoeMismatch, ARankThatEndsEarly) {
  expectError("rank 0 finished without it [X_MISSING_RANK]", {1, 2, 3},
              [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return me == 0 ? SHUNT_OK : layer.dispatch();
              });
}

TEST(MoeMismatch, ARankThatHangs) {
  expectError(
      "rank 1 never arrived within", {0, 2, 3},
      [](Layer &layer, int64_t me) {
        if (shunt_status status = layer.route())
          return status;
        if (me == 1)
          std::this_thread::sleep_for(std::chrono::milliseconds(4 * shortMs));
        return layer.dispatch();
      },
      shortMs);
}

TEST(MoeMismatch, OptionsThatDiffer) {
  const std::pair<std::string, std::function<void(shunt_moe_options &)>>
      changes[] = {
          {"experts differs: rank 0 has 4, rank 1 has 6",
           [](auto &o) { o.experts = 6; }},
          {"top_k differs: rank 0 has 2, rank 1 has 3",
           [](auto &o) { o.top_k = 3; }},
          {"alignment differs: rank 0 has 1, rank 1 has 8",
           [](auto &o) { o.alignment = 8; }},
          {"algorithm differs: rank 0 has 0, rank 1 has 1",
           [](auto &o) { o.algorithm = SHUNT_MOE_ALL_GATHER; }},
          {"order differs", [](auto &o) { o.order = SHUNT_MOE_ORDER_TREE; }},
          {"no_direct differs", [](auto &o) { o.no_direct = 1; }},
          {"the placement differs: rank 1 has another than rank 0",
           [](auto &o) {
             static const int64_t sizes[] = {3, 1}, table[] = {0, 1, 2, 3};
             o.placement = SHUNT_MOE_TABLE;
             o.table_sizes = sizes;
             o.table = table;
           }},
      };
  for (auto &pair : changes) {
    const std::string &text = pair.first;
    Ranks ranks(2);
    ranks.run([&](shunt_comm *comm) {
      shunt_moe_options options = {};
      options.experts = 4;
      options.top_k = 2;
      if (shunt_comm_rank(comm) == 1)
        pair.second(options);
      Layer layer(comm, options, false);
      EXPECT_EQ(layer.status, SHUNT_OK) << shunt_comm_error(comm);
      std::vector<int32_t> ids;
      std::vector<float> scores;
      return shunt_moe_route(layer.moe, ids.data(), 0, scores.data(), nullptr,
                             &layer.routing);
    });
    for (int64_t rank : {0, 1}) {
      EXPECT_EQ(ranks.sticky(rank), SHUNT_MISMATCH);
      EXPECT_NE(ranks.error(rank).find(text), std::string::npos)
          << ranks.error(rank);
      EXPECT_NE(ranks.error(rank).find("[X_ROUTE_OPTIONS]"), std::string::npos);
    }
  }
}

TEST(MoeMismatch, ThreadsMayDiffer) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) {
    shunt_moe_options options = {};
    options.threads = 1 + shunt_comm_rank(comm);
    Layer layer(comm, options);
    return layer.route();
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

} // namespace
