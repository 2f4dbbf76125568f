//===- Patience.h - How a rank waits --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MPI_PATIENCE_H
#define SHUNT_RUNTIME_MPI_PATIENCE_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace shunt::rt::mpi {

/// Spins, then yields, then sleeps, and says when it is time to look for ranks
/// that are gone, or to give up.
class Patience {
public:
  /// `spins`: a core is free for the rank that is waited for.
  Patience(int64_t timeoutMs, bool spins)
      : spins(spins ? 64 : 0),
        timeout(std::min<int64_t>(timeoutMs, int64_t(365) * 24 * 3600 * 1000)),
        deadline(Clock::now() + timeout) {}

  /// Something happened: the time starts again.
  void progress() {
    if (rounds > kLook)
      deadline = Clock::now() + timeout;
    rounds = 0;
  }

  /// Waits a little; true when absent ranks are worth a look.
  bool wait() {
    ++rounds;
    if (rounds < spins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      return false;
    }
    if (rounds < 4096)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    return rounds % kLook == 0;
  }

  bool isOver() const { return Clock::now() >= deadline; }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kLook = 64;

  const int64_t spins;
  std::chrono::milliseconds timeout;
  Clock::time_point deadline;
  int64_t rounds = 0;
};

} // namespace shunt::rt::mpi

#endif // SHUNT_RUNTIME_MPI_PATIENCE_H
