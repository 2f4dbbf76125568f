//===- Counts.h - Checks of counts per part ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_CORE_COUNTS_H
#define SHUNT_LIB_CORE_COUNTS_H

#include "Shunt/Core/Batch.h"

#include <algorithm>

namespace shunt {

inline bool contains(const AxisList &axes, unsigned axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// E_COUNTS_NEG for the first negative count.
MaybeError checkNotNegative(const std::vector<int64_t> &counts);
/// E_CP_PEER_COUNTS unless all copies of each part have one count.
MaybeError checkReplicas(const BatchSpec &spec,
                         const std::vector<int64_t> &counts);
/// `per dp·cp`; one part that everybody shares has no axes to name.
std::string perAxes(const Mesh &mesh, const AxisList &axes);

} // namespace shunt

#endif // SHUNT_LIB_CORE_COUNTS_H
