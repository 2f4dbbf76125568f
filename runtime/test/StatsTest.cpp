//===- StatsTest.cpp - Counters
//--------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

using namespace shunt::rt::test;

namespace {

shunt_stats statsOf(Ranks &ranks, int64_t rank) {
  shunt_stats stats;
  EXPECT_EQ(shunt_comm_stats(ranks.comm(rank), &stats), SHUNT_OK);
  return stats;
}

/// Expects the counters of one op, and totals that are the same.
void expectOp(const shunt_stats &stats, shunt_op op, int64_t calls,
              int64_t rowsIn, int64_t rowsOut, int64_t sent, int64_t received) {
  EXPECT_EQ(stats.ops[op].calls, calls);
  EXPECT_EQ(stats.ops[op].rows_in, rowsIn);
  EXPECT_EQ(stats.ops[op].rows_out, rowsOut);
  EXPECT_EQ(stats.ops[op].bytes_sent, sent);
  EXPECT_EQ(stats.ops[op].bytes_received, received);
  EXPECT_EQ(stats.bytes_sent, sent);
  EXPECT_EQ(stats.bytes_received, received);
}

TEST(Stats, AllGather) {
  Ranks ranks(3);
  ranks.run([&](shunt_comm *comm) {
    int64_t counts[] = {2, 0, 1}, me = shunt_comm_rank(comm);
    uint16_t in[20] = {}, out[30];
    return shunt_all_gather(comm, nullptr, in, counts[me], out, 3, counts, 10,
                            SHUNT_BF16);
  });
  expectOp(statsOf(ranks, 0), SHUNT_OP_ALL_GATHER, 1, 2, 3, 80, 20);
  expectOp(statsOf(ranks, 1), SHUNT_OP_ALL_GATHER, 1, 0, 3, 0, 60);
  expectOp(statsOf(ranks, 2), SHUNT_OP_ALL_GATHER, 1, 1, 3, 40, 40);
}

TEST(Stats, ReduceScatter) {
  Ranks ranks(3);
  ranks.run([&](shunt_comm *comm) {
    int64_t counts[] = {2, 0, 1}, me = shunt_comm_rank(comm);
    float in[3] = {}, out[2];
    return shunt_reduce_scatter(comm, nullptr, in, 3, out, counts[me], counts,
                                1, SHUNT_F32);
  });
  expectOp(statsOf(ranks, 0), SHUNT_OP_REDUCE_SCATTER, 1, 3, 2, 4, 16);
  expectOp(statsOf(ranks, 1), SHUNT_OP_REDUCE_SCATTER, 1, 3, 0, 12, 0);
}

TEST(Stats, AllToAll) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) {
    int64_t matrix[2][2] = {{1, 3}, {0, 2}}, me = shunt_comm_rank(comm);
    int64_t recv[] = {matrix[0][me], matrix[1][me]};
    float in[4] = {}, out[5];
    return shunt_all_to_all(comm, nullptr, in, matrix[me][0] + matrix[me][1],
                            matrix[me], out, recv[0] + recv[1], recv, 1,
                            SHUNT_F32);
  });
  expectOp(statsOf(ranks, 0), SHUNT_OP_ALL_TO_ALL, 1, 4, 1, 12, 0);
  expectOp(statsOf(ranks, 1), SHUNT_OP_ALL_TO_ALL, 1, 2, 5, 0, 12);
}

TEST(Stats, AllReduceAndBarrier) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) -> int32_t {
    float in[128] = {}, out[128];
    for (int i = 0; i < 3; ++i)
      if (shunt_status status = shunt_barrier(comm, nullptr))
        return status;
    return shunt_all_reduce(comm, nullptr, in, out, 2, 64, SHUNT_F32);
  });
  shunt_stats stats = statsOf(ranks, 0);
  // Half of 512 bytes to reduce, the other half to gather.
  expectOp(stats, SHUNT_OP_ALL_REDUCE, 1, 2, 2, 512, 512);
  EXPECT_EQ(stats.ops[SHUNT_OP_BARRIER].calls, 3);
}

TEST(Stats, FailedCallsDoNotCount) {
  Ranks ranks(1);
  float value = 1;
  EXPECT_NE(shunt_all_reduce(ranks.comm(0), nullptr, &value, nullptr, 1, 1,
                             SHUNT_F32),
            SHUNT_OK);
  expectOp(statsOf(ranks, 0), SHUNT_OP_ALL_REDUCE, 0, 0, 0, 0, 0);
}

TEST(Trace, RecordsWhatIsAskedFor) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t me = shunt_comm_rank(comm), counts[] = {2, 1};
    float in[2] = {}, out[3];
    auto gather = [&] {
      return shunt_all_gather(comm, nullptr, in, counts[me], out, 3, counts, 1,
                              SHUNT_F32);
    };
    EXPECT_EQ(gather(), SHUNT_OK);
    EXPECT_EQ(shunt_comm_events(comm, nullptr, 0), 0) << "off by default";
    EXPECT_EQ(shunt_comm_trace(comm, 2), SHUNT_OK);
    shunt_comm_label(comm, "first");
    EXPECT_EQ(gather(), SHUNT_OK);
    shunt_comm_label(comm, nullptr);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_OK);
    shunt_event events[3] = {};
    EXPECT_EQ(shunt_comm_events(comm, events, 3), 2) << "as many as asked for";
    EXPECT_EQ(events[0].op, SHUNT_OP_ALL_GATHER);
    EXPECT_STREQ(events[0].label, "first");
    EXPECT_EQ(events[0].part, SHUNT_PART_NONE);
    EXPECT_EQ(events[0].group_size, 2);
    EXPECT_EQ(events[0].rows_in, counts[me]);
    EXPECT_EQ(events[0].rows_out, 3);
    EXPECT_EQ(events[0].bytes_sent, counts[me] * 4);
    EXPECT_EQ(events[0].bytes_received, (3 - counts[me]) * 4);
    EXPECT_GE(events[0].start_ns, 0);
    EXPECT_GE(events[0].duration_ns, 0);
    EXPECT_EQ(events[1].op, SHUNT_OP_BARRIER);
    EXPECT_STREQ(events[1].label, "");
    EXPECT_GE(events[1].start_ns, events[0].start_ns + events[0].duration_ns);
    EXPECT_EQ(shunt_comm_trace(comm, 0), SHUNT_OK);
    EXPECT_EQ(shunt_comm_events(comm, nullptr, 0), 0) << "dropped";
    return SHUNT_OK;
  });
  EXPECT_EQ(shunt_comm_trace(ranks.comm(0), -1), SHUNT_INVALID_ARGUMENT);
}

} // namespace
