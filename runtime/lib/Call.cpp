//===- Call.cpp - What one member can check alone
//--------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Text.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace shunt::rt {

int64_t sumCounts(const int64_t *counts, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += counts[i];
  return sum;
}

Slice sliceOf(int64_t elems, int64_t n, int64_t i) {
  // 64 elements are whole cache lines for every dtype.
  const int64_t unit = 64;
  int64_t units = elems / unit + (elems % unit != 0);
  int64_t quotient = units / n, rest = units % n;
  auto boundary = [&](int64_t k) {
    int64_t at = k * quotient + std::min(k, rest);
    // The last unit may be partial; comparing first avoids an overflow.
    return at >= units ? elems : at * unit;
  };
  return {boundary(i), boundary(i + 1)};
}

static bool multiply(int64_t a, int64_t b, int64_t &product) {
  return !__builtin_mul_overflow(a, b, &product);
}

/// Bytes of `rows` rows; false if they are negative or too many.
static bool sizeOf(int64_t rows, int64_t rowElems, shunt_dtype dtype,
                   int64_t &bytes) {
  int64_t size = shunt_dtype_size(dtype);
  return rows >= 0 && rowElems >= 0 && size > 0 &&
         multiply(rowElems, size, bytes) && multiply(rows, bytes, bytes);
}

static Error invalid(const Call &call, std::string message) {
  return {SHUNT_INVALID_ARGUMENT,
          describe(call.op, *call.ranks) + ": " + std::move(message)};
}

