//===- Ownership.h - Whose rows each rank holds, and how complete ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain in which shunt-verify-plan interprets a program, for all ranks at
// once. A value is, on each rank, a list of runs of rows; what an op costs
// depends on the number of runs, not on the number of tokens.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_OWNERSHIP_H
#define SHUNT_ANALYSIS_OWNERSHIP_H

#include "Shunt/Core/Layout.h"

#include <map>
#include <memory>

namespace shunt {

/// Which computation made a row: the same op on rows of the same stages. So
/// rows of one token and one stage are the same numbers on every rank, or
/// summands of one sum.
using Stage = int64_t;

/// Rows that are summands: what they add up to over `group` is the value meant,
/// and they hold the contributions of `summed`, in ascending order.
struct PartialSum {
  RankList group, summed;
  bool operator<(const PartialSum &o) const {
    return std::tie(group, summed) < std::tie(o.group, o.summed);
  }
};

constexpr int64_t kComplete = -1;

/// Rows of consecutive tokens that have one origin and state.
struct OwnedRun {
  int64_t token;
  int64_t rows;
  Stage stage;
  /// `kComplete`, or the number of a `PartialSum`.
  int64_t sum = kComplete;

  bool operator==(const OwnedRun &o) const {
    return token == o.token && rows == o.rows && stage == o.stage &&
           sum == o.sum;
  }
};
using OwnedRows = std::vector<OwnedRun>;
/// Shared, since all members of a group receive the same list from a gather.
using HeldRows = std::shared_ptr<const OwnedRows>;
/// One entry per world rank; null on a rank that does not take part.
using WorldRows = std::vector<HeldRows>;
/// Groups of ranks, a partition of the world.
using Groups = std::vector<RankList>;
/// The counts that each world rank passes, one for each member of its group.
using CountLists = std::vector<std::vector<int64_t>>;

int64_t numRows(const OwnedRows &rows);
/// Are the tokens the same, in the same order?
bool sameTokens(const OwnedRows &a, const OwnedRows &b);
/// Of lists of equal length: is the same summed in every row?
bool sameSums(const OwnedRows &a, const OwnedRows &b);

/// What an op makes of partial sums that it reads.
enum class Reads {
  Complete, ///< it may not
  Added,    ///< adds its operands: all or none of them are partial, alike
  Linear,   ///< is linear in those operands that are partial, which are alike
};

/// Members that are not there when the others of their group are.
struct MissingRanks {
  RankList group, missing;
};

/// The rules. Errors carry the codes of the specification (`X_…`) and name
/// rank, row and token; `culprits` then says which stages made the rows.
class Ownership {
public:
  explicit Ownership(int64_t world) : worldSize(world) {}

  int64_t world() const { return worldSize; }

  //===--- Stages and rows ---===//

  /// The stage of what `op` (any number) makes of rows of `inputs`.
  Stage stage(int64_t op, const std::vector<Stage> &inputs = {});
  /// The `op` of a stage.
  int64_t opOf(Stage stage) const { return stageOps[stage]; }
  const PartialSum &sum(int64_t number) const { return sums[number]; }
  /// Stages that the last error is about; a caller may report its own.
  void blameOn(std::vector<Stage> stages) { blamed = std::move(stages); }
  const std::vector<Stage> &culprits() const { return blamed; }

  /// Complete rows, as `rowsOf` lists them.
  HeldRows complete(const std::vector<RowRun> &runs, Stage stage) const;
  /// `rows`, as the contribution of `rank` to a sum over `group`; complete when
  /// it is alone.
  HeldRows contribution(const OwnedRows &rows, const RankList &group,
                        Rank rank);
  /// The number of the sum over `group` to which `rank` alone contributes;
  /// `kComplete` when it is alone.
  int64_t partialOf(RankList group, Rank rank);
  /// The rows of `rank` from `first` on.
  static HeldRows part(const OwnedRows &rows, int64_t first, int64_t count);

  //===--- Compute ---===//

  /// Rows that `op` makes of the same rows of `operands`, of which there is at
  /// least one. Errors: X_RESIDUAL_ROWS, X_PARTIAL_INPUT.
  Result<HeldRows> combine(int64_t op, Rank rank,
                           const std::vector<HeldRows> &operands, Reads reads);
  /// Errors: X_PARTIAL_INPUT.
  MaybeError checkComplete(Rank rank, const OwnedRows &rows);
  /// Are the tokens of `rows` exactly those of `wanted`? Errors, under `code`:
  /// the first difference.
  MaybeError checkTokens(Rank rank, const OwnedRows &rows,
                         const OwnedRows &wanted, const std::string &code);

  //===--- Collectives ---===//
  //
  // Groups of which no member takes part are left alone.

  /// The first group of which some members take part and others do not.
  static std::optional<MissingRanks>
  findMissing(const Groups &groups, const std::vector<bool> &present);
  /// Errors: X_COUNTS_DISAGREE, X_COUNTS_LENGTH, E_COUNTS_NEG.
  MaybeError checkLists(const Groups &groups, const CountLists &lists,
                        const std::vector<bool> &present);

  /// Errors: X_AG_ROWS.
  Result<WorldRows> allGather(const Groups &groups, const WorldRows &rows,
                              const CountLists &lists);
  /// `continued`: another reduction completes the sum, so that this one may be
  /// over a part of the ranks, as may the one that completes it. Errors:
  /// X_RAGGED_REDUCE, X_ROW_MISMATCH, X_DOUBLE_REDUCE, X_WRONG_GROUP,
  /// X_INCOMPLETE.
  Result<WorldRows> allReduce(const Groups &groups, const WorldRows &rows,
                              bool continued = false);
  /// Errors: X_RS_SUM, and those of `allReduce`.
  Result<WorldRows> reduceScatter(const Groups &groups, const WorldRows &rows,
                                  const CountLists &lists,
                                  bool continued = false);
  /// Errors: X_RS_SUM.
  Result<WorldRows> slice(const Groups &groups, const WorldRows &rows,
                          const CountLists &lists);
  /// `lists[s]` is what s sends to each member. Errors: X_RS_SUM.
  Result<WorldRows> allToAll(const Groups &groups, const WorldRows &rows,
                             const CountLists &lists);
  /// Blocks of the rows of each rank in another order: `from` and `to` list
  /// cells, of which cell c has `table[c]` rows. Errors: X_AG_ROWS.
  Result<WorldRows> permute(const std::vector<RankList> &from,
                            const std::vector<RankList> &to,
                            const WorldRows &rows,
                            const std::vector<int64_t> &table);

private:
  int64_t partialSum(PartialSum sum);
  Error blame(std::vector<Stage> stages, Error error);
  Result<HeldRows> reduce(const RankList &group, const WorldRows &rows,
                          bool continued);
  Result<int64_t> reducedSum(const RankList &group,
                             const std::vector<OwnedRun> &column, int64_t row,
                             bool continued);
  MaybeError checkSum(const RankList &group, const WorldRows &rows,
                      const CountLists &lists);

  int64_t worldSize;
  std::map<std::pair<int64_t, std::vector<Stage>>, Stage> stages;
  std::vector<int64_t> stageOps;
  std::map<PartialSum, int64_t> sumNumbers;
  std::vector<PartialSum> sums;
  std::vector<Stage> blamed;
};

} // namespace shunt

#endif // SHUNT_ANALYSIS_OWNERSHIP_H
