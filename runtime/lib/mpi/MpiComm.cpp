//===- MpiComm.cpp - see MpiComm.h ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are made by this rank from the rows of all members, in group order:
// the same bits as on every other backend, and as on every other rank.
//
//===----------------------------------------------------------------------===//

#include "MpiComm.h"

#include "Kernels.h"
#include "Plugin.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace shunt::rt::mpi {

std::unique_ptr<GroupState>
MpiComm::openGroup(const std::vector<int64_t> &ranks) {
  auto group = std::make_unique<MpiGroup>();
  group->ranks = ranks;
  // FNV-1a; zero is no key.
  group->hash = 0xcbf29ce484222325u;
  for (int64_t rank : ranks) {
    group->hash = (group->hash ^ static_cast<uint64_t>(rank)) * 0x100000001b3u;
    group->local &= world.isLocal(rank);
  }
  return group;
}

Error MpiComm::exchange(MpiGroup &group, const Call &call, int64_t phase,
                        const void *data, int64_t bytes,
                        const Exchange &exchange) {
  uint64_t key = group.hash ^
                 ((call.sequence * 2 + phase) * uint64_t(0x9e3779b97f4a7c15u));
  if (key == 0)
    key = 1;
  return world.exchange({group, call, key, static_cast<const char *>(data),
                         bytes, phase == 0, exchange});
}

char *MpiComm::scratch(int64_t bytes) {
  if (bytes > roomBytes) {
    std::free(room);
    roomBytes = 0;
    room = std::malloc(bytes);
    if (!room)
      throw std::bad_alloc();
    roomBytes = bytes;
  }
  return static_cast<char *>(room);
}

static char *at(void *base, int64_t offset) {
  return offset ? static_cast<char *>(base) + offset
                : static_cast<char *>(base);
}

namespace {
struct NoData : Exchange {
  Range takes(int64_t, const Call &) const override { return {}; }
  char *target(int64_t) const override { return nullptr; }
  Range gives(int64_t) const override { return {}; }
  bool consume(const std::vector<const void *> &) const override {
    return true;
  }
};

struct Gather : Exchange {
  explicit Gather(const Call &call) : call(call) {}
  Range takes(int64_t from, const Call &) const override {
    return {0, call.counts[from] * call.rowBytes};
  }
  char *target(int64_t from) const override {
    return at(call.out, sumCounts(call.counts, from) * call.rowBytes);
  }
  Range gives(int64_t) const override { return {0, call.inBytes()}; }

  const Call &call;
};

struct AllToAll : Exchange {
  explicit AllToAll(const Call &call) : call(call) {}
  Range takes(int64_t from, const Call &peer) const override {
    return {sumCounts(peer.counts, call.me) * call.rowBytes,
            call.recvCounts[from] * call.rowBytes};
  }
  char *target(int64_t from) const override {
    return at(call.out, sumCounts(call.recvCounts, from) * call.rowBytes);
  }
  Range gives(int64_t to) const override {
    return {sumCounts(call.counts, to) * call.rowBytes,
            call.counts[to] * call.rowBytes};
  }

  const Call &call;
};

/// Everyone adds up one range of all members' buffers.
struct SumRange : Exchange {
  SumRange(const Call &call, char *scratch, void *out, Range mine)
      : call(call), scratch(scratch), out(out), mine(mine) {}
  Range takes(int64_t, const Call &) const override { return mine; }
  char *target(int64_t from) const override {
    return scratch + from * mine.bytes;
  }
  bool consume(const std::vector<const void *> &sources) const override {
    int64_t elems = mine.bytes / shunt_dtype_size(call.dtype);
    if (elems)
      sumRows(out, sources.data(), call.members(), elems, call.dtype);
    return true;
  }

