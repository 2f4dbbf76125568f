//===- RowKernels.cpp - see RowKernels.h ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernels.h"
#include "Clones.h"
#include "Convert.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SHUNT_INLINE static inline __attribute__((always_inline))

namespace shunt::rt {

/// Blocks of sums stay in the first-level cache.
static constexpr int64_t blockElems = 1024;

// Sixteen elements at once, in whatever registers there are.
using Floats = float __attribute__((vector_size(64)));
using Words = uint32_t __attribute__((vector_size(64)));
using Halves = uint16_t __attribute__((vector_size(32)));
static constexpr int64_t lanes = 16;

namespace {
struct F32 {
  using Storage = float;
  static float load(float value) { return value; }
  static float store(float value) { return value; }
  SHUNT_INLINE void loadLanes(Floats &out, const char *in) {
    std::memcpy(&out, in, sizeof(out));
  }
};
struct Bf16 {
  using Storage = uint16_t;
  static float load(uint16_t value) { return bf16ToF32(value); }
  static uint16_t store(float value) { return f32ToBf16(value); }
  SHUNT_INLINE void loadLanes(Floats &out, const char *in) {
    Halves halves;
    std::memcpy(&halves, in, sizeof(halves));
    Words words = __builtin_convertvector(halves, Words) << 16;
    std::memcpy(&out, &words, sizeof(out));
  }
};
struct F16 {
  using Storage = uint16_t;
  static float load(uint16_t value) { return f16ToF32(value); }
  static uint16_t store(float value) { return f32ToF16(value); }
  /// f16ToF32 on lanes.
  SHUNT_INLINE void loadLanes(Floats &out, const char *in) {
    Halves halves;
    std::memcpy(&halves, in, sizeof(halves));
    Words half = __builtin_convertvector(halves, Words);
    Words sign = (half & 0x8000) << 16, magnitude = (half & 0x7fff) << 13;
    Words exponent = half & 0x7c00;
    Words normal = magnitude + ((127 - 15) << 23);
    const uint32_t smallest = 113 << 23;
    Words above = magnitude + smallest, ones = Words{} + smallest;
    Floats difference, base;
    std::memcpy(&difference, &above, sizeof(above));
    std::memcpy(&base, &ones, sizeof(ones));
    difference -= base;
    Words bits;
    std::memcpy(&bits, &difference, sizeof(bits));
    bits = exponent != 0 ? normal : bits;
    bits = exponent == 0x7c00 ? normal + ((128 - 16) << 23) : bits;
    bits |= (half & 0x7fff) > 0x7c00 ? Words{} + 0x400000 : Words{};
    bits |= sign;
    std::memcpy(&out, &bits, sizeof(out));
  }
};
} // namespace

// Through memcpy, because callers' rows need not be aligned.
template <typename T> SHUNT_INLINE float element(const char *base, int64_t i) {
  typename T::Storage value;
  std::memcpy(&value, base + i * sizeof(value), sizeof(value));
  return T::load(value);
}

template <typename T>
SHUNT_INLINE void loadAs(float *out, const char *in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = element<T>(in, i);
}

template <typename T>
SHUNT_INLINE void storeAs(char *out, const float *in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    typename T::Storage value = T::store(in[i]);
    std::memcpy(out + i * sizeof(value), &value, sizeof(value));
  }
}

template <typename T>
SHUNT_INLINE void scaleAs(char *out, const char *in, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    typename T::Storage value = T::store(element<T>(in, i) * factor);
    std::memcpy(out + i * sizeof(value), &value, sizeof(value));
  }
}

/// sums += w0·r0, then += w1·r1, … for elements [begin, begin + n) of each row.
template <typename T>
SHUNT_INLINE void addAs(float *sums, const Summands &s, int64_t begin,
                        int64_t n) {
  const int64_t size = sizeof(typename T::Storage);
  // A few sums stay in registers while all rows are added to them.
  const int64_t width = 4 * lanes;
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    int64_t offset = (begin + i) * size;
    Floats sum[4];
    std::memcpy(sum, sums + i, sizeof(sum));
    for (int64_t row = 0; row < s.count; ++row) {
      const char *in = s.rows[row] + offset;
      float weight = s.weights ? s.weights[row] : 1.0f;
      for (int part = 0; part < 4; ++part) {
        Floats value;
        T::loadLanes(value, in + part * lanes * size);
        value = value * weight;
        sum[part] = sum[part] + value;
      }
    }
    std::memcpy(sums + i, sum, sizeof(sum));
    // Into the second-level cache: the first has no room for so many rows.
    for (int64_t row = 0; row < s.nextCount; ++row)
      for (int64_t at = 0; at < width * size; at += 64)
        __builtin_prefetch(s.next[row] + offset + at, 0, 2);
  }
  for (int64_t row = 0; row < s.count && i < n; ++row) {
    const char *in = s.rows[row] + begin * size;
    float weight = s.weights ? s.weights[row] : 1.0f;
    for (int64_t rest = i; rest < n; ++rest)
      sums[rest] = sums[rest] + element<T>(in, rest) * weight;
  }
}

