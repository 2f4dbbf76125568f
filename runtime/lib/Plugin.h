//===- Plugin.h - Backends in shared objects of their own -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend that needs a library (MPI, CUDA) is a shared object
// `libshunt_NAME.so`, opened when it is asked for, so that the runtime builds
// and loads without that library. It links ShuntRuntimeBase, its own copy of
// what backends share, and needs no symbol of the runtime that opens it: that
// one may be static, shared, or hidden in another library. They meet in the
// classes of Backend.h alone, whose layout the ABI stamp guards.
//
// A plugin defines
//
//   extern "C" SHUNT_API const shunt::rt::BackendPlugin shunt_backend_plugin =
//   {
//       shunt::rt::BackendAbi(), &myBackend};
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_PLUGIN_H
#define SHUNT_RUNTIME_PLUGIN_H

#include "Backend.h"

namespace shunt::rt {

/// What must be equal on both sides; the sizes catch a changed struct.
struct BackendAbi {
  /// Raise it when a class of Backend.h, or what a field of Call means,
  /// changes.
  int32_t version = 2;
  int32_t callBytes = sizeof(Call);
  int32_t errorBytes = sizeof(Error);
  int32_t optionsBytes = sizeof(shunt_options);

  bool operator==(const BackendAbi &other) const {
    return version == other.version && callBytes == other.callBytes &&
           errorBytes == other.errorBytes && optionsBytes == other.optionsBytes;
  }
};

struct BackendPlugin {
  BackendAbi abi;
  /// Called once for each world; returns the same object each time.
  Backend &(*backend)();
};

/// Opens `libshunt_NAME.so`, once per process. It is looked for in the
/// directories of SHUNT_BACKEND_PATH (separated by `:`), beside the runtime, in
/// `../lib` of it, where Shunt was to be installed, and where the dynamic
/// linker looks. `remedy` ends the message of a backend that is not there.
Error openPlugin(const std::string &name, const std::string &remedy,
                 Backend *&backend);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_PLUGIN_H
