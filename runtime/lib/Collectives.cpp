//===- Collectives.cpp - The C API's collectives
//---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Text.h"

namespace shunt::rt {

/// Finds the group of a call and checks that the comm may make it.
static Error enter(shunt_comm *comm, shunt_group *&group, Call &call) {
  if (comm->finished)
    return {SHUNT_INVALID_ARGUMENT, std::string(opName(call.op)) + ": rank " +
                                        std::to_string(comm->rank) +
                                        " has finished"};
  if (!group)
    if (Error error = comm->findGroup(nullptr, 0, group))
      return error;
  if (group->comm != comm)
    return {SHUNT_INVALID_ARGUMENT,
            describe(call.op, group->ranks) + ": the group belongs to rank " +
                std::to_string(group->comm->rank) +
                ", not to the caller, rank " + std::to_string(comm->rank)};
  call.ranks = &group->ranks;
  call.me = group->me;
  call.timeoutMs = comm->timeoutMs;
  return checkCall(call);
}

shunt_status runCollective(shunt_comm *comm, shunt_group *group, Call call) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  if (comm->busy.exchange(true))
    return comm->note(
        {SHUNT_INVALID_ARGUMENT, std::string(opName(call.op)) + ": rank " +
                                     std::to_string(comm->rank) +
                                     " is in a collective on another thread"});
  shunt_status status = comm->stickyStatus;
  if (status != SHUNT_OK) {
    zeroOutput(call);
  } else {
    std::chrono::steady_clock::time_point begin;
    if (comm->traceCapacity)
      begin = std::chrono::steady_clock::now();
    Error error = guarded([&]() -> Error {
      if (Error error = enter(comm, group, call))
        return error;
      call.sequence = ++group->sequence;
      return comm->impl->perform(*group->state, call);
    });
    if (error)
      status = comm->fail(std::move(error), call);
    else
      comm->record(call, begin);
  }
  comm->busy = false;
  return status;
}

} // namespace shunt::rt

using shunt::rt::Call;
using shunt::rt::runCollective;

extern "C" {

shunt_status shunt_barrier(shunt_comm *comm, shunt_group *group) {
  return runCollective(comm, group, Call());
}

shunt_status shunt_all_reduce(shunt_comm *comm, shunt_group *group,
                              const void *in, void *out, int64_t rows,
                              int64_t rowElems, shunt_dtype dtype) {
  Call call;
  call.op = SHUNT_OP_ALL_REDUCE;
  call.in = in;
  call.inRows = rows;
  call.out = out;
  call.outRows = rows;
  call.rowElems = rowElems;
  call.dtype = dtype;
  return runCollective(comm, group, call);
}

static shunt_status runCounted(shunt_op op, shunt_comm *comm,
                               shunt_group *group, const void *in,
                               int64_t inRows, void *out, int64_t outRows,
                               const int64_t *counts, int64_t rowElems,
                               shunt_dtype dtype) {
  Call call;
  call.op = op;
  call.in = in;
  call.inRows = inRows;
  call.out = out;
  call.outRows = outRows;
  call.counts = counts;
  call.rowElems = rowElems;
  call.dtype = dtype;
  return runCollective(comm, group, call);
}

shunt_status shunt_all_gather(shunt_comm *comm, shunt_group *group,
                              const void *in, int64_t inRows, void *out,
                              int64_t outRows, const int64_t *counts,
                              int64_t rowElems, shunt_dtype dtype) {
  return runCounted(SHUNT_OP_ALL_GATHER, comm, group, in, inRows, out, outRows,
                    counts, rowElems, dtype);
}

shunt_status shunt_reduce_scatter(shunt_comm *comm, shunt_group *group,
                                  const void *in, int64_t inRows, void *out,
                                  int64_t outRows, const int64_t *counts,
                                  int64_t rowElems, shunt_dtype dtype) {
  return runCounted(SHUNT_OP_REDUCE_SCATTER, comm, group, in, inRows, out,
                    outRows, counts, rowElems, dtype);
}

shunt_status shunt_all_to_all(shunt_comm *comm, shunt_group *group,
                              const void *in, int64_t inRows,
                              const int64_t *sendCounts, void *out,
                              int64_t outRows, const int64_t *recvCounts,
                              int64_t rowElems, shunt_dtype dtype) {
  Call call;
  call.op = SHUNT_OP_ALL_TO_ALL;
  call.in = in;
  call.inRows = inRows;
  call.out = out;
  call.outRows = outRows;
  call.counts = sendCounts;
  call.recvCounts = recvCounts;
  call.rowElems = rowElems;
  call.dtype = dtype;
  return runCollective(comm, group, call);
}

} // extern "C"
