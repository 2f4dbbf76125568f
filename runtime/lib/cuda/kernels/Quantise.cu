//===- Quantise.cu - Dispatch to rows of 8-bit floats ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane holds 16 neighbouring elements, which become one 16-byte word; eight
// lanes share a scale. Rows are read and converted once, and written K times.
//
//===----------------------------------------------------------------------===//

#include "Places.h"

namespace shunt::rt::cuda {

namespace {

constexpr int laneElems = 16, scaleLanes = scaledElems / laneElems;
/// Elements of a warp's piece of a row.
constexpr int64_t quantisedPiece = laneElems * warpSize;

struct Quantise {
  DispatchCall call;
  Buffers scales;
  int64_t pieces, scalesOfRow;
  /// Rows move in 16-byte words.
  bool wide;
};

template <Float8 format> __device__ uint8_t toFloat8(float value) {
  return format == Float8::E4M3 ? f32ToF8E4M3(value) : f32ToF8E5M2(value);
}

/// The lane's elements of a row; zeros beyond its end.
template <typename T>
__device__ void loadElems(float *elems, const void *row, int64_t first,
                          const Quantise &q) {
  using Wide = Elements<T, uint4>;
  using Storage = typename T::Storage;
  constexpr int words = laneElems / Wide::count;
  const Storage *in = static_cast<const Storage *>(row) + first;
  if (q.wide && first + laneElems <= q.call.rowElems) {
    uint4 loaded[words];
#pragma unroll
    for (int i = 0; i < words; ++i)
      loaded[i] = loadWord(reinterpret_cast<const uint4 *>(in) + i);
#pragma unroll
    for (int i = 0; i < words; ++i)
      Wide::load(elems + i * Wide::count, loaded[i]);
    return;
  }
#pragma unroll
  for (int i = 0; i < laneElems; ++i)
    elems[i] = first + i < q.call.rowElems ? T::load(loadWord(in + i)) : 0.0f;
}

/// The scale of the 128 elements of which the lane has 16. What is not finite
/// has no say in it.
__device__ float scaleOf(const float *elems, float largest) {
  float most = 0;
#pragma unroll
  for (int i = 0; i < laneElems; ++i) {
    uint32_t magnitude = bitsOf(elems[i]) & 0x7fffffff;
    float value = magnitude < 0x7f800000 ? floatOf(magnitude) : 0.0f;
    most = value > most ? value : most;
  }
  for (int step = 1; step < scaleLanes; step *= 2) {
    float other = __shfl_xor_sync(allLanes, most, step);
    most = other > most ? other : most;
  }
  return f8Scale(most, largest);
}

template <Float8 format>
__device__ uint4 quantised(const float *elems, float scale) {
  uint32_t parts[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    parts[i] = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      parts[i] |=
          static_cast<uint32_t>(toFloat8<format>(elems[4 * i + j] / scale))
          << (8 * j);
  }
  return {parts[0], parts[1], parts[2], parts[3]};
}

/// Stores what of the word's bytes lies in the row.
__device__ void storeBytes(char *out, int64_t rest, const uint4 &word,
                           bool wide) {
  assumeGlobal(out);
  if (wide && rest >= laneElems) {
    *reinterpret_cast<uint4 *>(out) = word;
    return;
  }
  const uint32_t parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int i = 0; i < laneElems; ++i)
    if (i < rest)
      out[i] = static_cast<char>(parts[i / 4] >> (8 * (i % 4)));
}

template <typename T, Float8 format>
__global__ __launch_bounds__(rowThreads, 2) void quantise(Quantise q) {
  const DispatchCall &call = q.call;
  constexpr float largest =
      format == Float8::E4M3 ? f8E4M3Largest : f8E5M2Largest;
  int lane = laneId();
  for (int64_t unit = warpNumber(); unit < call.tokens * q.pieces;
       unit += warpCount()) {
    int64_t token = unit / q.pieces;
    int64_t first =
        (unit - token * q.pieces) * quantisedPiece + lane * laneElems;
    const auto *in = static_cast<const typename T::Storage *>(call.in);
    float elems[laneElems];
    loadElems<T>(elems, in + token * call.rowElems, first, q);
    float scale = scaleOf(elems, largest);
    uint4 word = quantised<format>(elems, scale);
    for (int64_t k = 0; k < call.topK; k += warpSize) {
      int slots =
          call.topK - k < warpSize ? static_cast<int>(call.topK - k) : warpSize;
      int64_t slot = token * call.topK + k + lane;
      bool isSlot = lane < slots;
      Places scales = call.to;
      scales.buffers = q.scales;
      char *mine = isSlot ? rowAt(call.to, slot, call.rowElems) : nullptr;
      char *mineScales =
          isSlot ? rowAt(scales, slot, q.scalesOfRow * sizeof(float)) : nullptr;
      float score = isSlot && call.scores ? call.scores[slot] : 1.0f;
      for (int i = 0; i < slots; ++i) {
        char *row = fromLane(mine, i), *rowScales = fromLane(mineScales, i);
        float factor = call.scores ? fromLane(score, i) : 1.0f;
        if (!row || first >= call.rowElems)
          continue;
        storeBytes(row + first, q.call.rowElems - first, word, q.wide);
        if (lane % scaleLanes == 0) {
          float *out =
              reinterpret_cast<float *>(rowScales) + first / scaledElems;
          assumeGlobal(out);
          *out = scale * factor;
        }
      }
    }
  }
}

} // namespace

Status dispatchQuantised(const DispatchCall &call, Float8 format,
                         const Buffers &scales, Stream stream) {
  Quantise q = {call, scales, unitsOf(call.rowElems, quantisedPiece),
                unitsOf(call.rowElems, scaledElems),
                // Of 16-bit elements that is enough for the input too.
                isWide(call.rowElems, call.in, call.to.buffers.one)};
  int64_t blocks = unitsOf(call.tokens * q.pieces, rowThreads / warpSize);
  return withFloat(call.dtype, [&](auto type) {
    using T = decltype(type);
    auto kernel = format == Float8::E4M3 ? quantise<T, Float8::E4M3>
                                         : quantise<T, Float8::E5M2>;
    return launch(kernel, blocks, rowThreads, stream, q);
  });
}

} // namespace shunt::rt::cuda
