//===- MoeTest.cpp - Bits, payloads, groups and memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoeWorkspace.h"

using namespace shunt::rt::test;

namespace {

/// Tokens of one batch, dealt to `ranks` ranks in order.
MoeCase dealt(int64_t ranks, shunt_dtype dtype) {
  Random random(7);
  const int64_t tokens = 61, experts = 8, topK = 3;
  MoeCase moe;
  moe.ranks = ranks;
  moe.elems = 96;
  moe.dtype = dtype;
  moe.options.experts = experts;
  moe.options.top_k = topK;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    moe.table.emplace_back();
    for (int64_t i = 0; i < experts / ranks; ++i)
      moe.table[rank].push_back(rank * (experts / ranks) + i);
    int64_t mine = tokens / ranks + (rank < tokens % ranks);
    moe.ids.emplace_back();
    moe.scores.emplace_back();
    for (int64_t slot = 0; slot < mine * topK; ++slot) {
      moe.ids[rank].push_back(static_cast<int32_t>(random.draw(-1, 7)));
      moe.scores[rank].push_back(std::ldexp(float(random.draw(-99, 99)), -7));
    }
    moe.x.push_back(random.rows(mine * moe.elems, dtype));
  }
  return moe;
}

TEST(Moe, Fp8RowsTravelWithTheirScales) {
  // Two tokens a rank; 256 values with a scale for each 128.
  const int64_t elems = 256, blocks = 2;
  for (const Way &way : ways) {
    Ranks ranks(2);
    shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
      int64_t me = shunt_comm_rank(comm);
      shunt_moe_options options = {};
      options.experts = 2;
      options.top_k = 2;
      options.alignment = 4;
      options.score = SHUNT_MOE_SCORE_BEFORE;
      options.algorithm = way.algorithm;
      options.no_direct = way.noDirect;
      shunt_moe *layer = nullptr;
      shunt_moe_routing *routing = nullptr;
      // Token 0 goes to both experts, token 1 to the first one.
      int32_t ids[] = {1, 0, 0, -1};
      float scores[] = {0.5f, 2.0f, 4.0f, 1.0f};
      Bytes x(2 * elems);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<uint8_t>(i * 7 + me * 50);
      float scales[] = {1.0f + me, 2, 3, 4};
      if (shunt_status status =
              shunt_moe_create(comm, nullptr, &options, &layer))
        return status;
      if (shunt_status status =
              shunt_moe_route(layer, ids, 2, scores, nullptr, &routing))
        return status;
      int64_t rows = shunt_moe_rows(routing);
      EXPECT_EQ(rows, 4);
      Bytes out(rows * elems, 0xa5);
      std::vector<float> outScales(rows * blocks, -1.0f);
      shunt_moe_payload payloads[] = {
          {x.data(), out.data(), elems, SHUNT_F8E4M3, 0},
          {scales, outScales.data(), blocks, SHUNT_F32, 1}};
      if (shunt_status status = shunt_moe_dispatch(routing, payloads, 2))
        return status;
      // Rows by source, then token; the rest is padding.
      std::vector<float> want =
          me == 0 ? std::vector<float>{2, 4, 12, 16, 4, 4, 12, 16}
                  : std::vector<float>{0.5, 1, 1, 1, 0, 0, 0, 0};
      EXPECT_EQ(outScales, want) << way.name;
      int64_t row = 0;
      for (int64_t source = 0; source < 2; ++source)
        for (int64_t token = 0; token < (me == 0 ? 2 : 1); ++token, ++row)
          for (int64_t i = 0; i < elems; ++i)
            EXPECT_EQ(out[row * elems + i],
                      uint8_t((token * elems + i) * 7 + source * 50));
      for (; row < rows; ++row)
        for (int64_t i = 0; i < elems; ++i)
          EXPECT_EQ(out[row * elems + i], 0);
      shunt_moe_routing_destroy(routing);
      shunt_moe_destroy(layer);
      return SHUNT_OK;
    });
    EXPECT_EQ(status, SHUNT_OK) << errorsOf(ranks);
  }
}

TEST(Moe, GroupsAreAnyRanks) {
  // Two expert groups in a world of five; one rank is in neither.
  MoeCase moe = dealt(2, SHUNT_F32);
  MoeReference reference(moe);
  for (const Way &way : ways) {
    Ranks ranks(5);
    std::vector<MoeResult> results(5);
    shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
      int64_t rank = shunt_comm_rank(comm);
      if (rank == 2)
        return SHUNT_OK;
      Ints members = rank % 4 == 0 ? Ints{4, 0} : Ints{1, 3};
      int64_t me = members[0] == rank ? 0 : 1;
      MoeCase mine = moe;
      mine.options.algorithm = way.algorithm;
      mine.options.no_direct = way.noDirect;
      return runMoe(comm, groupOf(comm, members), me, mine,
                    reference.expertOfRow[me], results[rank]);
    });
    ASSERT_EQ(status, SHUNT_OK) << errorsOf(ranks);
    expectResult(results[4], reference.results[0]);
    expectResult(results[0], reference.results[1]);
    expectResult(results[1], reference.results[0]);
    expectResult(results[3], reference.results[1]);
  }
}

