//===- RandomMoe.h - Random batches of MoE layers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_MOE_RANDOMMOE_H
#define SHUNT_RUNTIME_TEST_MOE_RANDOMMOE_H

#include "MoeCase.h"

namespace shunt::rt::test {

/// Blocks of experts in order, the first ranks with one more.
inline void placeBalanced(MoeCase &moe) {
  int64_t expert = 0, experts = moe.options.experts;
  moe.table.assign(moe.ranks, {});
  for (int64_t rank = 0; rank < moe.ranks; ++rank)
    for (int64_t i = experts / moe.ranks + (rank < experts % moe.ranks); i > 0;
         --i)
      moe.table[rank].push_back(expert++);
}

inline void placeAtRandom(MoeCase &moe, Random &random) {
  int64_t experts = moe.options.experts;
  moe.table.resize(moe.ranks);
  moe.options.placement = static_cast<int32_t>(random.draw(0, 2));
  if (moe.options.placement == SHUNT_MOE_EVEN && experts % moe.ranks)
    moe.options.placement = SHUNT_MOE_BALANCED;
  if (moe.options.placement == SHUNT_MOE_TABLE) {
    for (int64_t expert = 0; expert < experts; ++expert)
      for (bool more = true; more; more = random.draw(0, 2) == 0)
        moe.table[random.draw(0, moe.ranks - 1)].push_back(expert);
    return;
  }
  placeBalanced(moe);
}

inline void fillAtRandom(MoeCase &moe, Random &random) {
  bool hot = random.draw(0, 4) == 0, drops = random.draw(0, 1);
  int64_t most = random.draw(0, 5) == 0 ? 40 : 8;
  for (int64_t rank = 0; rank < moe.ranks; ++rank) {
    int64_t tokens = random.draw(0, 3) == 0 ? 0 : random.draw(0, most);
    moe.ids.emplace_back();
    moe.scores.emplace_back();
    for (int64_t slot = 0; slot < tokens * moe.options.top_k; ++slot) {
      int64_t id = hot ? 0 : random.draw(0, moe.options.experts - 1);
      moe.ids[rank].push_back(drops && random.draw(0, 5) == 0 ? -1 : id);
      moe.scores[rank].push_back(
          std::ldexp(float(random.draw(-64, 64)), int(random.draw(-8, 0))));
    }
    moe.x.push_back(random.rows(tokens * moe.elems, moe.dtype));
  }
  if (random.draw(0, 3) == 0)
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      moe.bias.push_back(random.rows(moe.tokens(rank) * moe.elems, moe.dtype));
}

/// Any batch; `active` keeps what its options point to.
inline MoeCase randomCase(Random &random, std::vector<uint8_t> &active) {
  MoeCase moe;
  moe.ranks = random.draw(1, 8);
  moe.elems =
      random.draw(0, 7) == 0 ? random.draw(200, 1200) : random.draw(1, 24);
  const shunt_dtype floats[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16};
  moe.dtype = floats[random.draw(0, 2)];
  shunt_moe_options &o = moe.options;
  o.experts = random.draw(1, 16);
  o.top_k = random.draw(0, 4) == 0 ? o.experts : random.draw(1, 5);
  o.threads = random.draw(0, 7) == 0 ? random.draw(2, 3) : 0;
  o.node_size = random.draw(0, moe.ranks);
  o.layout = random.draw(0, 3) == 0;
  if (o.layout == SHUNT_MOE_EXPERT_MAJOR && random.draw(0, 1)) {
    o.alignment = random.draw(1, 9);
    o.pad_empty = static_cast<int32_t>(random.draw(0, 1));
  }
  o.score = static_cast<int32_t>(random.draw(0, 2));
  o.order = random.draw(0, 1) ? static_cast<int32_t>(random.draw(0, 4))
                              : SHUNT_MOE_ORDER_SLOT;
  if (random.draw(0, 3) == 0) {
    o.round_sums = static_cast<int32_t>(random.draw(0, 1));
    o.round_products = static_cast<int32_t>(random.draw(0, 1));
  }
  o.round_partials = static_cast<int32_t>(random.draw(0, 1));
  if (random.draw(0, 5) == 0) {
    o.capacity = random.draw(1, 4);
    o.overflow = o.score == SHUNT_MOE_SCORE_NONE || random.draw(0, 1)
                     ? SHUNT_MOE_OVERFLOW_DROP_LAST
                     : SHUNT_MOE_OVERFLOW_DROP_LOWEST;
  }
  if (random.draw(0, 7) == 0) {
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      active.push_back(random.draw(0, 4) != 0);
    o.active = active.data();
  }
  placeAtRandom(moe, random);
  fillAtRandom(moe, random);
  return moe;
}

/// The batch of the one rank of `alone`, in which nothing depends on who holds
/// a token, dealt to `ranks` ranks in order.
inline MoeCase dealTo(int64_t ranks, const MoeCase &alone) {
  MoeCase moe = alone;
  moe.ranks = ranks;
  moe.options.placement = SHUNT_MOE_BALANCED;
  placeBalanced(moe);
  moe.ids.clear();
  moe.scores.clear();
  moe.x.clear();
  moe.bias.clear();
  int64_t first = 0, tokens = alone.tokens(0), k = alone.options.top_k;
  auto part = [&](const auto &list, int64_t perToken, int64_t n) {
    auto begin = list.begin() + first * perToken;
    return std::decay_t<decltype(list)>(begin, begin + n * perToken);
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t mine = tokens / ranks + (rank < tokens % ranks);
    moe.ids.push_back(part(alone.ids[0], k, mine));
    moe.scores.push_back(part(alone.scores[0], k, mine));
    moe.x.push_back(part(alone.x[0], alone.rowBytes(), mine));
    if (!alone.bias.empty())
      moe.bias.push_back(part(alone.bias[0], alone.rowBytes(), mine));
    first += mine;
  }
  return moe;
}

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_MOE_RANDOMMOE_H
