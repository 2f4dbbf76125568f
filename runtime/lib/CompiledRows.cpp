//===- CompiledRows.cpp - Row moves of compiled code within one rank
//-------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Text.h"
#include "shunt/compiled.h"

#include <algorithm>
#include <cstring>

using namespace shunt::rt;

namespace {
/// Rows of a call that stays within the rank.
struct Rows {
  const char *in;
  int64_t inRows;
  char *out;
  int64_t outRows;
  int64_t rowBytes;
};
} // namespace

static Error invalid(const std::string &message) {
  return {SHUNT_INVALID_ARGUMENT, message};
}

static int64_t sum(const int64_t *counts, int64_t n) {
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i)
    total += counts[i];
  return total;
}

static Error checkTable(const char *op, const int64_t *table, int64_t length,
                        int64_t expected) {
  if (!table || length != expected)
    return invalid(std::string(op) + ": count table has " +
                   (table ? std::to_string(length) : "no") +
                   " entries, expected " + std::to_string(expected) +
                   ", for every rank of the world [X_COUNTS_LENGTH]");
  for (int64_t i = 0; i < length; ++i)
    if (table[i] < 0)
      return invalid(std::string(op) + ": count " + std::to_string(i) + " is " +
                     std::to_string(table[i]) +
                     "; a count is at least 0 [E_COUNTS_NEG]");
  return {};
}

/// The group of the partition that lists `rank`, as the index of its first
/// entry; -1 if none does.
static int64_t groupStart(const int64_t *partition, int64_t numRanks,
                          int64_t groupSize, int64_t rank) {
  if (!partition || groupSize < 1)
    return -1;
  const int64_t *own = std::find(partition, partition + numRanks, rank);
  if (own == partition + numRanks)
    return -1;
  return (own - partition) / groupSize * groupSize;
}

static Error sliceRows(shunt_comm *comm, const int64_t *partition,
                       int64_t numRanks, int64_t groupSize,
                       const int64_t *counts, int64_t countsLen,
                       const Rows &rows) {
  if (Error error = checkTable("slice", counts, countsLen, comm->world->size))
    return error;
  int64_t start = groupStart(partition, numRanks, groupSize, comm->rank);
  if (start < 0)
    return invalid("slice: no group lists the caller, rank " +
                   std::to_string(comm->rank));
  std::vector<int64_t> own;
  int64_t offset = 0;
  bool before = true;
  for (int64_t i = start; i < start + groupSize; ++i) {
    before &= partition[i] != comm->rank;
    own.push_back(counts[partition[i]]);
    offset += before ? own.back() : 0;
  }
  if (sum(own.data(), groupSize) != rows.inRows ||
      counts[comm->rank] != rows.outRows)
    return invalid("slice: rank " + std::to_string(comm->rank) + " holds " +
                   std::to_string(rows.inRows) + " rows and keeps " +
                   std::to_string(rows.outRows) +
                   ", which its group's counts " + formatList(own) +
                   " do not say [X_RS_SUM]");
  if (rows.outRows > 0)
    std::memcpy(rows.out, rows.in + offset * rows.rowBytes,
                static_cast<size_t>(rows.outRows * rows.rowBytes));
  return {};
}

/// Cells and where their rows begin; checks that their rows add up.
static Error placeCells(const char *what, const int64_t *cells, int64_t width,
                        const int64_t *counts, int64_t world, int64_t rows,
                        std::vector<std::pair<int64_t, int64_t>> &placed) {
  int64_t total = 0;
  for (int64_t i = 0; i < width; ++i) {
    if (cells[i] < 0)
      continue;
    if (cells[i] >= world)
      return invalid("permute: cell " + std::to_string(cells[i]) +
                     " of a world of " + std::to_string(world) + " ranks");
    placed.push_back({cells[i], total});
    total += counts[cells[i]];
  }
  if (total == rows)
    return {};
  return invalid("permute: the " + std::string(what) + " has " +
                 std::to_string(rows) + " rows, its cells " +
                 std::to_string(total) + " [X_ROW_MISMATCH]");
}

