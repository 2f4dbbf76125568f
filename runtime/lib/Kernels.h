//===- Kernels.h - Copies and sums of rows in memory
//-----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_KERNELS_H
#define SHUNT_RUNTIME_KERNELS_H

#include "shunt/runtime.h"

namespace shunt::rt {

/// Copies `bytes` bytes; does nothing if both pointers are the same. With
/// `streaming` past the cache: right when the destination is far larger than
/// it, since an ordinary store reads the line first.
void copyBytes(void *dst, const void *src, int64_t bytes, bool streaming);

/// Whether a result of `bytes` bytes is better written past the cache.
bool wantsStreaming(int64_t bytes);

/// Sets element i of `out` to the sum of elements i of `sources[0]`,
/// `sources[1]`, ... added in that order: floats in f32 and rounded once,
/// integers modulo 2^bits. `out` may be one of the sources.
void sumRows(void *out, const void *const *sources, int64_t numSources,
             int64_t elems, shunt_dtype dtype);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_KERNELS_H
