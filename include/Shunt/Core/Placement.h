//===- Placement.h - Which ranks hold which experts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_PLACEMENT_H
#define SHUNT_CORE_PLACEMENT_H

#include "Shunt/Core/Error.h"

#include <cstdint>
#include <vector>

namespace shunt {

/// Where the experts of one layer live, among the ranks of an expert group
/// (ranks are positions in the group here). A rank holds *instances*: an expert
/// with several instances is replicated. Instances are numbered rank by rank,
/// so rows sorted by instance are also sorted by destination rank.
class Placement {
public:
  /// More would be a mistake, and take memory before anyone finds out.
  static constexpr int64_t kMaxExperts = int64_t(1) << 20;
  /// Choices of a token, at most this many.
  static constexpr int64_t kMaxTopK = int64_t(1) << 20;

  /// Contiguous blocks of equal size. Errors: E_SIZE, E_PLACEMENT (experts that
  /// the ranks do not divide).
  static Result<Placement> even(int64_t experts, int64_t ranks);
  /// Contiguous blocks by the balanced split rule: the first experts % ranks
  /// ranks hold one more. Errors: E_SIZE.
  static Result<Placement> balanced(int64_t experts, int64_t ranks);
  /// `table[rank]` lists the experts of each of the rank's instances.
  /// Errors: E_SIZE, E_PLACEMENT (an expert out of range, or held by no rank).
  static Result<Placement>
  fromTable(int64_t experts, const std::vector<std::vector<int64_t>> &table);

  int64_t experts() const { return instancesOf.size(); }
  int64_t ranks() const { return firstOf.size() - 1; }
  int64_t instances() const { return expertOf_.size(); }

  int64_t expertOf(int64_t instance) const { return expertOf_[instance]; }
  int64_t rankOf(int64_t instance) const { return rankOf_[instance]; }
  /// Position among the instances of its rank.
  int64_t localOf(int64_t instance) const {
    return instance - firstOf[rankOf_[instance]];
  }
  int64_t firstInstance(int64_t rank) const { return firstOf[rank]; }
  int64_t localInstances(int64_t rank) const {
    return firstOf[rank + 1] - firstOf[rank];
  }
  /// The instances of an expert, ascending: at least one.
  const std::vector<int64_t> &replicas(int64_t expert) const {
    return instancesOf[expert];
  }
  /// The instance to which rank `source` sends the rows of an expert: replica
  /// number source mod replicas, so that sources spread over the replicas and
  /// every rank computes the same answer.
  int64_t instanceFor(int64_t expert, int64_t source) const {
    const std::vector<int64_t> &all = instancesOf[expert];
    return all[source % static_cast<int64_t>(all.size())];
  }

private:
  static Placement fromBlocks(const std::vector<int64_t> &sizes);
  void addRank();
  void addInstance(int64_t expert);

  std::vector<int64_t> expertOf_, rankOf_;
  std::vector<int64_t> firstOf = {0};
  std::vector<std::vector<int64_t>> instancesOf;
};

} // namespace shunt

#endif // SHUNT_CORE_PLACEMENT_H