#define SHUNT_KERNELS(T)                                                       \
  SHUNT_CLONES static void load##T(float *out, const char *in, int64_t n) {    \
    loadAs<T>(out, in, n);                                                     \
  }                                                                            \
  SHUNT_CLONES static void store##T(char *out, const float *in, int64_t n) {   \
    storeAs<T>(out, in, n);                                                    \
  }                                                                            \
  SHUNT_CLONES static void scale##T(char *out, const char *in, float factor,   \
                                    int64_t n) {                               \
    scaleAs<T>(out, in, factor, n);                                            \
  }                                                                            \
  SHUNT_CLONES static void add##T(float *sums, const Summands &s,              \
                                  int64_t begin, int64_t n) {                  \
    addAs<T>(sums, s, begin, n);                                               \
  }
SHUNT_KERNELS(F32)
SHUNT_KERNELS(Bf16)
SHUNT_KERNELS(F16)
#undef SHUNT_KERNELS

void loadElems(float *out, const char *in, int64_t elems, shunt_dtype dtype) {
  if (dtype == SHUNT_F32)
    loadF32(out, in, elems);
  else if (dtype == SHUNT_BF16)
    loadBf16(out, in, elems);
  else
    loadF16(out, in, elems);
}

void storeElems(char *out, const float *in, int64_t elems, shunt_dtype dtype) {
  if (dtype == SHUNT_F32)
    storeF32(out, in, elems);
  else if (dtype == SHUNT_BF16)
    storeBf16(out, in, elems);
  else
    storeF16(out, in, elems);
}

static void scaleElems(char *out, const char *in, float factor, int64_t elems,
                       shunt_dtype dtype) {
  if (dtype == SHUNT_F32)
    scaleF32(out, in, factor, elems);
  else if (dtype == SHUNT_BF16)
    scaleBf16(out, in, factor, elems);
  else
    scaleF16(out, in, factor, elems);
}

static void addElems(float *sums, const Summands &s, int64_t begin,
                     int64_t elems) {
  if (s.dtype == SHUNT_F32)
    addF32(sums, s, begin, elems);
  else if (s.dtype == SHUNT_BF16)
    addBf16(sums, s, begin, elems);
  else
    addF16(sums, s, begin, elems);
}

#if defined(__SSE2__)
/// Copies whole lines past the cache; `to` is aligned to one.
static void streamLines(char *to, const char *from, size_t lines) {
  for (size_t i = 0; i < lines; ++i, to += 64, from += 64) {
    auto line = reinterpret_cast<const __m128i *>(from);
    __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
    __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
    auto target = reinterpret_cast<__m128i *>(to);
    // Four stores fill one line of the write-combining buffer.
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
}
#endif

void copyRow(char *out, const char *in, int64_t bytes, Write write) {
  if (bytes == 0)
    return;
  size_t size = static_cast<size_t>(bytes);
#if defined(__SSE2__)
  size_t head = (64 - reinterpret_cast<uintptr_t>(out) % 64) % 64;
  if (write == Write::Streaming && size >= head + 64) {
    size_t lines = (size - head) / 64, end = head + lines * 64;
    std::memcpy(out, in, head);
    streamLines(out + head, in + head, lines);
    std::memcpy(out + end, in + end, size - end);
    return;
  }
#endif
  std::memcpy(out, in, size);
}

void finishStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void scaleRow(char *out, const char *in, float factor, int64_t elems,
              shunt_dtype dtype, Write write) {
  if (write == Write::Cached)
    return scaleElems(out, in, factor, elems, dtype);
  int64_t size = shunt_dtype_size(dtype);
  alignas(64) char block[blockElems * sizeof(float)];
  for (int64_t begin = 0; begin < elems; begin += blockElems) {
    int64_t n = std::min(blockElems, elems - begin);
    scaleElems(block, in + begin * size, factor, n, dtype);
    copyRow(out + begin * size, block, n * size, write);
  }
}

void sumRow(char *out, shunt_dtype outType, const Summands &summands,
            const char *bias, shunt_dtype biasType, int64_t elems,
            Write write) {
  int64_t outSize = shunt_dtype_size(outType);
  alignas(64) float sums[blockElems];
  alignas(64) char block[blockElems * sizeof(float)];
  Summands last;
  last.rows = &bias;
  last.count = 1;
  last.dtype = biasType;
  for (int64_t begin = 0; begin < elems; begin += blockElems) {
    int64_t n = std::min(blockElems, elems - begin);
    std::fill(sums, sums + n, 0.0f);
    addElems(sums, summands, begin, n);
    if (bias)
      addElems(sums, last, begin, n);
    if (write == Write::Cached) {
      storeElems(out + begin * outSize, sums, n, outType);
      continue;
    }
    storeElems(block, sums, n, outType);
    copyRow(out + begin * outSize, block, n * outSize, write);
  }
}

} // namespace shunt::rt
