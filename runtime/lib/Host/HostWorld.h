//===- HostWorld.h - Ranks that are threads of one process
//-----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_HOST_HOSTWORLD_H
#define SHUNT_RUNTIME_HOST_HOSTWORLD_H

#include "Backend.h"
#include "Meeting.h"

#include <map>
#include <optional>

namespace shunt::rt {

/// Makes ranks meet, and ends a meeting that cannot take place: a member left,
/// members wait for each other in different meetings, or time is up.
class HostWorld : public World {
public:
  explicit HostWorld(int64_t size);
  ~HostWorld() override;

  Comm *comm(int64_t rank) override { return comms[rank].get(); }

  /// The meeting of a group, one for all its members.
  Meeting &meeting(const std::vector<int64_t> &ranks);

  /// Waits until all members have called and agree.
  Error open(Meeting &meeting, const Call &call);
  /// Waits until all members are at this point of a call that was opened.
  void join(Meeting &meeting, const Call &call);

  void leave(int64_t rank, const Error &error);
  void rejoin(int64_t rank);

private:
  /// Where a rank waits; out of date once that phase is over.
  struct Wait {
    Meeting *meeting = nullptr;
    uint64_t phase = 0;
    shunt_op op = SHUNT_OP_BARRIER;

    bool isCurrent() const {
      return meeting && !meeting->isOver(phase) && !meeting->isBroken();
    }
  };

  Error wait(Meeting &meeting, const Call &call, uint64_t phase);
  /// Spins, then yields, for a moment; true if the phase is over by then.
  bool spin(const Meeting &meeting, uint64_t phase) const;

  /// Finds out why the phase cannot take place; OK if it still can.
  Error diagnose(Meeting &meeting, const Call &call, uint64_t phase,
                 bool isFirst, bool expired);

  // These need the mutex.
  Error findDeparted(Meeting &meeting, const Call &call, uint64_t phase);
  Error breakCycle(int64_t rank);
  bool findCycle(int64_t rank, int64_t start, std::vector<bool> &seen,
                 std::vector<int64_t> &path);
  Error timedOut(Meeting &meeting, const Call &call, uint64_t phase);

  std::vector<std::unique_ptr<Comm>> comms;
  bool oversubscribed;

  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Meeting>> meetings;
  std::vector<Wait> waits;
  /// Why each rank left, if it did; an OK error if it finished.
  std::vector<std::optional<Error>> departures;
};

/// Moves the data of a call that was opened, into the caller's `out`. `sources`
/// has room for a pointer for each member.
void moveData(HostWorld &world, Meeting &meeting, const Call &call,
              std::vector<const void *> &sources);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_HOST_HOSTWORLD_H
