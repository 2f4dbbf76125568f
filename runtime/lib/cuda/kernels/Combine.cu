//===- Combine.cu - Adds up the rows of each token's slots ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp sums a piece of one token: a word a lane of up to eight slots in
// flight, then added in the order of slots. Lanes look up where the slots lie,
// once for several words.
//
//===----------------------------------------------------------------------===//

#include "Places.h"

namespace shunt::rt::cuda {

namespace {

/// Slots whose words are in flight together.
constexpr int batchSlots = 8;
/// Words that a lane sums, one after the other.
constexpr int sumWords = 4;

struct Combine {
  CombineCall call;
  int64_t rowWords, pieces;
};

template <typename T, typename Word>
__global__ __launch_bounds__(rowThreads, 2) void combine(Combine c) {
  using Of = Elements<T, Word>;
  const CombineCall &call = c.call;
  int lane = laneId();
  for (int64_t unit = warpNumber(); unit < call.tokens * c.pieces;
       unit += warpCount()) {
    int64_t token = unit / c.pieces;
    int64_t first = (unit - token * c.pieces) * sumWords * warpSize + lane;
    char *mine = nullptr;
    float weight = 1;
    for (int j = 0; j < sumWords; ++j) {
      int64_t at = first + j * warpSize;
      // The whole warp is beyond the row.
      if (at - lane >= c.rowWords)
        break;
      bool isWord = at < c.rowWords;
      float sums[Of::count] = {};
      for (int64_t k = 0; k < call.topK; k += batchSlots) {
        int slotLane = static_cast<int>(k % warpSize);
        // A slot for each lane; those of a token with few stay.
        if (slotLane == 0 && (j == 0 || call.topK > warpSize)) {
          int64_t slot = token * call.topK + k + lane;
          bool isSlot = k + lane < call.topK;
          mine = isSlot ? rowAt(call.from, slot, c.rowWords * sizeof(Word))
                        : nullptr;
          weight = isSlot && call.weights ? call.weights[slot] : 1.0f;
        }
        Word words[batchSlots];
        const Word *rows[batchSlots];
#pragma unroll
        for (int i = 0; i < batchSlots; ++i) {
          rows[i] =
              reinterpret_cast<const Word *>(fromLane(mine, slotLane + i));
          if (rows[i] && isWord)
            words[i] = loadWord(rows[i] + at);
        }
#pragma unroll
        for (int i = 0; i < batchSlots; ++i) {
          float factor = call.weights ? fromLane(weight, slotLane + i) : 1.0f;
          if (!rows[i] || !isWord)
            continue;
          float elems[Of::count];
          Of::load(elems, words[i]);
#pragma unroll
          for (int e = 0; e < Of::count; ++e)
            sums[e] = addProduct(sums[e], elems[e], factor);
        }
      }
      if (!isWord)
        continue;
      if (call.bias) {
        float elems[Of::count];
        Of::load(elems, loadWord(static_cast<const Word *>(call.bias) +
                                 token * c.rowWords + at));
#pragma unroll
        for (int e = 0; e < Of::count; ++e)
          sums[e] = sums[e] + elems[e];
      }
      static_cast<Word *>(call.out)[token * c.rowWords + at] = Of::store(sums);
    }
  }
}

template <typename T, typename Word>
Status launchCombine(const CombineCall &call, Stream stream) {
  Combine c = {call, call.rowElems / Elements<T, Word>::count, 0};
  c.pieces = unitsOf(c.rowWords, sumWords * warpSize);
  return launch(combine<T, Word>,
                unitsOf(call.tokens * c.pieces, rowThreads / warpSize),
                rowThreads, stream, c);
}

} // namespace

Status combineRows(const CombineCall &call, Stream stream) {
  bool wide = isWide(call.rowElems * bytesOf(call.dtype), call.from.buffers.one,
                     call.bias, call.out);
  return withFloat(call.dtype, [&](auto type) {
    using T = decltype(type);
    return wide ? launchCombine<T, uint4>(call, stream)
                : launchCombine<T, typename T::Storage>(call, stream);
  });
}

} // namespace shunt::rt::cuda
