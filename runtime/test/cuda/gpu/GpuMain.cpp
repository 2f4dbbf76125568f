//===- GpuMain.cpp - Runs the kernels' tests on a GPU ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that `new` gives is managed memory, so that vectors are device memory
// too. Exits with 77, and says why, where there is no GPU that can do that.
//
//===----------------------------------------------------------------------===//

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

namespace {

/// Blocks of powers of two, cut from one piece; freed ones are used again.
class Arena {
public:
  /// From here on memory is managed.
  cudaError_t open() {
    void *memory = nullptr;
    cudaError_t error = cudaMallocManaged(&memory, size);
    next = static_cast<char *>(memory);
    end = next ? next + size : nullptr;
    return error;
  }

  void *take(size_t bytes) {
    int order = 7;
    while ((size_t(1) << order) < bytes + headBytes)
      ++order;
    std::lock_guard<std::mutex> lock(mutex);
    char *block = freed[order];
    size_t all = size_t(1) << order;
    if (block) {
      freed[order] = *reinterpret_cast<char **>(block);
    } else if (next && static_cast<size_t>(end - next) >= all) {
      block = next;
      next += all;
    } else {
      block = static_cast<char *>(std::malloc(bytes + headBytes));
      order = 0; // of malloc
    }
    if (!block)
      return nullptr;
    *reinterpret_cast<int *>(block) = order;
    return block + headBytes;
  }

  void give(void *memory) {
    char *block = static_cast<char *>(memory) - headBytes;
    int order = *reinterpret_cast<int *>(block);
    if (order == 0)
      return std::free(block);
    std::lock_guard<std::mutex> lock(mutex);
    *reinterpret_cast<char **>(block) = freed[order];
    freed[order] = block;
  }

private:
  static constexpr size_t headBytes = 64, size = size_t(4) << 30;
  std::mutex mutex;
  char *next = nullptr, *end = nullptr;
  char *freed[64] = {};
};

/// Never destroyed: memory is freed until the very end.
Arena &arena() {
  alignas(Arena) static char storage[sizeof(Arena)];
  static Arena *one = new (storage) Arena;
  return *one;
}

int skip(const char *why) {
  std::printf("ShuntCudaGpuTests: skipped: %s\n", why);
  return 77;
}

} // namespace

void *operator new(size_t bytes) {
  if (void *memory = arena().take(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  if (memory)
    arena().give(memory);
}
void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int devices = 0, concurrent = 0;
  if (cudaError_t error = cudaGetDeviceCount(&devices))
    return skip(cudaGetErrorString(error));
  // The host reads memory while the device has nothing to do with it.
  if (cudaError_t error = cudaDeviceGetAttribute(
          &concurrent, cudaDevAttrConcurrentManagedAccess, 0))
    return skip(cudaGetErrorString(error));
  if (!concurrent)
    return skip("device 0 shares no memory with the host");
  if (cudaError_t error = arena().open())
    return skip(cudaGetErrorString(error));
  return RUN_ALL_TESTS();
}
