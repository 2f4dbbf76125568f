//===- HostWorld.cpp - see HostWorld.h
//-------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostWorld.h"
#include "Text.h"

#include <algorithm>
#include <new>
#include <thread>

namespace shunt::rt {

HostWorld::~HostWorld() = default;

Meeting &HostWorld::meeting(const std::vector<int64_t> &ranks) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Meeting> &entry = meetings[ranks];
  if (!entry)
    entry = std::make_unique<Meeting>(ranks);
  return *entry;
}

/// checkAgreement for the last arrival, which must decide in any case.
static Error checkMembers(const Meeting &meeting) {
  try {
    return checkAgreement(meeting.ranks(), meeting.calls());
  } catch (const std::bad_alloc &) {
    return {SHUNT_OUT_OF_MEMORY, std::string()};
  }
}

Error HostWorld::open(Meeting &meeting, const Call &call) {
  uint64_t phase = meeting.phase();
  meeting.publish(call.me, &call);
  switch (meeting.arrive(call.me, phase)) {
  case Meeting::Arrival::Broken:
    return meeting.verdict();
  case Meeting::Arrival::Last:
    if (Error error = checkMembers(meeting)) {
      meeting.reject(std::move(error));
      return meeting.verdict();
    }
    meeting.complete(phase);
    return {};
  case Meeting::Arrival::Early:
    return wait(meeting, call, phase);
  }
  return {SHUNT_INTERNAL, "unknown arrival"};
}

void HostWorld::join(Meeting &meeting, const Call &call) {
  // Members are copying; they come back however long it takes, and until then
  // no buffer may be reused. So there is no timeout and no way to break it.
  uint64_t phase = meeting.phase();
  if (meeting.arrive(call.me, phase) == Meeting::Arrival::Last)
    return meeting.complete(phase);
  if (spin(meeting, phase))
    return;
  while (true) {
    uint32_t seen = meeting.events();
    if (meeting.isOver(phase))
      return;
    meeting.sleep(seen, Clock::time_point::max());
  }
}

