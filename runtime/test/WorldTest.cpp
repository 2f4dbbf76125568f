//===- WorldTest.cpp - Worlds: making, running, ending them
//----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

using namespace shunt::rt::test;

extern "C" int32_t shuntTestFromC(shunt_comm *comm);

namespace {

TEST(World, RunsEveryRankOnce) {
  Ranks ranks(5);
  std::atomic<int> seen[5] = {};
  EXPECT_EQ(ranks.run([&](shunt_comm *comm) {
    EXPECT_EQ(shunt_comm_size(comm), 5);
    EXPECT_EQ(comm, ranks.comm(shunt_comm_rank(comm)));
    ++seen[shunt_comm_rank(comm)];
    return SHUNT_OK;
  }),
            SHUNT_OK);
  for (auto &count : seen)
    EXPECT_EQ(count, 1);
}

TEST(World, CalledFromC) {
  Ranks ranks(3);
  EXPECT_EQ(shunt_world_run(
                ranks.world,
                [](shunt_comm *comm, void *) { return shuntTestFromC(comm); },
                nullptr),
            SHUNT_OK);
}

TEST(World, RunsAgainAfterItFinished) {
  Ranks ranks(4);
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(ranks.run([](shunt_comm *comm) {
      return shunt_barrier(comm, nullptr);
    }),
              SHUNT_OK)
        << errorsOf(ranks);
}

TEST(World, ErrorsStayFromRunToRun) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    return shunt_comm_rank(comm) ? SHUNT_INTERNAL : SHUNT_OK;
  }),
            SHUNT_INTERNAL);
  EXPECT_EQ(
      ranks.run([](shunt_comm *comm) { return shunt_barrier(comm, nullptr); }),
      SHUNT_INTERNAL);
  EXPECT_EQ(ranks.sticky(0), SHUNT_ABORTED);
}

TEST(World, RanksOnThreadsOfTheCaller) {
  Ranks ranks(2);
  std::thread other(
      [&] { EXPECT_EQ(shunt_barrier(ranks.comm(1), nullptr), SHUNT_OK); });
  EXPECT_EQ(shunt_barrier(ranks.comm(0), nullptr), SHUNT_OK);
  other.join();
}

// Of two that fail, the first one: the other fails because of it.
TEST(World, ReturnsTheFirstError) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    if (shunt_comm_rank(comm))
      return shunt_comm_abort(comm, SHUNT_OUT_OF_MEMORY, "no room");
    return shunt_barrier(comm, nullptr);
  }),
            SHUNT_OUT_OF_MEMORY);
  EXPECT_EQ(ranks.firstError(), "no room");
}

// Compiled code drops statuses; the run reports them all the same.
TEST(World, ReportsErrorsThatTheRankIgnored) {
  Ranks ranks(1);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) {
    shunt_all_reduce(comm, nullptr, nullptr, nullptr, -1, 1, SHUNT_F32);
    return SHUNT_OK;
  }),
            SHUNT_INVALID_ARGUMENT);
}

TEST(World, ExceptionsEndAtTheBoundary) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) -> int32_t {
    if (shunt_comm_rank(comm))
      throw std::runtime_error("boom");
    return shunt_barrier(comm, nullptr);
  }),
            SHUNT_INTERNAL);
  EXPECT_EQ(ranks.firstError(), "rank 1: rank function threw: boom");
}

TEST(World, RunWithinARun) {
  Ranks ranks(1);
  EXPECT_EQ(ranks.run([&](shunt_comm *) {
    EXPECT_EQ(ranks.run([](shunt_comm *) { return SHUNT_OK; }),
              SHUNT_INVALID_ARGUMENT);
    return SHUNT_OK;
  }),
            SHUNT_OK);
  EXPECT_EQ(shunt_world_run(ranks.world, nullptr, nullptr),
            SHUNT_INVALID_ARGUMENT);
}

TEST(World, ManyRanks) {
  Ranks ranks(64);
  EXPECT_EQ(ranks.run([](shunt_comm *comm) -> int32_t {
    for (int round = 0; round < 10; ++round) {
      int64_t value = shunt_comm_rank(comm), sum = 0;
      if (shunt_status status =
              shunt_all_reduce(comm, nullptr, &value, &sum, 1, 1, SHUNT_I64))
        return status;
      EXPECT_EQ(sum, 2016);
    }
    return SHUNT_OK;
  }),
            SHUNT_OK)
      << errorsOf(ranks);
}

