//===- CudaBenchmark.cpp - Kernels against the device's copy --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel's bytes (read and written, as few as its job needs) by its time,
// by the same of a device-to-device copy that is measured in turn with it.
//
//===----------------------------------------------------------------------===//

#include "cuda/kernels/Kernels.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace shunt::rt::cuda;

namespace {

[[noreturn]] void fail(const std::string &what, int status) {
  auto error = static_cast<cudaError_t>(status);
  std::fprintf(stderr, "ShuntCudaBenchmark: error: %s: %s (%s, %d)\n",
               what.c_str(), cudaGetErrorString(error), cudaGetErrorName(error),
               status);
  std::exit(1);
}
void check(int status, const char *what) {
  if (status != cudaSuccess)
    fail(what, status);
}

/// Device memory, freed when the process ends.
template <typename T> T *allocate(int64_t count) {
  void *memory = nullptr;
  check(cudaMalloc(&memory, std::max<int64_t>(count, 1) * sizeof(T)),
        "cudaMalloc");
  check(cudaMemset(memory, 0, count * sizeof(T)), "cudaMemset");
  return static_cast<T *>(memory);
}
template <typename T> T *upload(const std::vector<T> &values) {
  T *memory = allocate<T>(values.size());
  check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
  return memory;
}

struct Sizes {
  int64_t tokens = 8192, hidden = 7168, topK = 8, experts = 256, rounds = 20;
};

/// One line of the table.
struct Row {
  const char *name;
  /// Bytes read and written; 0 where time alone is of interest.
  double bytes;
  /// Least ratio to the copy; 0 for none.
  double floor;
  std::function<Status()> run;
  std::vector<float> microseconds;
};

/// A layer on one rank: bf16 rows to all experts and back.
class Layer {
public:
  Layer(const Sizes &sizes, Stream stream)
      : s(sizes), stream(stream), slots(s.tokens * s.topK) {
    std::mt19937 random(1);
    std::vector<int32_t> hostIds(slots), same(s.experts);
    std::vector<float> hostScores(slots);
    for (int64_t i = 0; i < slots; ++i) {
      hostIds[i] = static_cast<int32_t>(random() % s.experts);
      hostScores[i] = static_cast<float>(random() % 1000) / 1000;
    }
    for (int64_t i = 0; i < s.experts; ++i)
      same[i] = static_cast<int32_t>(i);
    ids = upload(hostIds);
    scores = upload(hostScores);
    instanceFor = upload(same);
    firstOf = upload(std::vector<int32_t>{0, static_cast<int32_t>(s.experts)});
    x = allocate<uint16_t>(s.tokens * s.hidden);
    rows = allocate<uint16_t>(slots * s.hidden);
    other = allocate<uint16_t>(slots * s.hidden);
    out = allocate<uint16_t>(s.tokens * s.hidden);
    scales = allocate<float>(slots * ((s.hidden + 127) / 128));
    instanceOf = allocate<int32_t>(slots);
    rowOf = allocate<int64_t>(slots);
    slotOf = allocate<int64_t>(slots);
    places = allocate<int64_t>(slots);
    counts = allocate<int64_t>(s.experts);
    firstRows = allocate<int64_t>(s.experts + 1);
    starts = allocate<int64_t>(s.experts);
    sums = allocate<int64_t>(s.experts);
    padded = allocate<int64_t>(s.experts);
    prefix = allocate<int64_t>(s.experts + 1);
    arrival = allocate<int64_t>(s.experts);
    place = allocate<int64_t>(s.experts);
    received = allocate<int64_t>(1);
    report = allocate<OrderReport>(1);
    workspace = allocate<char>(orderWorkspace(slots, s.experts));
  }