bool HostWorld::spin(const Meeting &meeting, uint64_t phase) const {
  auto settled = [&] { return meeting.isOver(phase) || meeting.isBroken(); };
  // A hand-off between running threads takes 40 ns, a sleep 20 us or more. With
  // more ranks than cores a spin would take the time of the ranks it waits for.
  for (int i = 0, limit = oversubscribed ? 0 : 200; i < limit; ++i) {
    if (settled())
      return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  for (int i = 0; i < 50; ++i) {
    if (settled())
      return true;
    std::this_thread::yield();
  }
  return settled();
}

Error HostWorld::wait(Meeting &meeting, const Call &call, uint64_t phase) {
  // A year is for ever, and does not overflow.
  const int64_t longest = int64_t(365) * 24 * 3600 * 1000;
  auto deadline = Clock::now() +
                  std::chrono::milliseconds(std::min(call.timeoutMs, longest));
  spin(meeting, phase);
  for (bool registered = false;; registered = true) {
    uint32_t seen = meeting.events();
    if (meeting.isOver(phase))
      return {};
    if (meeting.isBroken())
      return meeting.verdict();

    bool expired = Clock::now() >= deadline;
    if (Error error = diagnose(meeting, call, phase, !registered, expired))
      meeting.tryBreak(phase, std::move(error));
    else if (expired)
      std::this_thread::yield();
    else
      meeting.sleep(seen, deadline);
  }
}

Error HostWorld::diagnose(Meeting &meeting, const Call &call, uint64_t phase,
                          bool isFirst, bool expired) try {
  std::lock_guard<std::mutex> lock(mutex);
  if (Error error = findDeparted(meeting, call, phase))
    return error;
  if (isFirst) {
    int64_t rank = meeting.ranks()[call.me];
    waits[rank] = {&meeting, phase, call.op};
    // The last rank of a circle to come here sees all the others.
    if (Error error = breakCycle(rank))
      return error;
  }
  return expired ? timedOut(meeting, call, phase) : Error();
} catch (const std::bad_alloc &) {
  // Peers hold a pointer to `call`, so the meeting must end before it does.
  return {SHUNT_OUT_OF_MEMORY, std::string()};
}

Error HostWorld::findDeparted(Meeting &meeting, const Call &call,
                              uint64_t phase) {
  std::string text, root;
  for (int64_t rank : meeting.missing(phase)) {
    const std::optional<Error> &departure = departures[rank];
    if (!departure)
      continue;
    text += (text.empty() ? " rank " : "; rank ") + std::to_string(rank);
    if (*departure) {
      text += " failed: " + departure->rootCause();
      root = root.empty() ? departure->rootCause() : root;
    } else {
      text += " finished without it";
    }
  }
  if (text.empty())
    return {};
  // A cause that ends in the same code need not say it twice.
  const std::string code = " [X_MISSING_RANK]";
  if (text.size() < code.size() ||
      text.compare(text.size() - code.size(), code.size(), code) != 0)
    text += code;
  Error error(SHUNT_ABORTED, describe(call.op, meeting.ranks()) + ":" + text);
  error.root = root;
  return error;
}

/// Finds ranks, from `rank` on, each of which waits for the next, which waits
/// in another meeting, the last of them for `start`.
bool HostWorld::findCycle(int64_t rank, int64_t start, std::vector<bool> &seen,
                          std::vector<int64_t> &path) {
  seen[rank] = true;
  path.push_back(rank);
  const Wait &here = waits[rank];
  for (int64_t next : here.meeting->missing(here.phase)) {
    const Wait &there = waits[next];
    if (!there.isCurrent() || there.meeting == here.meeting)
      continue;
    if (next == start || (!seen[next] && findCycle(next, start, seen, path)))
      return true;
  }
  path.pop_back();
  return false;
}

// A rank registers under the mutex before it sleeps. So a current entry of
// `waits` stays true while this looks: to go on, its rank needs one that is in
// `waits` too, and that one cannot register elsewhere meanwhile.
Error HostWorld::breakCycle(int64_t rank) {
  std::vector<bool> seen(waits.size());
  std::vector<int64_t> path;
  if (!findCycle(rank, rank, seen, path))
    return {};
  std::string text = "collectives wait for each other:";
  for (size_t i = 0; i < path.size(); ++i) {
    const Wait &wait = waits[path[i]];
    text += (i ? ", rank " : " rank ") + std::to_string(path[i]) + " in " +
            describe(wait.op, wait.meeting->ranks()) + " for rank " +
            std::to_string(path[(i + 1) % path.size()]);
  }
  Error error(SHUNT_MISMATCH, text + " [X_MISSING_RANK]");
  for (int64_t member : path)
    if (member != rank)
      waits[member].meeting->tryBreak(waits[member].phase, error);
  return error;
}

Error HostWorld::timedOut(Meeting &meeting, const Call &call, uint64_t phase) {
  std::vector<int64_t> missing = meeting.missing(phase);
  if (missing.empty())
    return {};
  std::string text = describe(call.op, meeting.ranks()) + ": " +
                     formatRanks(missing) + " never arrived within " +
                     std::to_string(call.timeoutMs) + " ms";
  for (int64_t rank : missing)
    if (const Wait &wait = waits[rank]; wait.isCurrent())
      text += "; rank " + std::to_string(rank) + " waits in " +
              describe(wait.op, wait.meeting->ranks());
  return {SHUNT_TIMEOUT, text + " [X_MISSING_RANK]"};
}

void HostWorld::leave(int64_t rank, const Error &error) {
  std::lock_guard<std::mutex> lock(mutex);
  departures[rank] = error;
  for (auto &[ranks, meeting] : meetings)
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
      meeting->wake();
}

void HostWorld::rejoin(int64_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  departures[rank].reset();
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

namespace {
struct HostGroup : GroupState {
  explicit HostGroup(Meeting &meeting)
      : meeting(meeting), sources(meeting.ranks().size()) {}
  Meeting &meeting;
  /// Room for moveData, which must not fail for want of memory.
  std::vector<const void *> sources;
};

class HostComm : public Comm {
public:
  HostComm(HostWorld &world, int64_t rank) : world(world), rank(rank) {}

  std::unique_ptr<GroupState>
  openGroup(const std::vector<int64_t> &ranks) override {
    return std::make_unique<HostGroup>(world.meeting(ranks));
  }

  Error perform(GroupState &group, const Call &call) override {
    auto &host = static_cast<HostGroup &>(group);
    if (Error error = world.open(host.meeting, call))
      return error;
    moveData(world, host.meeting, call, host.sources);
    return {};
  }

  bool sharesMemory() const override { return true; }
  void leave(const Error &error) override { world.leave(rank, error); }
  void rejoin() override { world.rejoin(rank); }

private:
  HostWorld &world;
  int64_t rank;
};

class HostBackend : public Backend {
public:
  const char *name() const override { return "host"; }
  Error createWorld(int64_t size, const shunt_options &options,
                    std::unique_ptr<World> &world) override {
    // What the word of a Meeting has room for, and more than a machine runs.
    const int64_t most = 65536;
    if (size > most)
      return {SHUNT_INVALID_ARGUMENT,
              "a host world has at most " + std::to_string(most) +
                  " ranks, got " + std::to_string(size)};
    world = std::make_unique<HostWorld>(size);
    return {};
  }
};
} // namespace

HostWorld::HostWorld(int64_t size)
    : oversubscribed(size > std::thread::hardware_concurrency()), waits(size),
      departures(size) {
  for (int64_t rank = 0; rank < size; ++rank)
    comms.push_back(std::make_unique<HostComm>(*this, rank));
}

Backend &hostBackend() {
  static HostBackend backend;
  return backend;
}

} // namespace shunt::rt