TEST(World, UnavailableBackendsSayWhatTheyNeed) {
  Ranks nccl(2, 0, "nccl"), other(2, 0, "carrier-pigeon");
  EXPECT_EQ(other.status, SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(other.createError, "there is no backend 'carrier-pigeon', expected "
                               "'host', 'mpi' or 'nccl'");
  if (nccl.status == SHUNT_OK)
    return;
  EXPECT_EQ(nccl.status, SHUNT_UNAVAILABLE);
  EXPECT_EQ(nccl.world, nullptr);
  EXPECT_NE(nccl.createError.find("use 'host'"), std::string::npos);
}

TEST(World, BackendsAreLookedForInTheGivenDirectories) {
  if (Ranks(1, 0, "nccl").status == SHUNT_OK)
    GTEST_SKIP() << "nccl is here and opened, for good";
  std::string directory = ::testing::TempDir() + "shunt_plugins_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  setenv("SHUNT_BACKEND_PATH", ("/nowhere:" + directory).c_str(), 1);
  Ranks absent(1, 0, "nccl");
  EXPECT_EQ(absent.status, SHUNT_UNAVAILABLE);
  EXPECT_NE(absent.createError.find(
                "libshunt_nccl.so is in none of /nowhere, " + directory),
            std::string::npos)
      << absent.createError;
  // What is found and cannot be loaded is not passed over in silence.
  std::string file = directory + "/libshunt_nccl.so";
  std::ofstream(file) << "no library";
  Ranks broken(1, 0, "nccl");
  EXPECT_EQ(broken.status, SHUNT_UNAVAILABLE);
  EXPECT_EQ(broken.createError.rfind(
                "backend 'nccl' is not available: " + file + ": ", 0),
            0u)
      << broken.createError;
  unsetenv("SHUNT_BACKEND_PATH");
  unlink(file.c_str());
  rmdir(directory.c_str());
}

TEST(World, BadArguments) {
  char message[64];
  shunt_world *world = nullptr;
  auto create = [&](const char *backend, int64_t size, int64_t timeout) {
    shunt_options options = {};
    options.timeout_ms = timeout;
    world = reinterpret_cast<shunt_world *>(&message);
    EXPECT_EQ(shunt_world_create(backend, size, &options, &world, message,
                                 sizeof(message)),
              SHUNT_INVALID_ARGUMENT);
    EXPECT_EQ(world, nullptr);
    return std::string(message);
  };
  EXPECT_EQ(create("host", 0, 0), "world expects at least 1 rank, got 0");
  EXPECT_EQ(create("host", -3, 0), "world expects at least 1 rank, got -3");
  EXPECT_EQ(create("host", 100000, 0),
            "a host world has at most 65536 ranks, got 100000");
  EXPECT_EQ(create("host", 2, -1), "timeout expects at least 1 ms, got -1");
  EXPECT_EQ(create(nullptr, 2, 0), "shunt_world_create: backend is null");
  EXPECT_EQ(shunt_world_create("host", 2, nullptr, nullptr, message, 10),
            SHUNT_INVALID_ARGUMENT);
  // Cut to the buffer, and terminated.
  EXPECT_STREQ(message, "shunt_wor");
  EXPECT_EQ(shunt_world_create("host", 0, nullptr, &world, nullptr, 0),
            SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(shunt_world_size(nullptr), 0);
  EXPECT_EQ(shunt_world_comm(nullptr, 0), nullptr);
  EXPECT_STREQ(shunt_world_error(nullptr), "world is null");
  EXPECT_EQ(shunt_world_run(nullptr, nullptr, nullptr), SHUNT_INVALID_ARGUMENT);
  shunt_world_destroy(nullptr);
  Ranks ranks(2);
  EXPECT_EQ(ranks.comm(-1), nullptr);
  EXPECT_EQ(ranks.comm(2), nullptr);
}

TEST(World, TimeoutFromTheEnvironment) {
  setenv("SHUNT_TIMEOUT_MS", "50", 1);
  Ranks ranks(2, 0);
  EXPECT_EQ(shunt_barrier(ranks.comm(0), nullptr), SHUNT_TIMEOUT);
  EXPECT_EQ(ranks.error(0), "barrier over ranks [0, 1]: rank 1 never arrived "
                            "within 50 ms [X_MISSING_RANK]");
  // Options win.
  Ranks quick(2, 20);
  EXPECT_EQ(shunt_barrier(quick.comm(0), nullptr), SHUNT_TIMEOUT);
  EXPECT_NE(quick.error(0).find("within 20 ms"), std::string::npos);
  setenv("SHUNT_TIMEOUT_MS", "soon", 1);
  Ranks wrong(2, 0);
  EXPECT_EQ(wrong.status, SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(wrong.createError,
            "SHUNT_TIMEOUT_MS expects a number of at least 1, got 'soon'");
  unsetenv("SHUNT_TIMEOUT_MS");
}

TEST(World, TimeoutSetter) {
  Ranks ranks(2);
  EXPECT_EQ(shunt_comm_set_timeout(ranks.comm(0), 0), SHUNT_INVALID_ARGUMENT);
  EXPECT_EQ(ranks.error(0), "timeout expects at least 1 ms, got 0");
  EXPECT_EQ(shunt_comm_set_timeout(ranks.comm(0), INT64_MAX), SHUNT_OK);
  EXPECT_EQ(
      ranks.run([](shunt_comm *comm) { return shunt_barrier(comm, nullptr); }),
      SHUNT_OK);
}

TEST(World, Strings) {
  for (shunt_status status = SHUNT_OK; status <= SHUNT_ABORTED; ++status)
    EXPECT_STRNE(shunt_status_string(status), "unknown status");
  EXPECT_STREQ(shunt_status_string(99), "unknown status");
  EXPECT_EQ(shunt_dtype_size(SHUNT_F32), 4);
  EXPECT_EQ(shunt_dtype_size(SHUNT_BF16), 2);
  EXPECT_EQ(shunt_dtype_size(SHUNT_F16), 2);
  EXPECT_EQ(shunt_dtype_size(SHUNT_I32), 4);
  EXPECT_EQ(shunt_dtype_size(SHUNT_I64), 8);
  EXPECT_EQ(shunt_dtype_size(SHUNT_F8E4M3), 1);
  EXPECT_EQ(shunt_dtype_size(99), 0);
}

} // namespace
