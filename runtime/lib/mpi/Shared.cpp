//===- Shared.cpp - Exchanges between the ranks of one machine ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members pull: each reads its peers' buffers where they are, in the window,
// and writes its own, one copy for each byte. A buffer that is not in the
// window passes through its rank's slots, piece by piece.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "MpiWorld.h"
#include "Patience.h"

#include <cstring>

namespace shunt::rt::mpi {

constexpr int64_t kInline = -1, kPieces = -2;

static int64_t piecesOf(int64_t bytes) {
  return (bytes + kSlotBytes - 1) / kSlotBytes;
}

/// Waits until every member is done with the last post.
Error MpiWorld::waitForAcks(const Step &step) {
  Area &area = process.own();
  Patience patience(step.call.timeoutMs);
  while (area.acks.load(std::memory_order_acquire) < area.readers)
    if (patience.wait()) {
      std::vector<int64_t> others;
      for (int64_t rank : step.group.ranks)
        if (rank != process.me)
          others.push_back(rank);
      // Who finished in good order has read it before.
      for (int64_t rank : others)
        if (presenceOf(rank) == Presence::Failed)
          return findDeparted(step, {rank});
      if (patience.isOver())
        return timedOut(step, others);
    }
  return {};
}

Error MpiWorld::post(const Step &step) {
  if (Error error = waitForAcks(step))
    return error;
  Area &area = process.own();
  // A peer that compares the key meanwhile finds none.
  area.key.store(0, std::memory_order_release);
  area.header = headerOf(step.call, step.key);
  writeCounts(step.call, process.countsOf(area));
  area.bytes = step.bytes;
  if (step.bytes <= kInlineBytes) {
    area.place = kInline;
    if (step.bytes)
      std::memcpy(area.inlined, step.data, step.bytes);
  } else {
    int64_t offset = process.offsetOf(step.data, step.bytes);
    area.place = offset < 0 ? kPieces : offset;
  }
  area.acks = 0;
  area.readers = step.members() - 1;
  area.pieces = 0;
  for (std::atomic<int64_t> &taken : area.taken)
    taken = 0;
  area.key.store(step.key, std::memory_order_release);
  return {};
}

Error MpiWorld::waitForPosts(const Step &step, std::vector<Call> &calls) {
  Patience patience(step.call.timeoutMs);
  auto missing = [&] {
    std::vector<int64_t> ranks;
    for (int64_t rank : step.group.ranks)
      if (process.areas[rank]->key.load(std::memory_order_acquire) != step.key)
        ranks.push_back(rank);
    return ranks;
  };
  for (int64_t member = 0; member < step.members();) {
    Area &area = *process.areas[step.rank(member)];
    if (area.key.load(std::memory_order_acquire) == step.key) {
      ++member;
      continue;
    }
    if (!patience.wait())
      continue;
    // A rank may post and leave: look for the post again after the leave.
    Error error = findDeparted(step, {step.rank(member)});
    if (error && area.key.load(std::memory_order_acquire) != step.key)
      return findDeparted(step, missing());
    if (patience.isOver()) {
      std::vector<int64_t> ranks = missing();
      if (!ranks.empty())
        return timedOut(step, ranks);
    }
  }
  for (int64_t member = 0; member < step.members(); ++member) {
    Area &area = *process.areas[step.rank(member)];
    calls.push_back(
        callOf(area.header, process.countsOf(area), step.group.ranks, member));
  }
  return {};
}

/// Copies the part of a peer's piece that the caller takes.
static void takePiece(const Step &step, int64_t member, const char *slot,
                      int64_t piece, int64_t bytes, const Range &range) {
  int64_t begin = std::max(piece * kSlotBytes, range.begin);
  int64_t end =
      std::min({(piece + 1) * kSlotBytes, bytes, range.begin + range.bytes});
  if (begin < end)
    copyBytes(step.exchange.target(member) + (begin - range.begin),
              slot + (begin - piece * kSlotBytes), end - begin, false);
}

/// Writes the next piece of the caller's data and reads what peers have
/// written; whether there was something to do.
bool MpiWorld::passSome(const Step &step, const std::vector<Range> &takes,
                        std::vector<int64_t> &read) {
  bool progress = false;
  Area &own = process.own();
  int64_t readers = step.members() - 1;
  if (own.place == kPieces) {
    int64_t next = own.pieces.load(std::memory_order_relaxed);
    std::atomic<int64_t> &taken = own.taken[next % kSlots];
    if (next < piecesOf(step.bytes) &&
        (next < kSlots || taken.load(std::memory_order_acquire) == readers)) {
      taken.store(0, std::memory_order_relaxed);
      int64_t begin = next * kSlotBytes;
      std::memcpy(process.slotOf(own, next), step.data + begin,
                  std::min(kSlotBytes, step.bytes - begin));
      own.pieces.store(next + 1, std::memory_order_release);
      progress = true;
    }
  }
  for (int64_t i = 1; i < step.members(); ++i) {
    int64_t member = (step.call.me + i) % step.members();
    Area &area = *process.areas[step.rank(member)];
    int64_t piece = read[member];
    if (area.place != kPieces || piece == piecesOf(area.bytes) ||
        area.pieces.load(std::memory_order_acquire) <= piece)
      continue;
    takePiece(step, member, process.slotOf(area, piece), piece, area.bytes,
              takes[member]);
    area.taken[piece % kSlots].fetch_add(1, std::memory_order_release);
    ++read[member];
    progress = true;
  }
  return progress;
}

Error MpiWorld::passPieces(const Step &step, const std::vector<Range> &takes) {
  std::vector<int64_t> read(step.members());
  Patience patience(step.call.timeoutMs);
  while (true) {
    if (passSome(step, takes, read)) {
      patience.progress();
      continue;
    }
    std::vector<int64_t> missing;
    bool done = process.own().place != kPieces ||
                process.own().pieces == piecesOf(step.bytes);
    for (int64_t member = 0; member < step.members(); ++member) {
      Area &area = *process.areas[step.rank(member)];
      if (member != step.call.me && area.place == kPieces &&
          read[member] < piecesOf(area.bytes))
        missing.push_back(step.rank(member));
    }
    if (done && missing.empty())
      return {};
    if (!patience.wait())
      continue;
    // Of those that take pieces it is not known who is late.
    if (missing.empty())
      missing = step.group.ranks;
    for (int64_t rank : missing)
      if (rank != process.me && presenceOf(rank) == Presence::Failed)
        return findDeparted(step, {rank});
    if (patience.isOver())
      return timedOut(step, missing);
  }
}

Error MpiWorld::exchangeShared(const Step &step) {
  if (Error error = post(step))
    return error;
  std::vector<Call> calls;
  if (Error error = waitForPosts(step, calls))
    return error;
  // Everyone sees the same posts, so everyone comes to the same verdict.
  if (Error error = agreeOn(step, calls))
    return error;

  int64_t n = step.members();
  std::vector<Range> takes(n);
  bool inPieces = false;
  for (int64_t member = 0; member < n; ++member) {
    takes[member] = step.exchange.takes(member, calls[member]);
    inPieces |= process.areas[step.rank(member)]->place == kPieces;
  }
  if (inPieces)
    if (Error error = passPieces(step, takes))
      return error;

  std::vector<const void *> sources(n);
  int64_t total = 0;
  for (int64_t member = 0; member < n; ++member) {
    Area &area = *process.areas[step.rank(member)];
    const char *data = member == step.call.me  ? step.data
                       : area.place == kInline ? area.inlined
                       : area.place == kPieces
                           ? nullptr
                           : reinterpret_cast<char *>(&area) + area.place;
    // What came in pieces is at its target already.
    sources[member] =
        data ? (takes[member].bytes ? data + takes[member].begin : data)
             : step.exchange.target(member);
    total += takes[member].bytes;
  }
  if (!step.exchange.consume(sources)) {
    bool streaming = wantsStreaming(total);
    // Starting with the neighbour spreads the members over the sources.
    for (int64_t i = 1; i <= n; ++i) {
      int64_t member = (step.call.me + i) % n;
      if (takes[member].bytes)
        copyBytes(step.exchange.target(member), sources[member],
                  takes[member].bytes, streaming);
    }
  }
  for (int64_t member = 0; member < n; ++member)
    if (member != step.call.me)
      process.areas[step.rank(member)]->acks.fetch_add(
          1, std::memory_order_release);
  // Peers may still read a buffer that is in the window.
  return process.own().place >= 0 ? waitForAcks(step) : Error();
}

} // namespace shunt::rt::mpi
