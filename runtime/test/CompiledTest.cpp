//===- CompiledTest.cpp - Entry points for compiled code
//-------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "shunt/compiled.h"
#include "Ranks.h"

using namespace shunt::rt::test;

namespace {

/// Two groups of four: attention with tp4 dp2 of 6 and 1 tokens, as in the
/// worked values of the token counts.
const int64_t partition[] = {0, 1, 2, 3, 4, 5, 6, 7};
const int64_t worldCounts[] = {2, 2, 1, 1, 1, 0, 0, 0};

TEST(Compiled, GatherOverThePartition) {
  Ranks ranks(8);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    int64_t rank = shunt_rt_rank(comm), rows = worldCounts[rank];
    EXPECT_EQ(rank, shunt_comm_rank(comm));
    int64_t total = rank < 4 ? 6 : 1;
    std::vector<int32_t> in(rows, 10 * rank), out(total, -1);
    int32_t status =
        shunt_rt_all_gather(comm, partition, 8, 4, worldCounts, 8, in.data(),
                            rows, out.data(), total, 1, SHUNT_I32);
    std::vector<int32_t> expected = {0, 0, 10, 10, 20, 30};
    if (rank >= 4)
      expected = {40};
    EXPECT_EQ(out, expected);
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(Compiled, ReduceScatterOverThePartition) {
  Ranks ranks(8);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    int64_t rank = shunt_rt_rank(comm), rows = worldCounts[rank];
    int64_t total = rank < 4 ? 6 : 1;
    std::vector<int32_t> in(total), out(rows, -1);
    for (int64_t i = 0; i < total; ++i)
      in[i] = i + 100 * (rank % 4);
    int32_t status = shunt_rt_reduce_scatter(comm, partition, 8, 4, worldCounts,
                                             8, in.data(), total, out.data(),
                                             rows, 1, SHUNT_I32);
    int64_t offsets[] = {0, 2, 4, 5, 0, 1, 1, 1};
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(out[i], 600 + 4 * (offsets[rank] + i));
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(Compiled, AllReduceOverStridedGroups) {
  Ranks ranks(6);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    const int64_t strided[] = {0, 2, 4, 1, 3, 5};
    float value = shunt_rt_rank(comm);
    int32_t status = shunt_rt_all_reduce(comm, strided, 6, 3, &value, &value, 1,
                                         1, SHUNT_F32);
    EXPECT_EQ(value, shunt_rt_rank(comm) % 2 ? 9 : 6);
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

// Members 3 and 1 of the group [3, 1], in a world of four.
TEST(Compiled, AllToAllTakesItsPartOfTheMatrix) {
  Ranks ranks(4);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    const int64_t groups[] = {3, 1, 0, 2};
    const int64_t matrix[] = {1, 9, 2, 9, 9, 0, 9, 1, 0, 9, 3, 9, 9, 2, 9, 1};
    int64_t rank = shunt_rt_rank(comm);
    bool odd = rank % 2;
    int64_t first = odd ? 3 : 0, second = odd ? 1 : 2;
    int64_t toFirst = matrix[rank * 4 + first];
    int64_t toSecond = matrix[rank * 4 + second];
    int64_t fromFirst = matrix[first * 4 + rank];
    int64_t fromSecond = matrix[second * 4 + rank];
    std::vector<int64_t> in, out(fromFirst + fromSecond, -1), expected;
    for (int64_t i = 0; i < toFirst + toSecond; ++i)
      in.push_back(100 * rank + (i < toFirst ? first : second));
    for (int64_t i = 0; i < fromFirst + fromSecond; ++i)
      expected.push_back(100 * (i < fromFirst ? first : second) + rank);
    int32_t status =
        shunt_rt_all_to_all(comm, groups, 4, 2, matrix, 16, in.data(),
                            in.size(), out.data(), out.size(), 1, SHUNT_I64);
    EXPECT_EQ(out, expected);
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(Compiled, Barrier) {
  Ranks ranks(4);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    const int64_t groups[] = {0, 3, 1, 2};
    return shunt_rt_barrier(comm, groups, 4, 2);
  }),
            SHUNT_OK);
  EXPECT_EQ(shunt_rt_barrier(nullptr, partition, 8, 4), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_rt_rank(nullptr), -1);
}

/// The message of a gather with this table and partition, on rank 1 of 4.
std::string messageOf(const int64_t *groups, int64_t numRanks,
                      int64_t groupSize, const int64_t *counts,
                      int64_t countsLen) {
  Ranks ranks(4);
  float in = 1, out[2] = {5, 5};
  shunt_comm *comm = ranks.comm(1);
  EXPECT_EQ(shunt_rt_all_gather(comm, groups, numRanks, groupSize, counts,
                                countsLen, &in, 1, out, 2, 1, SHUNT_F32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
  // Sticky, for code that goes on.
  EXPECT_EQ(shunt_rt_barrier(comm, partition, 4, 1), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.sticky(1), SHUNT_INVALID_ARGUMENT);
  return ranks.error(1);
}

TEST(Compiled, BadTables) {
  int64_t counts[] = {1, 1, 1, 1};
  EXPECT_EQ(messageOf(partition, 4, 2, counts, 2),
            "all_gather: count table has 2 entries, expected 4, for every rank "
            "of the world [X_COUNTS_LENGTH]");
  EXPECT_EQ(messageOf(partition, 4, 2, nullptr, 4),
            "all_gather: count table has no entries, expected 4, for every "
            "rank of the world [X_COUNTS_LENGTH]");
  Ranks ranks(2);
  EXPECT_EQ(shunt_rt_all_to_all(ranks.comm(0), partition, 2, 1, counts, 2,
                                nullptr, 0, nullptr, 0, 1, SHUNT_F32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0),
            "all_to_all: count matrix has 2 entries, expected 4, for every "
            "rank of the world [X_COUNTS_LENGTH]");
}

TEST(Compiled, BadPartitions) {
  int64_t counts[] = {1, 1, 1, 1};
  int64_t others[] = {0, 2}, twice[] = {1, 1}, outside[] = {1, 7};
  EXPECT_EQ(messageOf(nullptr, 4, 2, counts, 4),
            "all_gather: partition is null");
  EXPECT_EQ(messageOf(partition, 4, 3, counts, 4),
            "all_gather: partition has 4 ranks, which are no groups of 3");
  EXPECT_EQ(messageOf(partition, 4, 0, counts, 4),
            "all_gather: partition has 4 ranks, which are no groups of 0");
  EXPECT_EQ(messageOf(others, 2, 2, counts, 4),
            "all_gather: partition [0, 2] does not list the caller, rank 1");
  EXPECT_EQ(messageOf(twice, 2, 2, counts, 4),
            "group of ranks [1, 1] has rank 1 twice");
  EXPECT_EQ(messageOf(outside, 2, 2, counts, 4),
            "group of ranks [1, 7] has rank 7, but the world has 4");
}

} // namespace