  Status order() {
    OrderCall call = {};
    call.ids = ids;
    call.slots = slots;
    call.experts = call.instances = s.experts;
    call.instanceFor = instanceFor;
    call.instanceOf = instanceOf;
    call.rowOf = rowOf;
    call.slotOf = slotOf;
    call.counts = counts;
    call.firstRows = firstRows;
    call.report = report;
    return orderSlots(call, workspace, stream);
  }
  Status locate() {
    ArrangeCall arrange = {};
    arrange.counts = counts;
    arrange.ranks = 1;
    arrange.instances = s.experts;
    arrange.firstOf = firstOf;
    arrange.expertMajor = true;
    arrange.alignment = 1;
    arrange.starts = starts;
    arrange.sums = sums;
    arrange.padded = padded;
    arrange.rows = received;
    if (Status status = arrangeRows(arrange, stream))
      return status;
    PlaceCall call = {};
    call.instanceOf = instanceOf;
    call.rowOf = rowOf;
    call.slots = slots;
    call.firstRows = firstRows;
    call.starts = starts;
    call.placeRow = places;
    if (Status status = placeSlots(call, stream))
      return status;
    ArrivalCall arrivals = {counts,    starts, 1,      s.experts, 0,
                            s.experts, 0,      prefix, arrival,   place};
    return arrivalSegments(arrivals, stream);
  }
  DispatchCall dispatchCall(bool scored) {
    DispatchCall call = {x,        s.tokens,   s.topK,
                         s.hidden, SHUNT_BF16, scored ? scores : nullptr,
                         {}};
    call.to.buffers.one = rows;
    call.to.row = places;
    return call;
  }
  Status dispatch(bool scored) {
    return dispatchRows(dispatchCall(scored), stream);
  }
  Status quantise() {
    Buffers scaleRows;
    scaleRows.one = scales;
    return dispatchQuantised(dispatchCall(false), Float8::E4M3, scaleRows,
                             stream);
  }
  Status combine() {
    CombineCall call = {};
    call.from.buffers.one = rows;
    call.from.row = places;
    call.weights = scores;
    call.out = out;
    call.tokens = s.tokens;
    call.topK = s.topK;
    call.rowElems = s.hidden;
    call.dtype = SHUNT_BF16;
    return combineRows(call, stream);
  }
  Status gather() {
    GatherCall call = {rows,    other,    places,     slots,
                       nullptr, s.hidden, SHUNT_BF16, nullptr};
    return gatherRows(call, stream);
  }
  Status move() {
    MoveCall call = {rows,  other,        {s.experts, prefix, arrival, place},
                     slots, s.hidden * 2, 0,
                     0};
    return moveSegments(call, stream);
  }
  /// topK buffers of the tokens' size.
  Status sum() {
    SumCall call = {
        rows,      s.topK, s.tokens * s.hidden * 2, out, s.tokens * s.hidden,
        SHUNT_BF16};
    return sumBuffers(call, stream);
  }
  Status copy() {
    return cudaMemcpyAsync(other, rows, slots * s.hidden * 2,
                           cudaMemcpyDeviceToDevice, stream);
  }
  Status all() {
    if (Status status = order())
      return status;
    if (Status status = locate())
      return status;
    if (Status status = dispatch(false))
      return status;
    return combine();
  }
  /// The whole of it as a graph: nothing in it waits for the host.
  cudaGraphExec_t capture() {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    check(all(), "capture of a layer");
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    return exec;
  }

private:
  Sizes s;
  Stream stream;
  int64_t slots;
  int32_t *ids, *instanceFor, *firstOf, *instanceOf;
  float *scores, *scales;
  uint16_t *x, *rows, *other, *out;
  int64_t *rowOf, *slotOf, *places, *counts, *firstRows, *starts, *sums,
      *padded, *prefix, *arrival, *place, *received;
  OrderReport *report;
  char *workspace;
};

float timeOf(const Row &row, cudaStream_t stream) {
  static cudaEvent_t begin, end;
  if (!begin) {
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
  }
  check(cudaEventRecord(begin, stream), "cudaEventRecord");
  check(row.run(), row.name);
  check(cudaEventRecord(end, stream), "cudaEventRecord");
  check(cudaEventSynchronize(end), row.name);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end),
        "cudaEventElapsedTime");
  return milliseconds * 1000;
}

