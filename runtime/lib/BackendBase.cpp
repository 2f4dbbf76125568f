//===- BackendBase.cpp - The homes of Backend.h's virtual tables ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend.h"

#include <algorithm>
#include <cstdlib>

namespace shunt::rt {

GroupState::~GroupState() = default;
Comm::~Comm() = default;
World::~World() = default;
Backend::~Backend() = default;
Mover::~Mover() = default;

void *Comm::allocate(int64_t bytes) {
  const int64_t page = 4096;
  if (bytes < 0 || bytes > INT64_MAX - page)
    return nullptr;
  return std::aligned_alloc(page, (std::max<int64_t>(bytes, 1) + page - 1) /
                                      page * page);
}

void Comm::release(void *memory) { std::free(memory); }

} // namespace shunt::rt
