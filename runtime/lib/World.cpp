//===- World.cpp - Worlds: making them and running ranks
//-------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

using namespace shunt::rt;

/// Fills in the timeout, from the environment or the default.
static Error completeOptions(shunt_options &options) {
  if (options.timeout_ms < 0)
    return {SHUNT_INVALID_ARGUMENT, "timeout expects at least 1 ms, got " +
                                        std::to_string(options.timeout_ms)};
  if (options.timeout_ms > 0)
    return {};
  options.timeout_ms = 60000;
  const char *text = std::getenv("SHUNT_TIMEOUT_MS");
  if (!text || !*text)
    return {};
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(text, &end, 10);
  if (*end || errno || value < 1)
    return {SHUNT_INVALID_ARGUMENT,
            "SHUNT_TIMEOUT_MS expects a number of at least 1, got '" +
                std::string(text) + "'"};
  options.timeout_ms = value;
  return {};
}

static Error createWorld(const char *backendName, int64_t size,
                         const shunt_options *given, shunt_world **out) {
  if (!out)
    return {SHUNT_INVALID_ARGUMENT, "shunt_world_create: out is null"};
  *out = nullptr;
  if (!backendName)
    return {SHUNT_INVALID_ARGUMENT, "shunt_world_create: backend is null"};
  shunt_options options = given ? *given : shunt_options();
  Backend *backend;
  if (Error error = findBackend(backendName, backend))
    return error;
  if (size < 1)
    return {SHUNT_INVALID_ARGUMENT,
            "world expects at least 1 rank, got " + std::to_string(size)};
  if (Error error = completeOptions(options))
    return error;
  auto world = std::make_unique<shunt_world>();
  world->size = size;
  if (Error error = backend->createWorld(size, options, world->impl))
    return error;
  for (int64_t rank = 0; rank < size; ++rank) {
    Comm *impl = world->impl->comm(rank);
    world->comms.push_back(
        impl ? std::make_unique<shunt_comm>(world.get(), rank, impl,
                                            options.timeout_ms)
             : nullptr);
  }
  *out = world.release();
  return {};
}

/// Runs one rank's function and says that the rank is done.
static void runRank(shunt_comm *comm, shunt_rank_fn fn, void *user) {
  int32_t result = 0;
  Error error = guarded([&]() -> Error {
    result = fn(comm, user);
    return {};
  });
  if (error)
    error.message = "rank function threw: " + error.message;
  else if (result != SHUNT_OK)
    error = {result > SHUNT_OK && result <= SHUNT_ABORTED ? result
                                                          : SHUNT_INTERNAL,
             "rank function returned " + std::to_string(result)};
  if (error)
    comm->fail({error.status,
                "rank " + std::to_string(comm->rank) + ": " + error.message});
  shunt_comm_finish(comm);
}

static Error runWorld(shunt_world *world, shunt_rank_fn fn, void *user) {
  if (!fn)
    return {SHUNT_INVALID_ARGUMENT, "shunt_world_run: fn is null"};
  if (world->running.exchange(true))
    return {SHUNT_INVALID_ARGUMENT, "shunt_world_run: the world is running"};
  std::vector<shunt_comm *> local;
  for (auto &comm : world->comms)
    if (comm)
      local.push_back(comm.get());
  for (shunt_comm *comm : local) {
    if (comm->finished && comm->stickyStatus == SHUNT_OK)
      comm->impl->rejoin();
    comm->finished = false;
  }
  std::vector<std::thread> threads;
  threads.reserve(local.size());
  for (shunt_comm *comm : local) {
    try {
      threads.emplace_back(runRank, comm, fn, user);
    } catch (const std::system_error &error) {
      // The others must not wait for a rank that never starts.
      comm->fail({SHUNT_OUT_OF_MEMORY,
                  "rank " + std::to_string(comm->rank) +
                      ": cannot start a thread: " + error.what()});
      comm->finished = true;
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  world->running = false;
  std::lock_guard<std::mutex> lock(world->mutex);
  return world->firstError;
}

extern "C" {

shunt_status shunt_world_create(const char *backend, int64_t size,
                                const shunt_options *options, shunt_world **out,
                                char *err, size_t errlen) {
  Error error =
      guarded([&] { return createWorld(backend, size, options, out); });
  if (err && errlen) {
    size_t length = std::min(error.message.size(), errlen - 1);
    std::memcpy(err, error.message.data(), length);
    err[length] = '\0';
  }
  return error.status;
}

void shunt_world_destroy(shunt_world *world) { delete world; }

int64_t shunt_world_size(const shunt_world *world) {
  return world ? world->size : 0;
}

const char *shunt_world_error(const shunt_world *world) {
  if (!world)
    return "world is null";
  std::lock_guard<std::mutex> lock(world->mutex);
  // Set once, so the pointer stays valid.
  return world->firstError ? world->firstError.message.c_str() : "";
}

shunt_comm *shunt_world_comm(shunt_world *world, int64_t rank) {
  if (!world || rank < 0 || rank >= world->size)
    return nullptr;
  return world->comms[rank].get();
}

shunt_status shunt_world_run(shunt_world *world, shunt_rank_fn fn, void *user) {
  if (!world)
    return SHUNT_INVALID_ARGUMENT;
  return guarded([&] { return runWorld(world, fn, user); }).status;
}

} // extern "C"
