//===- Meeting.h - Where the members of one group meet
//---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_HOST_MEETING_H
#define SHUNT_RUNTIME_HOST_MEETING_H

#include "Call.h"
#include "Futex.h"

#include <memory>
#include <mutex>

namespace shunt::rt {

/// A barrier of the members of one group, used over and over; each use is a
/// *phase*. A member that arrives publishes its call; the last one decides
/// whether the phase completes. Until then, anyone may break the meeting, for
/// good: members that wait, and that come later, get the verdict.
class Meeting {
public:
  explicit Meeting(std::vector<int64_t> ranks);

  const std::vector<int64_t> &ranks() const { return rankList; }
  int64_t members() const { return static_cast<int64_t>(rankList.size()); }

  /// The phase a member is about to enter: it cannot end without that member.
  uint64_t phase() const { return phaseOf(state.load()); }

  /// Sets a member's call, before it arrives at the first phase of the call.
  void publish(int64_t member, const Call *call) { callList[member] = call; }

  /// Says that a member is here, and whether it is the last one. A member gets
  /// `Broken` when the meeting was broken before it came.
  enum class Arrival { Early, Last, Broken };
  Arrival arrive(int64_t member, uint64_t phase);

  /// For the last one: lets the members go on.
  void complete(uint64_t phase);
  /// For the last one: makes all members fail.
  void reject(Error error);

  /// Breaks the phase if members are still missing; false if it is over, or
  /// broken by another.
  bool tryBreak(uint64_t phase, Error error);

  bool isOver(uint64_t phase) const { return phaseOf(state.load()) != phase; }
  bool isBroken() const { return state.load() & brokenBit; }
  Error verdict();

  /// Members that have not arrived at `phase`.
  std::vector<int64_t> missing(uint64_t phase) const;

  /// The members' calls, in group order, for those that are in the call.
  const Call *const *calls() const { return callList.get(); }

  /// What sleepers watch: changes when the phase ends or a member leaves.
  uint32_t events() const { return word.load(); }
  void sleep(uint32_t seen, Clock::time_point deadline);
  void wake();

private:
  // The state is one word so that the last arrival and a break exclude each
  // other: phase in the high 40 bits, broken, number of arrived members.
  static constexpr uint64_t brokenBit = uint64_t(1) << 23;
  static constexpr int phaseShift = 24;
  static uint64_t phaseOf(uint64_t state) { return state >> phaseShift; }
  static int64_t arrivedOf(uint64_t state) {
    return static_cast<int64_t>(state & (brokenBit - 1));
  }

  const std::vector<int64_t> rankList;
  std::unique_ptr<const Call *[]> callList;
  /// One more than the last phase the member arrived at.
  std::unique_ptr<std::atomic<uint64_t>[]> arrivals;
  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<uint32_t> word{0};
  std::atomic<int32_t> sleepers{0};
  std::mutex verdictMutex;
  Error verdictError;
};

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_HOST_MEETING_H
