//===- MismatchTest.cpp - Members that disagree
//----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

using namespace shunt::rt::test;

namespace {

/// Runs `body` on 4 ranks and expects this status and message on each of
/// them, and `out` of zeros.
class Mismatch : public ::testing::Test {
protected:
  using Body =
      std::function<shunt_status(shunt_comm *, int64_t rank, float *out)>;
  void expectOnAll(const std::string &message, const Body &body) {
    Ranks ranks(4);
    std::vector<std::vector<float>> outs(4, std::vector<float>(64, 7));
    ranks.run([&](shunt_comm *comm) {
      int64_t rank = shunt_comm_rank(comm);
      EXPECT_EQ(body(comm, rank, outs[rank].data()), SHUNT_MISMATCH);
      return SHUNT_OK;
    });
    for (int64_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(ranks.error(rank), message);
      EXPECT_EQ(ranks.sticky(rank), SHUNT_MISMATCH);
      EXPECT_EQ(outs[rank][0], 0) << "rank " << rank;
    }
    EXPECT_EQ(ranks.firstError(), message);
  }
  float in[64] = {};
};

TEST_F(Mismatch, Counts) {
  expectOnAll("all_gather over ranks [0, 1, 2, 3]: counts differ: ranks [0, 1, "
              "3] have [3, 2, 2, 1], rank 2 has [2, 2, 2, 2] "
              "[X_COUNTS_DISAGREE]",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                int64_t right[] = {3, 2, 2, 1}, wrong[] = {2, 2, 2, 2};
                int64_t *counts = rank == 2 ? wrong : right;
                return shunt_all_gather(comm, nullptr, in, counts[rank], out, 8,
                                        counts, 1, SHUNT_F32);
              });
}

TEST_F(Mismatch, CountsOfReduceScatter) {
  expectOnAll("reduce_scatter over ranks [3, 1, 2, 0]: counts differ: ranks "
              "[3, 1, 2] have [2, 2, 2, 2], rank 0 has [2, 2, 3, 1] "
              "[X_COUNTS_DISAGREE]",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                int64_t right[] = {2, 2, 2, 2}, wrong[] = {2, 2, 3, 1};
                int64_t *counts = rank == 0 ? wrong : right;
                shunt_group *group = groupOf(comm, {3, 1, 2, 0});
                return shunt_reduce_scatter(comm, group, in, 8, out,
                                            counts[shunt_group_rank(group)],
                                            counts, 1, SHUNT_F32);
              });
}

TEST_F(Mismatch, Rows) {
  expectOnAll("all_reduce over ranks [0, 1, 2, 3]: rows differ: rank 0 has 4, "
              "ranks [1, 2, 3] have 5 [X_RAGGED_REDUCE]",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                return shunt_all_reduce(comm, nullptr, in, out, rank ? 5 : 4, 1,
                                        SHUNT_F32);
              });
}

TEST_F(Mismatch, RowElems) {
  expectOnAll("all_reduce over ranks [0, 1, 2, 3]: row_elems differ: ranks [0, "
              "1, 2] have 4, rank 3 has 8",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                return shunt_all_reduce(comm, nullptr, in, out, 2,
                                        rank == 3 ? 8 : 4, SHUNT_F32);
              });
}

TEST_F(Mismatch, Dtype) {
  expectOnAll("all_reduce over ranks [0, 1, 2, 3]: dtypes differ: ranks [0, 2, "
              "3] have f32, rank 1 has bf16",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                return shunt_all_reduce(comm, nullptr, in, out, 2, 4,
                                        rank == 1 ? SHUNT_BF16 : SHUNT_F32);
              });
}

TEST_F(Mismatch, Op) {
  expectOnAll("collective over ranks [0, 1, 2, 3]: ops differ: ranks [0, 2, 3] "
              "have all_reduce, rank 1 has barrier",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                if (rank != 1)
                  return shunt_all_reduce(comm, nullptr, in, out, 2, 4,
                                          SHUNT_F32);
                out[0] = 0;
                return shunt_barrier(comm, nullptr);
              });
}

TEST_F(Mismatch, SentAndExpectedRows) {
  expectOnAll("all_to_all over ranks [0, 1, 2, 3]: rank 0 sends 1 rows to rank "
              "2, which "
              "expects 3; rank 3 sends 1 rows to rank 2, which expects 0 "
              "[X_COUNTS_DISAGREE]",
              [&](shunt_comm *comm, int64_t rank, float *out) {
                int64_t send[] = {1, 1, 1, 1}, recv[] = {1, 1, 1, 1};
                int64_t rows = 4;
                if (rank == 2)
                  recv[0] = 3, recv[3] = 0, rows = 5;
                return shunt_all_to_all(comm, nullptr, in, 4, send, out, rows,
                                        recv, 1, SHUNT_F32);
              });
}

TEST_F(Mismatch, LongListsOfPairsAreCut) {
  Ranks ranks(4);
  ranks.run([&](shunt_comm *comm) {
    int64_t send[] = {1, 1, 1, 1}, recv[] = {2, 2, 2, 2};
    float out[8];
    return shunt_all_to_all(comm, nullptr, in, 4, send, out, 8, recv, 1,
                            SHUNT_F32);
  });
  EXPECT_NE(ranks.firstError().find("; and 12 more [X_COUNTS_DISAGREE]"),
            std::string::npos)
      << ranks.firstError();
}

// Two orders of one list are two groups; their members would wait for each
// other for ever. It is noticed when the last one goes to wait.
TEST_F(Mismatch, OrderOfTheGroup) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) {
    std::vector<int64_t> list = {0, 1};
    if (shunt_comm_rank(comm))
      list = {1, 0};
    EXPECT_EQ(shunt_barrier(comm, groupOf(comm, list)), SHUNT_MISMATCH);
    return SHUNT_OK;
  });
  std::string first = ranks.firstError();
  EXPECT_TRUE(first.find("rank 0 in barrier over ranks [0, 1] for rank 1") !=
                  std::string::npos &&
              first.find("rank 1 in barrier over ranks [1, 0] for rank 0") !=
                  std::string::npos)
      << first;
  EXPECT_EQ(ranks.error(0), ranks.error(1));
}

// Each rank is in a pair with the next one: a circle of four groups.
TEST_F(Mismatch, CircleOfGroups) {
  Ranks ranks(4);
  ranks.run([&](shunt_comm *comm) {
    int64_t rank = shunt_comm_rank(comm);
    EXPECT_EQ(shunt_barrier(comm, groupOf(comm, {rank, (rank + 1) % 4})),
              SHUNT_MISMATCH);
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.firstError().rfind("collectives wait for each other: ", 0),
            0u)
      << ranks.firstError();
  for (int64_t rank = 1; rank < 4; ++rank)
    EXPECT_EQ(ranks.error(rank), ranks.error(0));
}

// Chains that end are no circle: pairs that meet in turn.
TEST_F(Mismatch, ChainsOfGroupsAreFine) {
  Ranks ranks(8);
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t rank = shunt_comm_rank(comm);
    for (int round = 0; round < 100; ++round)
      for (int64_t low : {rank - 1, rank})
        if (low >= 0 && low < 7)
          if (shunt_status status =
                  shunt_barrier(comm, groupOf(comm, {low, low + 1})))
            return status;
    return SHUNT_OK;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

} // namespace
