//===- Comm.cpp - Ranks' handles, their errors and groups
//------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Text.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace shunt::rt;

shunt_status shunt_comm::note(const Error &error) {
  std::lock_guard<std::mutex> lock(mutex);
  if (stickyStatus != SHUNT_OK)
    return error.status;
  try {
    lastMessage = messages.insert(error.message).first->c_str();
  } catch (const std::bad_alloc &) {
    lastMessage = "out of memory";
  }
  return error.status;
}

shunt_status shunt_comm::fail(Error error) {
  if (shunt_status sticky = stickyStatus)
    return sticky;
  if (error.message.empty())
    error.message = shunt_status_string(error.status);
  note(error);
  {
    std::lock_guard<std::mutex> lock(mutex);
    stickyStatus = error.status;
  }
  {
    std::lock_guard<std::mutex> lock(world->mutex);
    if (!world->firstError)
      world->firstError = error;
  }
  impl->leave(error);
  return error.status;
}

shunt_status shunt_comm::fail(Error error, const Call &call) {
  zeroOutput(call);
  return fail(std::move(error));
}

void shunt_comm::record(const Call &call,
                        std::chrono::steady_clock::time_point begin) {
  std::lock_guard<std::mutex> lock(mutex);
  shunt_stats before = stats;
  recordCall(call, stats);
  if (static_cast<int64_t>(events.size()) >= traceCapacity)
    return;
  // Room was made when the trace began: nothing is to fail here.
  shunt_event event = {};
  event.op = call.op;
  event.part = call.purpose.step;
  event.group_size = call.members();
  event.rows_in = call.inRows;
  event.rows_out = call.outRows;
  event.bytes_sent = stats.bytes_sent - before.bytes_sent;
  event.bytes_received = stats.bytes_received - before.bytes_received;
  using std::chrono::nanoseconds;
  event.start_ns =
      std::chrono::duration_cast<nanoseconds>(begin - traceBegin).count();
  event.duration_ns = std::chrono::duration_cast<nanoseconds>(
                          std::chrono::steady_clock::now() - begin)
                          .count();
  std::strncpy(event.label, label.c_str(), sizeof(event.label) - 1);
  events.push_back(event);
}

/// Checks a list of ranks that the caller made up.
static Error checkRanks(const int64_t *ranks, int64_t n, int64_t size,
                        int64_t self) {
  if (!ranks || n < 1)
    return {SHUNT_INVALID_ARGUMENT, "group expects at least 1 rank, got " +
                                        std::to_string(ranks ? n : 0)};
  auto invalid = [&](const std::string &message) {
    return Error(SHUNT_INVALID_ARGUMENT,
                 "group of ranks " + formatList(ranks, n) + message);
  };
  // Longer lists repeat a rank; do not print them.
  if (n > size)
    return {SHUNT_INVALID_ARGUMENT, "group has " + std::to_string(n) +
                                        " ranks, but the world has " +
                                        std::to_string(size)};
  std::vector<bool> seen(size);
  for (int64_t i = 0; i < n; ++i) {
    if (ranks[i] < 0 || ranks[i] >= size)
      return invalid(" has rank " + std::to_string(ranks[i]) +
                     ", but the world has " + std::to_string(size));
    if (seen[ranks[i]])
      return invalid(" has rank " + std::to_string(ranks[i]) + " twice");
    seen[ranks[i]] = true;
  }
  if (!seen[self])
    return invalid(" lacks the caller, rank " + std::to_string(self));
  return {};
}

Error shunt_comm::findGroup(const int64_t *ranks, int64_t n,
                            shunt_group *&group) {
  std::vector<int64_t> list;
  if (!ranks && n == 0) {
    if ((group = worldGroup))
      return {};
    list.resize(world->size);
    std::iota(list.begin(), list.end(), 0);
  } else {
    if (Error error = checkRanks(ranks, n, world->size, rank))
      return error;
    list.assign(ranks, ranks + n);
  }
  auto found = groups.find(list);
  if (found == groups.end()) {
    auto made = std::make_unique<shunt_group>();
    made->comm = this;
    made->ranks = list;
    made->me = std::find(list.begin(), list.end(), rank) - list.begin();
    made->state = impl->openGroup(list);
    found = groups.emplace(std::move(list), std::move(made)).first;
  }
  group = found->second.get();
  if (!ranks)
    worldGroup = group;
  return {};
}

