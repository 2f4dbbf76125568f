//===- MissingRankTest.cpp - Ranks that do not come
//------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a test expects an error at once, the timeout is long, so that waiting
// for it would fail the test by the clock.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace shunt::rt::test;

namespace {

void waitFor(const std::function<bool()> &condition) {
  while (!condition())
    std::this_thread::yield();
}

TEST(MissingRank, AbsentRankTimesOut) {
  Ranks ranks(2, shortMs);
  std::atomic<bool> done{false};
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) == 1) {
      waitFor([&] { return done.load(); });
      return SHUNT_OK;
    }
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_TIMEOUT);
    auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, std::chrono::milliseconds(shortMs));
    done = true;
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.error(0), "barrier over ranks [0, 1]: rank 1 never arrived "
                            "within 200 ms [X_MISSING_RANK]");
  EXPECT_EQ(ranks.error(1), "");
}

TEST(MissingRank, LateRankGetsTheSameError) {
  Ranks ranks(3, shortMs);
  std::atomic<int> done{0};
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) == 2)
      waitFor([&] { return done == 2; });
    float in[2] = {1, 1}, out[2] = {5, 5};
    EXPECT_EQ(shunt_all_reduce(comm, nullptr, in, out, 1, 2, SHUNT_F32),
              SHUNT_TIMEOUT);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 0);
    ++done;
    return SHUNT_OK;
  });
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(ranks.error(rank),
              "all_reduce over ranks [0, 1, 2]: rank 2 never arrived within "
              "200 ms [X_MISSING_RANK]");
}

TEST(MissingRank, SeveralAbsentRanks) {
  Ranks ranks(4, 100);
  std::atomic<bool> done{false};
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) != 2) {
      waitFor([&] { return done.load(); });
      return SHUNT_OK;
    }
    shunt_barrier(comm, nullptr);
    done = true;
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.error(2),
            "barrier over ranks [0, 1, 2, 3]: ranks [0, 1, 3] never arrived "
            "within 100 ms [X_MISSING_RANK]");
}

TEST(MissingRank, FinishedRankIsNoticedAtOnce) {
  Ranks ranks(3);
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) == 1)
      return SHUNT_OK;
    EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_ABORTED);
    return SHUNT_OK;
  });
  for (int64_t rank : {0, 2})
    EXPECT_EQ(ranks.error(rank),
              "barrier over ranks [0, 1, 2]: rank 1 finished "
              "without it [X_MISSING_RANK]");
  EXPECT_EQ(ranks.sticky(1), SHUNT_OK);
}

TEST(MissingRank, RankThatFinishesWhileOthersSleep) {
  Ranks ranks(2);
  std::thread other([&] {
    // Finishes after rank 0 had time to fall asleep, most of the time.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    shunt_comm_finish(ranks.comm(1));
  });
  EXPECT_EQ(shunt_barrier(ranks.comm(0), nullptr), SHUNT_ABORTED);
  other.join();
}

TEST(MissingRank, FailedRankIsNamedWithItsCause) {
  Ranks ranks(3);
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) == 2)
      return 42;
    EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_ABORTED);
    return int32_t(SHUNT_OK);
  });
  EXPECT_EQ(ranks.firstError(), "rank 2: rank function returned 42");
  EXPECT_EQ(ranks.error(0),
            "barrier over ranks [0, 1, 2]: rank 2 failed: rank 2: rank "
            "function returned 42 [X_MISSING_RANK]");
}

TEST(MissingRank, RankWithABadArgument) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) {
    int64_t counts[] = {2, 2};
    float in[4] = {}, out[4];
    int64_t rows = shunt_comm_rank(comm) ? 3 : 2;
    return shunt_all_gather(comm, nullptr, in, rows, out, 4, counts, 1,
                            SHUNT_F32);
  }),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(1),
            "all_gather over ranks [0, 1]: in of rank 1 has 3 rows, but counts "
            "[2, 2] give it 2 [X_AG_ROWS]");
  EXPECT_EQ(ranks.error(0), "all_gather over ranks [0, 1]: rank 1 failed: " +
                                ranks.error(1) + " [X_MISSING_RANK]");
}

// Rank 3 waits for 2, 2 for 1, 1 for 0, which fails: all are released, and the
// last one is told of the first.
TEST(MissingRank, ErrorsTravelThroughGroups) {
  Ranks ranks(4);
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t rank = shunt_comm_rank(comm);
    if (rank == 0)
      return shunt_comm_abort(comm, SHUNT_INTERNAL, "rank 0 lost its mind");
    if (shunt_status status =
            shunt_barrier(comm, groupOf(comm, {rank - 1, rank})))
      return status;
    return shunt_barrier(comm, groupOf(comm, {rank, rank + 1}));
  }),
            SHUNT_INTERNAL);
  EXPECT_EQ(ranks.firstError(), "rank 0 lost its mind");
  EXPECT_EQ(ranks.error(3), "barrier over ranks [2, 3]: rank 2 failed: rank 0 "
                            "lost its mind [X_MISSING_RANK]");
}

