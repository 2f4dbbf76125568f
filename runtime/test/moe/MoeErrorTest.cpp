//===- MoeErrorTest.cpp - Bad input reaches every rank --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoeCase.h"

#include <chrono>
#include <thread>

using namespace shunt::rt::test;

namespace {

/// Two tokens a rank with two choices of four experts.
struct Layer {
  explicit Layer(shunt_comm *comm, shunt_moe_options given = {},
                 bool defaults = true)
      : comm(comm) {
    if (defaults) {
      given.experts = 4;
      given.top_k = 2;
    }
    status = shunt_moe_create(comm, nullptr, &given, &moe);
  }
  ~Layer() {
    shunt_moe_routing_destroy(routing);
    shunt_moe_destroy(moe);
  }
  Layer(const Layer &) = delete;

  shunt_status route(std::vector<int32_t> ids = {0, 1, 2, 3},
                     const int64_t *counts = nullptr) {
    std::vector<float> scores(ids.size(), 1.0f);
    return shunt_moe_route(moe, ids.data(), ids.size() / 2, scores.data(),
                           counts, &routing);
  }
  shunt_status dispatch(int64_t elems = 4, shunt_dtype dtype = SHUNT_F32) {
    Bytes in(2 * elems * 4);
    out.assign(shunt_moe_rows(routing) * elems * 4, 0xa5);
    shunt_moe_payload payload = {in.data(), out.data(), elems, dtype, 0};
    return shunt_moe_dispatch(routing, &payload, 1);
  }
  shunt_status combine() {
    Bytes in(shunt_moe_rows(routing) * 16);
    out.assign(2 * 16, 0xa5);
    return shunt_moe_combine(routing, in.data(), out.data(), 4, SHUNT_F32,
                             nullptr);
  }

  shunt_comm *comm;
  shunt_moe *moe = nullptr;
  shunt_moe_routing *routing = nullptr;
  shunt_status status;
  Bytes out;
};

bool isZero(const Bytes &bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](auto b) { return !b; });
}

/// Runs `body` on all ways and 4 ranks, and expects an error on every rank in
/// `survivors` whose message contains `text`.
void expectError(const std::string &text, const Ints &survivors,
                 const std::function<shunt_status(Layer &, int64_t)> &body,
                 int64_t timeoutMs = patientMs) {
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    Ranks ranks(4, timeoutMs);
    ranks.run([&](shunt_comm *comm) {
      shunt_moe_options options = {};
      options.algorithm = way.algorithm;
      options.no_direct = way.noDirect;
      Layer layer(comm, options);
      EXPECT_EQ(layer.status, SHUNT_OK);
      return body(layer, shunt_comm_rank(comm));
    });
    for (int64_t rank : survivors) {
      EXPECT_NE(ranks.sticky(rank), SHUNT_OK) << "rank " << rank;
      EXPECT_NE(ranks.error(rank).find(text), std::string::npos)
          << "rank " << rank << ": " << ranks.error(rank);
    }
  }
}

TEST(MoeErrors, AnIdOutOfRange) {
  expectError("token 1, slot 0 of rank 2 names expert 4; want 0 to 3, or -1 "
              "for a dropped slot [E_EXPERT_ID]",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                return layer.route({0, 1, me == 2 ? 4 : 2, 3});
              });
}

TEST(MoeErrors, CountsThatAreNotTheIds) {
  expectError("expert 3 is named by 1 slot of rank 1, but its given count is "
              "2; count slots, not tokens [E_EXPERT_COUNTS]",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                Ints counts = {1, 1, 1, me == 1 ? 2 : 1};
                return layer.route({0, 1, 2, 3}, counts.data());
              });
}

TEST(MoeErrors, TypesThatDiffer) {
  expectError("dtypes differ: ranks [0, 1, 2] have f32, rank 3 has bf16",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return layer.dispatch(4, me == 3 ? SHUNT_BF16 : SHUNT_F32);
              });
}

TEST(MoeErrors, RowsThatDiffer) {
  expectError("row_elems differ: ranks [0, 2, 3] have 4, rank 1 has 5",
              {0, 1, 2, 3}, [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return layer.dispatch(me == 1 ? 5 : 4);
              });
}

TEST(MoeErrors, ARankThatDiesBetweenDispatchAndCombine) {
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

TEST(MoeErrors, ARankThatEndsEarly) {
  expectError("rank 0 finished without it [X_MISSING_RANK]", {1, 2, 3},
              [](Layer &layer, int64_t me) {
                if (shunt_status status = layer.route())
                  return status;
                return me == 0 ? SHUNT_OK : layer.dispatch();
              });
}

TEST(MoeErrors, ARankThatHangs) {
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

TEST(MoeErrors, OptionsThatDiffer) {
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

TEST(MoeErrors, ThreadsMayDiffer) {
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
          {"a placement has at least 1 expert", [](auto &o) { o.experts = 0; }},
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
