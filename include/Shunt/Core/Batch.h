//===- Batch.h - How many tokens each owner has ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_BATCH_H
#define SHUNT_CORE_BATCH_H

#include "Shunt/Core/Mesh.h"
#include "Shunt/Core/Split.h"

namespace shunt {

/// The static part of a batch: its *home* mesh, and which axes of it own
/// tokens. Each coordinate of the owner axes is one *part* with its own token
/// count; the other axes of the home mesh share the rows of a part by `split`.
/// So every world rank has one *cell*: the rows that are its own when
/// everything is scattered. All layouts, of any mesh, are unions of cells.
struct BatchSpec {
  Mesh mesh;
  /// Major to minor: parts are numbered, and logical rows ordered, so.
  AxisList owners;
  /// Owner axes whose coordinates hold *copies* of the same tokens (context
  /// parallelism in replicate mode). Copies count as rows of their own.
  AxisList replicas;
  Split split;

  /// Errors: E_AXIS (an axis out of range or twice; a replica that is no
  /// owner), E_SPLIT (`partSize` does not divide the multiple).
  static Result<BatchSpec> create(Mesh mesh, AxisList owners,
                                  AxisList replicas = {}, Split split = {});

  int64_t world() const { return mesh.world(); }
  int64_t numParts() const { return mesh.groupSize(owners); }
  /// The part that `rank` works on.
  int64_t partOf(Rank rank) const;
  /// Ranks that share one part, k of `split(n, k)`.
  int64_t partSize() const { return mesh.world() / numParts(); }
  /// Position of `rank`'s cell among the cells of its part.
  int64_t cellIndex(Rank rank) const;
  /// The first rank of `part` in mesh order.
  Rank firstRank(int64_t part) const;
  /// The lowest part with the same tokens: `part` with its coordinates on the
  /// replica axes set to 0.
  int64_t firstCopy(int64_t part) const;
};

/// One line of text with all of `spec`, and its inverse: how compiled programs
/// pass it to the runtime. Errors: E_BATCH_TEXT and those of the parts.
std::string toString(const BatchSpec &spec);
Result<BatchSpec> parseBatchSpec(const std::string &text);

/// How the entries of a list of counts are to be read.
enum class CountsPer {
  /// By length: world, then owner parts, then the parts without the replica
  /// axes; E_COUNTS_LEN when none fits.
  Auto,
  /// One per coordinate of the owner axes that are no replicas (dp): copies
  /// have equal counts. Without replicas the same as `Part`.
  MajorOwner,
  /// One per part (dp·cp).
  Part,
  /// One per world rank: ranks of one part must agree.
  Rank,
};

/// A batch: the spec with the numbers. `rows` includes padding rows, which are
/// the last of their part; `valid` counts the real ones.
class Batch {
public:
  /// Counts per part. `valid` empty: all rows are valid. Rows are rounded up
  /// as the split rule asks for.
  /// Errors: E_COUNTS_LEN, E_COUNTS_NEG, E_CP_PEER_COUNTS (copies that
  /// differ), E_BUCKET (valid > rows), E_OVERFLOW (sums beyond 2^62).
  static Result<Batch> create(BatchSpec spec, std::vector<int64_t> rows,
                              std::vector<int64_t> valid = {});

  const BatchSpec &spec() const { return batchSpec; }
  const std::vector<int64_t> &partRows() const { return rows; }
  const std::vector<int64_t> &partValid() const { return valid; }
  int64_t totalRows() const;
  int64_t totalValid() const;

  /// Rows (valid rows) of the cell of `rank`: s[r] of the specification.
  int64_t cellRows(Rank rank) const;
  int64_t cellValid(Rank rank) const;
  /// First row of the cell of `rank` in the logical tensor, which is the
  /// concatenation of all parts in part order.
  int64_t cellOffset(Rank rank) const;
  /// First *token* of that cell: like `cellOffset`, but copies (replica axes)
  /// share their tokens.
  int64_t cellToken(Rank rank) const;
  /// One entry per world rank.
  std::vector<int64_t> cellTable() const;

private:
  int64_t offsetInPart(Rank rank) const;

  BatchSpec batchSpec;
  std::vector<int64_t> rows, valid;
  std::vector<int64_t> partOffset, partToken;
};

/// Expands counts given per major owner, per part or per rank to one per part.
/// Copies, parts that differ on replica axes only, must agree.
/// Errors: E_COUNTS_MISSING (none for several parts), E_COUNTS_LEN (got,
/// wanted, which), E_COUNTS_NEG (index, value), E_TP_PEER_COUNTS and
/// E_CP_PEER_COUNTS (both ranks and values).
Result<std::vector<int64_t>> expandCounts(const BatchSpec &spec,
                                          const std::vector<int64_t> &counts,
                                          CountsPer per = CountsPer::Auto);

/// Padding of part counts before the split.
enum class PadPolicy { None, MaxPart, Rows };
/// Errors: E_BUCKET (a count over `bucket`: count, part, bucket).
Result<std::vector<int64_t>> padCounts(const std::vector<int64_t> &counts,
                                       PadPolicy policy, int64_t bucket = 0);

} // namespace shunt

#endif // SHUNT_CORE_BATCH_H
