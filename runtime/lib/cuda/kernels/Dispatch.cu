//===- Dispatch.cu - Writes each token's row to the places of its slots ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp takes a piece of one token's row, several words a lane, and writes it
// K times: rows are read once, loads are in flight together, and warps need
// not wait for each other.
//
//===----------------------------------------------------------------------===//

#include "Places.h"

namespace shunt::rt::cuda {

namespace {

/// Words of a piece that each lane holds.
constexpr int pieceWords = 4;
constexpr int64_t piece = pieceWords * warpSize;

struct Dispatch {
  const void *in;
  int64_t tokens, topK, rowWords, pieces;
  const float *scores;
  Places to;
};

template <typename Moved>
__global__ __launch_bounds__(rowThreads, 2) void dispatch(Dispatch d) {
  using Word = typename Moved::Word;
  int lane = laneId();
  for (int64_t unit = warpNumber(); unit < d.tokens * d.pieces;
       unit += warpCount()) {
    int64_t token = unit / d.pieces;
    int64_t first = (unit - token * d.pieces) * piece + lane;
    const Word *in =
        static_cast<const Word *>(d.in) + token * d.rowWords + first;
    typename Moved::Value values[pieceWords];
#pragma unroll
    for (int i = 0; i < pieceWords; ++i)
      if (first + i * warpSize < d.rowWords)
        values[i] = Moved::load(in + i * warpSize);
    for (int64_t k = 0; k < d.topK; k += warpSize) {
      // A slot for each lane.
      int slots =
          d.topK - k < warpSize ? static_cast<int>(d.topK - k) : warpSize;
      int64_t slot = token * d.topK + k + lane;
      bool isSlot = lane < slots;
      char *mine =
          isSlot ? rowAt(d.to, slot, d.rowWords * sizeof(Word)) : nullptr;
      float score = isSlot && d.scores ? d.scores[slot] : 1.0f;
      for (int i = 0; i < slots; ++i) {
        char *row = fromLane(mine, i);
        float factor = d.scores ? fromLane(score, i) : 1.0f;
        if (!row)
          continue;
        Word *out = reinterpret_cast<Word *>(row) + first;
        assumeGlobal(out);
#pragma unroll
        for (int j = 0; j < pieceWords; ++j)
          if (first + j * warpSize < d.rowWords)
            out[j * warpSize] = Moved::scaled(values[j], factor);
      }
    }
  }
}

} // namespace

Status dispatchRows(const DispatchCall &call, Stream stream) {
  int64_t rowBytes = call.rowElems * bytesOf(call.dtype);
  bool wide = isWide(rowBytes, call.in, call.to.buffers.one);
  return withMoved(wide, call.scores, call.dtype, [&](auto moved) {
    using Moved = decltype(moved);
    int64_t words =
        rowBytes / static_cast<int64_t>(sizeof(typename Moved::Word));
    Dispatch d = {call.in, call.tokens,           call.topK,
                  words,   unitsOf(words, piece), call.scores,
                  call.to};
    return launch(dispatch<Moved>,
                  unitsOf(d.tokens * d.pieces, rowThreads / warpSize),
                  rowThreads, stream, d);
  });
}

} // namespace shunt::rt::cuda
