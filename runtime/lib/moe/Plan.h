//===- Plan.h - The way of rows through collectives -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every algorithm is a few *stages*, each a selection of rows and a collective,
// and a last selection that makes the experts' buffer. Combine with partial
// sums walks the same plan backwards: what was copied is added up.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_PLAN_H
#define SHUNT_RUNTIME_MOE_PLAN_H

#include <cstdint>
#include <vector>

namespace shunt::rt {

/// Which rows of one list came from each row of another.
struct Inverse {
  /// `from[i]` in [0, n), or -1, is where row i came from.
  static Inverse create(const std::vector<int64_t> &from, int64_t n);

  /// The rows that came from row `i`: items [starts[i], starts[i + 1]),
  /// ascending.
  std::vector<int64_t> starts, items;
};

struct Stage {
  /// An all-gather of the rows as they are, not an all-to-all of selected ones.
  bool gathers = false;
  /// The rows to send, as rows of what the stage before received (tokens).
  std::vector<int64_t> from;
  /// Rows to and from each member. For an all-gather `recv` are its counts.
  std::vector<int64_t> send, recv;
  int64_t inRows = 0, sendRows = 0, recvRows = 0;
};

struct Plan {
  std::vector<Stage> stages;
  /// Of each row of the experts' buffer: its row in what was received last; -1
  /// for padding.
  std::vector<int64_t> expand;
  /// Scores of the rows that the first stage sends, where it applies them.
  std::vector<float> sendScores;
  /// Otherwise scores, and choices k, of the rows of the experts' buffer.
  std::vector<float> scores;
  std::vector<int32_t> choices;
};

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_PLAN_H
