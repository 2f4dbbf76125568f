//===- Text.h - Words of the core's messages ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_CORE_TEXT_H
#define SHUNT_LIB_CORE_TEXT_H

#include <cstdint>
#include <string>

namespace shunt {

/// `1 rank`, `2 ranks`.
inline std::string plural(int64_t n, const char *noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

} // namespace shunt

#endif // SHUNT_LIB_CORE_TEXT_H
