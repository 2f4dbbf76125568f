//===- OnDevice.h - Where the kernels of a test run -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same tests run on the CPU (SHUNT_SIMT) and on a GPU (../gpu), where all
// memory that `new` gives can be read by both. So what a kernel is given must
// not lie on the stack.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_CUDA_SIMT_ONDEVICE_H
#define SHUNT_RUNTIME_TEST_CUDA_SIMT_ONDEVICE_H

#include "cuda/kernels/Kernels.h"

#ifdef SHUNT_SIMT
#include "Simt.h"
#else
#include <cuda_runtime_api.h>
#endif

namespace shunt::rt::test {

/// The status of a launch, once the kernel has ended.
inline cuda::Status ended(cuda::Status status) {
#ifdef SHUNT_SIMT
  return status;
#else
  return status ? status : cudaDeviceSynchronize();
#endif
}

/// The most blocks of a kernel; a GPU has its own idea of that.
inline void setResidentBlocks(int64_t blocks) {
#ifdef SHUNT_SIMT
  cuda::simt::setResidentBlocks(blocks);
#endif
}

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_CUDA_SIMT_ONDEVICE_H
