//===- Routing.h - Which rows go to which expert ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integers of MoE dispatch and combine. A *slot* t·K + k is the k-th choice
// of token t of one source rank; a *row* is a slot that travels. All of it is
// arithmetic on counts and ids: no tensor is touched.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_ROUTING_H
#define SHUNT_CORE_ROUTING_H

#include "Shunt/Core/Placement.h"

#include <optional>

namespace shunt {

/// What becomes of rows over the capacity.
enum class Overflow {
  Error,      ///< E_CAPACITY
  DropLast,   ///< the first come stay
  DropLowest, ///< the highest scores stay; of equal ones the first
};

/// What may keep a slot from travelling, beside the id -1.
struct RouteRules {
  /// Most rows that one source sends to one instance.
  std::optional<int64_t> capacity;
  Overflow overflow = Overflow::Error;
  /// One entry per rank, 0 for a rank that is not there: it sends nothing, and
  /// slots whose instance it holds are dropped. Empty: all are there.
  std::vector<uint8_t> active;
};

/// ⌈tokens · topK / experts · factor⌉, the usual capacity of one expert.
/// Errors: E_SIZE (a factor that is negative or no number), E_OVERFLOW.
Result<int64_t> capacityFor(int64_t tokens, int64_t topK, int64_t experts,
                            double factor);

/// The rows of one source rank, stably sorted by instance (so by destination
/// rank, expert, token, choice).
struct Routing {
  /// `ids` has tokens × topK entries, -1 for a slot that is dropped; `scores`
  /// as many, and is needed for `DropLowest` only. O(slots + instances).
  /// Errors: E_SIZE, E_EXPERT_ID (names token, choice and id), E_CAPACITY,
  /// E_OVERFLOW.
  static Result<Routing> create(const Placement &placement, int64_t source,
                                const int32_t *ids, int64_t tokens,
                                int64_t topK, const RouteRules &rules = {},
                                const float *scores = nullptr);
  /// The same into an object that was used before, whose memory is used again:
  /// fresh pages take longer than the sort. After an error it is unspecified.
  MaybeError assign(const Placement &placement, int64_t source,
                    const int32_t *ids, int64_t tokens, int64_t topK,
                    const RouteRules &rules = {},
                    const float *scores = nullptr);

  int64_t rows() const { return slotOf.size(); }
  int64_t slots() const { return instanceOf.size(); }

  /// Compares counts per expert that came with the ids. Errors: E_COUNTS_LEN,
  /// E_EXPERT_COUNTS (the expert, both counts).
  MaybeError checkCounts(const std::vector<int64_t> &perExpert) const;

  int64_t source = 0, tokens = 0, topK = 1;
  /// Of each row: its slot and its token.
  std::vector<int64_t> slotOf, tokenOf;
  /// Of each slot: its row and its instance; -1 if it is dropped.
  std::vector<int64_t> rowOf;
  std::vector<int32_t> instanceOf;
  /// Rows for each instance, and for each rank.
  std::vector<int64_t> counts, sendSplits;
  /// Slots that name each expert, dropped for capacity or not.
  std::vector<int64_t> expertSlots;
};

/// One copy for each (token, destination) instead of one row for each slot;
/// destinations are nodes of `nodeSize` consecutive ranks, the last one maybe
/// smaller. With nodeSize 1 they are ranks.
struct CopyPlan {
  static CopyPlan create(const Placement &placement, const Routing &routing,
                         int64_t nodeSize = 1);

  /// Copies for each destination.
  std::vector<int64_t> counts;
  /// Of each copy its token, ascending inside a destination.
  std::vector<int64_t> tokenOf;
  /// Of each row (sorted order) its copy, counted from the destination's first.
  std::vector<int64_t> copyOf;
};

/// Nodes of `nodeSize` consecutive ranks.
struct Nodes {
  int64_t ranks, size;

  int64_t count() const { return ranks / size + (ranks % size != 0); }
  int64_t nodeOf(int64_t rank) const { return rank / size; }
  int64_t first(int64_t node) const { return node * size; }
  int64_t sizeOf(int64_t node) const {
    return node + 1 < count() ? size : ranks - node * size;
  }
  /// The rank of `node` through which `source` reaches it: the one at the same
  /// place in its node, itself for its own node.
  int64_t forwarder(int64_t source, int64_t node) const {
    return first(node) + source % size % sizeOf(node);
  }
};

/// Rows from every source rank to every instance: what the count exchange
/// gives every rank.
class RouteCounts {
public:
  /// `counts[source * instances + instance]`. Errors: E_COUNTS_LEN,
  /// E_COUNTS_NEG, E_OVERFLOW (in all beyond 2^62).
  static Result<RouteCounts> create(const Placement &placement,
                                    std::vector<int64_t> counts);

  const Placement &placement() const { return where; }
  int64_t ranks() const { return where.ranks(); }
  int64_t rows(int64_t source, int64_t instance) const {
    return table[source * where.instances() + instance];
  }
  /// Rows from `source` to `rank`.
  int64_t rowsBetween(int64_t source, int64_t rank) const;
  /// Rows to each rank; rows from each rank.
  std::vector<int64_t> sendSplits(int64_t source) const;
  std::vector<int64_t> recvSplits(int64_t rank) const;

private:
  RouteCounts(const Placement &placement, std::vector<int64_t> counts)
      : where(placement), table(std::move(counts)) {}

  Placement where;
  std::vector<int64_t> table;
};

/// How the rows that arrive at a rank lie in its buffer.
struct RowOrder {
  /// (expert, source) or (source, expert); inside, the source's own order.
  bool expertMajor = true;
  /// Each expert's rows are padded to a multiple of this; only expert-major.
  int64_t alignment = 1;
  /// An expert without rows gets `alignment` padding rows.
  bool padEmpty = false;
};

/// The buffer of one receiving rank.
struct Arrivals {
  /// Errors: E_ALIGN (alignment < 1, or rows that are not expert-major),
  /// E_OVERFLOW.
  static Result<Arrivals> create(const RouteCounts &counts, int64_t rank,
                                 const RowOrder &order = {});

  int64_t locals() const { return counts.size(); }
  /// First buffer row of what `source` sends to the rank's instance `local`.
  int64_t start(int64_t source, int64_t local) const {
    return starts[source * locals() + local];
  }

  /// Rows of each local instance, without and with padding.
  std::vector<int64_t> counts, padded;
  std::vector<int64_t> starts;
  /// All rows of the buffer, and those that are no padding.
  int64_t rows = 0, validRows = 0;
  /// Of each buffer row: its position in (source, expert) order, as rows come
  /// from an all-to-all; -1 for padding.
  std::vector<int64_t> arrivalOf() const;

private:
  std::vector<int64_t> sourceCounts; // like starts
};

/// Where each slot of a source ends: the rank, and the row of its buffer.
struct Destinations {
  static Result<Destinations> create(const RouteCounts &counts,
                                     const Routing &routing,
                                     const RowOrder &order = {});
  /// The same into an object that was used before.
  MaybeError assign(const RouteCounts &counts, const Routing &routing,
                    const RowOrder &order = {});

  /// Of each slot; -1 if it is dropped.
  std::vector<int32_t> rankOf;
  std::vector<int64_t> rowOf;
};

} // namespace shunt

#endif // SHUNT_CORE_ROUTING_H
