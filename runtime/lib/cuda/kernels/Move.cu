//===- Move.cu - Gathers, moves and clears rows ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

namespace shunt::rt::cuda {

namespace {

/// Words of a row that each lane of a warp moves at once.
constexpr int movedWords = 4;
constexpr int64_t movedPiece = movedWords * warpSize;

/// Moves the words of a warp's piece that lie in the row.
template <typename Moved>
__device__ void movePiece(typename Moved::Word *out,
                          const typename Moved::Word *in, int64_t first,
                          int64_t rowWords, float score) {
  typename Moved::Value values[movedWords];
#pragma unroll
  for (int i = 0; i < movedWords; ++i)
    if (first + i * warpSize < rowWords)
      values[i] = Moved::load(in + first + i * warpSize);
#pragma unroll
  for (int i = 0; i < movedWords; ++i)
    if (first + i * warpSize < rowWords)
      out[first + i * warpSize] = Moved::scaled(values[i], score);
}

struct Gather {
  GatherCall call;
  int64_t rowWords, pieces;
};

template <typename Moved>
__global__ __launch_bounds__(rowThreads, 2) void gather(Gather g) {
  using Word = typename Moved::Word;
  const GatherCall &call = g.call;
  int64_t rows = call.rows;
  if (call.deviceRows && *call.deviceRows < rows)
    rows = *call.deviceRows;
  for (int64_t unit = warpNumber(); unit < rows * g.pieces;
       unit += warpCount()) {
    int64_t row = unit / g.pieces, from = call.from[row];
    int64_t first = (unit - row * g.pieces) * movedPiece + laneId();
    Word *out = static_cast<Word *>(call.out) + row * g.rowWords;
    if (from >= 0) {
      movePiece<Moved>(out,
                       static_cast<const Word *>(call.in) + from * g.rowWords,
                       first, g.rowWords, call.scores ? call.scores[row] : 1);
      continue;
    }
    for (int i = 0; i < movedWords; ++i)
      if (first + i * warpSize < g.rowWords)
        out[first + i * warpSize] = Word();
  }
}

struct Move {
  MoveCall call;
  int64_t rowWords, pieces;
};

template <typename Word>
__global__ __launch_bounds__(rowThreads, 2) void move(Move m) {
  const MoveCall &call = m.call;
  const Segments &segments = call.segments;
  int64_t rows = segments.prefix[segments.count];
  for (int64_t unit = warpNumber(); unit < rows * m.pieces;
       unit += warpCount()) {
    int64_t row = unit / m.pieces;
    int64_t first = (unit - row * m.pieces) * movedPiece + laneId();
    int64_t segment = segmentOf(segments.prefix, segments.count, row);
    int64_t inSegment = row - segments.prefix[segment];
    int64_t from = segments.from[segment] + inSegment;
    int64_t to = segments.to[segment] + inSegment;
    if ((call.inBound && from >= call.inBound) ||
        (call.outBound && to >= call.outBound))
      continue;
    movePiece<Copied<Word>>(static_cast<Word *>(call.out) + to * m.rowWords,
                            static_cast<const Word *>(call.in) +
                                from * m.rowWords,
                            first, m.rowWords, 1);
  }
}

struct Zero {
  ZeroCall call;
  int64_t rowWords;
};

/// A block for each expert.
template <typename Word>
__global__ __launch_bounds__(rowThreads, 2) void zero(Zero z) {
  const ZeroCall &call = z.call;
  for (int64_t local = blockIdx.x; local < call.locals; local += gridDim.x) {
    int64_t start = call.starts[local];
    int64_t begin = start + call.sums[local], end = start + call.padded[local];
    end = call.bound && end > call.bound ? call.bound : end;
    for (int64_t word = begin * z.rowWords + threadIdx.x;
         word < end * z.rowWords; word += blockDim.x)
      static_cast<Word *>(call.out)[word] = Word();
  }
}

/// The largest word up to 4 bytes of which rows that start there are made.
int64_t wordBytes(int64_t rowBytes, const void *in, const void *out) {
  uint64_t bits = static_cast<uint64_t>(rowBytes) |
                  reinterpret_cast<uintptr_t>(in) |
                  reinterpret_cast<uintptr_t>(out);
  return bits % 2 ? 1 : bits % 4 ? 2 : 4;
}

template <typename Word> int64_t wordsOf(int64_t rowBytes) {
  return rowBytes / static_cast<int64_t>(sizeof(Word));
}

} // namespace

Status gatherRows(const GatherCall &call, Stream stream) {
  int64_t rowBytes = call.rowElems * bytesOf(call.dtype);
  bool wide = isWide(rowBytes, call.in, call.out);
  return withMoved(wide, call.scores, call.dtype, [&](auto moved) {
    using Moved = decltype(moved);
    Gather g = {call, wordsOf<typename Moved::Word>(rowBytes), 0};
    g.pieces = unitsOf(g.rowWords, movedPiece);
    return launch(gather<Moved>,
                  unitsOf(call.rows * g.pieces, rowThreads / warpSize),
                  rowThreads, stream, g);
  });
}

Status moveSegments(const MoveCall &call, Stream stream) {
  if (call.segments.count == 0)
    return 0;
  bool wide = isWide(call.rowBytes, call.in, call.out);
  return withCopied(
      wide, wordBytes(call.rowBytes, call.in, call.out), [&](auto copied) {
        using Word = typename decltype(copied)::Word;
        Move m = {call, wordsOf<Word>(call.rowBytes), 0};
        m.pieces = unitsOf(m.rowWords, movedPiece);
        return launch(move<Word>,
                      unitsOf(call.mostRows * m.pieces, rowThreads / warpSize),
                      rowThreads, stream, m);
      });
}

Status zeroPadding(const ZeroCall &call, Stream stream) {
  bool wide = isWide(call.rowBytes, call.out);
  return withCopied(
      wide, wordBytes(call.rowBytes, nullptr, call.out), [&](auto copied) {
        using Word = typename decltype(copied)::Word;
        Zero z = {call, wordsOf<Word>(call.rowBytes)};
        return launch(zero<Word>, call.locals, rowThreads, stream, z);
      });
}

} // namespace shunt::rt::cuda
