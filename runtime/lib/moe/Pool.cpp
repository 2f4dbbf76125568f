//===- Pool.cpp - see Pool.h ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include <algorithm>

namespace shunt::rt {

Pool::Pool(int64_t threads) {
  for (int64_t i = 1; i < threads; ++i)
    workers.emplace_back([this] { work(); });
}

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void Pool::takePieces() noexcept {
  // Pieces are taken as threads get free: cores are shared with neighbours.
  for (;;) {
    int64_t begin = next.fetch_add(piece);
    if (begin >= size)
      return;
    (*task)(begin, std::min(begin + piece, size));
  }
}

void Pool::run(int64_t n, int64_t grain,
               const std::function<void(int64_t, int64_t)> &body) noexcept {
  grain = std::max<int64_t>(grain, 1);
  if (workers.empty() || n <= grain) {
    for (int64_t begin = 0; begin < n; begin += grain)
      body(begin, std::min(begin + grain, n));
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    task = &body;
    size = n;
    piece = grain;
    next = 0;
    running = static_cast<int64_t>(workers.size());
    ++round;
  }
  started.notify_all();
  takePieces();
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return running == 0; });
}

void Pool::work() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, [&] { return stopping || round != seen; });
      if (stopping)
        return;
      seen = round;
    }
    takePieces();
    std::lock_guard<std::mutex> lock(mutex);
    if (--running == 0)
      finished.notify_one();
  }
}

} // namespace shunt::rt
