//===- Kernels.cpp - see Kernels.h
//-----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Clones.h"
#include "Convert.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace shunt::rt {

bool wantsStreaming(int64_t bytes) { return bytes >= int64_t(4) << 20; }

void copyBytes(void *dst, const void *src, int64_t bytes, bool streaming) {
  if (dst == src || bytes == 0)
    return;
  size_t size = static_cast<size_t>(bytes);
#if defined(__SSE2__)
  if (streaming && size >= 4096) {
    auto to = static_cast<char *>(dst);
    auto from = static_cast<const char *>(src);
    size_t head = (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64;
    std::memcpy(to, from, head);
    size_t end = head + (size - head) / 64 * 64;
    // Four stores fill one line of the write-combining buffer.
    for (size_t at = head; at < end; at += 64) {
      auto line = reinterpret_cast<const __m128i *>(from + at);
      __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
      __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
      auto target = reinterpret_cast<__m128i *>(to + at);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
    std::memcpy(to + end, from + end, size - end);
    // Streaming stores are weakly ordered; peers read after the rendezvous.
    _mm_sfence();
    return;
  }
#endif
  std::memcpy(dst, src, size);
}

namespace {
/// How elements are stored and what they are added in. Loads go through memcpy
/// because callers' rows need not be aligned.
template <typename S, typename A> struct Plain {
  using Storage = S;
  using Sum = A;
  static A load(S value) { return static_cast<A>(value); }
  static S store(A value) { return static_cast<S>(value); }
};
struct Bf16 {
  using Storage = uint16_t;
  using Sum = float;
  static float load(uint16_t value) { return bf16ToF32(value); }
  static uint16_t store(float value) { return f32ToBf16(value); }
};
struct F16 {
  using Storage = uint16_t;
  using Sum = float;
  static float load(uint16_t value) { return f16ToF32(value); }
  static uint16_t store(float value) { return f32ToF16(value); }
};
} // namespace

/// Blocks of sums stay in the first-level cache.
static constexpr int64_t blockElems = 1024;

template <typename T>
static inline __attribute__((always_inline)) void
sumAs(char *out, const void *const *sources, int64_t numSources,
      int64_t elems) {
  using Storage = typename T::Storage;
  typename T::Sum sums[blockElems];
  auto element = [](const char *base, int64_t i) {
    Storage value;
    std::memcpy(&value, base + i * sizeof(Storage), sizeof(Storage));
    return T::load(value);
  };
  for (int64_t begin = 0; begin < elems; begin += blockElems) {
    int64_t n = std::min(blockElems, elems - begin);
    int64_t offset = begin * static_cast<int64_t>(sizeof(Storage));
    auto first = static_cast<const char *>(sources[0]) + offset;
    for (int64_t i = 0; i < n; ++i)
      sums[i] = element(first, i);
    for (int64_t s = 1; s < numSources; ++s) {
      auto next = static_cast<const char *>(sources[s]) + offset;
      for (int64_t i = 0; i < n; ++i)
        sums[i] += element(next, i);
    }
    for (int64_t i = 0; i < n; ++i) {
      Storage value = T::store(sums[i]);
      std::memcpy(out + offset + i * sizeof(Storage), &value, sizeof(Storage));
    }
  }
}

#define SHUNT_SUM(name, type)                                                  \
  SHUNT_CLONES static void name(char *out, const void *const *sources,         \
                                int64_t numSources, int64_t elems) {           \
    sumAs<type>(out, sources, numSources, elems);                              \
  }
using PlainF32 = Plain<float, float>;
using PlainI32 = Plain<uint32_t, uint32_t>;
using PlainI64 = Plain<uint64_t, uint64_t>;
SHUNT_SUM(sumF32, PlainF32)
SHUNT_SUM(sumBf16, Bf16)
SHUNT_SUM(sumF16, F16)
SHUNT_SUM(sumI32, PlainI32)
SHUNT_SUM(sumI64, PlainI64)
#undef SHUNT_SUM

void sumRows(void *out, const void *const *sources, int64_t numSources,
             int64_t elems, shunt_dtype dtype) {
  auto to = static_cast<char *>(out);
  switch (dtype) {
  case SHUNT_F32:
    return sumF32(to, sources, numSources, elems);
  case SHUNT_BF16:
    return sumBf16(to, sources, numSources, elems);
  case SHUNT_F16:
    return sumF16(to, sources, numSources, elems);
  case SHUNT_I32:
    return sumI32(to, sources, numSources, elems);
  case SHUNT_I64:
    return sumI64(to, sources, numSources, elems);
  default:
    return;
  }
}

} // namespace shunt::rt
