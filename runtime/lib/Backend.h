//===- Backend.h - What a backend implements
//-------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API checks arguments, keeps sticky errors and counters, and finds
// groups; a backend makes ranks meet, checks that their calls agree (with
// checkAgreement) and moves data.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_BACKEND_H
#define SHUNT_RUNTIME_BACKEND_H

#include "Call.h"

#include <memory>

namespace shunt::rt {

/// What a backend keeps for one group of one comm.
class GroupState {
public:
  virtual ~GroupState();
};

/// One rank's end of a world; used by one thread at a time.
class Comm {
public:
  virtual ~Comm();

  /// Prepares a group; the ranks are valid and include this one. Must not
  /// communicate.
  virtual std::unique_ptr<GroupState>
  openGroup(const std::vector<int64_t> &ranks) = 0;

  /// Performs a call that passed checkCall: blocks until all members have
  /// called, the calls agree and `out` is complete. An error means that no
  /// data moved, and reaches every member.
  virtual Error perform(GroupState &group, const Call &call) = 0;

  /// Whether ranks can reach each other's buffers, so that calls may carry a
  /// Mover.
  virtual bool sharesMemory() const { return false; }

  /// Memory that peers can read without a copy, where that makes a difference;
  /// null when there is none. On pages of its own.
  virtual void *allocate(int64_t bytes);
  virtual void release(void *memory);

  /// This rank enters no further collective: it finished, or failed with
  /// `error`. Peers that wait for it, now or later, get an error that says so.
  virtual void leave(const Error &error) = 0;

  /// A finished rank may enter collectives again. No rank is in one.
  virtual void rejoin() = 0;
};

/// The ranks of one backend.
class World {
public:
  virtual ~World();

  /// The end of `rank`; null if that rank lives in another process.
  virtual Comm *comm(int64_t rank) = 0;
};

class Backend {
public:
  virtual ~Backend();
  virtual const char *name() const = 0;
  virtual Error createWorld(int64_t size, const shunt_options &options,
                            std::unique_ptr<World> &world) = 0;
};

/// Finds a backend by name, or says how to get it.
Error findBackend(const std::string &name, Backend *&backend);

/// Ranks are threads of this process.
Backend &hostBackend();

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_BACKEND_H
