//===- MpiBenchmark.cpp - The mpi backend against the direct calls --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   scripts/mpirun.sh -n 4 build/release/bin/ShuntMpiBenchmark [MOST_MIB]
//
// Rounds of MPI's call and ours take turns; a line gives the medians of their
// times and of the rounds' ratios (above 1: ours is faster). Not a Google
// Benchmark: the processes have to do the same number of rounds. `lent`: the
// data that is sent comes from shunt_alloc.
//
//===----------------------------------------------------------------------===//

#include "shunt/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mpi.h>
#include <numeric>
#include <vector>

namespace {

int me, size;
shunt_comm *comm;

/// Seconds of the slowest rank.
double timed(const std::function<void()> &body, int repeats) {
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < repeats; ++i)
    body();
  double mine = (MPI_Wtime() - begin) / repeats, most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char *name, int64_t bytes, const std::function<void()> &mpi,
             const std::function<void()> &ours) {
  int repeats = bytes > (1 << 20) ? 1 : bytes > (1 << 14) ? 20 : 200;
  std::vector<double> theirTimes, ourTimes, ratios;
  timed(mpi, 1);
  timed(ours, 1);
  for (int round = 0; round < 9; ++round) {
    theirTimes.push_back(timed(mpi, repeats));
    ourTimes.push_back(timed(ours, repeats));
    ratios.push_back(theirTimes.back() / ourTimes.back());
  }
  if (me == 0)
    std::printf("%-26s %12lld %12.1f %12.1f %8.2f\n", name,
                static_cast<long long>(bytes), median(theirTimes) * 1e6,
                median(ourTimes) * 1e6, median(ratios));
}

struct Lists {
  std::vector<int64_t> counts;
  std::vector<int> ints, offsets;
  int64_t total = 0;
};

Lists listsOf(std::vector<int64_t> counts) {
  Lists lists;
  for (int64_t count : counts) {
    lists.ints.push_back(static_cast<int>(count));
    lists.offsets.push_back(static_cast<int>(lists.total));
    lists.total += count;
  }
  lists.counts = std::move(counts);
  return lists;
}

constexpr int64_t rowBytes = 4096;