float median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

void print(const std::vector<Row> &table) {
  double copyRate = table[0].bytes / median(table[0].microseconds);
  std::printf("%-28s %10s %9s %8s %6s\n", "kernel", "us", "GB/s", "of copy",
              "floor");
  for (const Row &row : table) {
    double time = median(row.microseconds);
    std::printf("%-28s %10.1f", row.name, time);
    if (row.bytes > 0) {
      double rate = row.bytes / time, ratio = rate / copyRate;
      std::printf(" %9.1f %8.2f", rate / 1000, ratio);
      if (row.floor > 0)
        std::printf(" %6.2f %s", row.floor,
                    ratio >= row.floor ? "ok" : "BELOW");
    }
    std::printf("\n");
  }
}

Sizes parse(int argc, char **argv) {
  Sizes sizes;
  const std::pair<const char *, int64_t *> options[] = {
      {"--tokens", &sizes.tokens},
      {"--hidden", &sizes.hidden},
      {"--top-k", &sizes.topK},
      {"--experts", &sizes.experts},
      {"--rounds", &sizes.rounds}};
  for (int i = 1; i < argc; i += 2) {
    auto option = std::find_if(
        std::begin(options), std::end(options),
        [&](const auto &one) { return argv[i] == std::string(one.first); });
    int64_t value = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (option == std::end(options) || value < 1) {
      std::fprintf(stderr,
                   "usage: %s [--tokens N] [--hidden N] [--top-k N] "
                   "[--experts N] [--rounds N], each at least 1\n",
                   argv[0]);
      std::exit(2);
    }
    *option->second = value;
  }
  return sizes;
}

} // namespace

int main(int argc, char **argv) {
  Sizes s = parse(argc, argv);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "there is no GPU to measure");
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  Layer layer(s, stream);
  check(layer.order(), "order");
  check(layer.locate(), "locate");
  cudaGraphExec_t graph = layer.capture();

  double token = double(s.tokens) * s.hidden * 2, all = token * s.topK;
  std::vector<Row> table = {
      {"copy", 2 * all, 0, [&] { return layer.copy(); }, {}},
      {"dispatch",
       token + all,
       0.85,
       [&] { return layer.dispatch(false); },
       {}},
      {"dispatch, scored",
       token + all,
       0,
       [&] { return layer.dispatch(true); },
       {}},
      {"dispatch, to e4m3",
       token + all / 2 + all / 2 / 128 * 4,
       0,
       [&] { return layer.quantise(); },
       {}},
      {"combine", token + all, 0.85, [&] { return layer.combine(); }, {}},
      {"gather", 2 * all, 0, [&] { return layer.gather(); }, {}},
      {"move segments", 2 * all, 0, [&] { return layer.move(); }, {}},
      {"sum of buffers", token + all, 0, [&] { return layer.sum(); }, {}},
      {"order slots", 0, 0, [&] { return layer.order(); }, {}},
      {"arrange and place", 0, 0, [&] { return layer.locate(); }, {}},
      {"all, in a graph",
       0,
       0,
       [&] { return Status(cudaGraphLaunch(graph, stream)); },
       {}},
  };
  // In turn, so that clocks and neighbours are the same for all; the first
  // rounds warm up.
  const int64_t warmUp = 3;
  for (int64_t round = 0; round < warmUp + s.rounds; ++round)
    for (Row &row : table) {
      float time = timeOf(row, stream);
      if (round >= warmUp)
        row.microseconds.push_back(time);
    }
  std::printf("%s, CUDA %d.%d; T=%lld D=%lld K=%lld E=%lld, bf16, median of "
              "%lld\n",
              device.name, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
              static_cast<long long>(s.tokens),
              static_cast<long long>(s.hidden), static_cast<long long>(s.topK),
              static_cast<long long>(s.experts),
              static_cast<long long>(s.rounds));
  print(table);
  return 0;
}
