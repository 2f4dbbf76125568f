//===- DispatchCases.h - Reads the dispatch oracle's cases ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TEST_UNIT_CORE_DISPATCHCASES_H
#define SHUNT_TEST_UNIT_CORE_DISPATCHCASES_H

#include "Shunt/Core/Routing.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace shunt::test {

using Json = nlohmann::json;

inline const Json &dispatchCases() {
  static const Json json = [] {
    std::ifstream file(SHUNT_TEST_DATA "/cases_dispatch.json");
    return Json::parse(file);
  }();
  return json["cases"];
}

/// The cases of one kind; "plain" if it names none.
inline std::vector<std::string> dispatchCaseNames(const std::string &kind) {
  std::vector<std::string> names;
  for (const Json &one : dispatchCases())
    if (one["spec"].value("kind", "plain") == kind)
      names.push_back(one["spec"]["name"]);
  // A loop over no cases would test nothing.
  if (names.empty())
    throw std::runtime_error("no dispatch cases of kind " + kind);
  return names;
}

inline const Json &dispatchCase(const std::string &name) {
  for (const Json &one : dispatchCases())
    if (one["spec"]["name"] == name)
      return one;
  return dispatchCases();
}

/// The placement of a case in the oracle's words.
inline Result<Placement> placementOf(const Json &spec) {
  int64_t experts = spec["num_experts"], ranks = spec["ep"];
  if (!spec.contains("placement") || spec["placement"] == "even")
    return Placement::even(experts, ranks);
  if (spec["placement"] == "ceil_floor")
    return Placement::balanced(experts, ranks);
  return Placement::fromTable(
      experts, spec["placement"].get<std::vector<std::vector<int64_t>>>());
}

template <typename T> std::vector<T> flatten(const Json &rows) {
  std::vector<T> values;
  for (const Json &row : rows)
    for (const Json &value : row)
      values.push_back(value.get<T>());
  return values;
}

/// Consecutive ranks on each node; the oracle lists the node of each rank.
inline int64_t nodeSizeOf(const Json &spec) {
  if (!spec.contains("node_of_rank"))
    return 1;
  int64_t size = 0;
  for (int64_t node : spec["node_of_rank"])
    size += node == 0;
  return size;
}

inline RowOrder orderOf(const Json &spec) {
  RowOrder order;
  order.alignment = spec.value("alignment", int64_t(1));
  order.padEmpty = spec.value("pad_empty", false);
  return order;
}

} // namespace shunt::test

#endif // SHUNT_TEST_UNIT_CORE_DISPATCHCASES_H
