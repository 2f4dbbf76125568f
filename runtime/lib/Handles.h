//===- Handles.h - The structs behind the C API's handles
//------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_HANDLES_H
#define SHUNT_RUNTIME_HANDLES_H

#include "Backend.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

struct shunt_moe;

struct shunt_group {
  shunt_comm *comm;
  std::vector<int64_t> ranks;
  /// The comm's position in `ranks`.
  int64_t me;
  uint64_t sequence = 0;
  std::unique_ptr<shunt::rt::GroupState> state;
};

struct shunt_comm {
  shunt_comm(shunt_world *world, int64_t rank, shunt::rt::Comm *impl,
             int64_t timeoutMs)
      : world(world), rank(rank), impl(impl), timeoutMs(timeoutMs) {}

  /// Notes an error of a call that touched no collective.
  shunt_status note(const shunt::rt::Error &error);
  /// Makes an error sticky, tells peers, and returns the sticky status.
  shunt_status fail(shunt::rt::Error error);
  /// The same for a collective, whose `out` is zero-filled.
  shunt_status fail(shunt::rt::Error error, const shunt::rt::Call &call);
  /// Counts a call that succeeded, and records it if asked to.
  void record(const shunt::rt::Call &call,
              std::chrono::steady_clock::time_point begin);

  /// Finds or makes a group; a null list of 0 ranks is the world's.
  shunt::rt::Error findGroup(const int64_t *ranks, int64_t n,
                             shunt_group *&group);

  shunt_world *const world;
  const int64_t rank;
  shunt::rt::Comm *const impl;
  int64_t timeoutMs;
  bool finished = false;
  std::map<std::vector<int64_t>, std::unique_ptr<shunt_group>> groups;
  shunt_group *worldGroup = nullptr;
  /// Of compiled code, by group, options and table. After the groups, so that
  /// they go first.
  std::map<std::pair<shunt_group *, std::vector<int64_t>>,
           std::shared_ptr<shunt_moe>>
      dispatchers;
  /// Counts that compiled code selects from its tables.
  std::vector<int64_t> counts, recvCounts;
  /// Set while a thread is in a collective, to catch a second one.
  std::atomic<bool> busy{false};

  /// Of the caller's thread: events are recorded up to this number.
  int64_t traceCapacity = 0;
  std::vector<shunt_event> events;
  std::chrono::steady_clock::time_point traceBegin;
  std::string label;

  std::atomic<shunt_status> stickyStatus{SHUNT_OK};
  mutable std::mutex mutex;
  /// Guarded by the mutex. Messages are kept, each once, because callers hold
  /// pointers to them.
  std::set<std::string> messages;
  const char *lastMessage = "";
  shunt_stats stats = {};
};

struct shunt_world {
  int64_t size;
  std::unique_ptr<shunt::rt::World> impl;
  /// Null for ranks of other processes.
  std::vector<std::unique_ptr<shunt_comm>> comms;
  std::atomic<bool> running{false};

  mutable std::mutex mutex;
  /// Guarded by the mutex: the error that came first.
  shunt::rt::Error firstError;
};

namespace shunt::rt {

/// Runs a collective of the C API from its checks to its counters. A null group
/// is the world's.
shunt_status runCollective(shunt_comm *comm, shunt_group *group, Call call);

/// Calls `body`, which returns an Error, and turns exceptions into one.
template <typename Body> Error guarded(Body &&body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return {SHUNT_OUT_OF_MEMORY, "out of memory"};
  } catch (const std::exception &error) {
    return {SHUNT_INTERNAL, error.what()};
  } catch (...) {
    return {SHUNT_INTERNAL, "unknown exception"};
  }
}

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_HANDLES_H
