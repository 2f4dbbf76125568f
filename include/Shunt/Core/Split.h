//===- Split.h - How n rows are shared among k members ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_SPLIT_H
#define SHUNT_CORE_SPLIT_H

#include "Shunt/Core/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shunt {

enum class SplitRule {
  /// n = q·k + m: the first m parts have q+1 rows, the others q.
  Balanced,
  /// Every part has ⌈n/k⌉ rows; the tail is padding.
  Ceil,
  /// n is rounded up to a multiple of k (or of a stated multiple of k), then
  /// shared equally; the tail is padding.
  Align,
};

struct Split {
  SplitRule rule = SplitRule::Balanced;
  /// Only for `Align`: the multiple, or 0 for the number of parts.
  int64_t multiple = 0;

  bool operator==(const Split &o) const {
    return rule == o.rule && multiple == o.multiple;
  }
};

/// "balanced", "ceil", "align", "align:M".
std::string toString(const Split &split);
/// Errors: E_SPLIT.
Result<Split> parseSplit(const std::string &text);

/// Rows incl. padding that `n` rows take when shared by `k` members: the sum
/// of `splitRows`.
/// Errors: E_SPLIT (`multiple` is not a multiple of k), E_COUNTS_NEG (n < 0),
/// E_SIZE (k < 1), E_OVERFLOW.
Result<int64_t> paddedRows(int64_t n, int64_t k, const Split &split);

/// Rows of part `index` of `n` rows over `k` members. For `Ceil` and `Align`
/// this is an equal share of the padded rows. Preconditions: n ≥ 0,
/// 0 ≤ index < k; for `Align`, `paddedRows` succeeded.
int64_t splitPart(int64_t n, int64_t k, int64_t index, const Split &split);
/// Rows of the parts before `index`.
int64_t splitOffset(int64_t n, int64_t k, int64_t index, const Split &split);
std::vector<int64_t> splitRows(int64_t n, int64_t k, const Split &split);

/// Rows per context-parallel rank of an n-token sequence cut into 2·cp
/// balanced blocks of which rank i owns blocks i and 2·cp-1-i.
std::vector<int64_t> zigzagRows(int64_t n, int64_t cp);

/// What a rank sends in an iteration in which it has nothing left.
enum class EmptyChunk { Zero, DummyRow, RepeatFirst };
/// Lockstep schedule of chunks: iteration → rows of each rank, when no rank
/// sends more than `limit` rows at once. The same on every rank, since it is a
/// function of the whole vector.
/// Errors: E_SIZE (limit < 1, or so small that more than 2^20 iterations
/// follow), E_COUNTS_NEG.
Result<std::vector<std::vector<int64_t>>>
chunkSchedule(const std::vector<int64_t> &rows, int64_t limit,
              EmptyChunk empty = EmptyChunk::Zero);

} // namespace shunt

#endif // SHUNT_CORE_SPLIT_H
