//===- Routing.cpp - The rows of one source rank ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Routing.h"

#include "Text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shunt {

Result<int64_t> capacityFor(int64_t tokens, int64_t topK, int64_t experts,
                            double factor) {
  if (experts < 1)
    return Error{"E_SIZE", "a capacity is for at least 1 expert, got " +
                               std::to_string(experts)};
  if (!(factor >= 0))
    return Error{"E_SIZE", "capacity factor is " + std::to_string(factor) +
                               ", expected at least 0"};
  // A factor such as 1.1 is a little more than that in binary; without the
  // allowance 10 rows would need a capacity of 12.
  long double exact =
      static_cast<long double>(tokens) * topK / experts * factor;
  long double rows = std::ceil(exact * (1 - 1e-12L));
  if (!(rows < std::ldexp(1.0L, 62)))
    return Error{"E_OVERFLOW",
                 "a capacity of factor " + std::to_string(factor) + " for " +
                     plural(tokens, "token") + " is more than 2^62 rows"};
  return static_cast<int64_t>(rows);
}

static MaybeError checkShape(const Placement &placement, int64_t source,
                             int64_t tokens, int64_t topK,
                             const RouteRules &rules) {
  if (source < 0 || source >= placement.ranks())
    return Error{"E_SIZE", "source rank is " + std::to_string(source) +
                               ", but the group has " +
                               plural(placement.ranks(), "rank")};
  if (tokens < 0 || topK < 1)
    return Error{"E_SIZE", "routing has " + plural(tokens, "token") + " and " +
                               plural(topK, "choice") +
                               " per token; expected at least 0 and 1"};
  if (tokens > std::numeric_limits<int64_t>::max() / 16 / topK)
    return Error{"E_OVERFLOW", plural(tokens, "token") + " with " +
                                   plural(topK, "choice") +
                                   " each are more slots than 64 bits count"};
  if (placement.instances() > std::numeric_limits<int32_t>::max() - 1)
    return Error{"E_OVERFLOW", plural(placement.instances(), "expert") +
                                   " are more than ids of 32 bits name"};
  if (rules.capacity && *rules.capacity < 0)
    return Error{"E_CAPACITY", "capacity is " +
                                   std::to_string(*rules.capacity) +
                                   ", expected at least 0"};
  if (!rules.active.empty() &&
      static_cast<int64_t>(rules.active.size()) != placement.ranks())
    return Error{"E_COUNTS_LEN", "active has " +
                                     plural(rules.active.size(), "entry") +
                                     ", expected one for each of the " +
                                     plural(placement.ranks(), "rank")};
  return std::nullopt;
}

/// The instance that serves each expert for this source; -1 where the rules
/// keep its rows from travelling.
static std::vector<int32_t> chooseInstances(const Placement &placement,
                                            int64_t source,
                                            const RouteRules &rules) {
  auto isActive = [&](int64_t rank) {
    return rules.active.empty() || rules.active[rank];
  };
  std::vector<int32_t> chosen(placement.experts(), -1);
  if (!isActive(source))
    return chosen;
  for (int64_t expert = 0; expert < placement.experts(); ++expert) {
    int64_t instance = placement.instanceFor(expert, source);
    if (isActive(placement.rankOf(instance)))
      chosen[expert] = static_cast<int32_t>(instance);
  }
  return chosen;
}

/// Names each slot's instance and counts; the index of the first slot whose id
/// is wrong, or -1.
static int64_t assignInstances(Routing &routing, const int32_t *ids,
                               const std::vector<int32_t> &chosen) {
  // Plain pointers, since stores through vectors make the compiler load the
  // vectors again.
  uint32_t experts = static_cast<uint32_t>(chosen.size());
  const int32_t *instances = chosen.data();
  int32_t *instanceOf = routing.instanceOf.data();
  int64_t *expertSlots = routing.expertSlots.data();
  for (int64_t slot = 0, n = routing.slots(); slot < n; ++slot) {
    uint32_t id = static_cast<uint32_t>(ids[slot]);
    if (id < experts) {
      ++expertSlots[id];
      instanceOf[slot] = instances[id];
    } else if (ids[slot] == -1) {
      instanceOf[slot] = -1;
    } else {
      return slot;
    }
  }
  // Experts whose rows may not travel have no instance.
  for (uint32_t expert = 0; expert < experts; ++expert)
    if (instances[expert] >= 0)
      routing.counts[instances[expert]] += expertSlots[expert];
  return -1;
}

