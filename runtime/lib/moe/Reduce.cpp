//===- Reduce.cpp - see Reduce.h ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include "Kernels.h"

#include <algorithm>
#include <tuple>

namespace shunt::rt {

Write writeFor(int64_t bytes) {
  return wantsStreaming(bytes) ? Write::Streaming : Write::Cached;
}

int64_t grainFor(int64_t rowBytes) {
  const int64_t pieceBytes = int64_t(256) << 10;
  return std::max<int64_t>(1, pieceBytes / std::max<int64_t>(rowBytes, 1));
}

SumRule::SumRule(const shunt_moe_options &options)
    : order(options.order), weighted(options.score == SHUNT_MOE_SCORE_AFTER),
      roundSums(options.round_sums), roundProducts(options.round_products),
      roundPartials(options.round_partials), topK(options.top_k) {}

//===----------------------------------------------------------------------===//
// Any order
//===----------------------------------------------------------------------===//

namespace {
/// Columns that are summed at once.
constexpr int64_t blockElems = 256;

/// A few columns of a sum, and arithmetic that rounds as the rule says.
struct Block {
  float values[blockElems];
};

class TermSum {
public:
  TermSum(const std::vector<Term> &terms, const SumRule &rule,
          shunt_dtype dtype)
      : terms(terms), rule(rule), dtype(dtype) {}

  void run(char *out, const char *bias, int64_t elems) {
    int64_t size = shunt_dtype_size(dtype);
    for (begin = 0; begin < elems; begin += blockElems) {
      n = std::min(blockElems, elems - begin);
      Block sum = rule.order == SHUNT_MOE_ORDER_TREE ? tree() : groups();
      if (bias) {
        Block last;
        loadElems(last.values, bias + begin * size, n, dtype);
        add(sum, last, false);
      }
      storeElems(out + begin * size, sum.values, n, dtype);
    }
  }

private:
  void round(Block &block) const {
    char rounded[sizeof(Block)];
    storeElems(rounded, block.values, n, dtype);
    loadElems(block.values, rounded, n, dtype);
  }

  void add(Block &sum, const Block &next, bool rounded) const {
    for (int64_t i = 0; i < n; ++i)
      sum.values[i] = sum.values[i] + next.values[i];
    if (rounded)
      round(sum);
  }

  Block zero() const {
    Block block;
    std::fill(block.values, block.values + n, 0.0f);
    return block;
  }

  Block product(const Term &term) const {
    Block block;
    loadElems(block.values, term.row + begin * shunt_dtype_size(dtype), n,
              dtype);
    if (!rule.weighted)
      return block;
    for (int64_t i = 0; i < n; ++i)
      block.values[i] = block.values[i] * term.weight;
    if (rule.roundProducts)
      round(block);
    return block;
  }

  /// Sum of terms [first, last).
  Block run(size_t first, size_t last) const {
    Block sum = zero();
    for (size_t i = first; i < last; ++i)
      add(sum, product(terms[i]), rule.roundSums);
    return sum;
  }

  /// Sum of [first, last), whose partial sums are the runs of equal `key`.
  template <typename Key, typename Partial>
  Block runGroups(size_t first, size_t last, Key key, bool roundPartial,
                  Partial partialOf) const {
    Block sum = zero();
    for (size_t begin = first; begin < last;) {
      size_t end = begin;
      while (end < last && key(terms[end]) == key(terms[begin]))
        ++end;
      Block partial = partialOf(begin, end);
      if (roundPartial)
        round(partial);
      add(sum, partial, rule.roundSums);
      begin = end;
    }
    return sum;
  }

  Block groups() const {
    size_t all = terms.size();
    auto slots = [&](size_t a, size_t b) { return run(a, b); };
    auto byRank = [](const Term &term) { return term.rank; };
    auto byNode = [](const Term &term) { return term.node; };
    if (rule.order == SHUNT_MOE_ORDER_RANK_SLOT)
      return runGroups(0, all, byRank, rule.roundPartials, slots);
    if (rule.order == SHUNT_MOE_ORDER_NODE_RANK_SLOT)
      return runGroups(0, all, byNode, rule.roundPartials,
                       [&](size_t a, size_t b) {
                         return runGroups(a, b, byRank, false, slots);
                       });
    return run(0, all);
  }

