//===- Symbols.cpp - Clusters and meshes ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Resolve.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shunt;

//===----------------------------------------------------------------------===//
// ClusterOp
//===----------------------------------------------------------------------===//

int64_t ClusterOp::getWorld() {
  int64_t world, nodes = getNodes(), ranks = getRanksPerNode();
  if (nodes < 1 || ranks < 1 || llvm::MulOverflow(nodes, ranks, world) ||
      world > kMaxWorld)
    return 0;
  return world;
}

LogicalResult ClusterOp::verify() {
  for (auto [name, value] :
       {std::pair("nodes", int64_t(getNodes())),
        std::pair("ranks_per_node", int64_t(getRanksPerNode()))})
    if (value < 1)
      return emitOpError() << "expects " << name << " of at least 1, got "
                           << value << " [E_SIZE]";
  if (getWorld() == 0)
    return emitOpError() << "has nodes = " << int64_t(getNodes())
                         << " and ranks_per_node = "
                         << int64_t(getRanksPerNode())
                         << ", together more than " << int64_t(kMaxWorld)
                         << " ranks; take less [E_SIZE]";
  return success();
}

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

LogicalResult MeshOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size())
    return emitOpError() << "has " << getAxisNames().size()
                         << " axis names but " << getAxisSizes().size()
                         << " axis sizes; give each axis one size [E_MESH]";
  if (getDevices() && getDevices()->empty())
    return emitOpError() << "has an empty device list; leave it out, or list "
                            "every rank once [E_MESH]";
  return success();
}

LogicalResult MeshOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return failure(failed(Resolver(*this, symbols).mesh(*this)));
}
