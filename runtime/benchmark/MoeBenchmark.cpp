//===- MoeBenchmark.cpp - Dispatch and combine of one rank ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The yardstick is a streaming copy of the routed rows (tokens x top_k), on as
// many threads, taken in turn with what is measured: `of_copy` is the median of
// the copy's time by the operation's, 1 as fast as the copy. `of_moved` counts
// what each reads and writes instead: a copy reads a byte for each it writes, a
// dispatch reads one for every top_k. `gbps` are routed bytes. Memory is on
// large pages and touched before.
//
//===----------------------------------------------------------------------===//

#include "moe/Pool.h"
#include "moe/RowKernels.h"
#include "shunt/moe.h"

#include "benchmark/benchmark.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include <sys/mman.h>

using namespace shunt::rt;

namespace {

constexpr int64_t tokens = 4096, topK = 8;

/// Memory on large pages, touched.
class Buffer {
public:
  explicit Buffer(int64_t bytes) : size(bytes) {
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      std::abort();
    (void)madvise(data, size, MADV_HUGEPAGE);
    std::memset(data, 0x3c, size);
  }
  ~Buffer() { munmap(data, size); }
  Buffer(const Buffer &) = delete;

  char *get() const { return static_cast<char *>(data); }

private:
  size_t size;
  void *data;
};

double secondsOf(const std::function<void()> &work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

/// One layer on one rank with random routing.
class Layer {
public:
  Layer(int64_t experts, int64_t threads) : ids(tokens * topK) {
    std::mt19937 random(1);
    scores.assign(ids.size(), 0.125f);
    std::vector<int32_t> all(experts);
    for (int64_t expert = 0; expert < experts; ++expert)
      all[expert] = static_cast<int32_t>(expert);
    for (int64_t token = 0; token < tokens; ++token) {
      std::shuffle(all.begin(), all.end(), random);
      std::copy_n(all.begin(), topK, ids.begin() + token * topK);
    }
    shunt_moe_options options = {};
    options.experts = experts;
    options.top_k = topK;
    options.threads = threads;
    if (shunt_world_create("host", 1, nullptr, &world, nullptr, 0) ||
        shunt_moe_create(shunt_world_comm(world, 0), nullptr, &options, &moe) ||
        route(&routing))
      std::abort();
  }
  ~Layer() {
    shunt_moe_routing_destroy(routing);
    shunt_moe_destroy(moe);
    shunt_world_destroy(world);
  }
  Layer(const Layer &) = delete;

  shunt_status route(shunt_moe_routing **out) {
    return shunt_moe_route(moe, ids.data(), tokens, scores.data(), nullptr,
                           out);
  }

  shunt_moe_routing *routing = nullptr;

private:
  shunt_world *world = nullptr;
  shunt_moe *moe = nullptr;
  std::vector<int32_t> ids;
  std::vector<float> scores;
};

/// The yardstick.
void copyAll(Pool &pool, char *out, const char *in, int64_t bytes) {
  const int64_t piece = int64_t(1) << 20;
  pool.run((bytes + piece - 1) / piece, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      copyRow(out + i * piece, in + i * piece,
              std::min(piece, bytes - i * piece), Write::Streaming);
    finishStreaming();
  });
}

struct Shape {
  explicit Shape(const benchmark::State &state)
      : experts(state.range(0)), elems(state.range(1)),
        dtype(static_cast<shunt_dtype>(state.range(2))),
        threads(state.range(3)), rowBytes(elems * shunt_dtype_size(dtype)) {}

  int64_t experts, elems;
  shunt_dtype dtype;
  int64_t threads, rowBytes;
};

/// Takes the copy and the operation in turn.
void measure(benchmark::State &state, const Shape &shape, Pool &pool,
             char *copyOut, const char *copyIn,
             const std::function<void()> &operation) {
  int64_t bytes = tokens * topK * shape.rowBytes;
  std::vector<double> ratios, times;
  operation();
  for (auto _ : state) {
    double copy = secondsOf([&] { copyAll(pool, copyOut, copyIn, bytes); });
    double time = secondsOf(operation);
    state.SetIterationTime(time);
    ratios.push_back(copy / time);
    times.push_back(time);
  }
  double ratio = median(ratios);
  state.counters["of_copy"] = ratio;
  state.counters["of_moved"] = ratio * (topK + 1) / (2 * topK);
  state.counters["gbps"] = static_cast<double>(bytes) * 1e-9 / median(times);
}

void BM_Dispatch(benchmark::State &state) {
  Shape shape(state);
  Layer layer(shape.experts, shape.threads);
  Pool pool(shape.threads);
  Buffer x(tokens * shape.rowBytes), routed(tokens * topK * shape.rowBytes);
  Buffer copy(tokens * topK * shape.rowBytes);
  shunt_moe_payload payload = {x.get(), routed.get(), shape.elems, shape.dtype,
                               0};
  measure(state, shape, pool, copy.get(), routed.get(), [&] {
    if (shunt_moe_dispatch(layer.routing, &payload, 1))
      std::abort();
  });
}

void BM_Combine(benchmark::State &state) {
  Shape shape(state);
  Layer layer(shape.experts, shape.threads);
  Pool pool(shape.threads);
  Buffer out(tokens * shape.rowBytes), done(tokens * topK * shape.rowBytes);
  Buffer copy(tokens * topK * shape.rowBytes);
  measure(state, shape, pool, copy.get(), done.get(), [&] {
    if (shunt_moe_combine(layer.routing, done.get(), out.get(), shape.elems,
                          shape.dtype, nullptr))
      std::abort();
  });
}

void BM_Route(benchmark::State &state) {
  Layer layer(state.range(0), 1);
  for (auto _ : state) {
    shunt_moe_routing *routing = nullptr;
    if (layer.route(&routing))
      std::abort();
    benchmark::DoNotOptimize(routing);
    shunt_moe_routing_destroy(routing);
  }
  state.counters["slots"] = tokens * topK;
}

void shapes(benchmark::internal::Benchmark *bench) {
  for (int64_t experts : {64, 256})
    for (int64_t elems : {2048, 7168})
      for (int64_t dtype : {SHUNT_F32, SHUNT_BF16})
        for (int64_t threads : {1, 2})
          bench->Args({experts, elems, dtype, threads});
  bench->ArgNames({"experts", "elems", "dtype", "threads"});
  bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
}

BENCHMARK(BM_Dispatch)->Apply(shapes);
BENCHMARK(BM_Combine)->Apply(shapes);
BENCHMARK(BM_Route)->Arg(64)->Arg(256)->Unit(benchmark::kMicrosecond);

} // namespace