static Error permuteRows(shunt_comm *comm, const int64_t *from,
                         int64_t fromWidth, const int64_t *to, int64_t toWidth,
                         const int64_t *counts, int64_t countsLen,
                         const Rows &rows) {
  int64_t world = comm->world->size;
  if (Error error = checkTable("permute", counts, countsLen, world))
    return error;
  std::vector<std::pair<int64_t, int64_t>> has, wants;
  if (Error error = placeCells("input", from + comm->rank * fromWidth,
                               fromWidth, counts, world, rows.inRows, has))
    return error;
  if (Error error = placeCells("result", to + comm->rank * toWidth, toWidth,
                               counts, world, rows.outRows, wants))
    return error;
  for (const auto &[wanted, target] : wants) {
    int64_t cell = wanted;
    auto source = std::find_if(has.begin(), has.end(), [&](const auto &item) {
      return item.first == cell;
    });
    if (source == has.end())
      return invalid("permute: the input has no cell " + std::to_string(cell));
    if (counts[cell] > 0)
      std::memcpy(rows.out + target * rows.rowBytes,
                  rows.in + source->second * rows.rowBytes,
                  static_cast<size_t>(counts[cell] * rows.rowBytes));
  }
  return {};
}

/// Runs `body` unless the comm has failed; zero-fills the result on an error.
template <typename Body>
static int32_t runLocal(shunt_comm *comm, Rows rows, int64_t rowElems,
                        int32_t dtype, Body body) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  shunt_status status = comm->stickyStatus;
  rows.rowBytes = rowElems * shunt_dtype_size(dtype);
  if (status == SHUNT_OK) {
    Error error = guarded([&]() -> Error {
      if (rows.inRows < 0 || rows.outRows < 0 || rowElems < 0 ||
          shunt_dtype_size(dtype) == 0)
        return invalid("rows, elements or dtype out of range");
      return body(rows);
    });
    status = error ? comm->fail(std::move(error)) : SHUNT_OK;
  }
  if (status != SHUNT_OK && rows.out && rows.outRows > 0 && rows.rowBytes > 0)
    std::memset(rows.out, 0, static_cast<size_t>(rows.outRows * rows.rowBytes));
  return status;
}

extern "C" {

int32_t shunt_rt_slice(shunt_comm *comm, const int64_t *partition,
                       int64_t numRanks, int64_t groupSize,
                       const int64_t *worldCounts, int64_t worldCountsLen,
                       const void *in, int64_t inRows, void *out,
                       int64_t outRows, int64_t rowElems, int32_t dtype) {
  return runLocal(comm,
                  {static_cast<const char *>(in), inRows,
                   static_cast<char *>(out), outRows, 0},
                  rowElems, dtype, [&](const Rows &rows) {
                    return sliceRows(comm, partition, numRanks, groupSize,
                                     worldCounts, worldCountsLen, rows);
                  });
}

int32_t shunt_rt_permute(shunt_comm *comm, const int64_t *from,
                         int64_t fromWidth, const int64_t *to, int64_t toWidth,
                         const int64_t *cellCounts, int64_t cellCountsLen,
                         const void *in, int64_t inRows, void *out,
                         int64_t outRows, int64_t rowElems, int32_t dtype) {
  return runLocal(comm,
                  {static_cast<const char *>(in), inRows,
                   static_cast<char *>(out), outRows, 0},
                  rowElems, dtype, [&](const Rows &rows) {
                    return permuteRows(comm, from, fromWidth, to, toWidth,
                                       cellCounts, cellCountsLen, rows);
                  });
}

int32_t shunt_rt_own_counts(shunt_comm *comm, const int64_t *partition,
                            int64_t numRanks, int64_t groupSize,
                            const int64_t *lists, int64_t listsLen,
                            int64_t *out, int64_t outLen) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  std::fill(out, out + outLen, 0);
  int64_t world = comm->world->size;
  int64_t columns = listsLen / world;
  int64_t start = groupStart(partition, numRanks, groupSize, comm->rank);
  if (start < 0 || outLen != world || columns * world != listsLen ||
      (columns != world && columns != groupSize))
    return comm->fail(invalid("count lists have " + std::to_string(listsLen) +
                              " entries, expected one for each member or rank, "
                              "for each of " +
                              std::to_string(world) +
                              " ranks [X_COUNTS_LENGTH]"));
  const int64_t *own = lists + comm->rank * columns;
  for (int64_t i = 0; i < columns; ++i)
    out[columns == world ? i : partition[start + i]] = own[i];
  return SHUNT_OK;
}

} // extern "C"
