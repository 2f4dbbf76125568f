//===- Sum.cu - Adds up buffers in a fixed order --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

namespace shunt::rt::cuda {

namespace {

/// Buffers whose words are in flight together.
constexpr int batchBuffers = 8;

template <typename T, typename Word>
__device__ void sumWord(const SumCall &call, int64_t at) {
  using Of = Elements<T, Word>;
  // No loadWord: the first buffer may be the result.
  auto load = [&](int64_t buffer) {
    auto in = static_cast<const char *>(call.in) + buffer * call.strideBytes;
    return reinterpret_cast<const Word *>(in)[at];
  };
  typename Of::Sum sums[Of::count];
  Of::load(sums, load(0));
  for (int64_t first = 1; first < call.buffers; first += batchBuffers) {
    Word words[batchBuffers];
#pragma unroll
    for (int i = 0; i < batchBuffers; ++i)
      if (first + i < call.buffers)
        words[i] = load(first + i);
#pragma unroll
    for (int i = 0; i < batchBuffers; ++i) {
      if (first + i >= call.buffers)
        continue;
      typename Of::Sum elems[Of::count];
      Of::load(elems, words[i]);
#pragma unroll
      for (int e = 0; e < Of::count; ++e)
        sums[e] = sums[e] + elems[e];
    }
  }
  static_cast<Word *>(call.out)[at] = Of::store(sums);
}

/// Sums `words` words, then what is left of the elements.
struct Sum {
  SumCall call;
  int64_t words;
};

template <typename T, typename Word>
__global__ __launch_bounds__(rowThreads, 2) void sum(Sum s) {
  for (int64_t at = threadNumber(); at < s.words; at += threadCount())
    sumWord<T, Word>(s.call, at);
  for (int64_t at = s.words * Elements<T, Word>::count + threadNumber();
       at < s.call.elems; at += threadCount())
    sumWord<T, typename T::Storage>(s.call, at);
}

template <typename T, typename Word>
Status launchSum(const SumCall &call, Stream stream) {
  Sum s = {call, call.elems / Elements<T, Word>::count};
  return launch(
      sum<T, Word>,
      unitsOf(unitsOf(call.elems, Elements<T, Word>::count), rowThreads),
      rowThreads, stream, s);
}

template <typename T> Status launchSumOf(const SumCall &call, Stream stream) {
  return isWide(call.strideBytes, call.in, call.out)
             ? launchSum<T, uint4>(call, stream)
             : launchSum<T, typename T::Storage>(call, stream);
}

} // namespace

Status sumBuffers(const SumCall &call, Stream stream) {
  if (call.buffers == 0)
    return invalidValue;
  if (call.dtype == SHUNT_I32)
    return launchSumOf<I32>(call, stream);
  if (call.dtype == SHUNT_I64)
    return launchSumOf<I64>(call, stream);
  return withFloat(call.dtype, [&](auto type) {
    return launchSumOf<decltype(type)>(call, stream);
  });
}

} // namespace shunt::rt::cuda
