//===- MoeLayer.h - A small layer that tests misuse -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_MOE_MOELAYER_H
#define SHUNT_RUNTIME_TEST_MOE_MOELAYER_H

#include "MoeCase.h"

namespace shunt::rt::test {

/// Two tokens a rank with two choices of four experts.
struct Layer {
  explicit Layer(shunt_comm *comm, shunt_moe_options given = {},
                 bool defaults = true)
      : comm(comm) {
    if (defaults) {
      given.experts = 4;
      given.top_k = 2;
    }
    status = shunt_moe_create(comm, nullptr, &given, &moe);
  }
  ~Layer() {
    shunt_moe_routing_destroy(routing);
    shunt_moe_destroy(moe);
  }
  Layer(const Layer &) = delete;

  shunt_status route(std::vector<int32_t> ids = {0, 1, 2, 3},
                     const int64_t *counts = nullptr) {
    std::vector<float> scores(ids.size(), 1.0f);
    return shunt_moe_route(moe, ids.data(), ids.size() / 2, scores.data(),
                           counts, &routing);
  }
  shunt_status dispatch(int64_t elems = 4, shunt_dtype dtype = SHUNT_F32) {
    Bytes in(2 * elems * 4);
    out.assign(shunt_moe_rows(routing) * elems * 4, 0xa5);
    shunt_moe_payload payload = {in.data(), out.data(), elems, dtype, 0};
    return shunt_moe_dispatch(routing, &payload, 1);
  }
  shunt_status combine(shunt_dtype dtype = SHUNT_F32) {
    int64_t bytes = 4 * shunt_dtype_size(dtype);
    Bytes in(shunt_moe_rows(routing) * bytes);
    out.assign(2 * bytes, 0xa5);
    return shunt_moe_combine(routing, in.data(), out.data(), 4, dtype, nullptr);
  }

  shunt_comm *comm;
  shunt_moe *moe = nullptr;
  shunt_moe_routing *routing = nullptr;
  shunt_status status;
  Bytes out;
};

inline bool isZero(const Bytes &bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](auto b) { return !b; });
}

/// Runs `body` on all ways and 4 ranks, and expects an error on every rank in
/// `survivors` whose message contains `text`.
inline void
expectError(const std::string &text, const Ints &survivors,
            const std::function<shunt_status(Layer &, int64_t)> &body,
            int64_t timeoutMs = patientMs) {
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    Ranks ranks(4, timeoutMs);
    ranks.run([&](shunt_comm *comm) {
      shunt_moe_options options = {};
      options.algorithm = way.algorithm;
      options.no_direct = way.noDirect;
      Layer layer(comm, options);
      EXPECT_EQ(layer.status, SHUNT_OK);
      return body(layer, shunt_comm_rank(comm));
    });
    for (int64_t rank : survivors) {
      EXPECT_NE(ranks.sticky(rank), SHUNT_OK) << "rank " << rank;
      EXPECT_NE(ranks.error(rank).find(text), std::string::npos)
          << "rank " << rank << ": " << ranks.error(rank);
    }
  }
}

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_MOE_MOELAYER_H