static std::string rowsText(int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Checks the entries of `counts` and adds them up.
static Error checkCounts(const Call &call, const char *name,
                         const int64_t *counts, int64_t &sum) {
  if (!counts)
    return invalid(call, std::string(name) + " is null");
  sum = 0;
  for (int64_t i = 0, n = call.members(); i < n; ++i) {
    if (counts[i] < 0)
      return invalid(call, std::string(name) + " has " +
                               std::to_string(counts[i]) + " for rank " +
                               std::to_string((*call.ranks)[i]) +
                               ", expected at least 0 [E_COUNTS_NEG]");
    if (__builtin_add_overflow(sum, counts[i], &sum))
      return invalid(call, std::string(name) + " add up to more than 2^63 - 1");
  }
  return {};
}

/// Checks the rows of `in` or `out` against what `counts` say.
static Error checkRows(const Call &call, const char *name, int64_t rows,
                       int64_t expected, const char *countsName,
                       const int64_t *counts, bool isSum, const char *code) {
  if (rows == expected)
    return {};
  std::string message =
      std::string(name) + " of rank " + std::to_string((*call.ranks)[call.me]) +
      " has " + rowsText(rows) + ", but " + countsName + " " +
      formatList(counts, call.members()) +
      (isSum ? " add up to " : " give it ") + std::to_string(expected);
  return invalid(call, code ? message + " [" + code + "]" : message);
}

static Error checkRowsAgainstCounts(const Call &call) {
  if (call.op == SHUNT_OP_ALL_REDUCE)
    return {};
  int64_t sum = 0, recvSum = 0;
  bool toAll = call.op == SHUNT_OP_ALL_TO_ALL;
  const char *name = toAll ? "send_counts" : "counts";
  if (Error error = checkCounts(call, name, call.counts, sum))
    return error;
  if (toAll) {
    if (Error error =
            checkCounts(call, "recv_counts", call.recvCounts, recvSum))
      return error;
    if (Error error = checkRows(call, "in", call.inRows, sum, name, call.counts,
                                true, nullptr))
      return error;
    return checkRows(call, "out", call.outRows, recvSum, "recv_counts",
                     call.recvCounts, true, nullptr);
  }
  int64_t mine = call.counts[call.me];
  bool gather = call.op == SHUNT_OP_ALL_GATHER;
  const char *code = gather ? "X_AG_ROWS" : "X_RS_SUM";
  if (Error error = checkRows(call, "in", call.inRows, gather ? mine : sum,
                              name, call.counts, !gather, code))
    return error;
  return checkRows(call, "out", call.outRows, gather ? sum : mine, name,
                   call.counts, gather, code);
}

static Error checkOverlap(const Call &call) {
  auto in = static_cast<const char *>(call.in);
  auto out = static_cast<const char *>(call.out);
  int64_t inBytes = call.inBytes(), outBytes = call.outBytes();
  // std::less orders pointers into different objects, < need not.
  std::less<const char *> before;
  if (!inBytes || !outBytes || !before(in, out + outBytes) ||
      !before(out, in + inBytes))
    return {};
  if (call.op == SHUNT_OP_ALL_REDUCE && in == out)
    return {};
  if (call.op == SHUNT_OP_ALL_GATHER || call.op == SHUNT_OP_REDUCE_SCATTER) {
    int64_t offset = sumCounts(call.counts, call.me) * call.rowBytes;
    if (call.op == SHUNT_OP_ALL_GATHER ? in == out + offset
                                       : out == in + offset)
      return {};
  }
  return invalid(call, "in and out of rank " +
                           std::to_string((*call.ranks)[call.me]) + " overlap");
}

Error checkCall(Call &call) {
  if (call.op == SHUNT_OP_BARRIER)
    return {};
  if (!shunt_dtype_size(call.dtype))
    return invalid(call, "there is no " + dtypeName(call.dtype));
  bool sums =
      call.op == SHUNT_OP_ALL_REDUCE || call.op == SHUNT_OP_REDUCE_SCATTER;
  if (sums && call.dtype == SHUNT_F8E4M3)
    return invalid(call, "f8e4m3 rows cannot be summed; convert them to bf16");
  if (call.rowElems < 0)
    return invalid(call, "row_elems is " + std::to_string(call.rowElems) +
                             ", expected at least 0");
  for (auto [name, rows] :
       {std::pair("in", call.inRows), std::pair("out", call.outRows)}) {
    if (rows < 0)
      return invalid(call, std::string(name) + " has " + std::to_string(rows) +
                               " rows, expected at least 0");
    int64_t bytes;
    if (!sizeOf(rows, call.rowElems, call.dtype, bytes))
      return invalid(call, std::string(name) + " has " + std::to_string(rows) +
                               " rows of " + std::to_string(call.rowElems) +
                               " elements, which is more than 2^63 - 1 bytes");
  }
  if (!sizeOf(1, call.rowElems, call.dtype, call.rowBytes))
    return invalid(call, "a row of " + std::to_string(call.rowElems) +
                             " elements has more than 2^63 - 1 bytes");
  if (Error error = checkRowsAgainstCounts(call))
    return error;
  if (call.mover)
    return {};
  if (!call.in && call.inBytes())
    return invalid(call, "in is null, but has " + rowsText(call.inRows));
  if (!call.out && call.outBytes())
    return invalid(call, "out is null, but has " + rowsText(call.outRows));
  return checkOverlap(call);
}

void zeroOutput(const Call &call) {
  int64_t bytes;
  if (call.out && sizeOf(call.outRows, call.rowElems, call.dtype, bytes))
    std::memset(call.out, 0, static_cast<size_t>(bytes));
}

void recordCall(const Call &call, shunt_stats &stats) {
  int64_t peers = call.members() - 1;
  int64_t sent = 0, received = 0;
  switch (call.op) {
  case SHUNT_OP_ALL_REDUCE: {
    int64_t elems = call.inRows * call.rowElems;
    Slice mine = sliceOf(elems, call.members(), call.me);
    int64_t size = shunt_dtype_size(call.dtype);
    int64_t own = (mine.end - mine.begin) * size, others = elems * size - own;
    sent = received = others + own * peers;
    break;
  }
  case SHUNT_OP_ALL_GATHER:
    sent = call.inBytes() * peers;
    received = call.outBytes() - call.inBytes();
    break;
  case SHUNT_OP_REDUCE_SCATTER:
    sent = call.inBytes() - call.outBytes();
    received = call.outBytes() * peers;
    break;
  case SHUNT_OP_ALL_TO_ALL: {
    int64_t own = call.counts[call.me] * call.rowBytes;
    sent = call.inBytes() - own;
    received = call.outBytes() - own;
    break;
  }
  default:
    break;
  }
  shunt_op_stats &op = stats.ops[call.op];
  ++op.calls;
  op.rows_in += call.inRows;
  op.rows_out += call.outRows;
  op.bytes_sent += sent;
  op.bytes_received += received;
  stats.bytes_sent += sent;
  stats.bytes_received += received;
}

} // namespace shunt::rt
