//===- MoeErrorTest.cpp - Bad options and arguments -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoeLayer.h"

using namespace shunt::rt::test;

namespace {

TEST(MoeErrors, OverTheBound) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) {
    shunt_moe_options options = {};
    options.bound = 5;
    Layer layer(comm, options);
    // All eight rows go to rank 0.
    return layer.route({0, 1, 1, 0});
  });
  for (int64_t rank : {0, 1})
    EXPECT_EQ(ranks.error(rank),
              "route over ranks [0, 1]: rank 0 receives 8 rows, over the bound "
              "of 5; use a larger bound, or a capacity [E_CAPACITY]");
}

TEST(MoeErrors, OverTheCapacity) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) {
    shunt_moe_options options = {};
    options.capacity = 1;
    Layer layer(comm, options);
    return layer.route({0, 1, 1, 3});
  });
  for (int64_t rank : {0, 1})
    EXPECT_NE(ranks.error(rank).find("[E_CAPACITY]"), std::string::npos)
        << ranks.error(rank);
}

TEST(MoeErrors, BadOptions) {
  const std::pair<std::string, std::function<void(shunt_moe_options &)>>
      changes[] = {
          {"a placement has 1 to 1048576 experts, got 0", [](auto &o) { o.experts = 0; }},
          {"4 experts cannot be shared equally by 3 ranks", [](auto &) {}},
          {"top_k is 0", [](auto &o) { o.top_k = 0; }},
          {"threads is -1", [](auto &o) { o.threads = -1; }},
          {"threads is 5000", [](auto &o) { o.threads = 5000; }},
          {"node_size is -2", [](auto &o) { o.node_size = -2; }},
          {"alignment is -8", [](auto &o) { o.alignment = -8; }},
          {"bound is -1", [](auto &o) { o.bound = -1; }},
          {"capacity is -1", [](auto &o) { o.capacity = -1; }},
          {"placement is 3", [](auto &o) { o.placement = 3; }},
          {"algorithm is -1", [](auto &o) { o.algorithm = -1; }},
          {"layout is 2", [](auto &o) { o.layout = 2; }},
          {"score is 7", [](auto &o) { o.score = 7; }},
          {"order is 9", [](auto &o) { o.order = 9; }},
          {"overflow is 3", [](auto &o) { o.overflow = 3; }},
          {"[E_ALIGN]",
           [](auto &o) {
             o.layout = SHUNT_MOE_RANK_MAJOR;
             o.alignment = 8;
           }},
          {"dropping the lowest scores needs scores",
           [](auto &o) {
             o.capacity = 1;
             o.overflow = SHUNT_MOE_OVERFLOW_DROP_LOWEST;
             o.score = SHUNT_MOE_SCORE_NONE;
           }},
          {"table_sizes is null",
           [](auto &o) { o.placement = SHUNT_MOE_TABLE; }},
          {"table is null",
           [](auto &o) {
             static const int64_t sizes[] = {2, 2, 0};
             o.placement = SHUNT_MOE_TABLE;
             o.table_sizes = sizes;
           }},
      };
  Ranks ranks(3);
  for (auto &[text, change] : changes) {
    shunt_moe_options options = {};
    options.experts = 4;
    options.top_k = 2;
    change(options);
    Layer layer(ranks.comm(0), options, false);
    EXPECT_EQ(layer.status, SHUNT_INVALID_ARGUMENT);
    EXPECT_EQ(layer.moe, nullptr);
    EXPECT_NE(ranks.error(0).find(text), std::string::npos) << ranks.error(0);
  }
  EXPECT_EQ(ranks.sticky(0), SHUNT_OK);
}

TEST(MoeErrors, NullHandles) {
  shunt_moe *moe = nullptr;
  shunt_moe_routing *routing = nullptr;
  EXPECT_EQ(shunt_moe_create(nullptr, nullptr, nullptr, &moe),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_route(nullptr, nullptr, 0, nullptr, nullptr, &routing),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_dispatch(nullptr, nullptr, 0), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_combine(nullptr, nullptr, nullptr, 0, SHUNT_F32, nullptr),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_counts(nullptr, nullptr, nullptr),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_splits(nullptr, nullptr, nullptr),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_moe_rows(nullptr), 0);
  EXPECT_EQ(shunt_moe_workspace(nullptr), 0);
  shunt_moe_destroy(nullptr);
  shunt_moe_routing_destroy(nullptr);
}

/// Misuse of one call on one rank: an error that is sticky, and zeros.
void expectMisuse(const std::string &text,
                  const std::function<shunt_status(Layer &)> &body,
                  shunt_moe_score score = SHUNT_MOE_SCORE_AFTER) {
  Ranks ranks(1);
  ranks.run([&](shunt_comm *comm) {
    shunt_moe_options options = {};
    options.score = score;
    Layer layer(comm, options);
    shunt_status status = body(layer);
    EXPECT_EQ(status, SHUNT_INVALID_ARGUMENT);
    return status;
  });
  EXPECT_NE(ranks.error(0).find(text), std::string::npos) << ranks.error(0);
}

TEST(MoeErrors, BadBuffers) {
  expectMisuse("ids is null, but there are 2 tokens", [](Layer &layer) {
    return shunt_moe_route(layer.moe, nullptr, 2, nullptr, nullptr,
                           &layer.routing);
  });
  expectMisuse("scores is null", [](Layer &layer) {
    int32_t ids[4] = {0, 1, 2, 3};
    return shunt_moe_route(layer.moe, ids, 2, nullptr, nullptr, &layer.routing);
  });
  expectMisuse("out is null", [](Layer &layer) {
    return shunt_moe_route(layer.moe, nullptr, 0, nullptr, nullptr, nullptr);
  });
  auto misroute = [](const shunt_moe_payload &payload) {
    return [payload](Layer &layer) {
      EXPECT_EQ(layer.route(), SHUNT_OK);
      return shunt_moe_dispatch(layer.routing, &payload, 1);
    };
  };
  static float rows[64];
  expectMisuse("dispatch: out is null, but has 4 rows of 4 elements",
               misroute({rows, nullptr, 4, SHUNT_F32, 0}));
  expectMisuse("dispatch: in is null, but has 2 rows of 4 elements",
               misroute({nullptr, rows, 4, SHUNT_F32, 0}));
  expectMisuse("there is no dtype 42", misroute({rows, rows, 4, 42, 0}));
  expectMisuse("row_elems is -1", misroute({rows, rows, -1, SHUNT_F32, 0}));
  expectMisuse("more than 2^63 - 1 bytes [E_OVERFLOW]",
               misroute({rows, rows, int64_t(1) << 60, SHUNT_F32, 0}));
  expectMisuse("dispatch: in and out overlap",
               misroute({rows, rows + 4, 4, SHUNT_F32, 0}));
  expectMisuse("f8e4m3 rows cannot be multiplied by scores; set `scored` on "
               "their scales",
               misroute({rows, rows + 32, 4, SHUNT_F8E4M3, 1}),
               SHUNT_MOE_SCORE_BEFORE);
  expectMisuse("payloads is null", [](Layer &layer) {
    EXPECT_EQ(layer.route(), SHUNT_OK);
    return shunt_moe_dispatch(layer.routing, nullptr, 1);
  });
  expectMisuse("f8e4m3 rows cannot be summed", [](Layer &layer) {
    EXPECT_EQ(layer.route(), SHUNT_OK);
    return shunt_moe_combine(layer.routing, rows, rows + 32, 4, SHUNT_F8E4M3,
                             nullptr);
  });
}

} // namespace
