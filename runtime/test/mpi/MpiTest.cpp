//===- MpiTest.cpp - Ranks that are processes -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process runs every test, for its own rank: scripts/mpirun.sh -n 8
// ShuntMpiTests. With SHUNT_MPI_SHARED=0 ranks of one machine use messages.
//
//===----------------------------------------------------------------------===//

#include "../moe/RandomMoe.h"

#include <cstdlib>
#include <numeric>
#include <thread>

using namespace shunt::rt::test;

namespace {

int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}
const int64_t size = fromEnvironment("OMPI_COMM_WORLD_SIZE", 1);
const int64_t me = fromEnvironment("OMPI_COMM_WORLD_RANK", 0);

/// A world of all processes.
struct World : Ranks {
  explicit World(int64_t timeoutMs = patientMs)
      : Ranks(size, timeoutMs, "mpi") {
    EXPECT_EQ(status, SHUNT_OK) << createError;
  }
  std::string myError() { return error(me); }
};

TEST(Mpi, HasOneRankInEachProcess) {
  World world;
  for (int64_t rank = 0; rank < size; ++rank)
    EXPECT_EQ(world.comm(rank) != nullptr, rank == me);
  Ranks other(size + 1, patientMs, "mpi");
  EXPECT_EQ(other.status, SHUNT_INVALID_ARGUMENT);
  EXPECT_NE(other.createError.find("start it by mpirun -n " +
                                   std::to_string(size + 1)),
            std::string::npos)
      << other.createError;
}

/// Buffers that pass through pieces, buffers that are read where they are, and
/// both at once: sums too, whose order must not change.
TEST(Mpi, LargeBuffers) {
  World world;
  const int64_t elems = 1 << 16;
  for (int64_t lent : {int64_t(0), size / 2, size}) {
    shunt_status status = world.run([&](shunt_comm *comm) -> int32_t {
      std::vector<int64_t> counts(size);
      for (int64_t rank = 0; rank < size; ++rank)
        counts[rank] = rank == 1 ? 0 : 5 + 3 * rank;
      std::vector<Bytes> inputs;
      for (int64_t rank = 0; rank < size; ++rank) {
        Random random(unsigned(rank + 1));
        inputs.push_back(random.rows(counts[rank] * elems, SHUNT_F32));
      }
      Bytes expected = concatenate(inputs), out(expected.size(), 0xab);
      int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t(0));
      void *in = inputs[me].data();
      if (me < lent) {
        in = shunt_alloc(comm, int64_t(inputs[me].size()));
        std::copy(inputs[me].begin(), inputs[me].end(),
                  static_cast<uint8_t *>(in));
      }
      for (int time = 0; time < 3; ++time) {
        EXPECT_EQ(shunt_all_gather(comm, nullptr, in, counts[me], out.data(),
                                   total, counts.data(), elems, SHUNT_F32),
                  SHUNT_OK);
        EXPECT_TRUE(out == expected) << "lent " << lent << " time " << time;
      }
      if (me < lent)
        shunt_free(comm, in);

      // Everyone gives all the rows; each gets the sum of its own.
      std::vector<Bytes> whole;
      for (int64_t rank = 0; rank < size; ++rank) {
        Random random(unsigned(100 + rank));
        whole.push_back(random.rows(total * 1024, SHUNT_BF16));
      }
      void *rows = whole[me].data();
      if (me < lent) {
        rows = shunt_alloc(comm, int64_t(whole[me].size()));
        std::copy(whole[me].begin(), whole[me].end(),
                  static_cast<uint8_t *>(rows));
      }
      Bytes sums(counts[me] * 1024 * 2);
      EXPECT_EQ(shunt_reduce_scatter(comm, nullptr, rows, total, sums.data(),
                                     counts[me], counts.data(), 1024,
                                     SHUNT_BF16),
                SHUNT_OK);
      int64_t first =
          std::accumulate(counts.begin(), counts.begin() + me, int64_t(0)) *
          1024;
      for (int64_t i = 0; i < counts[me] * 1024; i += 97) {
        float sum = 0;
        for (int64_t rank = 0; rank < size; ++rank)
          sum += readElem(whole[rank], first + i, SHUNT_BF16);
        Bytes want(2);
        writeElem(want, 0, sum, SHUNT_BF16);
        EXPECT_EQ(Bytes(sums.begin() + 2 * i, sums.begin() + 2 * i + 2), want);
      }
      if (me < lent)
        shunt_free(comm, rows);
      return SHUNT_OK;
    });
    ASSERT_EQ(status, SHUNT_OK) << world.myError();
  }
}

