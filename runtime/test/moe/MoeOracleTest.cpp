//===- MoeOracleTest.cpp - The dispatch oracle's cases on real ranks ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OracleCase.h"

using namespace shunt::rt::test;
using shunt::test::dispatchCase;
using shunt::test::dispatchCaseNames;

namespace {

/// What one rank of a case got.
struct CaseResult {
  Ints counts, padded, send, recv;
  Rows routed, combined;
};

/// Tokens [first, last) of one rank of a case, on the caller's rank.
shunt_status runCase(shunt_comm *comm, const Json &spec, const Way &way,
                     const std::vector<std::pair<int64_t, int64_t>> &cuts,
                     CaseResult &result) {
  int64_t me = shunt_comm_rank(comm), elems = spec["hidden"];
  shunt_dtype dtype = dtypeOf(spec);
  CaseOptions given(spec);
  given.options.algorithm = way.algorithm;
  given.options.no_direct = way.noDirect;
  if (spec.contains("capacity"))
    // Every rank of these cases has equally many tokens.
    given.options.capacity =
        *shunt::capacityFor(spec["ids"][me].size(), spec["top_k"],
                            spec["num_experts"], spec["capacity"]["factor"]);
  shunt_moe *layer = nullptr;
  if (shunt_status status =
          shunt_moe_create(comm, nullptr, &given.options, &layer))
    return status;
  std::unique_ptr<shunt_moe, void (*)(shunt_moe *)> ownLayer(layer,
                                                             shunt_moe_destroy);
  shunt::Placement placement = *shunt::test::placementOf(spec);
  for (auto &range : cuts) {
    int64_t first = range.first, last = range.second;
    auto cut = [&](const char *key) {
      Json part = Json::array();
      for (int64_t token = first; token < last; ++token)
        part.push_back(spec[key][me][token]);
      return part;
    };
    auto ids = shunt::test::flatten<int32_t>(cut("ids"));
    auto scores = shunt::test::flatten<float>(cut("scores"));
    Bytes x = pack(cut("x"), dtype);
    shunt_moe_routing *routing = nullptr;
    if (shunt_status status = shunt_moe_route(layer, ids.data(), last - first,
                                              scores.data(), nullptr, &routing))
      return status;
    std::unique_ptr<shunt_moe_routing, void (*)(shunt_moe_routing *)> own(
        routing, shunt_moe_routing_destroy);
    int64_t rowBytes = elems * shunt_dtype_size(dtype);
    Bytes routed(shunt_moe_rows(routing) * rowBytes, 0xa5);
    Bytes out((last - first) * rowBytes, 0xa5);
    shunt_moe_payload payload = {x.data(), routed.data(), elems, dtype, 1};
    if (shunt_status status = shunt_moe_dispatch(routing, &payload, 1))
      return status;

    result.counts.resize(shunt_moe_local_experts(layer));
    result.padded.resize(shunt_moe_local_experts(layer));
    result.send.resize(placement.ranks());
    result.recv.resize(placement.ranks());
    shunt_moe_counts(routing, result.counts.data(), result.padded.data());
    shunt_moe_splits(routing, result.send.data(), result.recv.data());
    result.routed = unpack(routed, elems, dtype);
    Rows done = result.routed;
    size_t row = 0;
    for (size_t local = 0; local < result.padded.size(); ++local) {
      int64_t expert =
          placement.expertOf(placement.firstInstance(me) + int64_t(local));
      for (int64_t i = 0; i < result.padded[local]; ++i, ++row)
        done[row] =
            runExpert(spec.value("expert_fn", "affine"), expert, done[row]);
    }
    Bytes experts = pack(Json(done), dtype);
    if (shunt_status status = shunt_moe_combine(
            routing, experts.data(), out.data(), elems, dtype, nullptr))
      return status;
    for (const auto &combined : unpack(out, elems, dtype))
      result.combined.push_back(combined);
  }
  return SHUNT_OK;
}

void expectCase(const Json &spec, const Json &want, const Way &way,
                int64_t chunks) {
  SCOPED_TRACE(way.name);
  int64_t size = spec["ep"];
  Ranks ranks(size);
  std::vector<CaseResult> results(size);
  shunt_status status = ranks.run([&](shunt_comm *comm) {
    int64_t me = shunt_comm_rank(comm);
    int64_t tokens = spec["ids"][me].size();
    int64_t step = (tokens + chunks - 1) / chunks;
    std::vector<std::pair<int64_t, int64_t>> cuts;
    for (int64_t i = 0; i < chunks; ++i)
      cuts.push_back(
          {std::min(i * step, tokens), std::min((i + 1) * step, tokens)});
    return runCase(comm, spec, way, cuts, results[me]);
  });
  ASSERT_EQ(status, SHUNT_OK) << errorsOf(ranks);
  for (int64_t rank = 0; rank < size; ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Json &expected = want[rank];
    const CaseResult &got = results[rank];
    EXPECT_EQ(got.combined, expected["combined"].get<Rows>());
    if (chunks > 1)
      continue;
    EXPECT_EQ(got.send, expected["input_splits"].get<Ints>());
    EXPECT_EQ(got.recv, expected["output_splits"].get<Ints>());
    EXPECT_EQ(got.counts, expected["counts_local"].get<Ints>());
    EXPECT_EQ(got.padded, expected["padded_counts"].get<Ints>());
    Rows routed, rows = expected["routed_input"];
    for (int64_t source : expected["padded_row_source"])
      routed.push_back(source < 0 ? std::vector<double>(spec["hidden"], 0.0)
                                  : rows[source]);
    EXPECT_EQ(got.routed, routed);
  }
}

class MoeOracle : public ::testing::TestWithParam<std::string> {};

TEST_P(MoeOracle, EveryAlgorithm) {
  const Json &one = dispatchCase(GetParam());
  for (const Way &way : ways)
    expectCase(one["spec"], one["expect"]["per_rank"], way, 1);
}

INSTANTIATE_TEST_SUITE_P(Cases, MoeOracle,
                         ::testing::ValuesIn(dispatchCaseNames("plain")),
                         [](const auto &info) { return info.param; });

TEST(MoeOracleKinds, ChunksChangeNothing) {
  for (const std::string &name : dispatchCaseNames("chunked")) {
    const Json &one = dispatchCase(name);
    for (const Way &way : ways)
      expectCase(one["spec"], one["expect"]["per_rank"], way,
                 one["spec"]["n_chunks"]);
  }
}

TEST(MoeOracleKinds, Rejected) {
  for (const std::string &name : dispatchCaseNames("reject")) {
    const Json &spec = dispatchCase(name)["spec"];
    Ranks ranks(spec["ep"]);
    CaseOptions given(spec);
    shunt_moe *layer = nullptr;
    EXPECT_EQ(shunt_moe_create(ranks.comm(0), nullptr, &given.options, &layer),
              SHUNT_INVALID_ARGUMENT);
    EXPECT_EQ(layer, nullptr);
    EXPECT_NE(ranks.error(0).find("[E_PLACEMENT]"), std::string::npos)
        << ranks.error(0);
  }
}

/// Expert tensor parallelism: an all-to-all over ep for each tp coordinate;
/// the tp ranks of one owner gather their rows, each adds a share of every
/// expert's output, and a reduce-scatter gives the sums back.
TEST(MoeOracleKinds, ExpertTensorParallel) {
  for (const std::string &name : dispatchCaseNames("etp")) {
    const Json &spec = dispatchCase(name)["spec"];
    const Json &want = dispatchCase(name)["expect"]["per_rank"];
    int64_t ep = spec["ep"], tp = spec["tp"], elems = spec["hidden"];
    Ranks ranks(ep * tp);
    shunt::Placement placement = *shunt::test::placementOf(spec);
    std::vector<Rows> combined(ep * tp);
    shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
      int64_t me = shunt_comm_rank(comm), i = me / tp, j = me % tp;
      Ints overEp, overTp;
      for (int64_t k = 0; k < ep; ++k)
        overEp.push_back(k * tp + j);
      for (int64_t k = 0; k < tp; ++k)
        overTp.push_back(i * tp + k);
      shunt_group *epGroup = groupOf(comm, overEp);
      shunt_group *tpGroup = groupOf(comm, overTp);
      CaseOptions given(spec);
      shunt_moe *layer = nullptr;
      shunt_moe_routing *routing = nullptr;
      auto ids = shunt::test::flatten<int32_t>(spec["ids"][me]);
      auto scores = shunt::test::flatten<float>(spec["scores"][me]);
      Bytes x = pack(spec["x"][me], SHUNT_F32);
      int64_t tokens = spec["ids"][me].size();
      if (shunt_status status =
              shunt_moe_create(comm, epGroup, &given.options, &layer))
        return status;
      if (shunt_status status = shunt_moe_route(
              layer, ids.data(), tokens, scores.data(), nullptr, &routing))
        return status;
      int64_t rows = shunt_moe_rows(routing);
      Bytes routed(rows * elems * 4), out(tokens * elems * 4);
      shunt_moe_payload payload = {x.data(), routed.data(), elems, SHUNT_F32,
                                   1};
      if (shunt_status status = shunt_moe_dispatch(routing, &payload, 1))
        return status;
      // Rows of every tp rank, and the experts they are for.
      Ints mine(shunt_moe_local_experts(layer)), one(tp, 1), counts(tp);
      shunt_moe_counts(routing, mine.data(), nullptr);
      Ints perExpert(mine.size() * tp);
      if (shunt_status status =
              shunt_all_gather(comm, tpGroup, mine.data(), 1, perExpert.data(),
                               tp, one.data(), mine.size(), SHUNT_I64))
        return status;
      for (int64_t k = 0; k < tp; ++k)
        for (size_t local = 0; local < mine.size(); ++local)
          counts[k] += perExpert[k * mine.size() + local];
      int64_t all = 0;
      for (int64_t count : counts)
        all += count;
      EXPECT_EQ(counts, want[me]["tp_allgather_counts"].get<Ints>());
      Bytes gathered(all * elems * 4);
      if (shunt_status status = shunt_all_gather(
              comm, tpGroup, routed.data(), rows, gathered.data(), all,
              counts.data(), elems, SHUNT_F32))
        return status;
      Rows values = unpack(gathered, elems, SHUNT_F32);
      size_t row = 0;
      for (int64_t k = 0; k < tp; ++k)
        for (size_t local = 0; local < mine.size(); ++local)
          for (int64_t n = 0; n < perExpert[k * mine.size() + local]; ++n) {
            auto &value = values[row++];
            value =
                runExpert("affine", placement.firstInstance(i) + local, value);
            // A share that the tp ranks' sum makes whole, exactly.
            for (double &v : value)
              v = j == 0 ? v / 4 : v * 3 / 4 / double(tp - 1);
          }
      Bytes partial = pack(Json(values), SHUNT_F32), experts(rows * elems * 4);
      if (shunt_status status = shunt_reduce_scatter(
              comm, tpGroup, partial.data(), all, experts.data(), rows,
              counts.data(), elems, SHUNT_F32))
        return status;
      if (shunt_status status = shunt_moe_combine(
              routing, experts.data(), out.data(), elems, SHUNT_F32, nullptr))
        return status;
      combined[me] = unpack(out, elems, SHUNT_F32);
      shunt_moe_routing_destroy(routing);
      shunt_moe_destroy(layer);
      return SHUNT_OK;
    });
    ASSERT_EQ(status, SHUNT_OK) << errorsOf(ranks);
    for (int64_t rank = 0; rank < ep * tp; ++rank)
      EXPECT_EQ(combined[rank], want[rank]["combined"].get<Rows>());
  }
}

} // namespace
