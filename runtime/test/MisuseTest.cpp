//===- MisuseTest.cpp - Calls that are wrong by themselves
//-----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <thread>

using namespace shunt::rt::test;

namespace {

constexpr int64_t most = INT64_MAX;

/// Makes one call on a world of one rank and returns its message; expects
/// INVALID_ARGUMENT.
std::string messageOf(const std::function<shunt_status(shunt_comm *)> &call) {
  Ranks ranks(1);
  EXPECT_EQ(call(ranks.comm(0)), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.sticky(0), SHUNT_INVALID_ARGUMENT);
  return ranks.error(0);
}

std::string gatherMessage(const void *in, int64_t inRows, void *out,
                          int64_t outRows, const int64_t *counts,
                          int64_t rowElems, shunt_dtype dtype = SHUNT_F32) {
  return messageOf([&](shunt_comm *comm) {
    return shunt_all_gather(comm, nullptr, in, inRows, out, outRows, counts,
                            rowElems, dtype);
  });
}

class Misuse : public ::testing::Test {
protected:
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {};
  int64_t two = 2, three = 3, negative = -2, zero = 0;
};

TEST_F(Misuse, NullHandles) {
  EXPECT_EQ(shunt_barrier(nullptr, nullptr), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_comm_rank(nullptr), -1);
  EXPECT_EQ(shunt_comm_size(nullptr), 0);
  EXPECT_STREQ(shunt_comm_error(nullptr), "comm is null");
  EXPECT_EQ(shunt_comm_status(nullptr), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_comm_stats(nullptr, nullptr), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_comm_finish(nullptr), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_comm_abort(nullptr, SHUNT_INTERNAL, ""),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_comm_set_timeout(nullptr, 1), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_group_create(nullptr, nullptr, 0, nullptr),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_group_size(nullptr), 0);
  EXPECT_EQ(shunt_group_rank(nullptr), -1);
}

TEST_F(Misuse, NullBuffers) {
  EXPECT_EQ(gatherMessage(nullptr, 2, out, 2, &two, 1),
            "all_gather over ranks [0]: in is null, but has 2 rows");
  EXPECT_EQ(gatherMessage(in, 2, nullptr, 2, &two, 1),
            "all_gather over ranks [0]: out is null, but has 2 rows");
  EXPECT_EQ(gatherMessage(in, 2, out, 2, nullptr, 1),
            "all_gather over ranks [0]: counts is null");
}

TEST_F(Misuse, NegativeNumbers) {
  EXPECT_EQ(gatherMessage(in, -2, out, 2, &two, 1),
            "all_gather over ranks [0]: in has -2 rows, expected at least 0");
  EXPECT_EQ(gatherMessage(in, 2, out, -2, &two, 1),
            "all_gather over ranks [0]: out has -2 rows, expected at least 0");
  EXPECT_EQ(gatherMessage(in, 2, out, 2, &negative, 1),
            "all_gather over ranks [0]: counts has -2 for rank 0, expected at "
            "least 0 [E_COUNTS_NEG]");
  EXPECT_EQ(gatherMessage(in, 2, out, 2, &two, -1),
            "all_gather over ranks [0]: row_elems is -1, expected at least 0");
}

TEST_F(Misuse, RowsAgainstCounts) {
  EXPECT_EQ(gatherMessage(in, 2, out, 3, &three, 1),
            "all_gather over ranks [0]: in of rank 0 has 2 rows, but counts "
            "[3] give it 3 [X_AG_ROWS]");
  EXPECT_EQ(gatherMessage(in, 3, out, 1, &three, 1),
            "all_gather over ranks [0]: out of rank 0 has 1 row, but counts "
            "[3] add up to 3 [X_AG_ROWS]");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_reduce_scatter(comm, nullptr, in, 2, out, 3, &three,
                                          1, SHUNT_F32);
            }),
            "reduce_scatter over ranks [0]: in of rank 0 has 2 rows, but "
            "counts [3] add up to 3 [X_RS_SUM]");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_reduce_scatter(comm, nullptr, in, 3, out, 2, &three,
                                          1, SHUNT_F32);
            }),
            "reduce_scatter over ranks [0]: out of rank 0 has 2 rows, but "
            "counts [3] give it 3 [X_RS_SUM]");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_all_to_all(comm, nullptr, in, 2, &three, out, 3,
                                      &three, 1, SHUNT_F32);
            }),
            "all_to_all over ranks [0]: in of rank 0 has 2 rows, but "
            "send_counts [3] add up to 3");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_all_to_all(comm, nullptr, in, 3, &three, out, 2,
                                      &three, 1, SHUNT_F32);
            }),
            "all_to_all over ranks [0]: out of rank 0 has 2 rows, but "
            "recv_counts [3] add up to 3");
}

TEST_F(Misuse, SizesBeyond64Bits) {
  std::string many = std::to_string(most);
  EXPECT_EQ(gatherMessage(in, most, nullptr, 2, &two, 1),
            "all_gather over ranks [0]: in has " + many +
                " rows of 1 elements, which is more than 2^63 - 1 bytes");
  EXPECT_EQ(gatherMessage(in, 2, nullptr, most / 8, &two, 9, SHUNT_BF16),
            "all_gather over ranks [0]: out has " + std::to_string(most / 8) +
                " rows of 9 elements, which is more than 2^63 - 1 bytes");
  EXPECT_EQ(gatherMessage(in, 0, nullptr, 0, &zero, most),
            "all_gather over ranks [0]: in has 0 rows of " + many +
                " elements, which is more than 2^63 - 1 bytes");
  Ranks ranks(2);
  int64_t counts[] = {most, most};
  EXPECT_EQ(shunt_all_gather(ranks.comm(0), nullptr, in, 2, nullptr, 2, counts,
                             1, SHUNT_F8E4M3),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0), "all_gather over ranks [0, 1]: counts add up to "
                            "more than 2^63 - 1");
}

