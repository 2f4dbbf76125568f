//===- Convert.h - Narrow floats to f32 and back --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written without branches on single values so that loops over them vectorise
// on a machine without conversion instructions. Rounds to nearest, ties to
// even; a NaN stays a NaN and becomes quiet.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CONVERT_H
#define SHUNT_RUNTIME_CONVERT_H

#include "Shunt/Core/HostDevice.h"

#include <cstdint>
#include <cstring>

namespace shunt::rt {

SHUNT_HOST_DEVICE inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

SHUNT_HOST_DEVICE inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

SHUNT_HOST_DEVICE inline float bf16ToF32(uint16_t half) {
  return floatOf(static_cast<uint32_t>(half) << 16);
}

SHUNT_HOST_DEVICE inline uint16_t f32ToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t nan = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan
                                                                : rounded);
}

SHUNT_HOST_DEVICE inline float f16ToF32(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const uint32_t bias = (127 - 15) << 23;
  uint32_t normal = magnitude + bias;
  uint32_t special = normal + ((128 - 16) << 23);
  // Reads a subnormal as 2^-14 * (1 + fraction) and takes the 2^-14 away.
  const uint32_t smallest = 113 << 23;
  uint32_t subnormal =
      bitsOf(floatOf(magnitude + smallest) - floatOf(smallest));
  uint32_t bits = half & 0x7c00 ? normal : subnormal;
  bits = (half & 0x7c00) == 0x7c00 ? special : bits;
  // Quiets a signalling NaN, as conversion instructions do.
  bits |= (half & 0x7fff) > 0x7c00 ? 0x400000 : 0;
  return floatOf(bits | sign);
}

SHUNT_HOST_DEVICE inline uint16_t f32ToF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits & 0x80000000;
  bits ^= sign;
  const uint32_t infinity = 0x7f800000;
  uint32_t special = bits > infinity ? 0x7e00 | ((bits >> 13) & 0x3ff) : 0x7c00;
  // Adding a number whose last digit weighs 2^-24 rounds a subnormal.
  const uint32_t magic = (127 - 15 + 23 - 10 + 1) << 23;
  uint32_t subnormal = bitsOf(floatOf(bits) + floatOf(magic)) - magic;
  uint32_t rebias = static_cast<uint32_t>(15 - 127) << 23;
  uint32_t normal = (bits + rebias + 0xfff + ((bits >> 13) & 1)) >> 13;
  uint32_t half = bits < (113u << 23) ? subnormal : normal;
  half = bits >= (143u << 23) ? special : half;
  return static_cast<uint16_t>(half | (sign >> 16));
}

/// To an 8-bit float of so many exponent and fraction bits, whose infinity is
/// the largest exponent's first pattern (e5m2), or, without infinities, the
/// pattern of all ones is NaN (e4m3). Beyond the largest value: infinity, or
/// NaN.
template <int ExponentBits, int FractionBits, bool HasInfinity>
SHUNT_HOST_DEVICE inline uint8_t f32ToF8(float value) {
  const int bias = (1 << (ExponentBits - 1)) - 1;
  const int dropped = 23 - FractionBits;
  const uint32_t beyond = HasInfinity ? ((1 << ExponentBits) - 1)
                                            << FractionBits
                                      : 0x7f;
  uint32_t bits = bitsOf(value);
  uint32_t sign = bits >> 24 & 0x80;
  bits &= 0x7fffffff;
  uint32_t result;
  if (bits > 0x7f800000) {
    result = 0x7f;
  } else if (bits < static_cast<uint32_t>(127 - bias + 1) << 23) {
    // As in f32ToF16: the sum's last digit weighs as much as a subnormal's.
    const uint32_t magic = (127 - bias + dropped + 1) << 23;
    result = bitsOf(floatOf(bits) + floatOf(magic)) - magic;
  } else {
    const uint32_t half = (1u << (dropped - 1)) - 1;
    result = (bits - (static_cast<uint32_t>(127 - bias) << 23) + half +
              (bits >> dropped & 1)) >>
             dropped;
    result = result < beyond ? result : beyond;
  }
  return static_cast<uint8_t>(result | sign);
}

SHUNT_HOST_DEVICE inline uint8_t f32ToF8E4M3(float value) {
  return f32ToF8<4, 3, false>(value);
}
SHUNT_HOST_DEVICE inline uint8_t f32ToF8E5M2(float value) {
  return f32ToF8<5, 2, true>(value);
}

/// What a block of 8-bit values is multiplied by to give back the originals,
/// of which `most` is the largest finite magnitude; `largest` is the format's.
/// Never so small that a quotient overflows; 1 for a block of zeros.
SHUNT_HOST_DEVICE inline float f8Scale(float most, float largest) {
  const float smallest = 1.17549435e-38f;
  float scale = most / largest;
  if (most == 0)
    return 1;
  return scale < smallest ? smallest : scale;
}
constexpr float f8E4M3Largest = 448, f8E5M2Largest = 57344;

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_CONVERT_H
