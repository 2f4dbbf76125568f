//===- Text.cpp - see Text.h
//-----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"

namespace shunt::rt {

const char *opName(shunt_op op) {
  switch (op) {
  case SHUNT_OP_BARRIER:
    return "barrier";
  case SHUNT_OP_ALL_REDUCE:
    return "all_reduce";
  case SHUNT_OP_ALL_GATHER:
    return "all_gather";
  case SHUNT_OP_REDUCE_SCATTER:
    return "reduce_scatter";
  case SHUNT_OP_ALL_TO_ALL:
    return "all_to_all";
  default:
    return "unknown op";
  }
}

std::string dtypeName(shunt_dtype dtype) {
  switch (dtype) {
  case SHUNT_F32:
    return "f32";
  case SHUNT_BF16:
    return "bf16";
  case SHUNT_F16:
    return "f16";
  case SHUNT_I32:
    return "i32";
  case SHUNT_I64:
    return "i64";
  case SHUNT_F8E4M3:
    return "f8e4m3";
  default:
    return "dtype " + std::to_string(dtype);
  }
}

std::string formatList(const int64_t *values, int64_t n) {
  std::string text = "[";
  for (int64_t i = 0; i < n; ++i) {
    if (i)
      text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

std::string formatList(const std::vector<int64_t> &values) {
  return formatList(values.data(), static_cast<int64_t>(values.size()));
}

std::string formatRanks(const std::vector<int64_t> &ranks) {
  if (ranks.size() == 1)
    return "rank " + std::to_string(ranks.front());
  return "ranks " + formatList(ranks);
}

std::string describe(shunt_op op, const std::vector<int64_t> &ranks) {
  return std::string(opName(op)) + " over ranks " + formatList(ranks);
}

} // namespace shunt::rt
