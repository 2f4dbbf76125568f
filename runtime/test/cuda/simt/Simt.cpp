//===- Simt.cpp - see Simt.h ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simt.h"

#include "Fiber.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace shunt::rt::cuda {

namespace simt {

thread_local Dim3 threadOf, blockOf, blockSize, gridSize;

namespace {

constexpr int lanes = 32;
thread_local int64_t resident = 3, launched = 0;

const char *nameOf(WarpOp op) {
  const char *names[] = {"__syncwarp", "__shfl_sync", "__shfl_up_sync",
                         "__shfl_xor_sync", "__match_any_sync"};
  return names[static_cast<int>(op)];
}

/// One thread of a block, and what it waits for.
struct Thread {
  enum { Ready, AtBlock, AtWarp, Ended } state = Ready;
  WarpOp op = WarpOp::Sync;
  unsigned mask = 0;
  uint64_t bits = 0, result = 0;
  int argument = 0;

  bool isAt(const Thread &other) const {
    return state == AtWarp && op == other.op && mask == other.mask;
  }
  std::string place() const {
    return state == AtBlock  ? "__syncthreads"
           : state == AtWarp ? nameOf(op)
           : state == Ended  ? "its end"
                             : "no barrier";
  }
};

class Block {
public:
  Block(int size, const std::function<void()> &function) : threads(size) {
    while (fibers().size() < threads.size())
      fibers().emplace_back();
    for (int i = 0; i < size; ++i)
      fibers()[i].start(function);
  }

  /// Each warp runs as far as it can before the next, and every other block
  /// from the last warp on: what lacks a barrier gives another result.
  void run() {
    size_t warps = (threads.size() + lanes - 1) / lanes;
    do {
      for (size_t i = 0; i < warps; ++i)
        runWarp((blockOf.x % 2 ? warps - 1 - i : i) * lanes);
    } while (releaseBlock());
    for (const Thread &thread : threads)
      if (thread.state != Thread::Ended)
        throw Deadlock(describe());
  }

  /// Called by the running thread.
  void wait() {
    Fiber::wait();
    threadOf.x = static_cast<unsigned>(current);
  }
  Thread &running() { return threads[current]; }

private:
  /// Kept, since a stack's first touch takes longer than a kernel.
  static std::deque<Fiber> &fibers() {
    thread_local std::deque<Fiber> all;
    return all;
  }

  void runWarp(size_t first) {
    do {
      for (current = first; current < first + lanes && current < threads.size();
           ++current) {
        if (threads[current].state != Thread::Ready)
          continue;
        threadOf.x = static_cast<unsigned>(current);
        if (!fibers()[current].resume())
          threads[current].state = Thread::Ended;
      }
    } while (releaseWarp(first));
  }

  bool releaseBlock() {
    for (const Thread &thread : threads)
      if (thread.state != Thread::AtBlock)
        return false;
    for (Thread &thread : threads)
      thread.state = Thread::Ready;
    return true;
  }

  /// Whether lanes of the warp have met.
  bool releaseWarp(size_t first) {
    bool some = false;
    for (size_t i = first; i < first + lanes && i < threads.size(); ++i) {
      Thread &thread = threads[i];
      if (thread.state != Thread::AtWarp || !haveMet(first, thread))
        continue;
      some = true;
      unsigned mask = thread.mask;
      for (int lane = 0; lane < lanes; ++lane)
        if (mask >> lane & 1)
          threads[first + lane].result = resultOf(first, lane);
      for (int lane = 0; lane < lanes; ++lane)
        if (mask >> lane & 1)
          threads[first + lane].state = Thread::Ready;
    }
    return some;
  }

  bool haveMet(size_t first, const Thread &one) const {
    if (!(one.mask >> (&one - &threads[first]) & 1))
      return false;
    for (int lane = 0; lane < lanes; ++lane)
      if (one.mask >> lane & 1)
        if (first + lane >= threads.size() || !threads[first + lane].isAt(one))
          return false;
    return true;
  }

  uint64_t resultOf(size_t first, int lane) const {
    const Thread &thread = threads[first + lane];
    auto bitsOf = [&](int other) {
      // A lane that takes no part has no value.
      bool isIn = other >= 0 && other < lanes && thread.mask >> other & 1;
      return isIn ? threads[first + other].bits : uint64_t(0xdeadbeefdeadbeef);
    };
    switch (thread.op) {
    case WarpOp::Sync:
      return 0;
    case WarpOp::Shuffle:
      return bitsOf(thread.argument % lanes);
    case WarpOp::ShuffleUp:
      return lane < thread.argument ? thread.bits
                                    : bitsOf(lane - thread.argument);
    case WarpOp::ShuffleXor:
      return bitsOf(lane ^ thread.argument);
    case WarpOp::Match:
      break;
    }
    uint64_t same = 0;
    for (int other = 0; other < lanes; ++other)
      if (thread.mask >> other & 1 &&
          threads[first + other].bits == thread.bits)
        same |= uint64_t(1) << other;
    return same;
  }

  std::string describe() const {
    std::map<std::string, int> places;
    for (const Thread &thread : threads)
      ++places[thread.place()];
    std::string text = "divergent barrier in block " +
                       std::to_string(blockOf.x) + " of " +
                       std::to_string(threads.size()) + " threads:";
    for (auto &[place, count] : places)
      text += " " + std::to_string(count) + " at " + place + ";";
    text.pop_back();
    return text;
  }

  std::vector<Thread> threads;
  size_t current = 0;
};

thread_local Block *block = nullptr;

} // namespace

void setResidentBlocks(int64_t blocks) { resident = blocks; }
int64_t launches() { return launched; }

void run(int64_t blocks, int threads, const std::function<void()> &thread) {
  launched += blocks > 0;
  blockSize.x = static_cast<unsigned>(threads);
  gridSize.x = static_cast<unsigned>(blocks);
  for (int64_t i = 0; i < blocks; ++i) {
    blockOf.x = static_cast<unsigned>(i);
    Block one(threads, thread);
    block = &one;
    one.run();
  }
  block = nullptr;
}

void meetBlock() {
  block->running().state = Thread::AtBlock;
  block->wait();
}

uint64_t meetWarp(WarpOp op, unsigned mask, uint64_t bits, int argument) {
  Thread &thread = block->running();
  thread.state = Thread::AtWarp;
  thread.op = op;
  thread.mask = mask;
  thread.bits = bits;
  thread.argument = argument;
  block->wait();
  return thread.result;
}

} // namespace simt

int64_t residentBlocks() { return simt::resident; }

} // namespace shunt::rt::cuda
