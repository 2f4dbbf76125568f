//===- HostDevice.h - Functions for the host and for GPUs -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_HOSTDEVICE_H
#define SHUNT_CORE_HOSTDEVICE_H

/// Marks arithmetic that kernels share with the host.
#if defined(__CUDACC__)
#define SHUNT_HOST_DEVICE __host__ __device__
#else
#define SHUNT_HOST_DEVICE
#endif

#endif // SHUNT_CORE_HOSTDEVICE_H