  const Call &call;
  char *scratch;
  void *out;
  Range mine;
};

struct ReduceScatter : SumRange {
  using SumRange::SumRange;
  Range gives(int64_t to) const override {
    return {sumCounts(call.counts, to) * call.rowBytes,
            call.counts[to] * call.rowBytes};
  }
};

/// The first half of a large all_reduce: the members share the elements out.
struct ReduceSlices : SumRange {
  using SumRange::SumRange;
  static Range slice(const Call &call, int64_t member) {
    int64_t size = shunt_dtype_size(call.dtype);
    Slice s = sliceOf(call.inRows * call.rowElems, call.members(), member);
    return {s.begin * size, (s.end - s.begin) * size};
  }
  Range gives(int64_t to) const override { return slice(call, to); }
};

/// The second half: each offers the slice that it has summed.
struct GatherSlices : Exchange {
  explicit GatherSlices(const Call &call) : call(call) {}
  Range takes(int64_t from, const Call &) const override {
    return {0, ReduceSlices::slice(call, from).bytes};
  }
  char *target(int64_t from) const override {
    return at(call.out, ReduceSlices::slice(call, from).begin);
  }
  Range gives(int64_t) const override {
    return {0, ReduceSlices::slice(call, call.me).bytes};
  }

  const Call &call;
};

/// A small all_reduce: each adds up everything.
struct ReduceAll : SumRange {
  using SumRange::SumRange;
  Range gives(int64_t) const override { return mine; }
};
} // namespace

Error MpiComm::reduceScatter(MpiGroup &group, const Call &call) {
  Range mine = {sumCounts(call.counts, call.me) * call.rowBytes,
                call.outBytes()};
  return exchange(group, call, 0, call.in, call.inBytes(),
                  ReduceScatter(call, scratch(call.members() * mine.bytes),
                                call.out, mine));
}

Error MpiComm::allReduce(MpiGroup &group, const Call &call) {
  int64_t bytes = call.inBytes(), n = call.members();
  if (bytes <= kInlineBytes) {
    // `out` may be `in`, which is read first: summed aside.
    char *room = scratch((n + 1) * bytes);
    if (Error error = exchange(group, call, 0, call.in, bytes,
                               ReduceAll(call, room + bytes, room, {0, bytes})))
      return error;
    if (bytes)
      std::memcpy(call.out, room, bytes);
    return {};
  }
  Range mine = ReduceSlices::slice(call, call.me);
  char *sums = at(call.out, mine.begin);
  if (Error error =
          exchange(group, call, 0, call.in, bytes,
                   ReduceSlices(call, scratch(n * mine.bytes), sums, mine)))
    return error;
  return exchange(group, call, 1, sums, mine.bytes, GatherSlices(call));
}

Error MpiComm::perform(GroupState &state, const Call &call) {
  auto &group = static_cast<MpiGroup &>(state);
  switch (call.op) {
  case SHUNT_OP_ALL_GATHER:
    return exchange(group, call, 0, call.in, call.inBytes(), Gather(call));
  case SHUNT_OP_ALL_TO_ALL:
    return exchange(group, call, 0, call.in, call.inBytes(), AllToAll(call));
  case SHUNT_OP_REDUCE_SCATTER:
    return reduceScatter(group, call);
  case SHUNT_OP_ALL_REDUCE:
    return allReduce(group, call);
  default:
    return exchange(group, call, 0, nullptr, 0, NoData());
  }
}

void *MpiComm::allocate(int64_t bytes) {
  if (void *memory = process.allocate(bytes))
    return memory;
  // Without room in the window data passes through pieces: slower, right.
  return Comm::allocate(bytes);
}

void MpiComm::release(void *memory) {
  if (process.owns(memory))
    process.release(memory);
  else
    Comm::release(memory);
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

namespace {
class MpiBackend : public Backend {
public:
  const char *name() const override { return "mpi"; }
  Error createWorld(int64_t size, const shunt_options &options,
                    std::unique_ptr<World> &world) override {
    return MpiWorld::create(size, options, world);
  }
};
} // namespace

static Backend &mpiBackend() {
  static MpiBackend backend;
  return backend;
}

} // namespace shunt::rt::mpi

extern "C" SHUNT_API const shunt::rt::BackendPlugin shunt_backend_plugin = {
    shunt::rt::BackendAbi(), &shunt::rt::mpi::mpiBackend};