extern "C" {

int64_t shunt_comm_rank(const shunt_comm *comm) {
  return comm ? comm->rank : -1;
}

int64_t shunt_comm_size(const shunt_comm *comm) {
  return comm ? comm->world->size : 0;
}

const char *shunt_comm_error(const shunt_comm *comm) {
  if (!comm)
    return "comm is null";
  std::lock_guard<std::mutex> lock(comm->mutex);
  return comm->lastMessage;
}

shunt_status shunt_comm_status(const shunt_comm *comm) {
  return comm ? comm->stickyStatus.load() : SHUNT_INVALID_ARGUMENT;
}

shunt_status shunt_comm_stats(const shunt_comm *comm, shunt_stats *out) {
  if (!comm || !out)
    return SHUNT_INVALID_ARGUMENT;
  std::lock_guard<std::mutex> lock(comm->mutex);
  *out = comm->stats;
  return SHUNT_OK;
}

shunt_status shunt_comm_trace(shunt_comm *comm, int64_t capacity) {
  if (!comm || capacity < 0)
    return SHUNT_INVALID_ARGUMENT;
  Error error = guarded([&]() -> Error {
    std::lock_guard<std::mutex> lock(comm->mutex);
    comm->events.clear();
    comm->traceCapacity = 0;
    comm->events.reserve(capacity);
    comm->traceCapacity = capacity;
    comm->traceBegin = std::chrono::steady_clock::now();
    return {};
  });
  return error ? comm->note(error) : SHUNT_OK;
}

void shunt_comm_label(shunt_comm *comm, const char *label) {
  if (!comm || !comm->traceCapacity)
    return;
  Error error = guarded([&]() -> Error {
    comm->label = label ? label : "";
    return {};
  });
  if (error)
    comm->note(error);
}

int64_t shunt_comm_events(const shunt_comm *comm, shunt_event *out,
                          int64_t max) {
  if (!comm)
    return 0;
  std::lock_guard<std::mutex> lock(comm->mutex);
  int64_t count = static_cast<int64_t>(comm->events.size());
  if (out)
    std::copy_n(comm->events.begin(),
                std::max<int64_t>(std::min(count, max), 0), out);
  return count;
}

shunt_status shunt_comm_set_timeout(shunt_comm *comm, int64_t timeoutMs) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  if (timeoutMs < 1)
    return comm->note(
        {SHUNT_INVALID_ARGUMENT,
         "timeout expects at least 1 ms, got " + std::to_string(timeoutMs)});
  comm->timeoutMs = timeoutMs;
  return SHUNT_OK;
}

shunt_status shunt_comm_finish(shunt_comm *comm) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  comm->finished = true;
  // A rank that failed stays failed for its peers.
  if (comm->stickyStatus == SHUNT_OK)
    comm->impl->leave(Error());
  return SHUNT_OK;
}

shunt_status shunt_comm_abort(shunt_comm *comm, shunt_status status,
                              const char *message) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  if (status <= SHUNT_OK || status > SHUNT_ABORTED)
    status = SHUNT_INTERNAL;
  return comm->fail({status, message ? message : ""});
}

shunt_status shunt_group_create(shunt_comm *comm, const int64_t *ranks,
                                int64_t n, shunt_group **out) {
  if (out)
    *out = nullptr;
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  Error error = guarded([&]() -> Error {
    if (!out)
      return {SHUNT_INVALID_ARGUMENT, "shunt_group_create: out is null"};
    if (!ranks)
      return checkRanks(ranks, n, comm->world->size, comm->rank);
    return comm->findGroup(ranks, n, *out);
  });
  return error ? comm->note(error) : SHUNT_OK;
}

int64_t shunt_group_size(const shunt_group *group) {
  return group ? static_cast<int64_t>(group->ranks.size()) : 0;
}

int64_t shunt_group_rank(const shunt_group *group) {
  return group ? group->me : -1;
}

void *shunt_alloc(shunt_comm *comm, int64_t bytes) {
  return comm && bytes >= 0 ? comm->impl->allocate(bytes) : nullptr;
}

void shunt_free(shunt_comm *comm, void *memory) {
  if (comm && memory)
    comm->impl->release(memory);
}

} // extern "C"
