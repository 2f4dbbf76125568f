//===- Moe.h - Routings as the core's values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_MOE_H
#define SHUNT_IR_MOE_H

#include "Shunt/Core/Placement.h"
#include "Shunt/IR/Resolve.h"

namespace shunt {

/// Which of `experts` experts each of `ranks` ranks of a group holds.
/// Errors: those of `Placement`.
Result<Placement> makePlacement(MoePlacement kind, mlir::ArrayAttr table,
                                int64_t experts, int64_t ranks);

/// The ranks that exchange rows of a routing of type `type`: its mesh, and the
/// axes `over` in mesh order. Reports what does not resolve.
struct RoutingGroup {
  Mesh mesh;
  AxisList over;
  int64_t size() const { return mesh.groupSize(over); }
};
mlir::FailureOr<RoutingGroup> routingGroup(Resolver &resolver,
                                           RoutingType type);
/// Members of a group that are consecutive on a node of `ranksPerNode` ranks:
/// as many in each group and node but for the last. 1 where groups lie
/// otherwise across nodes.
int64_t nodeSizeOf(const RoutingGroup &group, int64_t ranksPerNode);

} // namespace shunt

#endif // SHUNT_IR_MOE_H
