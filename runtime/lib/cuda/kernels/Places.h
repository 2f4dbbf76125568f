//===- Places.h - Rows of slots -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CUDA_KERNELS_PLACES_H
#define SHUNT_RUNTIME_CUDA_KERNELS_PLACES_H

#include "Elements.h"

namespace shunt::rt::cuda {

__device__ inline char *bufferOf(const Buffers &buffers, int32_t rank) {
  return static_cast<char *>(buffers.perRank ? buffers.perRank[rank]
                                             : buffers.one);
}

/// The row of a slot; null if it is dropped.
__device__ inline char *rowAt(const Places &places, int64_t slot,
                              int64_t rowBytes) {
  int64_t row = places.row[slot];
  if (row < 0)
    return nullptr;
  return bufferOf(places.buffers, places.rank ? places.rank[slot] : 0) +
         row * rowBytes;
}

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_CUDA_KERNELS_PLACES_H
