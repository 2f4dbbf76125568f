//===- Ranks.h - Runs ranks in tests
//---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_RANKS_H
#define SHUNT_RUNTIME_TEST_RANKS_H

#include "shunt/runtime.h"

#include "gtest/gtest.h"

#include <functional>
#include <string>
#include <vector>

namespace shunt::rt::test {

/// Long enough for a loaded machine under a sanitizer.
constexpr int64_t patientMs = 60000;
/// For ranks that really do not come.
constexpr int64_t shortMs = 200;

/// A world that ends with its scope.
class Ranks {
public:
  explicit Ranks(int64_t size, int64_t timeoutMs = patientMs,
                 const std::string &backend = "host") {
    shunt_options options = {};
    options.timeout_ms = timeoutMs;
    char message[512];
    status = shunt_world_create(backend.c_str(), size, &options, &world,
                                message, sizeof(message));
    createError = message;
  }
  ~Ranks() { shunt_world_destroy(world); }
  Ranks(const Ranks &) = delete;

  /// Runs `body` on every rank. A body that returns nothing returns OK.
  shunt_status run(const std::function<int32_t(shunt_comm *)> &body) {
    return shunt_world_run(
        world,
        [](shunt_comm *comm, void *user) {
          return (*static_cast<const std::function<int32_t(shunt_comm *)> *>(
              user))(comm);
        },
        const_cast<void *>(static_cast<const void *>(&body)));
  }

  shunt_comm *comm(int64_t rank) { return shunt_world_comm(world, rank); }
  std::string error(int64_t rank) { return shunt_comm_error(comm(rank)); }
  shunt_status sticky(int64_t rank) { return shunt_comm_status(comm(rank)); }
  std::string firstError() { return shunt_world_error(world); }

  shunt_world *world = nullptr;
  shunt_status status;
  std::string createError;
};

/// The group of `ranks`; fails the test if there is none.
inline shunt_group *groupOf(shunt_comm *comm,
                            const std::vector<int64_t> &ranks) {
  shunt_group *group = nullptr;
  EXPECT_EQ(shunt_group_create(comm, ranks.data(), ranks.size(), &group),
            SHUNT_OK)
      << shunt_comm_error(comm);
  return group;
}

/// What every rank of a world said.
inline std::string errorsOf(Ranks &ranks) {
  std::string text = "first: " + ranks.firstError();
  for (int64_t rank = 0; rank < shunt_world_size(ranks.world); ++rank)
    text += "\nrank " + std::to_string(rank) + ": " + ranks.error(rank);
  return text;
}

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_RANKS_H
