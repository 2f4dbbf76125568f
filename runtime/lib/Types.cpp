//===- Types.cpp - Statuses and dtypes of the C API -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "shunt/runtime.h"

extern "C" {

const char *shunt_status_string(shunt_status status) {
  switch (status) {
  case SHUNT_OK:
    return "ok";
  case SHUNT_INVALID_ARGUMENT:
    return "invalid argument";
  case SHUNT_MISMATCH:
    return "mismatch between ranks";
  case SHUNT_TIMEOUT:
    return "timeout";
  case SHUNT_UNAVAILABLE:
    return "unavailable";
  case SHUNT_OUT_OF_MEMORY:
    return "out of memory";
  case SHUNT_INTERNAL:
    return "internal error";
  case SHUNT_ABORTED:
    return "aborted";
  default:
    return "unknown status";
  }
}

int64_t shunt_dtype_size(shunt_dtype dtype) {
  switch (dtype) {
  case SHUNT_F8E4M3:
    return 1;
  case SHUNT_BF16:
  case SHUNT_F16:
    return 2;
  case SHUNT_F32:
  case SHUNT_I32:
    return 4;
  case SHUNT_I64:
    return 8;
  default:
    return 0;
  }
}

} // extern "C"