/// Random batches against the reference's bits, which are those of the host
/// backend, by every algorithm.
TEST(Mpi, MoeGivesTheReferencesBits) {
  World world;
  int64_t first = fromEnvironment("SHUNT_FUZZ_SEED", 1);
  int64_t count = fromEnvironment("SHUNT_FUZZ_ROUTINGS", 200);
  shunt_status status = world.run([&](shunt_comm *comm) -> int32_t {
    for (int64_t seed = first; seed < first + count; ++seed) {
      Random random{unsigned(seed)};
      std::vector<uint8_t> active;
      MoeCase moe = randomCase(random, active);
      if (moe.ranks > size)
        continue;
      if (me >= moe.ranks)
        continue;
      MoeReference reference(moe);
      std::vector<int64_t> members(moe.ranks);
      std::iota(members.begin(), members.end(), int64_t(0));
      shunt_group *group = groupOf(comm, members);
      for (int32_t algorithm = 0; algorithm < 4; ++algorithm) {
        MoeCase mine = moe;
        mine.options.algorithm = algorithm;
        MoeResult result;
        if (shunt_status status = runMoe(comm, group, me, mine,
                                         reference.expertOfRow[me], result))
          return status;
        const MoeResult &want = reference.results[me];
        EXPECT_TRUE(result.routed == want.routed && result.out == want.out)
            << "seed " << seed << " algorithm " << algorithm;
      }
    }
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << world.myError();
}

//===----------------------------------------------------------------------===//
// Errors: a clear one on every rank
//===----------------------------------------------------------------------===//

/// Runs `body` and expects this in the error of every rank that survives.
void expectEverywhere(shunt_status status, const std::string &part,
                      const std::function<int32_t(shunt_comm *)> &body,
                      int64_t timeoutMs = patientMs) {
  World world(timeoutMs);
  world.run(body);
  EXPECT_EQ(world.sticky(me), status) << world.myError();
  EXPECT_NE(world.myError().find(part), std::string::npos) << world.myError();
}

TEST(MpiErrors, CountsDisagree) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  std::vector<int64_t> counts(size, 2);
  if (me == 1)
    counts[0] = 3;
  expectEverywhere(
      SHUNT_MISMATCH, "[X_COUNTS_DISAGREE]", [&](shunt_comm *comm) -> int32_t {
        std::vector<float> in(64), out(64 * size);
        int64_t total =
            std::accumulate(counts.begin(), counts.end(), int64_t(0));
        shunt_all_gather(comm, nullptr, in.data(), counts[me], out.data(),
                         total, counts.data(), 4, SHUNT_F32);
        return SHUNT_OK;
      });
}

TEST(MpiErrors, SplitsDisagree) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  expectEverywhere(
      SHUNT_MISMATCH, "rank 0 sends 2 rows to rank 1, which expects 1",
      [&](shunt_comm *comm) -> int32_t {
        std::vector<int64_t> send(size, 1), recv(size, 1);
        if (me == 0)
          send[1] = 2;
        std::vector<float> in(64), out(64);
        shunt_all_to_all(comm, nullptr, in.data(),
                         std::accumulate(send.begin(), send.end(), int64_t(0)),
                         send.data(), out.data(), size, recv.data(), 1,
                         SHUNT_F32);
        return SHUNT_OK;
      });
}

TEST(MpiErrors, DtypesDisagree) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  expectEverywhere(SHUNT_MISMATCH, "dtypes differ",
                   [&](shunt_comm *comm) -> int32_t {
                     std::vector<float> data(64);
                     shunt_all_reduce(comm, nullptr, data.data(), data.data(),
                                      1, 4, me ? SHUNT_F32 : SHUNT_BF16);
                     return SHUNT_OK;
                   });
}

/// The rank that is wrong alone fails; those that wait hear why.
TEST(MpiErrors, ExpertOutOfRange) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  expectEverywhere(me == 1 ? SHUNT_INVALID_ARGUMENT : SHUNT_ABORTED,
                   "[E_EXPERT_ID]", [&](shunt_comm *comm) -> int32_t {
                     shunt_moe_options options = {};
                     options.experts = 2 * size;
                     options.top_k = 1;
                     shunt_moe *moe = nullptr;
                     EXPECT_EQ(shunt_moe_create(comm, nullptr, &options, &moe),
                               SHUNT_OK);
                     int32_t ids[] = {0, me == 1 ? int32_t(2 * size) : 1};
                     float scores[] = {1, 1};
                     shunt_moe_routing *routing = nullptr;
                     shunt_moe_route(moe, ids, 2, scores, nullptr, &routing);
                     shunt_moe_routing_destroy(routing);
                     shunt_moe_destroy(moe);
                     return SHUNT_OK;
                   });
}

TEST(MpiErrors, RankThatFinishes) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  World world;
  world.run([&](shunt_comm *comm) -> int32_t {
    if (me == 0)
      return SHUNT_OK;
    EXPECT_EQ(shunt_barrier(comm, nullptr), SHUNT_ABORTED);
    return SHUNT_OK;
  });
  if (me != 0)
    EXPECT_NE(world.myError().find("rank 0 finished without it"),
              std::string::npos)
        << world.myError();
}

TEST(MpiErrors, RankThatFails) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  World world;
  world.run([&](shunt_comm *comm) -> int32_t {
    if (me == 1)
      return shunt_comm_abort(comm, SHUNT_INTERNAL, "out of luck");
    std::vector<float> in(1 << 20), out(in.size() * size);
    std::vector<int64_t> counts(size, 1 << 20);
    EXPECT_EQ(shunt_all_gather(comm, nullptr, in.data(), 1 << 20, out.data(),
                               size << 20, counts.data(), 1, SHUNT_F32),
              SHUNT_ABORTED);
    return SHUNT_OK;
  });
  EXPECT_NE(world.myError().find("out of luck"), std::string::npos)
      << world.myError();
}

TEST(MpiErrors, RankThatNeverArrives) {
  if (size < 2)
    GTEST_SKIP() << "needs two ranks";
  World world(500);
  world.run([&](shunt_comm *comm) -> int32_t {
    if (me == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      return SHUNT_OK;
    }
    shunt_status status = shunt_barrier(comm, nullptr);
    // Who hears first that a peer gave up is told of that.
    EXPECT_TRUE(status == SHUNT_TIMEOUT || status == SHUNT_ABORTED);
    return SHUNT_OK;
  });
  if (me != 0)
    EXPECT_NE(world.myError().find("rank 0 never arrived within 500 ms"),
              std::string::npos)
        << world.myError();
}

} // namespace
