//===- Split.cpp - see Split.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Split.h"

#include "Text.h"

#include <algorithm>
#include <limits>

namespace shunt {

/// ⌈n/k⌉ without the overflow of (n + k - 1) / k.
static int64_t ceilDiv(int64_t n, int64_t k) { return n / k + (n % k != 0); }

std::string toString(const Split &split) {
  switch (split.rule) {
  case SplitRule::Balanced:
    return "balanced";
  case SplitRule::Ceil:
    return "ceil";
  case SplitRule::Align:
    return split.multiple ? "align:" + std::to_string(split.multiple) : "align";
  }
  return "";
}

Result<Split> parseSplit(const std::string &text) {
  if (text == "balanced")
    return Split{SplitRule::Balanced};
  if (text == "ceil")
    return Split{SplitRule::Ceil};
  if (text == "align")
    return Split{SplitRule::Align};

  const std::string prefix = "align:";
  std::string number =
      text.compare(0, prefix.size(), prefix) == 0 ? text.substr(6) : "";
  bool isNumber = !number.empty() &&
                  std::all_of(number.begin(), number.end(),
                              [](char c) { return c >= '0' && c <= '9'; });
  // 18 digits always fit, so that no overflow can occur below.
  if (!isNumber || number.size() > 18 || std::stoll(number) == 0)
    return Error{"E_SPLIT", "unknown split rule '" + text +
                                "'; want balanced, ceil, align or align:M "
                                "with M of at least 1"};
  return Split{SplitRule::Align, std::stoll(number)};
}

Result<int64_t> paddedRows(int64_t n, int64_t k, const Split &split) {
  if (n < 0)
    return Error{"E_COUNTS_NEG", "cannot split " + std::to_string(n) +
                                     " rows; a count is at least 0"};
  if (k < 1)
    return Error{"E_SIZE", "cannot split rows among " + std::to_string(k) +
                               " members; a group has at least 1"};
  if (split.rule == SplitRule::Balanced)
    return n;

  int64_t unit = k;
  if (split.rule == SplitRule::Align && split.multiple != 0) {
    unit = split.multiple;
    if (unit < 0 || unit % k != 0)
      return Error{"E_SPLIT", "split " + toString(split) +
                                  " cannot be shared equally by " +
                                  plural(k, "rank") + "; use a multiple of " +
                                  std::to_string(k)};
  }
  int64_t units = ceilDiv(n, unit);
  if (units > std::numeric_limits<int64_t>::max() / unit)
    return Error{"E_OVERFLOW", plural(n, "row") + " rounded up to a multiple " +
                                   "of " + std::to_string(unit) +
                                   " do not fit into 64 bits"};
  return units * unit;
}

/// Rows of every part, for the rules that share equally.
static int64_t equalShare(int64_t n, int64_t k, const Split &split) {
  if (split.rule == SplitRule::Align && split.multiple > 0)
    return ceilDiv(n, split.multiple) * (split.multiple / k);
  return ceilDiv(n, k);
}

int64_t splitPart(int64_t n, int64_t k, int64_t index, const Split &split) {
  if (split.rule == SplitRule::Balanced)
    return n / k + (index < n % k);
  return equalShare(n, k, split);
}

int64_t splitOffset(int64_t n, int64_t k, int64_t index, const Split &split) {
  if (split.rule == SplitRule::Balanced)
    return n / k * index + std::min(index, n % k);
  return equalShare(n, k, split) * index;
}

std::vector<int64_t> splitRows(int64_t n, int64_t k, const Split &split) {
  std::vector<int64_t> rows(k);
  for (int64_t i = 0; i < k; ++i)
    rows[i] = splitPart(n, k, i, split);
  return rows;
}

std::vector<int64_t> zigzagRows(int64_t n, int64_t cp) {
  // Under a causal mask the work of a block grows with its position: pairing
  // the i-th with the i-th last gives every rank the same work.
  const Split balanced;
  std::vector<int64_t> rows(cp);
  for (int64_t i = 0; i < cp; ++i)
    rows[i] = splitPart(n, 2 * cp, i, balanced) +
              splitPart(n, 2 * cp, 2 * cp - 1 - i, balanced);
  return rows;
}

static int64_t emptyChunkRows(int64_t rows, int64_t limit, EmptyChunk empty) {
  switch (empty) {
  case EmptyChunk::Zero:
    return 0;
  case EmptyChunk::DummyRow:
    return 1;
  case EmptyChunk::RepeatFirst:
    // A rank that never had rows has no first chunk to repeat.
    return std::max<int64_t>(1, std::min(limit, rows));
  }
  return 0;
}

Result<std::vector<std::vector<int64_t>>>
chunkSchedule(const std::vector<int64_t> &rows, int64_t limit,
              EmptyChunk empty) {
  if (limit < 1)
    return Error{"E_SIZE", "a chunk limit of " + std::to_string(limit) +
                               " rows sends nothing; use at least 1"};
  // All-idle steps still run one iteration: peers may wait in its collective.
  int64_t iterations = 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0)
      return Error{"E_COUNTS_NEG", "count " + std::to_string(i) + " is " +
                                       std::to_string(rows[i]) +
                                       "; a count is at least 0"};
    iterations = std::max(iterations, ceilDiv(rows[i], limit));
  }
  // A schedule is a table in memory, so its length is an input to check.
  constexpr int64_t kMaxIterations = int64_t(1) << 20;
  if (iterations > kMaxIterations)
    return Error{"E_SIZE", "a chunk limit of " + plural(limit, "row") +
                               " asks for " + std::to_string(iterations) +
                               " iterations; at most " +
                               std::to_string(kMaxIterations) +
                               " are planned, raise the limit"};

  std::vector<std::vector<int64_t>> schedule(iterations);
  for (int64_t i = 0; i < iterations; ++i)
    for (int64_t n : rows) {
      int64_t left = n - limit * i;
      schedule[i].push_back(left > 0 ? std::min(limit, left)
                                     : emptyChunkRows(n, limit, empty));
    }
  return schedule;
}

} // namespace shunt
