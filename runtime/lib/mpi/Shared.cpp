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

static int64_t piecesOf(int64_t bytes) {
  return (bytes + kSlotBytes - 1) / kSlotBytes;
}

/// Waits until every member is done with a post of this rank.
Error MpiWorld::waitForAcks(const Step &step, Post &post) {
  Patience patience(step.call.timeoutMs, !process.oversubscribed);
  while (post.acks.load(std::memory_order_acquire) < post.readers)
    if (patience.wait()) {
      // Who finished in good order has read it before.
      std::vector<int64_t> others;
      for (int64_t rank : step.group.ranks) {
        if (rank == process.me)
          continue;
        if (presenceOf(step, rank) == Presence::Failed)
          return findDeparted(step, {rank});
        others.push_back(rank);
      }
      if (patience.isOver())
        return timedOut(step, others);
    }
  return {};
}

Error MpiWorld::post(const Step &step, Post *&mine) {
  Area &area = process.own();
  Post &post = area.posts[posted++ % kPosts];
  if (Error error = waitForAcks(step, post))
    return error;
  // A peer that compares the key meanwhile finds none.
  post.key.store(0, std::memory_order_release);
  post.header = headerOf(step.call, step.key);
  writeCounts(step.call, process.countsOf(area, post));
  post.bytes = step.bytes;
  if (step.bytes <= kInlineBytes) {
    post.place = kInline;
    if (step.bytes)
      std::memcpy(post.inlined, step.data, step.bytes);
  } else if (int64_t offset = process.offsetOf(step.data, step.bytes);
             offset >= 0) {
    post.place = offset;
  } else {
    post.place = process.readsMemory ? kPrivate : kPieces;
    post.address = reinterpret_cast<uint64_t>(step.data);
    area.pieces = 0;
  }
  post.acks = 0;
  post.readers = step.members() - 1;
  post.key.store(step.key, std::memory_order_release);
  mine = &post;
  return {};
}

Error MpiWorld::waitForPosts(const Step &step) {
  posts.clear();
  Patience patience(step.call.timeoutMs, !process.oversubscribed);
  auto find = [&](int64_t member) {
    return process.areas[step.rank(member)]->find(step.key);
  };
  auto missing = [&] {
    std::vector<int64_t> ranks;
    for (int64_t member = 0; member < step.members(); ++member)
      if (!find(member))
        ranks.push_back(step.rank(member));
    return ranks;
  };
  for (int64_t member = 0; member < step.members();) {
    if (Post *post = find(member)) {
      posts.push_back(post);
      ++member;
      continue;
    }
    if (!patience.wait())
      continue;
    // A rank may post and leave: look for the post again after the leave.
    if (presenceOf(step, step.rank(member)) != Presence::Here && !find(member))
      return findDeparted(step, missing());
    if (patience.isOver())
      if (std::vector<int64_t> ranks = missing(); !ranks.empty())
        return timedOut(step, ranks);
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
bool MpiWorld::passSome(const Step &step, std::vector<int64_t> &read) {
  bool progress = false;
  Area &own = process.own();
  int64_t readers = step.members() - 1;
  if (posts[step.call.me]->place == kPieces) {
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
    int64_t piece = read[member], bytes = posts[member]->bytes;
    if (posts[member]->place != kPieces || piece == piecesOf(bytes) ||
        area.pieces.load(std::memory_order_acquire) <= piece)
      continue;
    takePiece(step, member, process.slotOf(area, piece), piece, bytes,
              takes[member]);
    area.taken[piece % kSlots].fetch_add(1, std::memory_order_release);
    ++read[member];
    progress = true;
  }
  return progress;
}

Error MpiWorld::passPieces(const Step &step) {
  std::vector<int64_t> read(step.members());
  Patience patience(step.call.timeoutMs, !process.oversubscribed);
  while (true) {
    if (passSome(step, read)) {
      patience.progress();
      continue;
    }
    std::vector<int64_t> missing;
    bool done = posts[step.call.me]->place != kPieces ||
                process.own().pieces == piecesOf(step.bytes);
    for (int64_t member = 0; member < step.members(); ++member)
      if (member != step.call.me && posts[member]->place == kPieces &&
          read[member] < piecesOf(posts[member]->bytes))
        missing.push_back(step.rank(member));
    if (done && missing.empty())
      return {};
    if (!patience.wait())
      continue;
    // Of those that take pieces it is not known who is late.
    if (missing.empty())
      missing = step.group.ranks;
    for (int64_t rank : missing)
      if (rank != process.me && presenceOf(step, rank) == Presence::Failed)
        return findDeparted(step, {rank});
    if (patience.isOver())
      return timedOut(step, missing);
  }
}

Error MpiWorld::exchangeShared(const Step &step) {
  Post *mine = nullptr;
  if (Error error = post(step, mine))
    return error;
  if (Error error = waitForPosts(step))
    return error;
  int64_t n = step.members();
  calls.clear();
  for (int64_t member = 0; member < n; ++member)
    calls.push_back(callOf(
        posts[member]->header,
        process.countsOf(*process.areas[step.rank(member)], *posts[member]),
        step.group.ranks, member));
  // Everyone sees the same posts, so everyone comes to the same verdict.
  if (Error error = agreeOn(step))
    return error;

  takes.resize(n);
  bool inPieces = false;
  for (int64_t member = 0; member < n; ++member) {
    takes[member] = step.exchange.takes(member, calls[member]);
    inPieces |= posts[member]->place == kPieces;
  }
  if (inPieces)
    if (Error error = passPieces(step))
      return error;

  sources.resize(n);
  int64_t total = 0;
  // Starting with the neighbour spreads the members over the sources.
  for (int64_t i = 1; i <= n; ++i) {
    int64_t member = (step.call.me + i) % n, rank = step.rank(member);
    const Post &post = *posts[member];
    const Range &range = takes[member];
    total += range.bytes;
    const char *data = nullptr;
    if (member == step.call.me)
      data = step.data;
    else if (post.place == kInline)
      data = post.inlined;
    else if (post.place >= 0)
      data = reinterpret_cast<char *>(process.areas[rank]) + post.place;
    else if (post.place == kPrivate && range.bytes)
      if (Error error =
              process.readMemory(rank, post.address + range.begin,
                                 step.exchange.target(member), range.bytes))
        return error;
    // What was copied is at its target already.
    sources[member] = !data         ? step.exchange.target(member)
                      : range.bytes ? data + range.begin
                                    : data;
  }
  if (!step.exchange.consume(sources)) {
    bool streaming = wantsStreaming(total);
    for (int64_t i = 1; i <= n; ++i) {
      int64_t member = (step.call.me + i) % n;
      if (takes[member].bytes)
        copyBytes(step.exchange.target(member), sources[member],
                  takes[member].bytes, streaming);
    }
  }
  for (int64_t member = 0; member < n; ++member)
    if (member != step.call.me)
      posts[member]->acks.fetch_add(1, std::memory_order_release);
  // Peers may still read the buffer itself, or the slots.
  return mine->place == kInline ? Error() : waitForAcks(step, *mine);
}

} // namespace shunt::rt::mpi