/// Drops rows over the capacity.
static MaybeError limitRows(const Placement &placement, Routing &routing,
                            const RouteRules &rules, const float *scores) {
  int64_t limit = *rules.capacity;
  for (int64_t instance = 0; instance < placement.instances(); ++instance) {
    if (routing.counts[instance] <= limit)
      continue;
    if (rules.overflow == Overflow::Error)
      return Error{"E_CAPACITY",
                   "rank " + std::to_string(routing.source) + " sends " +
                       plural(routing.counts[instance], "row") + " to expert " +
                       std::to_string(placement.expertOf(instance)) +
                       " on rank " +
                       std::to_string(placement.rankOf(instance)) +
                       ", over the capacity of " + std::to_string(limit) +
                       "; use a larger capacity, or let rows be dropped"};
    if (rules.overflow == Overflow::DropLowest && !scores)
      return Error{"E_CAPACITY", "dropping the lowest scores needs scores"};
  }

  std::vector<std::vector<int64_t>> slots(placement.instances());
  for (int64_t slot = 0, n = routing.slots(); slot < n; ++slot)
    if (int32_t instance = routing.instanceOf[slot];
        instance >= 0 && routing.counts[instance] > limit)
      slots[instance].push_back(slot);
  for (size_t instance = 0; instance < slots.size(); ++instance) {
    std::vector<int64_t> &mine = slots[instance];
    if (mine.empty())
      continue;
    if (rules.overflow == Overflow::DropLowest)
      std::sort(mine.begin(), mine.end(), [&](int64_t a, int64_t b) {
        // A score that is no number comes last, so that this is an order.
        bool noA = std::isnan(scores[a]), noB = std::isnan(scores[b]);
        if (noA || noB)
          return noA == noB ? a < b : noB;
        return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
      });
    for (size_t i = limit; i < mine.size(); ++i)
      routing.instanceOf[mine[i]] = -1;
    routing.counts[instance] = limit;
  }
  return std::nullopt;
}

/// A stable counting sort of the slots by instance.
static void sortSlots(Routing &routing) {
  std::vector<int64_t> next(routing.counts.size());
  int64_t rows = 0;
  for (size_t i = 0; i < next.size(); ++i) {
    next[i] = rows;
    rows += routing.counts[i];
  }
  routing.slotOf.resize(rows);
  routing.tokenOf.resize(rows);
  routing.rowOf.resize(routing.slots());
  int64_t *slotOf = routing.slotOf.data(), *tokenOf = routing.tokenOf.data();
  int64_t *rowOf = routing.rowOf.data(), *nextRow = next.data();
  const int32_t *instanceOf = routing.instanceOf.data();
  int64_t tokens = routing.tokens, topK = routing.topK;
  for (int64_t token = 0, slot = 0; token < tokens; ++token)
    for (int64_t k = 0; k < topK; ++k, ++slot) {
      int32_t instance = instanceOf[slot];
      if (instance < 0) {
        rowOf[slot] = -1;
        continue;
      }
      int64_t row = nextRow[instance]++;
      slotOf[row] = slot;
      tokenOf[row] = token;
      rowOf[slot] = row;
    }
}

Result<Routing> Routing::create(const Placement &placement, int64_t source,
                                const int32_t *ids, int64_t tokens,
                                int64_t topK, const RouteRules &rules,
                                const float *scores) {
  Routing routing;
  if (MaybeError error =
          routing.assign(placement, source, ids, tokens, topK, rules, scores))
    return *error;
  return routing;
}

