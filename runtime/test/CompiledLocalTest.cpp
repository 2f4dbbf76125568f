//===- CompiledLocalTest.cpp - Entry points that do not communicate -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "shunt/compiled.h"

using namespace shunt::rt::test;

namespace {

/// dp=2·tp=2 with 5 and 3 tokens.
const int64_t pairs[] = {0, 1, 2, 3};
const int64_t cells[] = {3, 2, 2, 1};
const char *const batch = "attn dp=2,tp=2 0 - - balanced";

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

TEST(CompiledLocal, SliceKeepsTheOwnRows) {
  Ranks ranks(4);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    int64_t rank = shunt_rt_rank(comm), total = rank < 2 ? 5 : 3;
    std::vector<int32_t> in, out(2 * cells[rank], -1), expected;
    for (int32_t i = 0; i < 2 * total; ++i)
      in.push_back(i);
    int64_t offset = rank == 1 ? 3 : rank == 3 ? 2 : 0;
    for (int64_t i = 0; i < 2 * cells[rank]; ++i)
      expected.push_back(in[2 * offset + i]);
    int32_t status =
        shunt_rt_slice(comm, pairs, 4, 2, cells, 4, in.data(), total,
                       out.data(), cells[rank], 2, SHUNT_I32);
    EXPECT_EQ(out, expected);
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(CompiledLocal, SliceChecksRowsAgainstCounts) {
  Ranks ranks(4);
  std::vector<int32_t> in(8, 1), out(3, -1);
  EXPECT_EQ(shunt_rt_slice(ranks.comm(0), pairs, 4, 2, cells, 4, in.data(), 8,
                           out.data(), 3, 1, SHUNT_I32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0), "slice: rank 0 holds 8 rows and keeps 3, which its "
                            "group's counts [3, 2] do not say [X_RS_SUM]");
  EXPECT_EQ(out, std::vector<int32_t>(3, 0));

  EXPECT_EQ(shunt_rt_slice(ranks.comm(1), pairs, 4, 2, cells, 2, in.data(), 5,
                           out.data(), 2, 1, SHUNT_I32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(1), "[X_COUNTS_LENGTH]"));
}

TEST(CompiledLocal, PermuteReordersDropsAndRepeatsCells) {
  Ranks ranks(2);
  const int64_t rows[] = {2, 1};
  const int64_t from[] = {0, 1, 1, 0};
  const int64_t to[] = {1, 0, 1, 0, -1, -1};
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) {
    int64_t rank = shunt_rt_rank(comm);
    std::vector<int16_t> in = {10, 11, 12}, out(rank == 0 ? 4 : 2, -1);
    int32_t status = shunt_rt_permute(comm, from, 2, to, 3, rows, 2, in.data(),
                                      3, out.data(), out.size(), 1, SHUNT_F16);
    EXPECT_EQ(out, rank == 0 ? std::vector<int16_t>({12, 10, 11, 12})
                             : std::vector<int16_t>({11, 12}));
    return status;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(CompiledLocal, PermuteChecksRowsAndCells) {
  Ranks ranks(2);
  const int64_t rows[] = {2, 1};
  const int64_t from[] = {0, 1}, both[] = {0, 1, 0, 1};
  std::vector<float> in(3), out(3, -1);
  EXPECT_EQ(shunt_rt_permute(ranks.comm(0), from, 1, both, 2, rows, 2,
                             in.data(), 3, out.data(), 3, 1, SHUNT_F32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0),
            "permute: the input has 3 rows, its cells 2 [X_ROW_MISMATCH]");
  EXPECT_EQ(out, std::vector<float>(3, 0));
  EXPECT_EQ(shunt_rt_permute(ranks.comm(1), from, 1, both, 2, rows, 2,
                             in.data(), 1, out.data(), 3, 1, SHUNT_F32),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(1), "permute: the input has no cell 0");
}

TEST(CompiledLocal, OwnCountsTakesTheRowOfTheRank) {
  Ranks ranks(4);
  // A list for the two members, and one for the whole world.
  const int64_t members[] = {3, 2, 30, 20, 2, 1, 20, 10};
  const int64_t world[] = {1, 2,  3,  4,  5,  6,  7,  8,
                           9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<int64_t> out(4, -1);
  EXPECT_EQ(shunt_rt_own_counts(ranks.comm(3), pairs, 4, 2, members, 8,
                                out.data(), 4),
            SHUNT_OK);
  EXPECT_EQ(out, std::vector<int64_t>({0, 0, 20, 10}));
  EXPECT_EQ(
      shunt_rt_own_counts(ranks.comm(1), pairs, 4, 2, world, 16, out.data(), 4),
      SHUNT_OK);
  EXPECT_EQ(out, std::vector<int64_t>({5, 6, 7, 8}));
  EXPECT_EQ(
      shunt_rt_own_counts(ranks.comm(0), pairs, 4, 2, world, 12, out.data(), 4),
      SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(0), "[X_COUNTS_LENGTH]"));
}

TEST(CompiledLocal, TablesFollowFromCounts) {
  Ranks ranks(4);
  shunt_comm *comm = ranks.comm(0);
  const int64_t perRank[] = {5, 5, 3, 3};
  std::vector<int64_t> parts(2), table(4), sums(4);
  EXPECT_EQ(shunt_rt_part_counts(comm, batch, perRank, 4, parts.data(), 2),
            SHUNT_OK);
  EXPECT_EQ(parts, std::vector<int64_t>({5, 3}));
  EXPECT_EQ(shunt_rt_cell_counts(comm, batch, parts.data(), 2, table.data(), 4),
            SHUNT_OK);
  EXPECT_EQ(table, std::vector<int64_t>(cells, cells + 4));
  const int64_t lists[] = {0, 1, -1, 3, 2, 3, -1, -1};
  EXPECT_EQ(shunt_rt_sum_cells(comm, lists, 2, table.data(), 4, sums.data(), 4),
            SHUNT_OK);
  EXPECT_EQ(sums, std::vector<int64_t>({5, 1, 3, 0}));
}

TEST(CompiledLocal, WrongCountsAreSticky) {
  Ranks ranks(4);
  const int64_t differ[] = {5, 4, 3, 3}, negative[] = {5, -3};
  std::vector<int64_t> parts(2, -1), table(4, -1);
  EXPECT_EQ(
      shunt_rt_part_counts(ranks.comm(0), batch, differ, 4, parts.data(), 2),
      SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(0), "[E_TP_PEER_COUNTS]")) << ranks.error(0);
  EXPECT_EQ(parts, std::vector<int64_t>({0, 0}));
  EXPECT_EQ(ranks.sticky(0), SHUNT_INVALID_ARGUMENT);

  EXPECT_EQ(
      shunt_rt_cell_counts(ranks.comm(1), batch, negative, 2, table.data(), 4),
      SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(1), "[E_COUNTS_NEG]")) << ranks.error(1);
  EXPECT_EQ(table, std::vector<int64_t>(4, 0));

  EXPECT_EQ(shunt_rt_cell_counts(ranks.comm(2), "attn dp=2 0 - - balanced",
                                 negative, 2, table.data(), 4),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(2), "[E_PRODUCT]")) << ranks.error(2);
  EXPECT_EQ(
      shunt_rt_cell_counts(ranks.comm(3), "attn", negative, 2, table.data(), 4),
      SHUNT_INVALID_ARGUMENT);
  EXPECT_TRUE(endsWith(ranks.error(3), "[E_BATCH_TEXT]")) << ranks.error(3);
}

} // namespace
