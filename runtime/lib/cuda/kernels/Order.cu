//===- Order.cu - Counts slots and sorts them by instance -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A radix sort of 10-bit digits, most often of one pass: histograms of
// contiguous parts of the slots, their sums, and each part placed in order by
// one warp.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "Scan.h"

#include <climits>

namespace shunt::rt::cuda {

namespace {

constexpr int digits = 1 << digitBits;
static_assert(digits % scanThreads == 0, "a column for each thread");
/// Parts that slots are cut into, of at least so many.
constexpr int64_t mostParts = 256, leastPart = 256;

int64_t partsOf(int64_t slots) {
  return std::min(mostParts, unitsOf(slots, leastPart));
}

//===----------------------------------------------------------------------===//
// Instances of slots
//===----------------------------------------------------------------------===//

__global__ void clearReport(OrderCall call) {
  for (int64_t i = threadNumber(); call.expertSlots && i < call.experts;
       i += threadCount())
    call.expertSlots[i] = 0;
  if (threadNumber() == 0)
    *call.report = {0, INT64_MAX, -1, 0};
}

__global__ void nameInstances(OrderCall call) {
  int64_t rounds = unitsOf(call.slots, threadCount());
  for (int64_t round = 0; round < rounds; ++round) {
    int64_t slot = round * threadCount() + threadNumber();
    bool isSlot = slot < call.slots;
    int32_t id = isSlot ? call.ids[slot] : -1;
    bool isExpert = id >= 0 && id < call.experts;
    if (isSlot) {
      call.instanceOf[slot] = isExpert ? call.instanceFor[id] : -1;
      if (!isExpert && id != -1)
        atomicMin(reinterpret_cast<unsigned long long *>(&call.report->badSlot),
                  static_cast<unsigned long long>(slot));
    }
    if (!call.expertSlots)
      continue;
    // One addition for all lanes of an expert: there may be a hot one.
    int32_t key = isExpert ? id : -1;
    unsigned same = __match_any_sync(allLanes, key);
    if (isExpert && __ffs(same) - 1 == laneId())
      atomicAdd(reinterpret_cast<unsigned long long *>(&call.expertSlots[id]),
                static_cast<unsigned long long>(__popc(same)));
  }
}

//===----------------------------------------------------------------------===//
// One pass of the sort
//===----------------------------------------------------------------------===//

struct Pass {
  /// The slots in the order so far (null: as they are), and after the pass.
  const int64_t *in;
  int64_t *out;
  int64_t slots, parts;
  /// Sorts by the scores' falling keys, or by instance; -1 comes last.
  const float *scores;
  const int32_t *instanceOf;
  int64_t instances;
  int shift;
  /// [parts, digits] counts, then sums of the parts before; [digits] starts.
  int64_t *table, *starts;
};

__device__ int64_t slotAt(const Pass &pass, int64_t i) {
  return pass.in ? pass.in[i] : i;
}

__device__ int digitOf(const Pass &pass, int64_t slot) {
  uint32_t key;
  if (pass.scores) {
    key = fallingKey(bitsOf(pass.scores[slot]));
  } else {
    int32_t instance = pass.instanceOf[slot];
    key = static_cast<uint32_t>(instance < 0 ? pass.instances : instance);
  }
  return key >> pass.shift & (digits - 1);
}

__device__ int64_t partBegin(const Pass &pass, int64_t part) {
  return unitsOf(pass.slots, pass.parts) * part;
}
__device__ int64_t partEnd(const Pass &pass, int64_t part) {
  int64_t end = partBegin(pass, part + 1);
  return end < pass.slots ? end : pass.slots;
}

/// A warp for each part.
__global__ void countDigits(Pass pass) {
  __shared__ unsigned counts[digits];
  for (int64_t part = blockIdx.x; part < pass.parts; part += gridDim.x) {
    for (int digit = laneId(); digit < digits; digit += warpSize)
      counts[digit] = 0;
    __syncwarp();
    int64_t end = partEnd(pass, part);
    for (int64_t i = partBegin(pass, part) + laneId(); i < end; i += warpSize)
      atomicAdd(&counts[digitOf(pass, slotAt(pass, i))], 1u);
    __syncwarp();
    for (int digit = laneId(); digit < digits; digit += warpSize)
      pass.table[part * digits + digit] = counts[digit];
    __syncwarp();
  }
}

/// One block: sums over parts, then over digits.
__global__ void sumDigits(Pass pass) {
  int64_t carry = 0;
  for (int first = 0; first < digits; first += scanThreads) {
    int64_t *column = pass.table + first + threadIdx.x;
    int64_t sum = 0;
    constexpr int batch = 16;
    for (int64_t part = 0; part < pass.parts; part += batch) {
      int64_t counts[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i)
        counts[i] = part + i < pass.parts ? column[(part + i) * digits] : 0;
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (part + i < pass.parts)
          column[(part + i) * digits] = sum;
        sum += counts[i];
      }
    }
    pass.starts[first + threadIdx.x] = scanBlock(sum, carry);
  }
}

/// A warp for each part.
__global__ void placeDigits(Pass pass) {
  __shared__ int64_t next[digits];
  int lane = laneId();
  for (int64_t part = blockIdx.x; part < pass.parts; part += gridDim.x) {
    for (int digit = lane; digit < digits; digit += warpSize)
      next[digit] = pass.starts[digit] + pass.table[part * digits + digit];
    __syncwarp();
    int64_t end = partEnd(pass, part);
    for (int64_t i = partBegin(pass, part); i < end; i += warpSize) {
      bool isSlot = i + lane < end;
      int64_t slot = isSlot ? slotAt(pass, i + lane) : -1;
      int digit = isSlot ? digitOf(pass, slot) : -1;
      unsigned same = __match_any_sync(allLanes, digit);
      int before = __popc(same & ((1u << lane) - 1));
      int64_t place = isSlot ? next[digit] + before : 0;
      __syncwarp();
      if (isSlot && before == 0)
        next[digit] += __popc(same);
      __syncwarp();
      if (isSlot)
        pass.out[place] = slot;
    }
    __syncwarp();
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

struct RowsCall {
  OrderCall order;
  /// Slots sorted by instance, and where each instance begins among them.
  const int64_t *sorted;
  int64_t *begins;
  int64_t capacity;
  bool reportsOver;
};

/// The first sorted slot of instance `instance` or more.
__device__ int64_t lowerBound(const RowsCall &call, int64_t instance) {
  int64_t low = 0, high = call.order.slots;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int32_t of = call.order.instanceOf[call.sorted[middle]];
    if (of >= 0 && of < instance)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// -1, which is none, is the largest number here.
__device__ unsigned long long *overInstance(const OrderCall &order) {
  return reinterpret_cast<unsigned long long *>(&order.report->overInstance);
}

/// One block.
__global__ void countRows(RowsCall call) {
  const OrderCall &order = call.order;
  int64_t carry = 0;
  for (int64_t first = 0; first < order.instances; first += scanThreads) {
    int64_t instance = first + threadIdx.x;
    int64_t rows = 0;
    bool isOne = instance < order.instances;
    if (isOne) {
      int64_t begin = lowerBound(call, instance);
      rows = lowerBound(call, instance + 1) - begin;
      call.begins[instance] = begin;
      if (call.capacity && rows > call.capacity) {
        if (call.reportsOver)
          atomicMin(overInstance(order),
                    static_cast<unsigned long long>(instance));
        rows = call.capacity;
      }
      order.counts[instance] = rows;
    }
    int64_t row = scanBlock(rows, carry);
    if (isOne)
      order.firstRows[instance] = row;
  }
  if (threadIdx.x == 0) {
    order.firstRows[order.instances] = carry;
    order.report->rows = carry;
    if (!call.reportsOver)
      return;
    // Lowers nothing: reads what other threads have left there.
    auto over = static_cast<int64_t>(
        atomicMin(overInstance(order), static_cast<unsigned long long>(-1)));
    if (over >= 0)
      order.report->overRows = lowerBound(call, over + 1) - call.begins[over];
  }
}

/// Rows of sorted slots; those over the capacity are dropped.
__global__ void numberRows(RowsCall call) {
  const OrderCall &order = call.order;
  for (int64_t i = threadNumber(); i < order.slots; i += threadCount()) {
    int64_t slot = call.sorted[i], row = -1;
    int32_t instance = order.instanceOf[slot];
    if (instance >= 0) {
      int64_t rank = i - call.begins[instance];
      if (call.capacity && rank >= call.capacity) {
        order.instanceOf[slot] = -1;
      } else {
        row = order.firstRows[instance] + rank;
        order.slotOf[row] = slot;
      }
    }
    order.rowOf[slot] = row;
  }
}

/// The parts of the workspace.
struct Workspace {
  Workspace(void *memory, int64_t slots, int64_t instances) {
    auto take = [&](int64_t n) {
      auto part = memory ? static_cast<int64_t *>(memory) + size : nullptr;
      size += n;
      return part;
    };
    order[0] = take(slots);
    order[1] = take(slots);
    table = take(partsOf(slots) * digits);
    starts = take(digits);
    begins = take(instances);
  }
  int64_t *order[2], *table, *starts, *begins;
  int64_t size = 0;
};

/// Launches kernels up to the first that fails.
class Orderer {
public:
  Orderer(const OrderCall &call, void *memory, Stream stream)
      : call(call), work(memory, call.slots, call.instances), stream(stream) {}

  Status run() {
    blocksForSlots = unitsOf(call.slots, rowThreads);
    int64_t clears = call.expertSlots ? unitsOf(call.experts, rowThreads) : 1;
    add(clearReport, std::max<int64_t>(clears, 1), rowThreads, call);
    add(nameInstances, blocksForSlots, rowThreads, call);
    if (call.capacity && call.scores) {
      sort(32, call.scores);
      sortByInstance();
      number(call.capacity, true);
      sorted = nullptr;
      sortByInstance();
      number(0, false);
    } else {
      sortByInstance();
      number(call.capacity, call.capacity > 0);
    }
    return status;
  }

private:
  template <typename Args>
  void add(void (*kernel)(Args), int64_t blocks, int threads, Args args) {
    if (status == 0)
      status = launch(kernel, blocks, threads, stream, args);
  }

  void sort(int bits, const float *scores) {
    for (int shift = 0; shift < bits; shift += digitBits) {
      int64_t *out = sorted == work.order[0] ? work.order[1] : work.order[0];
      Pass pass = {sorted,         out,
                   call.slots,     partsOf(call.slots),
                   scores,         call.instanceOf,
                   call.instances, shift,
                   work.table,     work.starts};
      add(countDigits, pass.parts, warpSize, pass);
      add(sumDigits, call.slots > 0, scanThreads, pass);
      add(placeDigits, pass.parts, warpSize, pass);
      sorted = out;
    }
  }
  void sortByInstance() {
    int bits = 1;
    while (call.instances >> bits)
      ++bits;
    sort(bits, nullptr);
  }

  void number(int64_t capacity, bool reportsOver) {
    RowsCall rows = {call, sorted, work.begins, capacity, reportsOver};
    add(countRows, 1, scanThreads, rows);
    add(numberRows, blocksForSlots, rowThreads, rows);
  }

  const OrderCall &call;
  Workspace work;
  Stream stream;
  int64_t blocksForSlots = 0;
  const int64_t *sorted = nullptr;
  Status status = 0;
};

} // namespace

size_t orderWorkspace(int64_t slots, int64_t instances) {
  return static_cast<size_t>(Workspace(nullptr, slots, instances).size) *
         sizeof(int64_t);
}

Status orderSlots(const OrderCall &call, void *workspace, Stream stream) {
  if (call.instances > mostInstances)
    return invalidValue;
  return Orderer(call, workspace, stream).run();
}

} // namespace shunt::rt::cuda