void gather(const char *name, const Lists &lists, bool lent) {
  int64_t mine = lists.counts[me];
  MPI_Datatype row;
  MPI_Type_contiguous(rowBytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  void *in =
      lent ? shunt_alloc(comm, mine * rowBytes)
           : std::aligned_alloc(4096, std::max(mine * rowBytes, rowBytes));
  std::fill_n(static_cast<char *>(in), mine * rowBytes, char(me));
  std::vector<char> out(lists.total * rowBytes), other(out.size());
  compare(
      name, lists.total * rowBytes * size,
      [&] {
        MPI_Allgatherv(in, static_cast<int>(mine), row, other.data(),
                       lists.ints.data(), lists.offsets.data(), row,
                       MPI_COMM_WORLD);
      },
      [&] {
        shunt_all_gather(comm, nullptr, in, mine, out.data(), lists.total,
                         lists.counts.data(), rowBytes / 4, SHUNT_F32);
      });
  if (out != other)
    std::printf("rank %d: DIFFERENT\n", me);
  lent ? shunt_free(comm, in) : std::free(in);
  MPI_Type_free(&row);
}

void exchange(const char *name, int64_t rows, bool lent) {
  // Uneven: what goes to a rank depends on the distance.
  std::vector<int64_t> send, recv;
  for (int peer = 0; peer < size; ++peer) {
    auto part = [&](int distance) {
      return rows * 2 * (distance + 1) / (size * (size + 1));
    };
    send.push_back(std::max<int64_t>(part((peer - me + size) % size), 1));
    recv.push_back(std::max<int64_t>(part((me - peer + size) % size), 1));
  }
  Lists out = listsOf(send), in = listsOf(recv);
  MPI_Datatype row;
  MPI_Type_contiguous(rowBytes, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  void *data = lent ? shunt_alloc(comm, out.total * rowBytes)
                    : std::aligned_alloc(4096, out.total * rowBytes);
  std::fill_n(static_cast<char *>(data), out.total * rowBytes, char(me));
  std::vector<char> got(in.total * rowBytes), other(got.size());
  compare(
      name, out.total * rowBytes * size,
      [&] {
        MPI_Alltoallv(data, out.ints.data(), out.offsets.data(), row,
                      other.data(), in.ints.data(), in.offsets.data(), row,
                      MPI_COMM_WORLD);
      },
      [&] {
        shunt_all_to_all(comm, nullptr, data, out.total, out.counts.data(),
                         got.data(), in.total, in.counts.data(), rowBytes / 4,
                         SHUNT_F32);
      });
  if (got != other)
    std::printf("rank %d: DIFFERENT\n", me);
  lent ? shunt_free(comm, data) : std::free(data);
  MPI_Type_free(&row);
}

void reduce(int64_t rows) {
  std::vector<int64_t> counts(size, std::max<int64_t>(rows / size, 1));
  Lists lists = listsOf(counts);
  int64_t elems = rowBytes / 4;
  std::vector<int> ints;
  for (int64_t count : counts)
    ints.push_back(static_cast<int>(count * elems));
  auto in = static_cast<float *>(shunt_alloc(comm, lists.total * rowBytes));
  std::fill_n(in, lists.total * elems, 1.0f);
  std::vector<float> out(counts[me] * elems), other(out.size());
  compare(
      "reduce_scatter lent", lists.total * rowBytes * size,
      [&] {
        MPI_Reduce_scatter(in, other.data(), ints.data(), MPI_FLOAT, MPI_SUM,
                           MPI_COMM_WORLD);
      },
      [&] {
        shunt_reduce_scatter(comm, nullptr, in, lists.total, out.data(),
                             counts[me], counts.data(), elems, SHUNT_F32);
      });
  shunt_free(comm, in);
}

} // namespace

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t most = argc > 1 ? std::atoll(argv[1]) : 64;
  shunt_world *world;
  char message[512];
  if (shunt_world_create("mpi", size, nullptr, &world, message,
                         sizeof(message))) {
    std::fprintf(stderr, "%s\n", message);
    return 1;
  }
  comm = shunt_world_comm(world, me);
  if (me == 0)
    std::printf("%d ranks; bytes that all write, microseconds, ratio\n"
                "%-26s %12s %12s %12s %8s\n",
                size, "op", "bytes", "MPI", "shunt", "ratio");
  std::vector<int64_t> ones(size, 1);
  float value = 1, sum;
  compare(
      "barrier", 0, [] { MPI_Barrier(MPI_COMM_WORLD); },
      [] { shunt_barrier(comm, nullptr); });
  compare(
      "all_reduce", 4,
      [&] {
        MPI_Allreduce(&value, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      },
      [&] { shunt_all_reduce(comm, nullptr, &value, &sum, 1, 1, SHUNT_F32); });
  gather("all_gather 1 row", listsOf(ones), false);
  exchange("all_to_all 1 row", 1, false);
  for (int64_t mib : {int64_t(1), int64_t(16), most}) {
    int64_t rows = (mib << 20) / rowBytes / size;
    std::vector<int64_t> even(size, std::max<int64_t>(rows / size, 1));
    even[0] += rows / 7;
    for (bool lent : {false, true}) {
      gather(lent ? "all_gather lent" : "all_gather", listsOf(even), lent);
      exchange(lent ? "all_to_all lent" : "all_to_all", rows, lent);
    }
    reduce(rows);
  }
  std::vector<int64_t> skewed(size, 1);
  skewed[0] = 4096;
  for (bool lent : {false, true})
    gather(lent ? "all_gather 4096,1,... lent" : "all_gather 4096,1,...",
           listsOf(skewed), lent);
  shunt_world_destroy(world);
  MPI_Finalize();
  return 0;
}
