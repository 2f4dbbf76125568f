//===- Places.cu - Where rows lie in buffers ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scan.h"

namespace shunt::rt::cuda {

namespace {

/// A block for each rank; its threads are instances.
__global__ void arrange(ArrangeCall call) {
  for (int64_t rank = blockIdx.x; rank < call.ranks; rank += gridDim.x) {
    int64_t begin = call.firstOf[rank], end = call.firstOf[rank + 1];
    int64_t rows = 0;
    for (int64_t first = begin; first < end; first += scanThreads) {
      int64_t instance = first + threadIdx.x;
      bool isOne = instance < end;
      int64_t sum = 0;
      for (int64_t source = 0; isOne && source < call.ranks; ++source)
        sum += call.counts[source * call.instances + instance];
      int64_t padded = 0;
      if (isOne) {
        padded = call.expertMajor
                     ? paddedRows(sum, call.alignment, call.padEmpty)
                     : sum;
        call.sums[instance] = sum;
        call.padded[instance] = padded;
      }
      int64_t row = scanBlock(padded, rows);
      for (int64_t source = 0; isOne && call.expertMajor && source < call.ranks;
           ++source) {
        call.starts[source * call.instances + instance] = row;
        row += call.counts[source * call.instances + instance];
      }
    }
    int64_t row = 0;
    for (int64_t source = 0; !call.expertMajor && source < call.ranks; ++source)
      for (int64_t first = begin; first < end; first += scanThreads) {
        int64_t i = source * call.instances + first + threadIdx.x;
        bool isOne = first + threadIdx.x < end;
        int64_t start = scanBlock(isOne ? call.counts[i] : 0, row);
        if (isOne)
          call.starts[i] = start;
      }
    if (threadIdx.x != 0)
      continue;
    call.rows[rank] = rows;
    if (call.bound && rows > call.bound)
      *call.overflow = 1;
  }
}

struct PackedCall {
  const int64_t *firstRows;
  const int32_t *firstOf;
  int64_t ranks, blockRows;
  int64_t *starts;
};

/// A block for each rank.
__global__ void startPacked(PackedCall call) {
  for (int64_t rank = blockIdx.x; rank < call.ranks; rank += gridDim.x) {
    int32_t begin = call.firstOf[rank], end = call.firstOf[rank + 1];
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
      call.starts[i] =
          rank * call.blockRows + call.firstRows[i] - call.firstRows[begin];
  }
}

__global__ void place(PlaceCall call) {
  for (int64_t slot = threadNumber(); slot < call.slots;
       slot += threadCount()) {
    int32_t instance = call.instanceOf[slot];
    int64_t row = -1;
    if (instance >= 0) {
      row = call.starts[instance] + call.rowOf[slot] - call.firstRows[instance];
      if (call.bound && row >= call.bound) {
        row = -1;
        *call.overflow = 1;
      }
    }
    call.placeRow[slot] = row;
    if (call.placeRank)
      call.placeRank[slot] = row < 0       ? -1
                             : call.rankOf ? call.rankOf[instance]
                                           : 0;
  }
}

/// One block.
__global__ void listArrivals(ArrivalCall call) {
  int64_t segments = call.ranks * call.locals, rows = 0;
  for (int64_t first = 0; first < segments; first += scanThreads) {
    int64_t i = first + threadIdx.x;
    bool isOne = i < segments;
    int64_t source = isOne ? i / call.locals : 0;
    int64_t at = source * call.instances + call.firstInstance +
                 (i - source * call.locals);
    int64_t row = scanBlock(isOne ? call.counts[at] : 0, rows);
    if (!isOne)
      continue;
    call.prefix[i] = call.arrival[i] = row;
    call.place[i] = call.starts[at];
  }
  if (threadIdx.x == 0)
    call.prefix[segments] = rows;
  if (call.blockRows == 0)
    return;
  __syncthreads();
  // A source's block begins where its first segment does.
  for (int64_t i = threadIdx.x; i < segments; i += blockDim.x) {
    int64_t source = i / call.locals;
    call.arrival[i] = source * call.blockRows + call.prefix[i] -
                      call.prefix[source * call.locals];
  }
}

} // namespace

Status arrangeRows(const ArrangeCall &call, Stream stream) {
  return launch(arrange, call.ranks, scanThreads, stream, call);
}

Status packedStarts(const int64_t *firstRows, const int32_t *firstOf,
                    int64_t ranks, int64_t blockRows, int64_t *starts,
                    Stream stream) {
  PackedCall call = {firstRows, firstOf, ranks, blockRows, starts};
  return launch(startPacked, ranks, rowThreads, stream, call);
}

Status placeSlots(const PlaceCall &call, Stream stream) {
  return launch(place, unitsOf(call.slots, rowThreads), rowThreads, stream,
                call);
}

Status arrivalSegments(const ArrivalCall &call, Stream stream) {
  return launch(listArrivals, 1, scanThreads, stream, call);
}

} // namespace shunt::rt::cuda
