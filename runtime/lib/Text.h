//===- Text.h - Words for messages
//-----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEXT_H
#define SHUNT_RUNTIME_TEXT_H

#include "shunt/runtime.h"

#include <string>
#include <vector>

namespace shunt::rt {

/// `all_gather`.
const char *opName(shunt_op op);

/// `bf16`; `dtype 42` for a value that is none.
std::string dtypeName(shunt_dtype dtype);

/// `[3, 2, 2, 1]`.
std::string formatList(const int64_t *values, int64_t n);
std::string formatList(const std::vector<int64_t> &values);

/// `rank 2` or `ranks [0, 1]`.
std::string formatRanks(const std::vector<int64_t> &ranks);

/// `all_gather over ranks [0, 1]`.
std::string describe(shunt_op op, const std::vector<int64_t> &ranks);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_TEXT_H
