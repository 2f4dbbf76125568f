//===- HeaderTest.c - The headers are C
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "shunt/compiled.h"
#include "shunt/runtime.h"

int32_t shuntTestFromC(shunt_comm *comm) {
  int64_t rank = shunt_rt_rank(comm);
  int64_t sum = 0;
  shunt_status status =
      shunt_all_reduce(comm, NULL, &rank, &sum, 1, 1, SHUNT_I64);
  int64_t size = shunt_comm_size(comm);
  if (status == SHUNT_OK && sum != size * (size - 1) / 2)
    return SHUNT_INTERNAL;
  return status;
}
