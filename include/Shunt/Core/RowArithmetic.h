//===- RowArithmetic.h - Row numbers that kernels compute too -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_ROWARITHMETIC_H
#define SHUNT_CORE_ROWARITHMETIC_H

#include "Shunt/Core/HostDevice.h"

#include <cstdint>

namespace shunt {

/// ⌈n / unit⌉ for n ≥ 0 and unit ≥ 1, without overflow.
SHUNT_HOST_DEVICE constexpr int64_t unitsOf(int64_t n, int64_t unit) {
  return n / unit + (n % unit != 0);
}

/// Rows of one expert with its padding. The result must be below 2^63.
SHUNT_HOST_DEVICE constexpr int64_t
paddedRows(int64_t rows, int64_t alignment, bool padEmpty) {
  if (rows == 0)
    return padEmpty ? alignment : 0;
  return unitsOf(rows, alignment) * alignment;
}

/// A key whose ascending order is that of falling scores, given a score's bits:
/// both zeros are equal, and what is no number comes last.
SHUNT_HOST_DEVICE constexpr uint32_t fallingKey(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0xffffffff;
  if (magnitude == 0)
    return 0x7fffffff;
  return bits & 0x80000000 ? bits : 0x7fffffff - magnitude;
}

/// The segment that holds row `row` < prefix[segments]: segments are
/// [prefix[i], prefix[i + 1]), some of them empty.
SHUNT_HOST_DEVICE inline int64_t segmentOf(const int64_t *prefix,
                                           int64_t segments, int64_t row) {
  int64_t low = 0, high = segments;
  // The last segment that starts at or before the row.
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (prefix[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

} // namespace shunt

#endif // SHUNT_CORE_ROWARITHMETIC_H
