//===- LocalChecks.h - Checks of the local level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_IR_LOCALCHECKS_H
#define SHUNT_LIB_IR_LOCALCHECKS_H

#include "Checks.h"

namespace shunt::checks {

/// The numbers of a count operand, where they are constant.
class LocalCounts {
public:
  /// Unknown.
  LocalCounts() = default;
  LocalCounts(std::vector<int64_t> values, int64_t columns)
      : values(std::move(values)), columns(columns), isKnown(true) {}

  bool known() const { return isKnown; }
  /// What `lister` believes that member `index` of `ranks` passes. Columns are
  /// of one table (none), of the members of a group, or of all ranks.
  int64_t of(Rank lister, llvm::ArrayRef<Rank> ranks, size_t index) const;
  /// The rows of all `ranks` together, as `lister` believes.
  int64_t sumFor(Rank lister, llvm::ArrayRef<Rank> ranks) const;
  /// Has each rank a list of its own?
  bool perRank() const { return columns != 0; }
  /// The entry of a matrix over all ranks.
  int64_t at(Rank row, Rank column) const {
    return values[row * columns + column];
  }
  /// The rows of `cells` together, by a table.
  int64_t sumOf(llvm::ArrayRef<Rank> cells) const;

private:
  std::vector<int64_t> values;
  /// Entries of each rank's list; 0 for one table.
  int64_t columns = 0;
  bool isKnown = false;
};

/// Checks that `groups`, one a row, are a partition of the ranks, and lists
/// them.
mlir::FailureOr<std::vector<RankList>>
verifyGroups(mlir::Operation *op, mlir::DenseIntElementsAttr groups);
/// Checks that there is a row of ranks for each rank, and lists them without
/// the -1 that fill rows up.
mlir::FailureOr<std::vector<RankList>>
verifyCells(mlir::Operation *op, mlir::DenseIntElementsAttr cells,
            llvm::StringRef name);

/// Checks kinds and types of the operands and of the results of a local op;
/// `counts` may be null.
mlir::LogicalResult verifyOperands(mlir::Operation *op, mlir::Value input,
                                   mlir::Value init, mlir::Value counts);

/// Checks shape and constant entries of the counts of all_gather,
/// reduce_scatter and slice: a table, or a list for each rank.
mlir::FailureOr<LocalCounts> verifyTable(mlir::Operation *op,
                                         mlir::Value counts,
                                         llvm::ArrayRef<RankList> groups);
/// Of all_to_all: a matrix.
mlir::FailureOr<LocalCounts> verifyMatrix(mlir::Operation *op,
                                          mlir::Value counts,
                                          llvm::ArrayRef<RankList> groups);
/// Of permute: a table.
mlir::FailureOr<LocalCounts>
verifyCellCounts(mlir::Operation *op, mlir::Value counts, int64_t world);

/// Checks that static `rows` of operand `name` are `wanted`, which is what the
/// counts say for `rank`.
mlir::LogicalResult verifyRows(mlir::Operation *op, llvm::StringRef name,
                               int64_t rows, Rank rank, int64_t wanted,
                               llvm::StringRef code);

} // namespace shunt::checks

#endif // SHUNT_LIB_IR_LOCALCHECKS_H
