//===- CompiledCounts.cpp - Count tables that compiled code asks for
//-------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "shunt/compiled.h"

#include "Shunt/Core/Layout.h"

#include <algorithm>

using namespace shunt::rt;
using shunt::Batch;
using shunt::BatchSpec;
using shunt::CountsPer;
using shunt::RankList;
using shunt::Result;

static Error toError(const shunt::Error &error) {
  return {SHUNT_INVALID_ARGUMENT, error.str()};
}

/// Zero-fills `out` and lets `body` make its contents; errors are sticky.
template <typename Body>
static int32_t makeTable(shunt_comm *comm, int64_t *out, int64_t outLen,
                         Body body) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  std::fill(out, out + outLen, 0);
  if (shunt_status status = comm->stickyStatus)
    return status;
  Error error = guarded([&]() -> Error {
    std::vector<int64_t> table;
    if (Error error = body(table))
      return error;
    if (static_cast<int64_t>(table.size()) != outLen)
      return {SHUNT_INVALID_ARGUMENT,
              "table of " + std::to_string(outLen) + " counts, expected " +
                  std::to_string(table.size()) + " [X_COUNTS_LENGTH]"};
    std::copy(table.begin(), table.end(), out);
    return {};
  });
  return error ? comm->fail(std::move(error)) : SHUNT_OK;
}

/// The spec of `text`, which must be of the comm's world.
static Error readSpec(shunt_comm *comm, const char *text,
                      std::optional<BatchSpec> &spec) {
  Result<BatchSpec> parsed = shunt::parseBatchSpec(text ? text : "");
  if (!parsed)
    return toError(parsed.error());
  if (parsed->world() != comm->world->size)
    return {SHUNT_INVALID_ARGUMENT,
            "the batch is of " + std::to_string(parsed->world()) +
                " ranks, the world has " + std::to_string(comm->world->size) +
                " [E_PRODUCT]"};
  spec = std::move(*parsed);
  return {};
}

extern "C" {

int32_t shunt_rt_part_counts(shunt_comm *comm, const char *batch,
                             const int64_t *rankCounts, int64_t rankCountsLen,
                             int64_t *out, int64_t outLen) {
  return makeTable(comm, out, outLen, [&](std::vector<int64_t> &table) {
    std::optional<BatchSpec> spec;
    if (Error error = readSpec(comm, batch, spec))
      return error;
    Result<std::vector<int64_t>> counts = shunt::expandCounts(
        *spec, {rankCounts, rankCounts + rankCountsLen}, CountsPer::Rank);
    if (!counts)
      return toError(counts.error());
    table = std::move(*counts);
    return Error();
  });
}

int32_t shunt_rt_cell_counts(shunt_comm *comm, const char *batch,
                             const int64_t *partCounts, int64_t partCountsLen,
                             int64_t *out, int64_t outLen) {
  return makeTable(comm, out, outLen, [&](std::vector<int64_t> &table) {
    std::optional<BatchSpec> spec;
    if (Error error = readSpec(comm, batch, spec))
      return error;
    Result<Batch> made = Batch::create(
        std::move(*spec), {partCounts, partCounts + partCountsLen});
    if (!made)
      return toError(made.error());
    table = made->cellTable();
    return Error();
  });
}

int32_t shunt_rt_sum_cells(shunt_comm *comm, const int64_t *cells,
                           int64_t width, const int64_t *counts,
                           int64_t countsLen, int64_t *out, int64_t outLen) {
  return makeTable(comm, out, outLen, [&](std::vector<int64_t> &table) {
    std::vector<RankList> lists;
    for (int64_t i = 0; i < outLen; ++i) {
      lists.emplace_back(cells + i * width, cells + (i + 1) * width);
      for (int64_t cell : lists.back())
        if (cell >= countsLen)
          return Error(SHUNT_INVALID_ARGUMENT,
                       "no count of cell " + std::to_string(cell) + " in " +
                           std::to_string(countsLen) + " [X_COUNTS_LENGTH]");
    }
    table = shunt::sumCells({counts, counts + countsLen}, lists);
    return Error();
  });
}

} // extern "C"
