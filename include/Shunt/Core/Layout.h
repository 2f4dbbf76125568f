//===- Layout.h - Which rows a rank holds ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_LAYOUT_H
#define SHUNT_CORE_LAYOUT_H

#include "Shunt/Core/Batch.h"

namespace shunt {

/// How one mesh holds a tensor whose first dimension is tokens. Axes that are
/// named nowhere replicate.
struct Layout {
  Mesh mesh;
  /// Axes that split the tokens. A set: the rows of a rank are the cells of
  /// all ranks that share its coordinates on these axes, so after a gather over
  /// a major axis a rank owns a strided set of rows, and that is a layout like
  /// any other.
  AxisList tokens;
  /// Axes on which each rank holds a partial sum of its rows.
  AxisList partial;

  /// The axes over whose groups the cells of a rank range.
  AxisList gathered() const { return mesh.complement(tokens); }
  /// World ranks whose cells `rank` holds, in row order: mesh order of
  /// `gathered()`.
  RankList cells(Rank rank) const { return mesh.group(rank, gathered()); }
};

/// A digit of the linear mesh position: position / stride % size.
struct Digit {
  int64_t stride;
  int64_t size;
  bool operator==(const Digit &o) const {
    return stride == o.stride && size == o.size;
  }
};
/// The digits of `axes`, slowest first, size 1 dropped, neighbours that
/// continue each other merged: two axis sets of meshes without a device list
/// form the same groups exactly if their digits are equal.
std::vector<Digit> digits(const Mesh &mesh, const AxisList &axes);
/// Do both axis sets, each of its mesh, form the same rank groups, members in
/// the same order?
bool sameGroups(const Mesh &a, const AxisList &axesA, const Mesh &b,
                const AxisList &axesB);
/// Does every rank hold the same cells in the same order?
bool sameRows(const Layout &a, const Layout &b);

/// Rows that each world rank holds: one entry per rank.
std::vector<int64_t> rowCounts(const Batch &batch, const Layout &layout);
/// Valid (not padding) rows of each world rank.
std::vector<int64_t> validCounts(const Batch &batch, const Layout &layout);
/// Sums of entries of a cell table (`Batch::cellTable`): one for each list of
/// cells. Negative cells stand for none.
std::vector<int64_t> sumCells(const std::vector<int64_t> &cellTable,
                              const std::vector<RankList> &lists);
/// The list that the members of `ranks` pass to a collective.
std::vector<int64_t> countsOf(const std::vector<int64_t> &table,
                              const RankList &ranks);

/// A run of rows of the logical tensor.
struct RowRun {
  int64_t offset; ///< first row in the logical tensor
  int64_t token;  ///< first token (copies share tokens)
  int64_t rows;   ///< length
  int64_t valid;  ///< leading rows that are not padding
  bool operator==(const RowRun &o) const {
    return offset == o.offset && token == o.token && rows == o.rows &&
           valid == o.valid;
  }
};
/// The rows of `rank` in order, neighbouring runs not merged: one per cell.
std::vector<RowRun> rowsOf(const Batch &batch, const Layout &layout, Rank rank);

/// The largest number of copies of one token among the valid rows of one rank
/// under `layout`: 1 unless replicas are gathered (warning W_CP_DUP).
int64_t duplicateFactor(const Batch &batch, const Layout &layout);

/// Who sends which cells to whom when complete rows go from `from` to `to`.
/// A rank that already holds a cell sends it to itself; otherwise the sender
/// is the holder with the nearest rank below or at, cyclically.
struct Exchange {
  /// cells[src][dst]: home ranks of the cells sent, in `to` row order of dst.
  std::vector<std::vector<RankList>> cells;
  /// rows[src * world + dst].
  std::vector<int64_t> rows(const Batch &batch) const;
};
Exchange exchange(const Layout &from, const Layout &to);

} // namespace shunt

#endif // SHUNT_CORE_LAYOUT_H
