//===- Compiled.cpp - Entry points for compiled code
//-----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "shunt/compiled.h"
#include "Compiled.h"
#include "Text.h"

#include <algorithm>

using namespace shunt::rt;

namespace {
/// A table over the world, of one or of `size` entries a rank.
struct Table {
  const int64_t *entries;
  int64_t length;
};
} // namespace

Error shunt::rt::findOwnGroup(shunt_comm *comm, const char *op,
                              const Partition &partition, shunt_group *&group) {
  auto invalid = [&](const std::string &message) {
    return Error(SHUNT_INVALID_ARGUMENT, std::string(op) + ": " + message);
  };
  auto [ranks, numRanks, groupSize] = partition;
  if (!ranks)
    return invalid("partition is null");
  if (groupSize < 1 || numRanks < 1 || numRanks % groupSize)
    return invalid("partition has " + std::to_string(numRanks) +
                   " ranks, which are no groups of " +
                   std::to_string(groupSize));
  const int64_t *own = std::find(ranks, ranks + numRanks, comm->rank);
  if (own == ranks + numRanks)
    return invalid("partition " + formatList(ranks, numRanks) +
                   " does not list the caller, rank " +
                   std::to_string(comm->rank));
  const int64_t *begin = ranks + (own - ranks) / groupSize * groupSize;
  return comm->findGroup(begin, groupSize, group);
}

static Error checkLength(const char *op, const char *what, const Table &table,
                         int64_t expected) {
  if (table.entries && table.length == expected)
    return {};
  return {SHUNT_INVALID_ARGUMENT,
          std::string(op) + ": " + what + " has " +
              (table.entries ? std::to_string(table.length) : "no") +
              " entries, expected " + std::to_string(expected) +
              ", for every rank of the world [X_COUNTS_LENGTH]"};
}

/// Takes the members' counts from a table with an entry for each rank.
static Error selectCounts(shunt_comm *comm, const shunt_group &group,
                          const Table &table, Call &call) {
  if (Error error =
          checkLength(opName(call.op), "count table", table, comm->world->size))
    return error;
  comm->counts.clear();
  for (int64_t rank : group.ranks)
    comm->counts.push_back(table.entries[rank]);
  call.counts = comm->counts.data();
  return {};
}

/// Takes the caller's row and column from a matrix over the world.
static Error selectPairs(shunt_comm *comm, const shunt_group &group,
                         const Table &table, Call &call) {
  int64_t size = comm->world->size;
  if (Error error =
          checkLength(opName(call.op), "count matrix", table, size * size))
    return error;
  comm->counts.clear();
  comm->recvCounts.clear();
  for (int64_t rank : group.ranks) {
    comm->counts.push_back(table.entries[comm->rank * size + rank]);
    comm->recvCounts.push_back(table.entries[rank * size + comm->rank]);
  }
  call.counts = comm->counts.data();
  call.recvCounts = comm->recvCounts.data();
  return {};
}

static int32_t runCompiled(shunt_comm *comm, const Partition &partition,
                           const Table &table, Call call) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  // A failed comm reads no tables: they may have come from a failed call.
  if (comm->stickyStatus != SHUNT_OK)
    return runCollective(comm, nullptr, call);
  shunt_group *group = nullptr;
  Error error = guarded([&]() -> Error {
    if (Error error = findOwnGroup(comm, opName(call.op), partition, group))
      return error;
    switch (call.op) {
    case SHUNT_OP_ALL_GATHER:
    case SHUNT_OP_REDUCE_SCATTER:
      return selectCounts(comm, *group, table, call);
    case SHUNT_OP_ALL_TO_ALL:
      return selectPairs(comm, *group, table, call);
    default:
      return {};
    }
  });
  if (error)
    return comm->fail(std::move(error), call);
  return runCollective(comm, group, call);
}

static Call makeCall(shunt_op op, const void *in, int64_t inRows, void *out,
                     int64_t outRows, int64_t rowElems, int32_t dtype) {
  Call call;
  call.op = op;
  call.in = in;
  call.inRows = inRows;
  call.out = out;
  call.outRows = outRows;
  call.rowElems = rowElems;
  call.dtype = dtype;
  return call;
}

extern "C" {

int64_t shunt_rt_rank(shunt_comm *comm) { return shunt_comm_rank(comm); }

void shunt_rt_label(shunt_comm *comm, const char *label) {
  shunt_comm_label(comm, label);
}

int32_t shunt_rt_barrier(shunt_comm *comm, const int64_t *partition,
                         int64_t numRanks, int64_t groupSize) {
  return runCompiled(comm, {partition, numRanks, groupSize}, {nullptr, 0},
                     Call());
}

int32_t shunt_rt_all_reduce(shunt_comm *comm, const int64_t *partition,
                            int64_t numRanks, int64_t groupSize, const void *in,
                            void *out, int64_t rows, int64_t rowElems,
                            int32_t dtype) {
  return runCompiled(
      comm, {partition, numRanks, groupSize}, {nullptr, 0},
      makeCall(SHUNT_OP_ALL_REDUCE, in, rows, out, rows, rowElems, dtype));
}

int32_t shunt_rt_all_gather(shunt_comm *comm, const int64_t *partition,
                            int64_t numRanks, int64_t groupSize,
                            const int64_t *worldCounts, int64_t worldCountsLen,
                            const void *in, int64_t inRows, void *out,
                            int64_t outRows, int64_t rowElems, int32_t dtype) {
  return runCompiled(
      comm, {partition, numRanks, groupSize}, {worldCounts, worldCountsLen},
      makeCall(SHUNT_OP_ALL_GATHER, in, inRows, out, outRows, rowElems, dtype));
}

int32_t shunt_rt_reduce_scatter(shunt_comm *comm, const int64_t *partition,
                                int64_t numRanks, int64_t groupSize,
                                const int64_t *worldCounts,
                                int64_t worldCountsLen, const void *in,
                                int64_t inRows, void *out, int64_t outRows,
                                int64_t rowElems, int32_t dtype) {
  return runCompiled(comm, {partition, numRanks, groupSize},
                     {worldCounts, worldCountsLen},
                     makeCall(SHUNT_OP_REDUCE_SCATTER, in, inRows, out, outRows,
                              rowElems, dtype));
}

int32_t shunt_rt_all_to_all(shunt_comm *comm, const int64_t *partition,
                            int64_t numRanks, int64_t groupSize,
                            const int64_t *matrix, int64_t matrixLen,
                            const void *in, int64_t inRows, void *out,
                            int64_t outRows, int64_t rowElems, int32_t dtype) {
  return runCompiled(
      comm, {partition, numRanks, groupSize}, {matrix, matrixLen},
      makeCall(SHUNT_OP_ALL_TO_ALL, in, inRows, out, outRows, rowElems, dtype));
}

} // extern "C"
