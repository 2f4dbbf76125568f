//===- Backend.cpp - Finds backends by name
//--------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"

namespace shunt::rt {

Error findBackend(const std::string &name, Backend *&backend) {
  backend = nullptr;
  if (name == "host") {
    backend = &hostBackend();
    return {};
  }
  const std::string otherwise =
      " or SHUNT_BACKEND_PATH=DIRECTORY, or use 'host' for ranks that are "
      "threads of one process";
  if (name == "mpi")
    return openPlugin(name,
                      "it needs an MPI (on Debian: libopenmpi-dev, "
                      "openmpi-bin), a build with SHUNT_ENABLE_MPI=ON," +
                          otherwise,
                      backend);
  if (name == "nccl")
    return openPlugin(name,
                      "it needs CUDA and NCCL, a build with "
                      "SHUNT_ENABLE_CUDA=ON," +
                          otherwise,
                      backend);
  return {SHUNT_INVALID_ARGUMENT, "there is no backend '" + name +
                                      "', expected 'host', 'mpi' or 'nccl'"};
}

} // namespace shunt::rt
