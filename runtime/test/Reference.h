//===- Reference.h - Random rows and sequential collectives
//----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written apart from the runtime: values of 16-bit floats come from their
// definition, and rounding from a search among neighbours.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_REFERENCE_H
#define SHUNT_RUNTIME_TEST_REFERENCE_H

#include "shunt/runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace shunt::rt::test {

using Bytes = std::vector<uint8_t>;

constexpr shunt_dtype summedDtypes[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16,
                                        SHUNT_I32, SHUNT_I64};
constexpr shunt_dtype movedDtypes[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16,
                                       SHUNT_I32, SHUNT_I64,  SHUNT_F8E4M3};

/// A 16-bit float format: bits of exponent and fraction.
struct Format {
  int exponentBits, fractionBits;
};
constexpr Format bf16Format = {8, 7};
constexpr Format f16Format = {5, 10};

/// The value of a pattern, from the definition; exact in a double.
inline double define(uint16_t bits, Format format) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  int exponent =
      (bits >> format.fractionBits) & ((1 << format.exponentBits) - 1);
  int fraction = bits & ((1 << format.fractionBits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponentBits) - 1)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - format.fractionBits);
  return sign * std::ldexp(fraction + (1 << format.fractionBits),
                           exponent - bias - format.fractionBits);
}

inline std::vector<double> defineAll(Format format) {
  std::vector<double> values;
  for (int bits = 0; bits < 1 << 16; ++bits)
    values.push_back(define(static_cast<uint16_t>(bits), format));
  return values;
}

/// The values of all patterns, kept: random tests spend their time here.
inline const std::vector<double> &valuesOf(Format format) {
  static const std::vector<double> bf16 = defineAll(bf16Format);
  static const std::vector<double> f16 = defineAll(f16Format);
  return format.exponentBits == bf16Format.exponentBits ? bf16 : f16;
}
inline double decode(uint16_t bits, Format format) {
  return valuesOf(format)[bits];
}

/// The pattern nearest to a value that is no NaN; the even one of two.
inline uint16_t encode(double value, Format format) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  uint16_t infinity = ((1 << format.exponentBits) - 1) << format.fractionBits;
  if (std::isinf(value))
    return sign | infinity;
  const double *values = valuesOf(format).data();
  // The largest finite pattern that is not above the value: among those of its
  // exponent, or the last ones.
  int bias = (1 << (format.exponentBits - 1)) - 1;
  int exponent = magnitude == 0 ? -bias : std::ilogb(magnitude);
  uint16_t low = static_cast<uint16_t>(std::clamp(exponent + bias, 0, 2 * bias)
                                       << format.fractionBits);
  uint16_t high = static_cast<uint16_t>(low + (1 << format.fractionBits));
  while (high - low > 1) {
    uint16_t middle = low + (high - low) / 2;
    (values[middle] <= magnitude ? low : high) = middle;
  }
  // Infinity stands for the next power of two when rounding.
  double above = high == infinity ? std::ldexp(1, bias + 1) : values[high];
  double toLow = magnitude - values[low], toHigh = above - magnitude;
  if (toLow < toHigh || (toLow == toHigh && low % 2 == 0))
    return sign | low;
  return sign | high;
}

/// A seeded source of counts and rows.
struct Random {
  explicit Random(unsigned seed) : engine(seed) {}

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  /// Ragged counts, a third of them 0.
  std::vector<int64_t> counts(size_t n) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < n; ++i)
      values.push_back(draw(0, 2) ? draw(1, 9) : 0);
    return values;
  }

  /// Elements of very different size, so that the order of additions shows.
  Bytes rows(int64_t elems, shunt_dtype dtype) {
    Bytes bytes(elems * shunt_dtype_size(dtype));
    for (int64_t i = 0; i < elems; ++i) {
      float value =
          std::ldexp(std::uniform_real_distribution<float>(-1, 1)(engine),
                     static_cast<int>(draw(-12, 8)));
      uint64_t bits = engine();
      if (dtype == SHUNT_F32)
        std::memcpy(&bits, &value, 4);
      else if (dtype == SHUNT_BF16)
        bits = encode(value, bf16Format);
      else if (dtype == SHUNT_F16)
        bits = encode(value, f16Format);
      std::memcpy(&bytes[i * shunt_dtype_size(dtype)], &bits,
                  shunt_dtype_size(dtype));
    }
    return bytes;
  }

  std::mt19937_64 engine;
};

inline std::vector<int64_t> scaled(std::vector<int64_t> counts,
                                   int64_t rowElems) {
  for (int64_t &count : counts)
    count *= rowElems;
  return counts;
}

inline Bytes concatenate(const std::vector<Bytes> &parts) {
  Bytes all;
  for (const Bytes &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Element-wise sum in order: floats in f32, rounded once.
inline Bytes sumOf(const std::vector<Bytes> &inputs, shunt_dtype dtype) {
  size_t size = shunt_dtype_size(dtype);
  Bytes result(inputs[0].size());
  Format format = dtype == SHUNT_BF16 ? bf16Format : f16Format;
  for (size_t at = 0; at < result.size(); at += size) {
    uint64_t integer = 0;
    float real = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, &inputs[i][at], size);
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      if (size == 2)
        value = static_cast<float>(decode(bits, format));
      real = i ? real + value : value;
      integer += bits;
    }
    if (size == 2)
      integer = encode(real, format);
    else if (dtype == SHUNT_F32)
      std::memcpy(&integer, &real, sizeof(real));
    std::memcpy(&result[at], &integer, size);
  }
  return result;
}

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_REFERENCE_H
