//===- Simt.h - Runs kernels on the CPU, for tests ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The built-ins of CUDA that Shunt's kernels use, so that a C++ compiler
// translates the kernels' own source. Every thread of a block is a fiber;
// blocks run one after the other, on the thread that launches.
//
// Barriers and warp operations are as strict as CUDA's text: all threads of a
// block, or all lanes of the mask, must come to the same one. If some end or
// wait elsewhere, the launch throws and says who waits where. Nothing is said
// of a GPU: neither its time, nor its memory model (threads switch only where
// they wait).
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_CUDA_SIMT_SIMT_H
#define SHUNT_RUNTIME_TEST_CUDA_SIMT_SIMT_H

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>

struct CUstream_st;

namespace shunt::rt::cuda {

namespace simt {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// Threads of a kernel that wait for what never comes.
struct Deadlock : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The most blocks that a launch makes: few, so that blocks have several pieces
/// of work. Of the calling thread; 3 until set.
void setResidentBlocks(int64_t blocks);
/// Kernels that the calling thread has launched.
int64_t launches();

/// Runs `thread` for every thread of every block.
void run(int64_t blocks, int threads, const std::function<void()> &thread);

/// What lanes of a warp do together.
enum class WarpOp { Sync, Shuffle, ShuffleUp, ShuffleXor, Match };
/// Waits for the lanes of `mask`, gives each `bits`, and returns those of lane
/// `from` (for Match: the lanes with the same bits).
uint64_t meetWarp(WarpOp op, unsigned mask, uint64_t bits, int argument);
void meetBlock();

extern thread_local Dim3 threadOf, blockOf, blockSize, gridSize;

template <typename T>
T shuffle(WarpOp op, unsigned mask, T value, int argument) {
  static_assert(sizeof(T) <= 8, "as many as a shuffle moves");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = meetWarp(op, mask, bits, argument);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

} // namespace simt

#define threadIdx simt::threadOf
#define blockIdx simt::blockOf
#define blockDim simt::blockSize
#define gridDim simt::gridSize
#define __host__
#define __device__
#define __global__ static
#define __launch_bounds__(...)
// One block at a time on each thread.
#define __shared__ static thread_local

struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

using Status = int;
constexpr Status invalidValue = 1; // cudaErrorInvalidValue

inline void __syncthreads() { simt::meetBlock(); }
inline void __syncwarp(unsigned mask = 0xffffffff) {
  simt::meetWarp(simt::WarpOp::Sync, mask, 0, 0);
}
template <typename T> T __shfl_sync(unsigned mask, T value, int lane) {
  return simt::shuffle(simt::WarpOp::Shuffle, mask, value, lane);
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, int delta) {
  return simt::shuffle(simt::WarpOp::ShuffleUp, mask, value, delta);
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return simt::shuffle(simt::WarpOp::ShuffleXor, mask, value, lanes);
}
template <typename T> unsigned __match_any_sync(unsigned mask, T value) {
  return static_cast<unsigned>(
      simt::shuffle(simt::WarpOp::Match, mask, static_cast<int64_t>(value), 0));
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(unsigned bits) {
  return __builtin_ffs(static_cast<int>(bits));
}
template <typename T> T __ldg(const T *address) { return *address; }
template <typename T> T atomicAdd(T *address, T value) {
  T old = *address;
  *address = old + value;
  return old;
}
template <typename T> T atomicMin(T *address, T value) {
  T old = *address;
  *address = value < old ? value : old;
  return old;
}

/// As in Device.h.
int64_t residentBlocks();
template <typename Args>
Status launch(void (*kernel)(Args), int64_t blocks, int threads,
              CUstream_st *stream, Args args) {
  int64_t most = residentBlocks();
  simt::run(blocks < most ? blocks : most, threads, [&] { kernel(args); });
  return 0;
}

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_TEST_CUDA_SIMT_SIMT_H
