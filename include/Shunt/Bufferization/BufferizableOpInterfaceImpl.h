//===- BufferizableOpInterfaceImpl.h - From tensors to buffers ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_BUFFERIZATION_BUFFERIZABLEOPINTERFACEIMPL_H
#define SHUNT_BUFFERIZATION_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
}

namespace shunt {

/// Teaches one-shot bufferization the ops of the local level.
void registerBufferizableOpInterfaceModels(mlir::DialectRegistry &registry);

} // namespace shunt

#endif // SHUNT_BUFFERIZATION_BUFFERIZABLEOPINTERFACEIMPL_H
