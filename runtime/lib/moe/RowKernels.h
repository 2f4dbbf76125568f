//===- RowKernels.h - Copies, products and sums of single rows ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Float rows are f32, bf16 or f16. Products and sums are in f32, never fused,
// and rounded once, so that every processor gives the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_ROWKERNELS_H
#define SHUNT_RUNTIME_MOE_ROWKERNELS_H

#include "shunt/runtime.h"

namespace shunt::rt {

/// How a row is written. Streaming goes past the cache; whoever streams calls
/// `finishStreaming` before others may read.
enum class Write { Cached, Streaming };

void copyRow(char *out, const char *in, int64_t bytes, Write write);
void finishStreaming();

/// out = in · factor, each element rounded once.
void scaleRow(char *out, const char *in, float factor, int64_t elems,
              shunt_dtype dtype, Write write);

/// Rows that are added up.
struct Summands {
  const char *const *rows = nullptr;
  /// Factor of each row; null for 1.
  const float *weights = nullptr;
  int64_t count = 0;
  shunt_dtype dtype = SHUNT_F32;
  /// Rows of the next sum, which are fetched early; rows of a batch lie all
  /// over memory.
  const char *const *next = nullptr;
  int64_t nextCount = 0;
};

/// out = ((0 + w0·r0) + w1·r1) + … in that order, then `+ bias` (a row of type
/// `biasType`, or null), rounded once to `outType`.
void sumRow(char *out, shunt_dtype outType, const Summands &summands,
            const char *bias, shunt_dtype biasType, int64_t elems, Write write);

/// Elements to and from f32; at most 1024 at a time need no other memory.
void loadElems(float *out, const char *in, int64_t elems, shunt_dtype dtype);
void storeElems(char *out, const float *in, int64_t elems, shunt_dtype dtype);

inline bool isFloat(shunt_dtype dtype) {
  return dtype == SHUNT_F32 || dtype == SHUNT_BF16 || dtype == SHUNT_F16;
}

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_ROWKERNELS_H
