//===- Plugin.cpp - Shunt as a plugin of mlir-opt ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

/// The dialect with its interfaces, and the passes.
extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Shunt", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            shunt::registerAllDialects(*registry);
            shunt::registerAllPasses();
          }};
}

/// The passes.
extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Shunt", LLVM_VERSION_STRING,
          [] { shunt::registerAllPasses(); }};
}
