//===- MoveData.cpp - Collectives in shared memory
//-------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every member pulls: it reads its peers' `in` and writes its own `out`, one
// copy for each byte. Nothing here may fail or allocate: peers wait.
//
//===----------------------------------------------------------------------===//

#include "HostWorld.h"
#include "Kernels.h"

namespace shunt::rt {

static const char *bytesAt(const void *base, int64_t offset) {
  return offset ? static_cast<const char *>(base) + offset
                : static_cast<const char *>(base);
}
static char *bytesAt(void *base, int64_t offset) {
  return offset ? static_cast<char *>(base) + offset
                : static_cast<char *>(base);
}

static void gather(const Meeting &meeting, const Call &call) {
  bool streaming = wantsStreaming(call.outBytes());
  int64_t n = call.members();
  // Starting with the neighbour spreads the members over the sources.
  for (int64_t step = 1; step <= n; ++step) {
    int64_t peer = (call.me + step) % n;
    const Call &source = *meeting.calls()[peer];
    int64_t offset = sumCounts(call.counts, peer) * call.rowBytes;
    copyBytes(bytesAt(call.out, offset), source.in, source.inBytes(),
              streaming);
  }
}

static void exchange(const Meeting &meeting, const Call &call) {
  bool streaming = wantsStreaming(call.outBytes());
  int64_t n = call.members();
  for (int64_t step = 1; step <= n; ++step) {
    int64_t peer = (call.me + step) % n;
    const Call &source = *meeting.calls()[peer];
    int64_t from = sumCounts(source.counts, call.me) * call.rowBytes;
    int64_t to = sumCounts(call.recvCounts, peer) * call.rowBytes;
    copyBytes(bytesAt(call.out, to), bytesAt(source.in, from),
              call.recvCounts[peer] * call.rowBytes, streaming);
  }
}

/// Sums `elems` elements at `offset` bytes of every member's `in` into `out`.
static void sumMembers(const Meeting &meeting, const Call &call, void *out,
                       int64_t offset, int64_t elems,
                       std::vector<const void *> &sources) {
  if (!elems)
    return;
  for (int64_t i = 0, n = call.members(); i < n; ++i)
    sources[i] = bytesAt(meeting.calls()[i]->in, offset);
  sumRows(out, sources.data(), call.members(), elems, call.dtype);
}

static void scatterSum(const Meeting &meeting, const Call &call,
                       std::vector<const void *> &sources) {
  // In place, `out` is the part of `in` that no other member reads.
  int64_t offset = sumCounts(call.counts, call.me) * call.rowBytes;
  sumMembers(meeting, call, call.out, offset, call.outRows * call.rowElems,
             sources);
}

static constexpr int64_t smallBytes = 4096;

/// Whether summing everything on each member is cheaper than a third meeting.
static bool isSmall(const Call &call) {
  return call.inBytes() <= smallBytes &&
         call.inBytes() * call.members() <= 8 * smallBytes;
}

static void reduceSmall(HostWorld &world, Meeting &meeting, const Call &call,
                        std::vector<const void *> &sources) {
  // `out` may be `in`, which peers still read: sum aside, copy after they have.
  alignas(64) char sums[smallBytes];
  sumMembers(meeting, call, sums, 0, call.inRows * call.rowElems, sources);
  world.join(meeting, call);
  copyBytes(call.out, sums, call.outBytes(), false);
}

static void reduceLarge(HostWorld &world, Meeting &meeting, const Call &call,
                        std::vector<const void *> &sources) {
  int64_t elems = call.inRows * call.rowElems;
  int64_t size = shunt_dtype_size(call.dtype);
  int64_t n = call.members();
  bool streaming = wantsStreaming(call.outBytes());
  // In place, a member overwrites only the slice of `in` that it alone reads.
  Slice mine = sliceOf(elems, n, call.me);
  sumMembers(meeting, call, bytesAt(call.out, mine.begin * size),
             mine.begin * size, mine.end - mine.begin, sources);
  world.join(meeting, call);
  for (int64_t step = 1; step < n; ++step) {
    int64_t peer = (call.me + step) % n;
    Slice slice = sliceOf(elems, n, peer);
    int64_t offset = slice.begin * size;
    copyBytes(bytesAt(call.out, offset),
              bytesAt(meeting.calls()[peer]->out, offset),
              (slice.end - slice.begin) * size, streaming);
  }
  world.join(meeting, call);
}

void moveData(HostWorld &world, Meeting &meeting, const Call &call,
              std::vector<const void *> &sources) {
  if (call.mover) {
    call.mover->move(meeting.calls());
    return world.join(meeting, call);
  }
  switch (call.op) {
  case SHUNT_OP_ALL_REDUCE:
    if (isSmall(call))
      return reduceSmall(world, meeting, call, sources);
    return reduceLarge(world, meeting, call, sources);
  case SHUNT_OP_ALL_GATHER:
    gather(meeting, call);
    break;
  case SHUNT_OP_REDUCE_SCATTER:
    scatterSum(meeting, call, sources);
    break;
  case SHUNT_OP_ALL_TO_ALL:
    exchange(meeting, call);
    break;
  default:
    // A barrier reads nothing of its peers, so it need not wait for them again.
    return;
  }
  world.join(meeting, call);
}

} // namespace shunt::rt