TEST_F(Misuse, Dtypes) {
  EXPECT_EQ(gatherMessage(in, 2, out, 2, &two, 1, 42),
            "all_gather over ranks [0]: there is no dtype 42");
  EXPECT_EQ(gatherMessage(in, 2, out, 2, &two, 1, -1),
            "all_gather over ranks [0]: there is no dtype -1");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_all_reduce(comm, nullptr, in, out, 2, 1,
                                      SHUNT_F8E4M3);
            }),
            "all_reduce over ranks [0]: f8e4m3 rows cannot be summed; convert "
            "them to bf16");
}

TEST_F(Misuse, OverlappingBuffers) {
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_all_reduce(comm, nullptr, in, in + 1, 2, 1,
                                      SHUNT_F32);
            }),
            "all_reduce over ranks [0]: in and out of rank 0 overlap");
  EXPECT_EQ(messageOf([&](shunt_comm *comm) {
              return shunt_all_to_all(comm, nullptr, in, 2, &two, in, 2, &two,
                                      1, SHUNT_F32);
            }),
            "all_to_all over ranks [0]: in and out of rank 0 overlap");
  EXPECT_EQ(gatherMessage(in + 1, 2, in, 2, &two, 1),
            "all_gather over ranks [0]: in and out of rank 0 overlap");
}

TEST_F(Misuse, FailedCallLeavesZeros) {
  Ranks ranks(1);
  std::fill(out, out + 8, 9);
  EXPECT_EQ(shunt_all_gather(ranks.comm(0), nullptr, in, 2, out, 4, &three, 2,
                             SHUNT_F32),
            SHUNT_INVALID_ARGUMENT);
  for (float value : out)
    EXPECT_EQ(value, 0);
}

TEST_F(Misuse, Groups) {
  Ranks ranks(4);
  shunt_comm *comm = ranks.comm(1);
  shunt_group *group = nullptr;
  auto messageOfList = [&](std::vector<int64_t> list) {
    EXPECT_EQ(shunt_group_create(comm, list.data(), list.size(), &group),
              SHUNT_INVALID_ARGUMENT);
    EXPECT_EQ(group, nullptr);
    return std::string(shunt_comm_error(comm));
  };
  EXPECT_EQ(messageOfList({0, 1, 4}),
            "group of ranks [0, 1, 4] has rank 4, but the world has 4");
  EXPECT_EQ(messageOfList({-1, 1}),
            "group of ranks [-1, 1] has rank -1, but the world has 4");
  EXPECT_EQ(messageOfList({0, 1, 0}),
            "group of ranks [0, 1, 0] has rank 0 twice");
  EXPECT_EQ(messageOfList({0, 2}),
            "group of ranks [0, 2] lacks the caller, rank 1");
  EXPECT_EQ(messageOfList({}), "group expects at least 1 rank, got 0");
  EXPECT_EQ(messageOfList({0, 1, 2, 3, 0}),
            "group has 5 ranks, but the world has 4");
  EXPECT_EQ(shunt_group_create(comm, nullptr, 3, &group),
            SHUNT_INVALID_ARGUMENT);
  int64_t list[] = {1};
  EXPECT_EQ(shunt_group_create(comm, list, 1, nullptr), SHUNT_INVALID_ARGUMENT);
  // None of these is sticky.
  EXPECT_EQ(shunt_comm_status(comm), SHUNT_OK);
  EXPECT_EQ(shunt_barrier(comm, groupOf(comm, {1})), SHUNT_OK);
}

TEST_F(Misuse, GroupsAreCached) {
  Ranks ranks(4);
  shunt_group *group = groupOf(ranks.comm(1), {2, 1});
  EXPECT_EQ(groupOf(ranks.comm(1), {2, 1}), group);
  EXPECT_NE(groupOf(ranks.comm(1), {1, 2}), group);
  EXPECT_EQ(shunt_group_size(group), 2);
  EXPECT_EQ(shunt_group_rank(group), 1);
}

TEST_F(Misuse, GroupOfAnotherRank) {
  Ranks ranks(2);
  shunt_group *group = groupOf(ranks.comm(0), {0});
  EXPECT_EQ(shunt_barrier(ranks.comm(1), group), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(1), "barrier over ranks [0]: the group belongs to rank "
                            "0, not to the caller, rank 1");
}

TEST_F(Misuse, FinishedRankCallsAgain) {
  Ranks ranks(1);
  EXPECT_EQ(shunt_comm_finish(ranks.comm(0)), SHUNT_OK);
  EXPECT_EQ(shunt_barrier(ranks.comm(0), nullptr), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0), "barrier: rank 0 has finished");
}

TEST_F(Misuse, TwoThreadsOnOneComm) {
  Ranks ranks(2);
  shunt_group *alone = groupOf(ranks.comm(0), {0});
  std::thread waiting([&] {
    // May be the one that is turned away, as long as the other loops.
    while (shunt_barrier(ranks.comm(0), nullptr) != SHUNT_OK)
      std::this_thread::yield();
  });
  while (shunt_barrier(ranks.comm(0), alone) == SHUNT_OK)
    std::this_thread::yield();
  EXPECT_EQ(ranks.error(0),
            "barrier: rank 0 is in a collective on another thread");
  EXPECT_EQ(shunt_barrier(ranks.comm(1), nullptr), SHUNT_OK);
  waiting.join();
  EXPECT_EQ(ranks.sticky(0), SHUNT_OK);
}

} // namespace
