//===- Scan.h - Sums before each thread of a block ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CUDA_KERNELS_SCAN_H
#define SHUNT_RUNTIME_CUDA_KERNELS_SCAN_H

#include "Device.h"

namespace shunt::rt::cuda {

/// The sum of the values of the threads before this one, plus `carry`, to which
/// the sum of all is added. All threads of the block call it.
__device__ inline int64_t scanBlock(int64_t value, int64_t &carry) {
  constexpr int warps = scanThreads / warpSize;
  __shared__ int64_t sums[warps];
  int lane = laneId(), warp = threadIdx.x / warpSize;
  int64_t inclusive = value;
  for (int step = 1; step < warpSize; step *= 2) {
    int64_t before = __shfl_up_sync(allLanes, inclusive, step);
    if (lane >= step)
      inclusive += before;
  }
  if (lane == warpSize - 1)
    sums[warp] = inclusive;
  __syncthreads();
  int64_t result = carry + inclusive - value;
  for (int i = 0; i < warps; ++i) {
    if (i < warp)
      result += sums[i];
    carry += sums[i];
  }
  // Until all have read, the next call must not write.
  __syncthreads();
  return result;
}

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_CUDA_KERNELS_SCAN_H
