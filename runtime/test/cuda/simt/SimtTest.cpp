//===- SimtTest.cpp - The harness that executes kernels on the CPU --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simt.h"

#include <gtest/gtest.h>

#include <vector>

using namespace shunt::rt::cuda;

namespace {

struct Numbers {
  const int *in;
  int *out;
  int64_t n;
};

/// Sums of all before, by a textbook scan: wrong without its barriers.
__global__ void scan(Numbers numbers) {
  __shared__ int values[96];
  unsigned i = threadIdx.x;
  values[i] = numbers.in[blockIdx.x * 96 + i];
  __syncthreads();
  for (unsigned step = 1; step < 96; step *= 2) {
    int before = i >= step ? values[i - step] : 0;
    __syncthreads();
    values[i] += before;
    __syncthreads();
  }
  numbers.out[blockIdx.x * 96 + i] = values[i];
}

TEST(Simt, BarriersOrderTheThreadsOfABlock) {
  simt::setResidentBlocks(4);
  std::vector<int> in(4 * 96), out(in.size()), want(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<int>(i * 7 % 11);
    want[i] = in[i] + (i % 96 ? want[i - 1] : 0);
  }
  EXPECT_EQ(launch(scan, 4, 96, nullptr, Numbers{in.data(), out.data(), 0}), 0);
  EXPECT_EQ(out, want);
}

__global__ void warpOps(Numbers numbers) {
  int lane = static_cast<int>(threadIdx.x), value = numbers.in[lane];
  int *out = numbers.out + lane * 4;
  out[0] = __shfl_sync(0xffffffff, value, lane / 2);
  out[1] = __shfl_up_sync(0xffffffff, value, 3);
  out[2] = __shfl_xor_sync(0xffffffff, value, 5);
  out[3] = static_cast<int>(__match_any_sync(0xffffffff, value % 4));
}

TEST(Simt, LanesGiveEachOtherValues) {
  std::vector<int> in(32), out(128);
  for (int i = 0; i < 32; ++i)
    in[i] = 100 + i;
  launch(warpOps, 1, 32, nullptr, Numbers{in.data(), out.data(), 0});
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane * 4], in[lane / 2]);
    EXPECT_EQ(out[lane * 4 + 1], in[lane < 3 ? lane : lane - 3]);
    EXPECT_EQ(out[lane * 4 + 2], in[lane ^ 5]);
    EXPECT_EQ(static_cast<unsigned>(out[lane * 4 + 3]),
              0x11111111u << (lane % 4));
  }
}

/// A part of the lanes may meet alone.
__global__ void halfWarp(Numbers numbers) {
  if (threadIdx.x < 16)
    numbers.out[threadIdx.x] =
        __shfl_sync(0xffff, static_cast<int>(threadIdx.x), 15 - threadIdx.x);
}

TEST(Simt, AMaskIsWhoMeets) {
  std::vector<int> out(16);
  launch(halfWarp, 1, 64, nullptr, Numbers{nullptr, out.data(), 0});
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], 15 - i);
}

__global__ void count(Numbers numbers) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numbers.n;
       i += gridDim.x * blockDim.x)
    atomicAdd(numbers.out + numbers.in[i], 1);
}

TEST(Simt, AGridHasAsManyBlocksAsAreResident) {
  std::vector<int> in(1000, 1), out(3);
  simt::setResidentBlocks(2);
  int64_t before = simt::launches();
  launch(count, 50, 32, nullptr, Numbers{in.data(), out.data(), 1000});
  EXPECT_EQ(out[1], 1000);
  EXPECT_EQ(gridDim.x, 2u);
  // Without work nothing is launched.
  launch(count, 0, 32, nullptr, Numbers{in.data(), out.data(), 1000});
  EXPECT_EQ(simt::launches(), before + 1);
}

template <typename Kernel>
void expectDeadlock(Kernel kernel, int threads, const std::string &message) {
  std::vector<int> out(threads);
  try {
    launch(kernel, 1, threads, nullptr, Numbers{nullptr, out.data(), 0});
    FAIL() << "no deadlock";
  } catch (const simt::Deadlock &deadlock) {
    EXPECT_EQ(deadlock.what(), message);
  }
}

__global__ void someBarrier(Numbers numbers) {
  if (threadIdx.x < 40)
    __syncthreads();
}
__global__ void otherBarriers(Numbers numbers) {
  if (threadIdx.x < 3)
    __syncwarp();
  else
    __syncthreads();
}
__global__ void strangerInMask(Numbers numbers) {
  // Lane 8 is not in the mask that it names.
  if (threadIdx.x <= 8)
    numbers.out[threadIdx.x] = __shfl_sync(0xff, 1, 0);
}

TEST(Simt, DivergentBarriersAreReported) {
  expectDeadlock(someBarrier, 64,
                 "divergent barrier in block 0 of 64 threads: 40 at "
                 "__syncthreads; 24 at its end");
  expectDeadlock(otherBarriers, 32,
                 "divergent barrier in block 0 of 32 threads: 29 at "
                 "__syncthreads; 3 at __syncwarp");
  expectDeadlock(strangerInMask, 32,
                 "divergent barrier in block 0 of 32 threads: 1 at "
                 "__shfl_sync; 31 at its end");
  // The fibers that were left work again.
  std::vector<int> out(16);
  launch(halfWarp, 1, 64, nullptr, Numbers{nullptr, out.data(), 0});
  EXPECT_EQ(out[0], 15);
}

} // namespace
