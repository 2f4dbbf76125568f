//===- Pool.h - Threads that share the rows of one rank -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_POOL_H
#define SHUNT_RUNTIME_MOE_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shunt::rt {

/// `threads - 1` threads that wait for work, beside the caller's. One run at a
/// time, from one thread.
class Pool {
public:
  explicit Pool(int64_t threads);
  ~Pool();
  Pool(const Pool &) = delete;

  /// Calls `body(begin, end)` for pieces of [0, n), each of at most `grain`,
  /// on all threads, and returns when all are done. An exception of `body`
  /// ends the process: peers may be waiting for its rows.
  void run(int64_t n, int64_t grain,
           const std::function<void(int64_t, int64_t)> &body) noexcept;

private:
  void work();
  void takePieces() noexcept;

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable started, finished;
  // Guarded by the mutex.
  uint64_t round = 0;
  int64_t running = 0;
  bool stopping = false;
  // Set before a round starts.
  const std::function<void(int64_t, int64_t)> *task = nullptr;
  int64_t size = 0, piece = 1;
  std::atomic<int64_t> next{0};
};

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_POOL_H