MaybeError Routing::assign(const Placement &placement, int64_t from,
                           const int32_t *ids, int64_t numTokens,
                           int64_t choices, const RouteRules &rules,
                           const float *scores) {
  if (MaybeError error = checkShape(placement, from, numTokens, choices, rules))
    return error;
  source = from;
  tokens = numTokens;
  topK = choices;
  instanceOf.resize(tokens * topK);
  counts.assign(placement.instances(), 0);
  expertSlots.assign(placement.experts(), 0);

  std::vector<int32_t> chosen = chooseInstances(placement, source, rules);
  int64_t wrong = assignInstances(*this, ids, chosen);
  if (wrong >= 0)
    return Error{"E_EXPERT_ID",
                 "token " + std::to_string(wrong / topK) + ", slot " +
                     std::to_string(wrong % topK) + " of rank " +
                     std::to_string(source) + " names expert " +
                     std::to_string(ids[wrong]) + "; want 0 to " +
                     std::to_string(placement.experts() - 1) +
                     ", or -1 for a dropped slot"};
  if (rules.capacity)
    if (MaybeError error = limitRows(placement, *this, rules, scores))
      return error;
  sortSlots(*this);

  sendSplits.assign(placement.ranks(), 0);
  for (int64_t i = 0; i < placement.instances(); ++i)
    sendSplits[placement.rankOf(i)] += counts[i];
  return std::nullopt;
}

MaybeError Routing::checkCounts(const std::vector<int64_t> &perExpert) const {
  if (perExpert.size() != expertSlots.size())
    return Error{"E_COUNTS_LEN",
                 "got " + plural(perExpert.size(), "count") + "; want " +
                     std::to_string(expertSlots.size()) + " (one per expert)"};
  for (size_t expert = 0; expert < perExpert.size(); ++expert)
    if (perExpert[expert] != expertSlots[expert])
      return Error{"E_EXPERT_COUNTS",
                   "expert " + std::to_string(expert) + " is named by " +
                       plural(expertSlots[expert], "slot") + " of rank " +
                       std::to_string(source) + ", but its given count is " +
                       std::to_string(perExpert[expert]) +
                       "; count slots, not tokens"};
  return std::nullopt;
}

CopyPlan CopyPlan::create(const Placement &placement, const Routing &routing,
                          int64_t nodeSize) {
  Nodes nodes{placement.ranks(), nodeSize};
  CopyPlan plan;
  plan.counts.resize(nodes.count());
  std::vector<int64_t> lastToken(nodes.count(), -1);
  std::vector<int64_t> copyOfSlot(routing.slots(), -1);
  // Once to count, so that each copy can then be put at its place.
  for (int64_t token = 0, slot = 0; token < routing.tokens; ++token)
    for (int64_t k = 0; k < routing.topK; ++k, ++slot) {
      int32_t instance = routing.instanceOf[slot];
      if (instance < 0)
        continue;
      int64_t to = nodes.nodeOf(placement.rankOf(instance));
      if (lastToken[to] != token) {
        lastToken[to] = token;
        ++plan.counts[to];
      }
      copyOfSlot[slot] = plan.counts[to] - 1;
    }

  std::vector<int64_t> first(nodes.count());
  int64_t copies = 0;
  for (int64_t i = 0; i < nodes.count(); ++i) {
    first[i] = copies;
    copies += plan.counts[i];
  }
  plan.tokenOf.resize(copies);
  plan.copyOf.resize(routing.rows());
  for (int64_t row = 0; row < routing.rows(); ++row) {
    int64_t slot = routing.slotOf[row];
    int64_t to = nodes.nodeOf(placement.rankOf(routing.instanceOf[slot]));
    plan.copyOf[row] = copyOfSlot[slot];
    plan.tokenOf[first[to] + copyOfSlot[slot]] = routing.tokenOf[row];
  }
  return plan;
}

} // namespace shunt
