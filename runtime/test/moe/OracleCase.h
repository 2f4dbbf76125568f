//===- OracleCase.h - The dispatch oracle's cases for the C API -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_MOE_ORACLECASE_H
#define SHUNT_RUNTIME_TEST_MOE_ORACLECASE_H

#include "DispatchCases.h"
#include "MoeCase.h"

namespace shunt::rt::test {

using shunt::test::Json;
using Rows = std::vector<std::vector<double>>;

inline shunt_dtype dtypeOf(const Json &spec) {
  return spec.value("dtype", "f32") == "bf16" ? SHUNT_BF16 : SHUNT_F32;
}

inline Bytes pack(const Json &rows, shunt_dtype dtype) {
  auto values = shunt::test::flatten<float>(rows);
  Bytes bytes(values.size() * shunt_dtype_size(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    writeElem(bytes, i, values[i], dtype);
  return bytes;
}

inline Rows unpack(const Bytes &bytes, int64_t elems, shunt_dtype dtype) {
  Rows rows(bytes.size() / (elems * shunt_dtype_size(dtype)));
  for (size_t row = 0; row < rows.size(); ++row)
    for (int64_t i = 0; i < elems; ++i)
      rows[row].push_back(readElem(bytes, row * elems + i, dtype));
  return rows;
}

/// The oracle's experts.
inline std::vector<double> runExpert(const std::string &name, int64_t expert,
                                     const std::vector<double> &row) {
  std::vector<double> out;
  double sum = 0;
  for (double value : row)
    sum += value;
  for (size_t d = 0; d < row.size(); ++d) {
    double scaled = static_cast<double>(expert + 1) * row[d];
    out.push_back(name == "identity" ? row[d]
                  : name == "scale"  ? scaled
                  : name == "affine" ? scaled + static_cast<double>(d)
                  : name == "square" ? row[d] * row[d]
                                     : scaled + sum);
  }
  return out;
}

/// Options of the C API, with the memory that they point to.
struct CaseOptions {
  explicit CaseOptions(const Json &spec) {
    options.experts = spec["num_experts"];
    options.top_k = spec["top_k"];
    options.alignment = spec.value("alignment", int64_t(1));
    options.pad_empty = spec.value("pad_empty", false);
    options.node_size = shunt::test::nodeSizeOf(spec);
    std::string position = spec.value("score_position", "after");
    options.score = position == "after"    ? SHUNT_MOE_SCORE_AFTER
                    : position == "before" ? SHUNT_MOE_SCORE_BEFORE
                                           : SHUNT_MOE_SCORE_NONE;
    setSum(spec.value("reduce", Json::object()));
    if (spec.contains("placement") && spec["placement"].is_array()) {
      options.placement = SHUNT_MOE_TABLE;
      for (const Json &mine : spec["placement"]) {
        sizes.push_back(mine.size());
        for (int64_t expert : mine)
          table.push_back(expert);
      }
    } else if (spec.value("placement", "even") == "ceil_floor") {
      options.placement = SHUNT_MOE_BALANCED;
    }
    if (spec.contains("active_ranks"))
      active = spec["active_ranks"].get<std::vector<uint8_t>>();
    options.table_sizes = sizes.data();
    options.table = table.data();
    options.active = active.empty() ? nullptr : active.data();
    if (spec.contains("capacity"))
      options.overflow = spec["capacity"]["policy"] == "score"
                             ? SHUNT_MOE_OVERFLOW_DROP_LOWEST
                             : SHUNT_MOE_OVERFLOW_DROP_LAST;
  }

  void setSum(const Json &reduce) {
    const std::pair<const char *, shunt_moe_order> orders[] = {
        {"expert", SHUNT_MOE_ORDER_EXPERT},
        {"slot", SHUNT_MOE_ORDER_SLOT},
        {"rank_slot", SHUNT_MOE_ORDER_RANK_SLOT},
        {"node_rank_slot", SHUNT_MOE_ORDER_NODE_RANK_SLOT},
        {"tree", SHUNT_MOE_ORDER_TREE}};
    for (auto [name, order] : orders)
      if (reduce.value("order", "expert") == name)
        options.order = order;
    options.round_sums = reduce.value("acc", "f32") == "storage";
    options.round_products = reduce.value("product", "storage") == "storage";
    options.round_partials = reduce.value("partial", "f32") == "storage";
  }

  shunt_moe_options options = {};
  Ints sizes, table;
  std::vector<uint8_t> active;
};

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_MOE_ORACLECASE_H
