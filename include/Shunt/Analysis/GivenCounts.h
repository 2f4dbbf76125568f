//===- GivenCounts.h - Count tables that came with the program ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_GIVENCOUNTS_H
#define SHUNT_ANALYSIS_GIVENCOUNTS_H

#include "Shunt/IR/Resolve.h"

namespace shunt {

/// What the counted collectives (all_gather, reduce_scatter, all_reduce,
/// slice) have in common. Null `op` for any other op.
struct CountedCollective {
  explicit CountedCollective(mlir::Operation *op);
  explicit operator bool() const { return op; }

  /// The layout whose row counts the members pass: the operand's for
  /// all_gather and all_reduce, the result's for reduce_scatter and slice.
  LayoutAttr countsLayout() const;

  mlir::Operation *op = nullptr;
  mlir::Value input, batch, given;
  mlir::ArrayAttr axes;
  mlir::Value result;
};

/// The table (one entry per world rank) that `collective` needs; std::nullopt
/// when its batch is not known at compile time.
mlir::FailureOr<std::optional<std::vector<int64_t>>>
derivedCounts(const CountedCollective &collective,
              mlir::SymbolTableCollection &symbols);

/// A hand-written table held against the derived one.
struct GivenReport {
  /// Members of one group that would pass different lists.
  struct Disagreement {
    RankList ranks;
    std::vector<std::vector<int64_t>> lists; ///< one per member
  };
  /// A wrong entry: the count of `rank`.
  struct WrongCount {
    Rank rank;
    int64_t given, derived;
  };

  bool right() const {
    return unknown.empty() && disagreements.empty() && wrong.empty();
  }

  /// Why there was nothing to compare; empty otherwise.
  std::string unknown;
  std::vector<Disagreement> disagreements;
  /// By rank.
  std::vector<WrongCount> wrong;
  /// One entry per world rank. Where lists disagree, the first member's.
  std::vector<int64_t> given;
  /// One entry per world rank; empty when the batch is not known.
  std::vector<int64_t> derived;
};

/// Compares the `given` table of `collective`, which must have one. Fails, with
/// a diagnostic, only when symbols do not resolve or the table has a wrong
/// shape.
mlir::FailureOr<GivenReport> compareGiven(const CountedCollective &collective,
                                          mlir::SymbolTableCollection &symbols);

/// Reports a `given` table that is wrong, or that cannot be compared, as an
/// error at `op`: X_COUNTS_DISAGREE (lists of one group differ), X_AG_ROWS,
/// X_RS_SUM, X_RAGGED_REDUCE (wrong counts of an all-gather, a reduce-scatter
/// or slice, an all-reduce), X_COUNTS_UNKNOWN. Any other op passes.
mlir::LogicalResult checkGiven(mlir::Operation *op,
                               mlir::SymbolTableCollection &symbols);

} // namespace shunt

#endif // SHUNT_ANALYSIS_GIVENCOUNTS_H
