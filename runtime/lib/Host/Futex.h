//===- Futex.h - Sleeps until a word changes
//-------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_HOST_FUTEX_H
#define SHUNT_RUNTIME_HOST_FUTEX_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace shunt::rt {

using Clock = std::chrono::steady_clock;

/// Sleeps until `word` no longer holds `value`, until wakeAll, or until
/// `deadline`; may return early. The caller checks its condition again.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                Clock::time_point deadline);

/// Wakes all that sleep on `word`.
void wakeAll(std::atomic<uint32_t> &word);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_HOST_FUTEX_H
