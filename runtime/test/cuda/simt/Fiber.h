//===- Fiber.h - Functions that can wait in the middle --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_CUDA_SIMT_FIBER_H
#define SHUNT_RUNTIME_TEST_CUDA_SIMT_FIBER_H

#include <cstddef>
#include <functional>
#include <memory>

namespace shunt::rt::cuda::simt {

/// A stack on which one function after the other runs. Belongs to the thread
/// that uses it.
class Fiber {
public:
  Fiber();
  ~Fiber();

  /// Sets the function, which must stay; what ran before is forgotten, wherever
  /// it was.
  void start(const std::function<void()> &function);
  /// Runs the function until it waits (true) or has ended (false).
  bool resume();
  /// Called inside: back to whoever resumed.
  static void wait();

private:
  struct Context;
  std::unique_ptr<Context> context;
};

} // namespace shunt::rt::cuda::simt

#endif // SHUNT_RUNTIME_TEST_CUDA_SIMT_FIBER_H
