//===- Meeting.cpp - see Meeting.h
//-----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

namespace shunt::rt {

Meeting::Meeting(std::vector<int64_t> ranks)
    : rankList(std::move(ranks)), callList(new const Call *[rankList.size()]()),
      arrivals(new std::atomic<uint64_t>[rankList.size()]()) {}

Meeting::Arrival Meeting::arrive(int64_t member, uint64_t phase) {
  arrivals[member].store(phase + 1);
  uint64_t before = state.fetch_add(1);
  if (before & brokenBit)
    return Arrival::Broken;
  return arrivedOf(before) + 1 == members() ? Arrival::Last : Arrival::Early;
}

void Meeting::complete(uint64_t phase) {
  state.store((phase + 1) << phaseShift);
  wake();
}

void Meeting::reject(Error error) {
  {
    std::lock_guard<std::mutex> lock(verdictMutex);
    verdictError = std::move(error);
    state.fetch_or(brokenBit);
  }
  wake();
}

bool Meeting::tryBreak(uint64_t phase, Error error) {
  {
    // Held until the verdict is there, for those who see the bit and ask.
    std::lock_guard<std::mutex> lock(verdictMutex);
    uint64_t seen = state.load();
    do {
      if (phaseOf(seen) != phase || (seen & brokenBit) ||
          arrivedOf(seen) == members())
        return false;
    } while (!state.compare_exchange_weak(seen, seen | brokenBit));
    verdictError = std::move(error);
  }
  wake();
  return true;
}

Error Meeting::verdict() {
  std::lock_guard<std::mutex> lock(verdictMutex);
  return verdictError;
}

std::vector<int64_t> Meeting::missing(uint64_t phase) const {
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < rankList.size(); ++i)
    if (arrivals[i].load() <= phase)
      ranks.push_back(rankList[i]);
  return ranks;
}

void Meeting::sleep(uint32_t seen, Clock::time_point deadline) {
  // Announced before the kernel compares the word, and wake() changes the word
  // before it looks: one of the two sees the other.
  sleepers.fetch_add(1);
  sleepWhile(word, seen, deadline);
  sleepers.fetch_sub(1);
}

void Meeting::wake() {
  word.fetch_add(1);
  if (sleepers.load() > 0)
    wakeAll(word);
}

} // namespace shunt::rt
