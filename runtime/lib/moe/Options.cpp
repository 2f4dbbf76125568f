//===- Options.cpp - What a dispatcher is asked to do ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Text.h"

#include <utility>

namespace shunt::rt {

Error invalidOption(const std::string &message) {
  return {SHUNT_INVALID_ARGUMENT, "moe options: " + message};
}

/// Checks that a value is one of an enum's.
static Error checkEnum(const char *name, int32_t value, int32_t last) {
  if (value >= 0 && value <= last)
    return {};
  return invalidOption(std::string(name) + " is " + std::to_string(value) +
                       ", expected 0 to " + std::to_string(last));
}

Error resolveOptions(shunt_moe_options &options) {
  const struct {
    const char *name;
    int32_t value, last;
  } enums[] = {
      {"placement", options.placement, SHUNT_MOE_TABLE},
      {"algorithm", options.algorithm, SHUNT_MOE_HIERARCHICAL},
      {"layout", options.layout, SHUNT_MOE_RANK_MAJOR},
      {"score", options.score, SHUNT_MOE_SCORE_NONE},
      {"order", options.order, SHUNT_MOE_ORDER_TREE},
      {"overflow", options.overflow, SHUNT_MOE_OVERFLOW_DROP_LOWEST},
  };
  for (auto &[name, value, last] : enums)
    if (Error error = checkEnum(name, value, last))
      return error;
  for (auto [name, value] : {std::pair("threads", &options.threads),
                             std::pair("node_size", &options.node_size),
                             std::pair("alignment", &options.alignment)}) {
    if (*value < 0)
      return invalidOption(std::string(name) + " is " + std::to_string(*value) +
                           ", expected at least 0");
    if (*value == 0)
      *value = 1;
  }
  for (auto [name, value] : {std::pair("bound", options.bound),
                             std::pair("capacity", options.capacity)})
    if (value < 0)
      return invalidOption(std::string(name) + " is " + std::to_string(value) +
                           ", expected at least 0");
  const int64_t mostThreads = 1024;
  if (options.threads > mostThreads)
    return invalidOption("threads is " + std::to_string(options.threads) +
                         ", expected at most " + std::to_string(mostThreads));
  // Every choice of a token travels with it: keeps sums of counts in range.
  const int64_t mostChoices = 1 << 20;
  if (options.top_k < 1 || options.top_k > mostChoices)
    return invalidOption("top_k is " + std::to_string(options.top_k) +
                         ", expected 1 to " + std::to_string(mostChoices));
  if (options.layout == SHUNT_MOE_RANK_MAJOR &&
      (options.alignment > 1 || options.pad_empty))
    return invalidOption("only expert-major rows can be padded; alignment is " +
                         std::to_string(options.alignment) + " [E_ALIGN]");
  if (options.static_counts) {
    if (options.algorithm != SHUNT_MOE_ALL_TO_ALL || options.capacity ||
        options.active)
      return invalidOption("static_counts need all_to_all, without capacity "
                           "and active: these ask for what the ids say");
    for (int64_t i = 0; i < options.experts; ++i)
      if (options.static_counts[i] < 0)
        return invalidOption("static_counts has " +
                             std::to_string(options.static_counts[i]) +
                             " for expert " + std::to_string(i) +
                             ", expected at least 0 [E_COUNTS_NEG]");
  }
  if (options.overflow == SHUNT_MOE_OVERFLOW_DROP_LOWEST &&
      options.score == SHUNT_MOE_SCORE_NONE && options.capacity)
    return invalidOption("dropping the lowest scores needs scores");
  return {};
}

Error placeExperts(const shunt_moe_options &options, int64_t ranks,
                   std::optional<Placement> &placement) {
  auto take = [&](Result<Placement> result) -> Error {
    if (!result)
      return invalidOption(result.error().str());
    placement = std::move(*result);
    return {};
  };
  if (options.placement == SHUNT_MOE_EVEN)
    return take(Placement::even(options.experts, ranks));
  if (options.placement == SHUNT_MOE_BALANCED)
    return take(Placement::balanced(options.experts, ranks));

  if (!options.table_sizes)
    return invalidOption("table_sizes is null, but the placement is a table");
  std::vector<std::vector<int64_t>> table(ranks);
  const int64_t *next = options.table;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t size = options.table_sizes[rank];
    if (size < 0 || size > INT32_MAX)
      return invalidOption("table_sizes gives rank " + std::to_string(rank) +
                           " of the group " + std::to_string(size) +
                           " experts");
    if (size && !next)
      return invalidOption("table is null, but the placement is a table");
    if (size) {
      table[rank].assign(next, next + size);
      next += size;
    }
  }
  return take(Placement::fromTable(options.experts, table));
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

/// FNV-1a, the same on every machine.
static int64_t hashOf(const std::vector<int64_t> &values) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t value : values)
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ ((static_cast<uint64_t>(value) >> shift) & 0xff)) *
             0x100000001b3;
  return static_cast<int64_t>(hash);
}

std::vector<int64_t> agreementWords(const shunt_moe_options &o,
                                    const Placement &placement,
                                    const std::vector<uint8_t> &active,
                                    const std::vector<int64_t> &staticCounts,
                                    bool direct) {
  std::vector<int64_t> table;
  for (int64_t i = 0; i < placement.instances(); ++i) {
    table.push_back(placement.expertOf(i));
    table.push_back(placement.rankOf(i));
  }
  std::vector<int64_t> alive(active.begin(), active.end());
  return {o.experts,
          o.top_k,
          o.node_size,
          o.alignment,
          o.bound,
          o.capacity,
          o.algorithm,
          o.layout,
          o.score,
          o.order,
          o.overflow,
          o.pad_empty != 0,
          o.round_sums != 0,
          o.round_products != 0,
          o.round_partials != 0,
          direct,
          hashOf(table),
          hashOf(alive),
          hashOf(staticCounts)};
}

static const char *const wordNames[] = {
    "experts",       "top_k",          "node_size",      "alignment",
    "bound",         "capacity",       "algorithm",      "layout",
    "score",         "order",          "overflow",       "pad_empty",
    "round_sums",    "round_products", "round_partials", "no_direct",
    "the placement", "active",         "static_counts"};

/// Words that are hashes, which say nothing to a reader.
static bool isHash(size_t word) { return word >= 16; }

Error checkWords(const std::vector<int64_t> &all,
                 const std::vector<int64_t> &ranks) {
  size_t words = all.size() / ranks.size();
  for (size_t word = 0; word < words; ++word)
    for (size_t member = 1; member < ranks.size(); ++member) {
      int64_t first = all[word], other = all[member * words + word];
      if (first == other)
        continue;
      std::string text = "moe options over ranks " + formatList(ranks) + ": " +
                         wordNames[word] + " differs: ";
      if (isHash(word))
        text += "rank " + std::to_string(ranks[member]) +
                " has another than rank " + std::to_string(ranks[0]);
      else
        text += "rank " + std::to_string(ranks[0]) + " has " +
                std::to_string(first) + ", rank " +
                std::to_string(ranks[member]) + " has " + std::to_string(other);
      return {SHUNT_MISMATCH, text + " [X_ROUTE_OPTIONS]"};
    }
  return {};
}

} // namespace shunt::rt