TEST(Moe, RoutingsOutliveEachOther) {
  // Two layers' routings at once; combine uses them in the other order.
  MoeCase moe = dealt(2, SHUNT_F32);
  for (const Way &way : ways) {
    Ranks ranks(2);
    shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
      int64_t me = shunt_comm_rank(comm), tokens = moe.tokens(me);
      shunt_moe_options options = moe.options;
      options.algorithm = way.algorithm;
      options.no_direct = way.noDirect;
      options.score = SHUNT_MOE_SCORE_NONE;
      shunt_moe *layer = nullptr;
      if (shunt_status status =
              shunt_moe_create(comm, nullptr, &options, &layer))
        return status;
      shunt_moe_routing *routings[2] = {};
      Bytes routed[2], out(moe.x[me].size());
      for (int i = 0; i < 2; ++i) {
        std::vector<int32_t> ids = moe.ids[me];
        for (int32_t &id : ids)
          id = id < 0 ? id : (id + 3 * i) % 8;
        if (shunt_status status = shunt_moe_route(
                layer, ids.data(), tokens, nullptr, nullptr, &routings[i]))
          return status;
        routed[i].resize(shunt_moe_rows(routings[i]) * moe.rowBytes());
        shunt_moe_payload payload = {moe.x[me].data(), routed[i].data(),
                                     moe.elems, moe.dtype, 0};
        if (shunt_status status = shunt_moe_dispatch(routings[i], &payload, 1))
          return status;
      }
      // The identity: each token comes back as often as it was sent.
      for (int i : {1, 0}) {
        if (shunt_status status =
                shunt_moe_combine(routings[i], routed[i].data(), out.data(),
                                  moe.elems, moe.dtype, nullptr))
          return status;
        for (int64_t token = 0; token < tokens; ++token) {
          int64_t sent = 0;
          for (int64_t k = 0; k < options.top_k; ++k)
            sent += moe.ids[me][token * options.top_k + k] >= 0;
          float want = 0, x = readElem(moe.x[me], token * moe.elems, moe.dtype);
          for (int64_t k = 0; k < sent; ++k)
            want += x;
          EXPECT_EQ(readElem(out, token * moe.elems, moe.dtype), want);
        }
        shunt_moe_routing_destroy(routings[i]);
      }
      shunt_moe_destroy(layer);
      return SHUNT_OK;
    });
    EXPECT_EQ(status, SHUNT_OK) << errorsOf(ranks);
  }
}

/// The formulas of docs/performance.md, in a batch that was worked out by hand.
/// MoeFuzz compares them with every random one.
TEST(Moe, WorkspaceIsWhatTheDocsSay) {
  // Rank 0 has 3 tokens for experts (0 1), (2 3), (1 3), rank 1 has one for
  // (2 3); two experts a rank, rows of 4 bf16.
  MoeCase moe;
  moe.ranks = 2;
  moe.elems = 4;
  moe.dtype = SHUNT_BF16;
  moe.options.experts = 4;
  moe.options.top_k = 2;
  moe.options.node_size = 1;
  moe.table = {{0, 1}, {2, 3}};
  moe.ids = {{0, 1, 2, 3, 1, 3}, {2, 3}};
  moe.scores = {std::vector<float>(6, 1), std::vector<float>(2, 1)};
  moe.x = {Bytes(3 * 8), Bytes(8)};
  // N = 6 and 2 rows sent, R = 3 and 5 received, C = 4 and 1 copies sent, 2
  // and 3 received; 4 tokens in all; b = 8, f = 16.
  const int64_t bySlot[][2] = {{0, 0},
                               {2 * 6 * 8, 2 * 5 * 8},
                               {3 * 8 + 6 * 8, 5 * 8 + 4 * 8},
                               {4 * 8 + 6 * 8, 5 * 8 + 3 * 8},
                               {4 * 8 + 6 * 8, 5 * 8 + 3 * 8}};
  const int64_t byRank[][2] = {{0, 0},
                               {2 * 6 * 8, 2 * 5 * 8},
                               {4 * 16 + 3 * 16, 4 * 16 + 4 * 8},
                               {4 * 8 + 4 * 16, 3 * 16 + 3 * 8},
                               {4 * 8 + 6 * 8, 5 * 8 + 3 * 8}};
  for (shunt_moe_order order :
       {SHUNT_MOE_ORDER_SLOT, SHUNT_MOE_ORDER_RANK_SLOT}) {
    moe.options.order = order;
    MoeReference reference(moe);
    MoeWorkspace workspace(moe, reference);
    for (size_t i = 0; i < std::size(ways); ++i) {
      SCOPED_TRACE(ways[i].name);
      moe.options.algorithm = ways[i].algorithm;
      moe.options.no_direct = ways[i].noDirect;
      Ranks ranks(moe.ranks);
      std::vector<MoeResult> results(moe.ranks);
      ASSERT_EQ(ranks.run([&](shunt_comm *comm) {
        int64_t me = shunt_comm_rank(comm);
        return runMoe(comm, nullptr, me, moe, reference.expertOfRow[me],
                      results[me]);
      }),
                SHUNT_OK)
          << errorsOf(ranks);
      for (int64_t rank = 0; rank < moe.ranks; ++rank) {
        EXPECT_EQ(results[rank].workspace,
                  (order == SHUNT_MOE_ORDER_SLOT ? bySlot : byRank)[i][rank]);
        EXPECT_EQ(workspace.expect(ways[i], rank), results[rank].workspace);
      }
    }
  }
}

} // namespace
