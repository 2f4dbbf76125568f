//===- Placement.cpp - see Placement.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Placement.h"

#include "Shunt/Core/Split.h"
#include "Text.h"

namespace shunt {

static MaybeError checkSizes(int64_t experts, int64_t ranks) {
  if (experts < 1 || experts > Placement::kMaxExperts)
    return Error{"E_SIZE", "a placement has 1 to " +
                               std::to_string(Placement::kMaxExperts) +
                               " experts, got " + std::to_string(experts)};
  if (ranks < 1)
    return Error{"E_SIZE", "a placement has at least 1 rank, got " +
                               std::to_string(ranks)};
  return std::nullopt;
}

void Placement::addRank() { firstOf.push_back(expertOf_.size()); }

void Placement::addInstance(int64_t expert) {
  instancesOf[expert].push_back(expertOf_.size());
  expertOf_.push_back(expert);
  rankOf_.push_back(firstOf.size() - 1);
}

Placement Placement::fromBlocks(const std::vector<int64_t> &sizes) {
  Placement placement;
  for (int64_t size : sizes) {
    for (int64_t i = 0; i < size; ++i) {
      placement.instancesOf.emplace_back();
      placement.addInstance(placement.experts() - 1);
    }
    placement.addRank();
  }
  return placement;
}

Result<Placement> Placement::even(int64_t experts, int64_t ranks) {
  if (MaybeError error = checkSizes(experts, ranks))
    return *error;
  if (experts % ranks)
    return Error{"E_PLACEMENT", plural(experts, "expert") +
                                    " cannot be shared equally by " +
                                    plural(ranks, "rank") +
                                    "; use the balanced placement or a table"};
  return fromBlocks(splitRows(experts, ranks, {}));
}

Result<Placement> Placement::balanced(int64_t experts, int64_t ranks) {
  if (MaybeError error = checkSizes(experts, ranks))
    return *error;
  return fromBlocks(splitRows(experts, ranks, {}));
}

Result<Placement>
Placement::fromTable(int64_t experts,
                     const std::vector<std::vector<int64_t>> &table) {
  if (MaybeError error = checkSizes(experts, table.size()))
    return *error;
  Placement placement;
  placement.instancesOf.resize(experts);
  for (size_t rank = 0; rank < table.size(); ++rank) {
    for (int64_t expert : table[rank]) {
      if (expert < 0 || expert >= experts)
        return Error{"E_PLACEMENT",
                     "the placement gives rank " + std::to_string(rank) +
                         " expert " + std::to_string(expert) +
                         ", but there are " + plural(experts, "expert")};
      placement.addInstance(expert);
    }
    placement.addRank();
  }
  for (int64_t expert = 0; expert < experts; ++expert)
    if (placement.instancesOf[expert].empty())
      return Error{"E_PLACEMENT", "the placement gives expert " +
                                      std::to_string(expert) +
                                      " to no rank; every expert of " +
                                      std::to_string(experts) + " needs one"};
  return placement;
}

} // namespace shunt