// Rank 2 waits, with patience, for rank 1, which gives up on rank 0.
TEST(MissingRank, WaiterIsReleasedWhenItsPeerTimesOut) {
  Ranks ranks(3);
  std::atomic<int> done{0};
  ranks.run([&](shunt_comm *comm) {
    int64_t rank = shunt_comm_rank(comm);
    if (rank == 0) {
      waitFor([&] { return done == 2; });
      return SHUNT_OK;
    }
    if (rank == 1) {
      shunt_comm_set_timeout(comm, 100);
      EXPECT_EQ(shunt_barrier(comm, groupOf(comm, {0, 1})), SHUNT_TIMEOUT);
    } else {
      EXPECT_EQ(shunt_barrier(comm, groupOf(comm, {1, 2})), SHUNT_ABORTED);
    }
    ++done;
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.error(2),
            "barrier over ranks [1, 2]: rank 1 failed: barrier over ranks [0, "
            "1]: rank 0 never arrived within 100 ms [X_MISSING_RANK]");
}

TEST(MissingRank, TimeoutSaysWhereTheRankIs) {
  Ranks ranks(3);
  std::atomic<bool> done{false};
  ranks.run([&](shunt_comm *comm) {
    int64_t rank = shunt_comm_rank(comm);
    if (rank == 0) {
      shunt_comm_set_timeout(comm, 200);
      EXPECT_EQ(shunt_barrier(comm, groupOf(comm, {0, 1})), SHUNT_TIMEOUT);
      done = true;
    } else if (rank == 1) {
      shunt_barrier(comm, groupOf(comm, {1, 2}));
    } else {
      waitFor([&] { return done.load(); });
    }
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.error(0),
            "barrier over ranks [0, 1]: rank 1 never arrived within 200 ms; "
            "rank 1 waits in barrier over ranks [1, 2] [X_MISSING_RANK]");
}

TEST(MissingRank, ErrorsAreSticky) {
  Ranks ranks(2);
  ranks.run([&](shunt_comm *comm) {
    if (shunt_comm_rank(comm) == 1)
      return SHUNT_OK;
    EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_ABORTED);
    std::string message = shunt_comm_error(comm);
    float in[4] = {1, 2, 3, 4}, out[4] = {9, 9, 9, 9};
    int64_t counts[] = {2, 2};
    // A group that would work, another op, bad arguments: the first error.
    shunt_group *alone = groupOf(comm, {0});
    EXPECT_EQ(shunt_all_reduce(comm, alone, in, out, 1, 4, SHUNT_F32),
              SHUNT_ABORTED);
    for (float value : out)
      EXPECT_EQ(value, 0);
    EXPECT_EQ(shunt_all_gather(comm, nullptr, in, 2, nullptr, 4, counts, 1,
                               SHUNT_F32),
              SHUNT_ABORTED);
    EXPECT_EQ(shunt_all_gather(comm, nullptr, in, -2, in, -4, nullptr, -1, 77),
              SHUNT_ABORTED);
    EXPECT_EQ(in[0], 1);
    EXPECT_EQ(shunt_comm_abort(comm, SHUNT_INTERNAL, "later"), SHUNT_ABORTED);
    EXPECT_EQ(shunt_comm_error(comm), message);
    return SHUNT_OK;
  });
  EXPECT_EQ(ranks.sticky(0), SHUNT_ABORTED);
}

// Many ranks and groups, one of which fails at a random place, over and over:
// every run ends, with that rank's error first.
TEST(MissingRank, FailureAnywhereEndsTheRun) {
  for (int64_t seed = 0; seed < 40; ++seed) {
    Ranks ranks(8);
    int64_t failing = seed % 8, when = seed * 7 % 20;
    shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
      int64_t rank = shunt_comm_rank(comm);
      for (int64_t step = 0; step < 20; ++step) {
        if (rank == failing && step == when)
          return SHUNT_INTERNAL;
        shunt_group *group = nullptr;
        int64_t half = rank / 4 * 4, pair = rank / 2 * 2;
        if (step % 3 == 1)
          group = groupOf(comm, {half, half + 1, half + 2, half + 3});
        else if (step % 3 == 2)
          group = groupOf(comm, {pair, pair + 1});
        float value = 1;
        if (shunt_status status =
                shunt_all_reduce(comm, group, &value, &value, 1, 1, SHUNT_F32))
          return status;
      }
      return SHUNT_OK;
    });
    EXPECT_EQ(status, SHUNT_INTERNAL) << errorsOf(ranks) << "\nseed " << seed;
    EXPECT_EQ(ranks.firstError(),
              "rank " + std::to_string(failing) + ": rank function returned 6");
  }
}

} // namespace
