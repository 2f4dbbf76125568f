//===- Convert.h - 16-bit floats to f32 and back
//---------------------------===//
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

#include <cstdint>
#include <cstring>

namespace shunt::rt {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float bf16ToF32(uint16_t half) {
  return floatOf(static_cast<uint32_t>(half) << 16);
}

inline uint16_t f32ToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t nan = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan
                                                                : rounded);
}

inline float f16ToF32(uint16_t half) {
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

inline uint16_t f32ToF16(float value) {
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

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_CONVERT_H
