//===- MpiWorld.cpp - see MpiWorld.h --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiWorld.h"

#include "MpiComm.h"
#include "Text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <signal.h>
#include <tuple>

namespace shunt::rt::mpi {

Exchange::~Exchange() = default;
bool Exchange::consume(const std::vector<const void *> &) const {
  return false;
}

//===----------------------------------------------------------------------===//
// Calls that travel
//===----------------------------------------------------------------------===//

Header headerOf(const Call &call, uint64_t key) {
  Header header;
  header.key = key;
  header.op = call.op;
  header.inRows = call.inRows;
  header.outRows = call.outRows;
  header.rowElems = call.rowElems;
  header.dtype = call.dtype;
  header.step = call.purpose.step;
  header.purposeDtype = call.purpose.dtype;
  header.routing = call.purpose.routing;
  header.sequence = call.sequence;
  return header;
}

Call callOf(const Header &header, const int64_t *counts,
            const std::vector<int64_t> &ranks, int64_t me) {
  Call call;
  call.op = static_cast<shunt_op>(header.op);
  call.inRows = header.inRows;
  call.outRows = header.outRows;
  call.rowElems = header.rowElems;
  call.dtype = static_cast<shunt_dtype>(header.dtype);
  call.purpose = {static_cast<Purpose::Step>(header.step),
                  static_cast<shunt_dtype>(header.purposeDtype),
                  header.routing};
  call.sequence = header.sequence;
  call.ranks = &ranks;
  call.me = me;
  call.counts = counts;
  call.recvCounts = counts + ranks.size();
  call.rowBytes = call.rowElems * shunt_dtype_size(call.dtype);
  return call;
}

void writeCounts(const Call &call, int64_t *counts) {
  int64_t n = call.members();
  for (const int64_t *list : {call.counts, call.recvCounts}) {
    if (list)
      std::copy_n(list, n, counts);
    else
      std::fill_n(counts, n, 0);
    counts += n;
  }
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

MpiWorld::MpiWorld(Process &process, MPI_Comm mpi)
    : process(process), mpi(mpi),
      ownComm(std::make_unique<MpiComm>(*this, process)) {}

Error MpiWorld::create(int64_t size, const shunt_options &options,
                       std::unique_ptr<World> &world) {
  Process *process = nullptr;
  if (Error error = Process::open(process))
    return error;
  if (size != process->size)
    return {SHUNT_INVALID_ARGUMENT,
            "the mpi backend has " + std::to_string(process->size) +
                (process->size == 1 ? " rank" : " ranks") +
                ", one for each process that mpirun started, but the world "
                "asked for has " +
                std::to_string(size) + "; start it by mpirun -n " +
                std::to_string(size) + " (scripts/mpirun.sh)"};
  // Nobody may still look at what the last world left; nobody may look at the
  // next one before all have put that away.
  auto late = [&] {
    return Error(SHUNT_TIMEOUT,
                 "mpi: not every rank came to make the world within " +
                     std::to_string(options.timeout_ms) +
                     " ms [X_MISSING_RANK]");
  };
  if (!process->meet(options.timeout_ms))
    return late();
  process->resetArea();
  MPI_Comm mpi;
  if (int code = MPI_Comm_dup(MPI_COMM_WORLD, &mpi))
    return {SHUNT_UNAVAILABLE, "mpi: MPI_Comm_dup: " + mpiText(code)};
  MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN);
  if (!process->meet(options.timeout_ms))
    return late();
  world.reset(new MpiWorld(*process, mpi));
  return {};
}

MpiWorld::~MpiWorld() {
  // Blocks for no rank: what is on its way is small, and MPI keeps copies of
  // small messages.
  for (auto &[request, words] : sending)
    MPI_Request_free(&request);
}

Error MpiWorld::exchange(const Step &step) {
  if (step.members() > 1)
    return step.group.local ? exchangeShared(step) : exchangeNetwork(step);
  Range range = step.exchange.takes(0, step.call);
  const char *from = range.bytes ? step.data + range.begin : step.data;
  if (!step.exchange.consume({from}) && range.bytes &&
      step.exchange.target(0) != from)
    std::memcpy(step.exchange.target(0), from, range.bytes);
  return {};
}

Error MpiWorld::agreeOn(const Step &step) {
  if (!step.agree)
    return {};
  callList.clear();
  for (const Call &call : calls)
    callList.push_back(&call);
  return checkAgreement(step.group.ranks, callList.data());
}

//===----------------------------------------------------------------------===//
// Absent ranks
//===----------------------------------------------------------------------===//

void MpiWorld::leave(const Error &error) {
  Sighting sighting{error ? Presence::Failed : Presence::Finished, run};
  Area &area = process.own();
  std::strncpy(area.reason, error.rootCause().c_str(), kReasonBytes - 1);
  area.presence.store(sighting.word(), std::memory_order_release);
  // As integers, like all control messages.
  std::vector<int64_t> words(1 + kReasonBytes / sizeof(int64_t));
  words[0] = static_cast<int64_t>(sighting.word());
  std::memcpy(&words[1], area.reason, kReasonBytes);
  bool oneMachine = std::all_of(process.areas.begin(), process.areas.end(),
                                [](Area *area) { return area; });
  for (int64_t rank = 0; rank < process.size && !oneMachine; ++rank)
    if (rank != process.me)
      send(rank, Control::Leave, words);
}

void MpiWorld::rejoin() {
  ++run;
  process.own().presence = Sighting{Presence::Here, run}.word();
}

Presence MpiWorld::presenceOf(const Step &step, int64_t rank,
                              std::string *reason) {
  Sighting seen;
  std::string why;
  if (Area *area = process.areas[rank]) {
    seen = Sighting::of(area->presence.load(std::memory_order_acquire));
    why = area->reason;
    if (seen.presence == Presence::Here && process.asksWhoLives &&
        kill(area->pid, 0) != 0 && errno == ESRCH) {
      seen.presence = Presence::Failed;
      why = "its process is gone";
    }
  }
  // Where members meet by messages, the call of a rank may still be on its way
  // when its area says that it finished: its last message counts then.
  if (!step.group.local && seen.presence != Presence::Failed) {
    seen = {};
    if (auto found = gone.find(rank); found != gone.end())
      std::tie(seen, why) = found->second;
  }
  if (reason)
    *reason = why;
  return seen.presence == Presence::Finished && seen.run < run ? Presence::Here
                                                               : seen.presence;
}

/// `missing` are world ranks that are waited for.
Error MpiWorld::findDeparted(const Step &step,
                             const std::vector<int64_t> &missing) {
  std::string text, root;
  for (int64_t rank : missing) {
    std::string reason;
    Presence presence = presenceOf(step, rank, &reason);
    if (presence == Presence::Here)
      continue;
    text += (text.empty() ? " rank " : "; rank ") + std::to_string(rank);
    if (presence == Presence::Failed) {
      text += " failed: " + reason;
      root = root.empty() ? reason : root;
    } else {
      text += " finished without it";
    }
  }
  if (text.empty())
    return {};
  const std::string code = " [X_MISSING_RANK]";
  if (text.size() < code.size() ||
      text.compare(text.size() - code.size(), code.size(), code) != 0)
    text += code;
  Error error(SHUNT_ABORTED,
              describe(step.call.op, step.group.ranks) + ":" + text);
  error.root = root;
  return error;
}

Error MpiWorld::timedOut(const Step &step,
                         const std::vector<int64_t> &missing) {
  return {SHUNT_TIMEOUT, describe(step.call.op, step.group.ranks) + ": " +
                             formatRanks(missing) + " never arrived within " +
                             std::to_string(step.call.timeoutMs) +
                             " ms [X_MISSING_RANK]"};
}

} // namespace shunt::rt::mpi
