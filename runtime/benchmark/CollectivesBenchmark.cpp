//===- CollectivesBenchmark.cpp - Collectives against plain copies
//---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are ranks and MiB that all ranks together write. `Copy` writes the
// same bytes with as many threads, each from a buffer of its own: the limit
// that a collective which copies each byte once can reach on this machine.
// `Small` shows latencies instead.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "shunt/runtime.h"

#include "benchmark/benchmark.h"

#include <chrono>
#include <functional>
#include <numeric>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t rowElems = 4096;
constexpr int64_t rowBytes = rowElems * 2;

/// Ragged parts of `total` rows: the first of n has the most, the last one
/// none.
std::vector<int64_t> raggedCounts(int64_t total, int64_t n) {
  std::vector<int64_t> counts(n, 0);
  int64_t weights = n * (n - 1) / 2, left = total;
  for (int64_t i = 1; i < n; ++i)
    left -= counts[i] = total * (n - 1 - i) / weights;
  counts[0] = left;
  return counts;
}

/// What one rank keeps from repetition to repetition, and does in each.
struct Rank {
  std::vector<char> in, out;
  std::function<shunt_status(shunt_comm *)> step;
};

/// Runs `state`'s iterations on `size` ranks; `prepare` fills in a rank.
void runRanks(benchmark::State &state, int64_t size, int64_t bytes,
              const std::function<void(int64_t, Rank &)> &prepare) {
  struct Job {
    benchmark::State &state;
    std::vector<Rank> ranks;
    double seconds;
    int64_t repeats;
  } job = {state, std::vector<Rank>(size), 0, bytes > (1 << 20) ? 3 : 500};
  for (int64_t rank = 0; rank < size; ++rank)
    prepare(rank, job.ranks[rank]);
  shunt_world *world;
  if (shunt_world_create("host", size, nullptr, &world, nullptr, 0))
    return state.SkipWithError("no world");
  for (auto _ : state) {
    shunt_status status = shunt_world_run(
        world,
        [](shunt_comm *comm, void *user) -> int32_t {
          Job &job = *static_cast<Job *>(user);
          Rank &self = job.ranks[shunt_comm_rank(comm)];
          // Once for the pages and the caches.
          if (shunt_status status = self.step(comm))
            return status;
          shunt_barrier(comm, nullptr);
          auto begin = Clock::now();
          for (int64_t i = 0; i < job.repeats; ++i)
            if (shunt_status status = self.step(comm))
              return status;
          shunt_barrier(comm, nullptr);
          if (shunt_comm_rank(comm) == 0)
            job.seconds =
                std::chrono::duration<double>(Clock::now() - begin).count();
          return SHUNT_OK;
        },
        &job);
    if (status)
      state.SkipWithError(shunt_world_error(world));
    state.SetIterationTime(job.seconds / job.repeats);
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  shunt_world_destroy(world);
}

/// Rows that each rank writes when all write `mib` MiB.
int64_t rowsPerRank(const benchmark::State &state) {
  return (state.range(1) << 20) / rowBytes / state.range(0);
}

void Copy(benchmark::State &state) {
  int64_t size = state.range(0), bytes = rowsPerRank(state) * rowBytes;
  runRanks(state, size, bytes * size, [&](int64_t, Rank &self) {
    self.in.resize(bytes);
    self.out.resize(bytes);
    self.step = [&self, bytes](shunt_comm *comm) {
      shunt::rt::copyBytes(self.out.data(), self.in.data(), bytes,
                           shunt::rt::wantsStreaming(bytes));
      return shunt_barrier(comm, nullptr);
    };
  });
}

void AllGather(benchmark::State &state) {
  int64_t size = state.range(0), rows = rowsPerRank(state);
  auto counts = raggedCounts(rows, size);
  runRanks(state, size, rows * rowBytes * size, [&](int64_t rank, Rank &self) {
    self.in.resize(counts[rank] * rowBytes);
    self.out.resize(rows * rowBytes);
    self.step = [&self, &counts, rank, rows](shunt_comm *comm) {
      return shunt_all_gather(comm, nullptr, self.in.data(), counts[rank],
                              self.out.data(), rows, counts.data(), rowElems,
                              SHUNT_BF16);
    };
  });
}

void AllToAll(benchmark::State &state) {
  int64_t size = state.range(0), rows = rowsPerRank(state);
  // Sources are uneven, in another order for each destination.
  auto weights = raggedCounts(rows, size);
  auto pair = [&](int64_t src, int64_t dst) {
    return weights[(src + dst) % size];
  };
  runRanks(state, size, rows * rowBytes * size, [&](int64_t rank, Rank &self) {
    self.in.resize(rows * rowBytes);
    self.out.resize(rows * rowBytes);
    std::vector<int64_t> send, recv;
    for (int64_t peer = 0; peer < size; ++peer) {
      send.push_back(pair(rank, peer));
      recv.push_back(pair(peer, rank));
    }
    self.step = [&self, send, recv, rows](shunt_comm *comm) {
      return shunt_all_to_all(comm, nullptr, self.in.data(), rows, send.data(),
                              self.out.data(), rows, recv.data(), rowElems,
                              SHUNT_BF16);
    };
  });
}

void reduce(benchmark::State &state, shunt_dtype dtype) {
  int64_t size = state.range(0), rows = rowsPerRank(state);
  auto counts = raggedCounts(rows, size);
  int64_t elems = rowBytes / shunt_dtype_size(dtype);
  // Bytes are those read: every rank's rows, once.
  runRanks(state, size, rows * rowBytes * size, [&](int64_t rank, Rank &self) {
    self.in.resize(rows * rowBytes);
    self.out.resize(counts[rank] * rowBytes);
    self.step = [&self, &counts, rank, rows, elems, dtype](shunt_comm *comm) {
      return shunt_reduce_scatter(comm, nullptr, self.in.data(), rows,
                                  self.out.data(), counts[rank], counts.data(),
                                  elems, dtype);
    };
  });
}
void ReduceScatterF32(benchmark::State &state) { reduce(state, SHUNT_F32); }
void ReduceScatterBf16(benchmark::State &state) { reduce(state, SHUNT_BF16); }
void ReduceScatterF16(benchmark::State &state) { reduce(state, SHUNT_F16); }

void SmallAllReduce(benchmark::State &state) {
  runRanks(state, state.range(0), 4096, [&](int64_t, Rank &self) {
    self.in.resize(4096);
    self.out.resize(4096);
    self.step = [&self](shunt_comm *comm) {
      return shunt_all_reduce(comm, nullptr, self.in.data(), self.out.data(), 1,
                              1024, SHUNT_F32);
    };
  });
}

void Barrier(benchmark::State &state) {
  runRanks(state, state.range(0), 0, [&](int64_t, Rank &self) {
    self.step = [](shunt_comm *comm) { return shunt_barrier(comm, nullptr); };
  });
}

void largeSizes(benchmark::internal::Benchmark *bench) {
  for (int64_t mib : {4, 16, 64, 256})
    for (int64_t ranks : {2, 4, 8})
      bench->Args({ranks, mib});
  bench->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(5);
}
void worldSizes(benchmark::internal::Benchmark *bench) {
  bench->Arg(2)->Arg(4)->Arg(8)->Arg(64);
  bench->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(5);
}

BENCHMARK(Copy)->Apply(largeSizes);
BENCHMARK(AllGather)->Apply(largeSizes);
BENCHMARK(AllToAll)->Apply(largeSizes);
BENCHMARK(ReduceScatterF32)->Apply(largeSizes);
BENCHMARK(ReduceScatterBf16)->Apply(largeSizes);
BENCHMARK(ReduceScatterF16)->Apply(largeSizes);
BENCHMARK(SmallAllReduce)->Apply(worldSizes);
BENCHMARK(Barrier)->Apply(worldSizes);

} // namespace
