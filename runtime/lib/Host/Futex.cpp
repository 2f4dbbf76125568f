//===- Futex.cpp - see Futex.h
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Futex.h"

#include <algorithm>

#if defined(__linux__)
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <thread>
#endif

namespace shunt::rt {

#if defined(__linux__)

// std::condition_variable would make every woken rank take one lock in turn;
// with a word, ranks that wake need none.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                Clock::time_point deadline) {
  using namespace std::chrono;
  // Relative, and short enough that no addition in the kernel overflows.
  auto left = std::min<nanoseconds>(deadline - Clock::now(), hours(1));
  if (left <= nanoseconds::zero())
    return;
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(left / seconds(1));
  timeout.tv_nsec = static_cast<long>((left % seconds(1)).count());
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          value, &timeout, nullptr, 0);
}

void wakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          INT_MAX, nullptr, nullptr, 0);
}

#else

void sleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                Clock::time_point deadline) {
  if (word.load() == value && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void wakeAll(std::atomic<uint32_t> &) {}

#endif

} // namespace shunt::rt
