//===- Compiled.h - What entry points for compiled code share -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_COMPILED_H
#define SHUNT_RUNTIME_COMPILED_H

#include "Handles.h"

namespace shunt::rt {

/// A static partition of the ranks, group after group.
struct Partition {
  const int64_t *ranks;
  int64_t numRanks, groupSize;
};

/// Finds the group of the partition that lists the caller.
Error findOwnGroup(shunt_comm *comm, const char *op, const Partition &partition,
                   shunt_group *&group);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_COMPILED_H
