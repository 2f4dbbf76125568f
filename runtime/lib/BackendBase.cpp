//===- BackendBase.cpp - The homes of Backend.h's virtual tables ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend.h"

namespace shunt::rt {

GroupState::~GroupState() = default;
Comm::~Comm() = default;
World::~World() = default;
Backend::~Backend() = default;
Mover::~Mover() = default;

} // namespace shunt::rt
