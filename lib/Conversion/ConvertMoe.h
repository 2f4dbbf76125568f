//===- ConvertMoe.h - Routing ops to calls of the C ABI ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_CONVERSION_CONVERTMOE_H
#define SHUNT_LIB_CONVERSION_CONVERTMOE_H

#include "RuntimeCalls.h"

namespace shunt {

/// Replaces an op of the local level that makes or uses a routing, which
/// becomes a pointer: makers before users.
mlir::LogicalResult convertMoeOp(mlir::Operation *op, mlir::Value communicator,
                                 RuntimeCalls &calls);

} // namespace shunt

#endif // SHUNT_LIB_CONVERSION_CONVERTMOE_H
