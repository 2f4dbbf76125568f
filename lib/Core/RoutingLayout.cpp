//===- RoutingLayout.cpp - Counts of all ranks, and buffers ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Routing.h"
#include "Shunt/Core/RowArithmetic.h"

#include "Text.h"

namespace shunt {

/// Sums stay below this, so that a sum of two never overflows.
static constexpr int64_t mostRows = int64_t(1) << 62;

Result<RouteCounts> RouteCounts::create(const Placement &placement,
                                        std::vector<int64_t> counts) {
  int64_t instances = placement.instances();
  int64_t want = placement.ranks() * instances;
  if (static_cast<int64_t>(counts.size()) != want)
    return Error{"E_COUNTS_LEN", "got " + plural(counts.size(), "count") +
                                     "; want " + std::to_string(want) +
                                     " (one per source rank and expert)"};
  int64_t sum = 0;
  for (int64_t i = 0; i < want; ++i) {
    if (counts[i] < 0)
      return Error{"E_COUNTS_NEG",
                   "rank " + std::to_string(i / instances) + " sends " +
                       std::to_string(counts[i]) + " rows to expert " +
                       std::to_string(placement.expertOf(i % instances)) +
                       "; a count is at least 0"};
    if (counts[i] > mostRows - sum)
      return Error{"E_OVERFLOW", "the rows of all ranks are more than 2^62"};
    sum += counts[i];
  }
  return RouteCounts(placement, std::move(counts));
}

int64_t RouteCounts::rowsBetween(int64_t source, int64_t rank) const {
  int64_t sum = 0, first = where.firstInstance(rank);
  for (int64_t local = 0; local < where.localInstances(rank); ++local)
    sum += rows(source, first + local);
  return sum;
}

std::vector<int64_t> RouteCounts::sendSplits(int64_t source) const {
  std::vector<int64_t> splits;
  for (int64_t rank = 0; rank < ranks(); ++rank)
    splits.push_back(rowsBetween(source, rank));
  return splits;
}

std::vector<int64_t> RouteCounts::recvSplits(int64_t rank) const {
  std::vector<int64_t> splits;
  for (int64_t source = 0; source < ranks(); ++source)
    splits.push_back(rowsBetween(source, rank));
  return splits;
}

/// Rows of one expert with padding; nothing if they are too many.
static std::optional<int64_t> padRows(int64_t rows, const RowOrder &order) {
  if (unitsOf(rows, order.alignment) > mostRows / order.alignment)
    return std::nullopt;
  return paddedRows(rows, order.alignment, order.padEmpty);
}

Result<Arrivals> Arrivals::create(const RouteCounts &counts, int64_t rank,
                                  const RowOrder &order) {
  if (order.alignment < 1 || order.alignment > mostRows)
    return Error{"E_ALIGN", "alignment is " + std::to_string(order.alignment) +
                                " rows, expected at least 1"};
  if (!order.expertMajor && (order.alignment > 1 || order.padEmpty))
    return Error{"E_ALIGN", "only expert-major rows can be padded to " +
                                plural(order.alignment, "row") +
                                "; a rank-major expert has many segments"};
  const Placement &placement = counts.placement();
  int64_t first = placement.firstInstance(rank);
  int64_t locals = placement.localInstances(rank);
  int64_t sources = counts.ranks();

  Arrivals result;
  result.counts.resize(locals);
  result.starts.resize(sources * locals);
  result.sourceCounts.resize(sources * locals);
  for (int64_t source = 0; source < sources; ++source)
    for (int64_t local = 0; local < locals; ++local) {
      int64_t rows = counts.rows(source, first + local);
      result.sourceCounts[source * locals + local] = rows;
      result.counts[local] += rows;
      result.validRows += rows;
    }

  if (!order.expertMajor) {
    result.padded = result.counts;
    for (size_t i = 0; i < result.starts.size(); ++i) {
      result.starts[i] = result.rows;
      result.rows += result.sourceCounts[i];
    }
    return result;
  }
  for (int64_t local = 0; local < locals; ++local) {
    std::optional<int64_t> padded = padRows(result.counts[local], order);
    if (!padded || *padded > mostRows - result.rows)
      return Error{"E_OVERFLOW", "rows of rank " + std::to_string(rank) +
                                     " padded to multiples of " +
                                     std::to_string(order.alignment) +
                                     " are more than 2^62"};
    int64_t at = result.rows;
    for (int64_t source = 0; source < sources; ++source) {
      result.starts[source * locals + local] = at;
      at += result.sourceCounts[source * locals + local];
    }
    result.padded.push_back(*padded);
    result.rows += *padded;
  }
  return result;
}

std::vector<int64_t> Arrivals::arrivalOf() const {
  std::vector<int64_t> arrivals(rows, -1);
  int64_t arrival = 0;
  for (size_t i = 0; i < starts.size(); ++i)
    for (int64_t row = 0; row < sourceCounts[i]; ++row)
      arrivals[starts[i] + row] = arrival++;
  return arrivals;
}

Result<Destinations> Destinations::create(const RouteCounts &counts,
                                          const Routing &routing,
                                          const RowOrder &order) {
  Destinations result;
  if (MaybeError error = result.assign(counts, routing, order))
    return *error;
  return result;
}

MaybeError Destinations::assign(const RouteCounts &counts,
                                const Routing &routing, const RowOrder &order) {
  const Placement &placement = counts.placement();
  std::vector<int64_t> next(placement.instances());
  for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
    Result<Arrivals> arrivals = Arrivals::create(counts, rank, order);
    if (!arrivals)
      return arrivals.error();
    for (int64_t local = 0; local < arrivals->locals(); ++local)
      next[placement.firstInstance(rank) + local] =
          arrivals->start(routing.source, local);
  }
  std::vector<int32_t> ranks(placement.instances());
  for (int64_t i = 0; i < placement.instances(); ++i)
    ranks[i] = static_cast<int32_t>(placement.rankOf(i));
  int64_t slots = routing.slots();
  rankOf.resize(slots);
  rowOf.resize(slots);
  // Plain pointers, as in the sort. Slots ascend, so this is the stable order
  // of every instance.
  const int32_t *instanceOf = routing.instanceOf.data();
  int32_t *rankOfSlot = rankOf.data();
  int64_t *rowOfSlot = rowOf.data(), *nextRow = next.data();
  for (int64_t slot = 0; slot < slots; ++slot) {
    int32_t instance = instanceOf[slot];
    rankOfSlot[slot] = instance < 0 ? -1 : ranks[instance];
    rowOfSlot[slot] = instance < 0 ? -1 : nextRow[instance]++;
  }
  return std::nullopt;
}

} // namespace shunt
