//===- Device.h - What kernels and their launches are written in ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are plain CUDA, of which they use few built-ins. Tests compile the
// same files for the CPU (SHUNT_SIMT): runtime/test/cuda/simt/Simt.h has these
// built-ins, and launches.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CUDA_KERNELS_DEVICE_H
#define SHUNT_RUNTIME_CUDA_KERNELS_DEVICE_H

#include "Kernels.h"

#include "Shunt/Core/RowArithmetic.h"

#ifdef SHUNT_SIMT
#include "Simt.h"
#else
#include <cuda_runtime.h>
#endif

#include <algorithm>

namespace shunt::rt::cuda {

constexpr int warpSize = 32;
constexpr unsigned allLanes = 0xffffffff;
/// Threads of a block, of kernels whose warps work alone and of one that scans;
/// bits that a pass of the sort looks at. Small in tests, where there are then
/// more pieces and passes, and less time is needed.
#ifdef SHUNT_SIMT
constexpr int rowThreads = 64, scanThreads = 64, digitBits = 6;
#else
constexpr int rowThreads = 256, scanThreads = 512, digitBits = 10;
#endif

__device__ inline int laneId() { return threadIdx.x % warpSize; }
__device__ inline int64_t threadNumber() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t threadCount() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}
__device__ inline int64_t warpNumber() { return threadNumber() / warpSize; }
__device__ inline int64_t warpCount() { return threadCount() / warpSize; }

/// A value of another lane of the warp, in which all lanes are.
template <typename T> __device__ inline T fromLane(T value, int lane) {
  return __shfl_sync(allLanes, value, lane);
}
__device__ inline char *fromLane(char *value, int lane) {
  return reinterpret_cast<char *>(__shfl_sync(
      allLanes,
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(value)),
      lane));
}

/// Says that a pointer from another lane is one to global memory: the compiler
/// cannot see it, and would use slower instructions.
__device__ inline void assumeGlobal(const void *pointer) {
#ifndef SHUNT_SIMT
  __builtin_assume(__isGlobal(pointer));
#endif
}

#ifndef SHUNT_SIMT
/// Launches as many blocks as the device holds at once, or fewer if `blocks`,
/// those that have work, are fewer. No work is no launch.
template <typename Args>
Status launch(void (*kernel)(Args), int64_t blocks, int threads, Stream stream,
              Args args) {
  if (blocks == 0)
    return cudaSuccess;
  int device, processors, resident;
  auto function = reinterpret_cast<const void *>(kernel);
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                    device);
  if (status == cudaSuccess)
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function,
                                                           threads, 0);
  if (status != cudaSuccess)
    return status;
  int64_t most = static_cast<int64_t>(processors) * resident;
  void *arguments[] = {&args};
  return cudaLaunchKernel(function,
                          dim3(static_cast<unsigned>(std::min(blocks, most))),
                          dim3(threads), arguments, 0, stream);
}
constexpr Status invalidValue = cudaErrorInvalidValue;
#endif

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_CUDA_KERNELS_DEVICE_H
