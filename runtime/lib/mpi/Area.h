//===- Area.h - What the ranks of one machine share -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank has an area in a window that all ranks of its machine map. In it
// the rank *posts* what it enters a collective with; peers read the post and
// the data, and acknowledge it. A post stays until all members have: so nobody
// needs a lock, and a slow peer of a call that failed still finds the same
// posts and comes to the same verdict.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MPI_AREA_H
#define SHUNT_RUNTIME_MPI_AREA_H

#include "Call.h"

#include <atomic>

namespace shunt::rt::mpi {

/// The plain part of a Call, as it travels. Counts follow it, two lists of as
/// many entries as the group has members (the second for all_to_all only).
struct Header {
  uint64_t key = 0;
  int64_t op = 0, inRows = 0, outRows = 0, rowElems = 0, dtype = 0;
  int64_t step = 0, purposeDtype = 0;
  uint64_t routing = 0, sequence = 0;
};
static_assert(sizeof(Header) % sizeof(int64_t) == 0, "sent as integers");

Header headerOf(const Call &call, uint64_t key);
/// The call that a header and its counts describe, but for buffers.
Call callOf(const Header &header, const int64_t *counts,
            const std::vector<int64_t> &ranks, int64_t me);
/// Writes the counts of a call, two lists; those that it does not have are 0.
void writeCounts(const Call &call, int64_t *counts);

/// Data that fits travels with the post.
constexpr int64_t kInlineBytes = 4096;
/// What a rank lends at once when its buffer is not in the window.
constexpr int64_t kSlotBytes = int64_t(1) << 20;
constexpr int64_t kSlots = 2;
constexpr int64_t kReasonBytes = 1000;

enum class Presence : uint32_t { Here, Finished, Failed };

/// A presence and the run of the world that it is of: a rank that finished an
/// earlier run is only late for this one.
struct Sighting {
  Presence presence = Presence::Here;
  uint64_t run = 0;

  uint64_t word() const { return run << 2 | static_cast<uint64_t>(presence); }
  static Sighting of(uint64_t word) {
    return {static_cast<Presence>(word & 3), word >> 2};
  }
};

/// What a rank enters an exchange with. The counts, of twice the world's size,
/// are elsewhere.
struct Post {
  alignas(64) std::atomic<uint64_t> key{0}; ///< 0: being written
  Header header;
  /// Where the data is: its offset in the rank's part of the window, or one of
  /// the below.
  int64_t place = 0;
  int64_t bytes = 0;
  /// Of private data, in the rank's own memory.
  uint64_t address = 0;
  /// Members that need the post no longer, and how many have to say so.
  alignas(64) std::atomic<int64_t> acks{0};
  int64_t readers = 0;
  alignas(64) char inlined[kInlineBytes];
};
enum Place : int64_t {
  kInline = -1,  ///< with the post
  kPieces = -2,  ///< passes through the slots
  kPrivate = -3, ///< peers copy it out of the rank's memory
};

/// Two, so that a rank need not wait for the readers of its last post: who has
/// posted after that has read it.
constexpr int64_t kPosts = 2;

/// Starts each rank's part of the window. The posts' counts follow; then the
/// slots, then memory for buffers.
struct Area {
  Post posts[kPosts];
  /// Pieces written so far; members that have read the piece in each slot.
  alignas(64) std::atomic<int64_t> pieces{0};
  std::atomic<int64_t> taken[kSlots];
  /// A Sighting.
  alignas(64) std::atomic<uint64_t> presence{0};
  int32_t pid = 0;
  char reason[kReasonBytes] = {};

  /// The post of an exchange; null if it is not there.
  Post *find(uint64_t key) {
    for (Post &post : posts)
      if (post.key.load(std::memory_order_acquire) == key)
        return &post;
    return nullptr;
  }
};

} // namespace shunt::rt::mpi

#endif // SHUNT_RUNTIME_MPI_AREA_H
