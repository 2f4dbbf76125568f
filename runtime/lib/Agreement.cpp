//===- Agreement.cpp - Checks that the members' calls agree
//----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Text.h"

#include <algorithm>
#include <functional>

namespace shunt::rt {

/// Says which ranks have which value: `rank 0 has 4, ranks [1, 2] have 5`.
static std::string
describeValues(const std::vector<int64_t> &ranks, const Call *const *calls,
               const std::function<std::string(const Call &)> &value) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> holders;
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::string text = value(*calls[i]);
    auto it = std::find_if(holders.begin(), holders.end(),
                           [&](auto &entry) { return entry.first == text; });
    if (it == holders.end())
      it = holders.insert(holders.end(), {text, {}});
    it->second.push_back(ranks[i]);
  }
  std::string text;
  for (auto &[what, who] : holders) {
    if (!text.empty())
      text += ", ";
    text += formatRanks(who) + (who.size() == 1 ? " has " : " have ") + what;
  }
  return text;
}

/// An all_to_all agrees when what each member sends is what its peer expects.
static Error checkPairs(const std::vector<int64_t> &ranks,
                        const Call *const *calls) {
  const int maxNamed = 4;
  int found = 0;
  std::string text;
  for (size_t src = 0; src < ranks.size(); ++src) {
    for (size_t dst = 0; dst < ranks.size(); ++dst) {
      int64_t sent = calls[src]->counts[dst];
      int64_t expected = calls[dst]->recvCounts[src];
      if (sent == expected || ++found > maxNamed)
        continue;
      text += (found > 1 ? "; rank " : "rank ") + std::to_string(ranks[src]) +
              " sends " + std::to_string(sent) + " rows to rank " +
              std::to_string(ranks[dst]) + ", which expects " +
              std::to_string(expected);
    }
  }
  if (!found)
    return {};
  if (found > maxNamed)
    text += "; and " + std::to_string(found - maxNamed) + " more";
  return {SHUNT_MISMATCH, describe(SHUNT_OP_ALL_TO_ALL, ranks) + ": " + text +
                              " [X_COUNTS_DISAGREE]"};
}

static std::string stepName(const Call &call) {
  switch (call.purpose.step) {
  case Purpose::Route:
    return "route";
  case Purpose::Dispatch:
    return "dispatch";
  case Purpose::Combine:
    return "combine";
  default:
    return opName(call.op);
  }
}

Error checkAgreement(const std::vector<int64_t> &ranks,
                     const Call *const *calls) {
  const Call &first = *calls[0];
  int64_t n = static_cast<int64_t>(ranks.size());
  auto differs = [&](auto same) {
    return std::any_of(calls + 1, calls + n,
                       [&](const Call *call) { return !same(*call); });
  };
  // Words only for an error: every call comes here.
  enum Subject { AnyCall, ThisOp };
  auto mismatch = [&](Subject subject, const char *what,
                      const std::function<std::string(const Call &)> &value,
                      const std::string &code = "") {
    std::string text = subject == AnyCall
                           ? "collective over ranks " + formatList(ranks)
                           : describe(first.op, ranks);
    return Error(SHUNT_MISMATCH, text + ": " + what + ": " +
                                     describeValues(ranks, calls, value) +
                                     code);
  };

  if (differs(
          [&](const Call &c) { return c.purpose.step == first.purpose.step; }))
    return mismatch(AnyCall, "ops differ", stepName);
  if (differs([&](const Call &c) { return c.op == first.op; }))
    return mismatch(AnyCall, "ops differ",
                    [](const Call &c) { return opName(c.op); });
  if (differs([&](const Call &c) { return c.sequence == first.sequence; }))
    return mismatch(ThisOp, "call numbers differ",
                    [](const Call &c) { return std::to_string(c.sequence); });
  if (differs([&](const Call &c) {
        return c.purpose.routing == first.purpose.routing;
      }))
    return mismatch(
        ThisOp, "routings differ",
        [](const Call &c) {
          return "the one of call " + std::to_string(c.purpose.routing);
        },
        "; " + stepName(first) + " by the same routing on every rank " +
            "[X_ROUTING]");
  if (differs([&](const Call &c) {
        return c.purpose.dtype == first.purpose.dtype;
      }))
    return mismatch(ThisOp, "dtypes differ",
                    [](const Call &c) { return dtypeName(c.purpose.dtype); });
  if (differs([&](const Call &c) { return c.dtype == first.dtype; }))
    return mismatch(ThisOp, "dtypes differ",
                    [](const Call &c) { return dtypeName(c.dtype); });
  if (differs([&](const Call &c) { return c.rowElems == first.rowElems; }))
    return mismatch(ThisOp, "row_elems differ",
                    [](const Call &c) { return std::to_string(c.rowElems); });

  switch (first.op) {
  case SHUNT_OP_ALL_REDUCE:
    if (differs([&](const Call &c) { return c.inRows == first.inRows; }))
      return mismatch(
          ThisOp, "rows differ",
          [](const Call &c) { return std::to_string(c.inRows); },
          " [X_RAGGED_REDUCE]");
    return {};
  case SHUNT_OP_ALL_GATHER:
  case SHUNT_OP_REDUCE_SCATTER:
    if (differs([&](const Call &c) {
          return std::equal(c.counts, c.counts + n, first.counts);
        }))
      return mismatch(
          ThisOp, "counts differ",
          [n](const Call &c) { return formatList(c.counts, n); },
          " [X_COUNTS_DISAGREE]");
    return {};
  case SHUNT_OP_ALL_TO_ALL:
    return checkPairs(ranks, calls);
  default:
    return {};
  }
}

} // namespace shunt::rt
