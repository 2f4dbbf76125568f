//===- InitAll.h - Registers all of Shunt ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_INITALL_H
#define SHUNT_INITALL_H

#include "Shunt/Bufferization/BufferizableOpInterfaceImpl.h"
#include "Shunt/Conversion/Passes.h"
#include "Shunt/Pipelines/Pipelines.h"
#include "Shunt/Transforms/Passes.h"

namespace shunt {

// What this header needs is in Shunt::Pipelines.

/// Adds the dialect, and Shunt's models of upstream interfaces.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<ShuntDialect>();
  registerBufferizableOpInterfaceModels(registry);
}

/// Registers all passes and pipelines.
inline void registerAllPasses() {
  registerShuntTransformsPasses();
  registerShuntConversionPasses();
  registerPipelines();
}

} // namespace shunt

#endif // SHUNT_INITALL_H
