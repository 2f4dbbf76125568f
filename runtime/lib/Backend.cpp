//===- Backend.cpp - Finds backends by name
//--------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backend.h"

namespace shunt::rt {

// Out of line, so that the tables of virtual functions have one home.
GroupState::~GroupState() = default;
Comm::~Comm() = default;
World::~World() = default;
Backend::~Backend() = default;

Error findBackend(const std::string &name, Backend *&backend) {
  backend = nullptr;
  if (name == "host") {
    backend = &hostBackend();
    return {};
  }
  if (name == "mpi")
    return {SHUNT_UNAVAILABLE,
            "backend 'mpi' is not in this build: it needs an MPI library and "
            "libShuntRuntimeMPI.so, which this version does not have yet; use "
            "'host' for ranks that are threads of one process"};
  if (name == "nccl")
    return {SHUNT_UNAVAILABLE,
            "backend 'nccl' is not in this build: it needs CUDA, NCCL and "
            "libShuntRuntimeNCCL.so, which this version does not have yet; use "
            "'host' for ranks that are threads of one process"};
  return {SHUNT_INVALID_ARGUMENT, "there is no backend '" + name +
                                      "', expected 'host', 'mpi' or 'nccl'"};
}

} // namespace shunt::rt
