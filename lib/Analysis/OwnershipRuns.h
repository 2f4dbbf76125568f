//===- OwnershipRuns.h - Lists of runs side by side ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_ANALYSIS_OWNERSHIPRUNS_H
#define SHUNT_LIB_ANALYSIS_OWNERSHIPRUNS_H

#include "Shunt/Analysis/Ownership.h"

#include <algorithm>

namespace shunt {

/// Appends `run`, joined with the last one where it continues that.
inline void appendRun(OwnedRows &rows, const OwnedRun &run) {
  if (run.rows == 0)
    return;
  if (!rows.empty()) {
    OwnedRun &last = rows.back();
    if (last.token + last.rows == run.token && last.stage == run.stage &&
        last.sum == run.sum) {
      last.rows += run.rows;
      return;
    }
  }
  rows.push_back(run);
}

/// Rows that a routing sends are numbered by their tokens, apart from these and
/// from the rows of other routings.
constexpr int64_t kRoutedBase = int64_t(1) << 44;
inline int64_t routedToken(int64_t routing, int64_t token) {
  return (routing + 1) * kRoutedBase + token;
}
inline bool isRoutedToken(int64_t token) { return token >= kRoutedBase; }
/// The routing of a routed row; -1 for a token.
inline int64_t numberOfRouted(int64_t token) { return token / kRoutedBase - 1; }

/// Walks several lists at once, in the longest steps in which no list changes
/// its run. Ends with the shortest list.
class Zip {
public:
  explicit Zip(std::vector<const OwnedRows *> lists)
      : lists(std::move(lists)), index(this->lists.size()),
        used(this->lists.size()), runs(this->lists.size()) {}

  /// Goes on to the next step; false at the end.
  bool next() {
    row += length;
    length = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      if (index[i] == lists[i]->size())
        return false;
      int64_t left = (*lists[i])[index[i]].rows - used[i];
      length = i == 0 ? left : std::min(length, left);
    }
    if (lists.empty())
      return false;
    for (size_t i = 0; i < lists.size(); ++i) {
      const OwnedRun &run = (*lists[i])[index[i]];
      runs[i] = {run.token + used[i], length, run.stage, run.sum};
      used[i] += length;
      if (used[i] == run.rows) {
        ++index[i];
        used[i] = 0;
      }
    }
    return true;
  }

  /// The part of each list in this step, all of the same length.
  const std::vector<OwnedRun> &step() const { return runs; }
  /// The first row of this step.
  int64_t firstRow() const { return row; }

private:
  std::vector<const OwnedRows *> lists;
  std::vector<size_t> index;
  std::vector<int64_t> used;
  std::vector<OwnedRun> runs;
  int64_t row = 0, length = 0;
};

/// `[5, 3]` and `{0, 1}`; long lists are cut.
std::string countsText(const std::vector<int64_t> &counts);
std::string ranksText(const RankList &ranks);
/// `token 4`, `the routed row of token 4`
std::string tokenText(int64_t token);
/// `token 4 (row 0 of rank 1)`
std::string rowText(int64_t token, int64_t row, Rank rank);

} // namespace shunt

#endif // SHUNT_LIB_ANALYSIS_OWNERSHIPRUNS_H