  Block tree() const {
    std::vector<Block> level(rule.topK, zero());
    for (const Term &term : terms)
      level[term.choice] = product(term);
    while (level.size() > 1) {
      size_t half = level.size() / 2;
      for (size_t i = 0; i < half; ++i) {
        level[i] = level[2 * i];
        add(level[i], level[2 * i + 1], rule.roundSums);
      }
      if (level.size() % 2)
        level[half++] = level.back();
      level.resize(half);
    }
    return level[0];
  }

  const std::vector<Term> &terms;
  const SumRule &rule;
  shunt_dtype dtype;
  int64_t begin = 0, n = 0;
};
} // namespace

void sumTerms(char *out, std::vector<Term> &terms, const SumRule &rule,
              const char *bias, int64_t elems, shunt_dtype dtype) {
  auto key = [&](const Term &t) -> std::tuple<int64_t, int64_t, int64_t> {
    switch (rule.order) {
    case SHUNT_MOE_ORDER_EXPERT:
      return {t.instance, 0, t.choice};
    case SHUNT_MOE_ORDER_RANK_SLOT:
      return {t.rank, 0, t.choice};
    case SHUNT_MOE_ORDER_NODE_RANK_SLOT:
      return {t.node, t.rank, t.choice};
    default:
      return {0, 0, t.choice};
    }
  };
  std::sort(terms.begin(), terms.end(),
            [&](const Term &a, const Term &b) { return key(a) < key(b); });
  TermSum(terms, rule, dtype).run(out, bias, elems);
}

//===----------------------------------------------------------------------===//
// All tokens
//===----------------------------------------------------------------------===//

namespace {
/// The rows of one token's slots, by k.
struct TokenRows {
  void collect(const shunt_moe_routing &routing, int64_t token,
               const std::function<const char *(int64_t)> &rowOfSlot) {
    const Routing &own = routing.own;
    rows.clear();
    slots.clear();
    weights.clear();
    if (token >= own.tokens)
      return;
    for (int64_t slot = token * own.topK; slot < (token + 1) * own.topK;
         ++slot) {
      if (own.instanceOf[slot] < 0)
        continue;
      rows.push_back(rowOfSlot(slot));
      slots.push_back(slot);
      weights.push_back(routing.scores.empty() ? 1.0f : routing.scores[slot]);
    }
  }

  std::vector<const char *> rows;
  std::vector<int64_t> slots;
  std::vector<float> weights;
};
} // namespace

static void sumInAnyOrder(char *out, const shunt_moe_routing &routing,
                          const TokenRows &token, const SumRule &rule,
                          const CombineCall &call, const char *bias) {
  const shunt_moe &moe = *routing.moe;
  std::vector<Term> terms;
  for (size_t i = 0; i < token.rows.size(); ++i) {
    int64_t slot = token.slots[i];
    int64_t instance = routing.own.instanceOf[slot];
    int64_t rank = moe.placement.rankOf(instance);
    terms.push_back({token.rows[i], token.weights[i], slot % rule.topK,
                     instance, rank, moe.nodes().nodeOf(rank)});
  }
  sumTerms(out, terms, rule, bias, call.rowElems, call.dtype);
}

void sumSlots(shunt_moe_routing &routing, const CombineCall &call,
              const std::function<const char *(int64_t)> &rowOfSlot) {
  SumRule rule(routing.moe->options);
  Write write = writeFor(routing.own.tokens * call.rowBytes);
  auto piece = [&](int64_t begin, int64_t end) {
    TokenRows token, next;
    next.collect(routing, begin, rowOfSlot);
    for (int64_t t = begin; t < end; ++t) {
      std::swap(token, next);
      next.collect(routing, t + 1, rowOfSlot);
      char *out = call.out + t * call.rowBytes;
      if (!rule.isPlain()) {
        sumInAnyOrder(out, routing, token, rule, call, call.biasOf(t));
        continue;
      }
      Summands summands;
      summands.rows = token.rows.data();
      summands.weights = rule.weighted ? token.weights.data() : nullptr;
      summands.count = static_cast<int64_t>(token.rows.size());
      summands.dtype = call.dtype;
      summands.next = next.rows.data();
      summands.nextCount = static_cast<int64_t>(next.rows.size());
      sumRow(out, call.dtype, summands, call.biasOf(t), call.dtype,
             call.rowElems, write);
    }
    finishStreaming();
  };
  int64_t bytes = routing.own.topK * call.rowBytes;
  routing.moe->pool.run(routing.own.tokens, grainFor(bytes), piece);
}

} // namespace shunt::rt
