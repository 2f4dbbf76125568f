//===- RoutingOracleTest.cpp - The dispatch oracle's integers ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DispatchCases.h"
#include "TestSupport.h"

#include "Shunt/Core/RoutingVolume.h"

using namespace shunt;
using namespace shunt::test;

namespace {

RouteRules rulesOf(const Json &spec, int64_t tokens) {
  RouteRules rules;
  if (spec.contains("active_ranks"))
    rules.active = spec["active_ranks"].get<std::vector<uint8_t>>();
  if (spec.contains("capacity")) {
    const Json &capacity = spec["capacity"];
    rules.capacity = take(capacityFor(tokens, spec["top_k"],
                                      spec["num_experts"], capacity["factor"]));
    rules.overflow = capacity["policy"] == "score" ? Overflow::DropLowest
                                                   : Overflow::DropLast;
  }
  return rules;
}

/// Everything the core says of one case.
struct CasePlan {
  explicit CasePlan(const Json &spec)
      : CasePlan(spec, spec["ids"], spec["scores"]) {}

  CasePlan(const Json &spec, const Json &ids, const Json &scores)
      : placement(take(placementOf(spec))) {
    std::vector<int64_t> counts;
    for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
      auto flat = flatten<int32_t>(ids[rank]);
      auto weights = flatten<float>(scores[rank]);
      int64_t tokens = ids[rank].size();
      routings.push_back(take(
          Routing::create(placement, rank, flat.data(), tokens, spec["top_k"],
                          rulesOf(spec, tokens), weights.data())));
      counts.insert(counts.end(), routings[rank].counts.begin(),
                    routings[rank].counts.end());
    }
    matrix.emplace(known(RouteCounts::create(placement, counts)));
  }

  static RouteCounts known(Result<RouteCounts> result) {
    EXPECT_TRUE(result) << result.error().str();
    return *result;
  }

  Placement placement;
  std::vector<Routing> routings;
  std::optional<RouteCounts> matrix;
};

/// Slices a flat list of copies by destination.
std::vector<Ints> byDestination(const CopyPlan &plan) {
  std::vector<Ints> lists;
  size_t at = 0;
  for (int64_t count : plan.counts) {
    lists.emplace_back(plan.tokenOf.begin() + at,
                       plan.tokenOf.begin() + at + count);
    at += count;
  }
  return lists;
}

Ints runningSum(const Ints &values) {
  Ints sums;
  int64_t sum = 0;
  for (int64_t value : values)
    sums.push_back(sum += value);
  return sums;
}

void expectSends(const CasePlan &plan, int64_t rank, const Json &spec,
                 const Json &want) {
  const Routing &routing = plan.routings[rank];
  EXPECT_EQ(routing.slotOf, want["order"].get<Ints>());
  EXPECT_EQ(routing.tokenOf, want["tokens"].get<Ints>());
  EXPECT_EQ(routing.counts, want["counts"].get<Ints>());
  EXPECT_EQ(routing.sendSplits, want["input_splits"].get<Ints>());
  EXPECT_EQ(plan.matrix->sendSplits(rank), want["input_splits"].get<Ints>());
  for (size_t row = 0; row < routing.slotOf.size(); ++row)
    EXPECT_EQ(routing.rowOf[routing.slotOf[row]], int64_t(row));

  auto perRank = CopyPlan::create(plan.placement, routing);
  auto perNode = CopyPlan::create(plan.placement, routing, nodeSizeOf(spec));
  EXPECT_EQ(byDestination(perRank),
            want["dedup_tokens_per_rank"].get<std::vector<Ints>>());
  EXPECT_EQ(byDestination(perNode),
            want["dedup_tokens_per_node"].get<std::vector<Ints>>());

  Destinations to = *Destinations::create(*plan.matrix, routing);
  std::vector<Ints> direct;
  for (int64_t slot : routing.slotOf)
    direct.push_back({to.rankOf[slot], to.rowOf[slot]});
  EXPECT_EQ(direct, want["direct_rows"].get<std::vector<Ints>>());
}

void expectArrivals(const CasePlan &plan, int64_t rank, const Json &spec,
                    const Json &want) {
  EXPECT_EQ(plan.matrix->recvSplits(rank), want["output_splits"].get<Ints>());
  std::vector<Ints> received;
  int64_t first = plan.placement.firstInstance(rank);
  for (int64_t source = 0; source < plan.placement.ranks(); ++source) {
    received.emplace_back();
    for (int64_t i = 0; i < plan.placement.localInstances(rank); ++i)
      received.back().push_back(plan.matrix->rows(source, first + i));
  }
  EXPECT_EQ(received, want["recv_counts_rank_major"].get<std::vector<Ints>>());

  Arrivals plain = *Arrivals::create(*plan.matrix, rank);
  EXPECT_EQ(plain.counts, want["counts_local"].get<Ints>());
  EXPECT_EQ(runningSum(plain.counts), want["end_offsets"].get<Ints>());
  EXPECT_EQ(plain.arrivalOf(), want["permuted_indices"].get<Ints>());
  Arrivals padded = *Arrivals::create(*plan.matrix, rank, orderOf(spec));
  EXPECT_EQ(padded.padded, want["padded_counts"].get<Ints>());
  EXPECT_EQ(runningSum(padded.padded), want["padded_end_offsets"].get<Ints>());
  Ints source = padded.arrivalOf(), expected = want["padded_row_source"];
  for (int64_t &row : expected)
    if (row >= 0)
      row = want["permuted_indices"][row];
  EXPECT_EQ(source, expected);
  EXPECT_EQ(padded.rows, int64_t(expected.size()));
}

class OracleRouting : public ::testing::TestWithParam<std::string> {};

TEST_P(OracleRouting, Integers) {
  const Json &spec = dispatchCase(GetParam())["spec"];
  const Json &want = dispatchCase(GetParam())["expect"];
  CasePlan plan(spec);
  EXPECT_EQ(plan.placement.instances(),
            want["n_physical_experts"].get<int64_t>());
  for (int64_t rank = 0; rank < plan.placement.ranks(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    expectSends(plan, rank, spec, want["per_rank"][rank]);
    expectArrivals(plan, rank, spec, want["per_rank"][rank]);
  }
}

TEST_P(OracleRouting, CountsOfTokensAreRefused) {
  const Json &spec = dispatchCase(GetParam())["spec"];
  const Json &want = dispatchCase(GetParam())["expect"]["per_rank"];
  CasePlan plan(spec);
  if (spec.contains("capacity") || spec.contains("active_ranks"))
    return; // the oracle counts what is left, a caller what it asked for
  for (int64_t rank = 0; rank < plan.placement.ranks(); ++rank) {
    const Placement &placement = plan.placement;
    Ints bySlot(placement.experts()), byToken(placement.experts());
    for (int64_t i = 0; i < placement.instances(); ++i) {
      bySlot[placement.expertOf(i)] += int64_t(want[rank]["counts"][i]);
      byToken[placement.expertOf(i)] += int64_t(want[rank]["onehot_counts"][i]);
    }
    EXPECT_FALSE(plan.routings[rank].checkCounts(bySlot));
    MaybeError error = plan.routings[rank].checkCounts(byToken);
    EXPECT_EQ(error ? error->code : "",
              want[rank]["onehot_mismatch"] ? "E_EXPERT_COUNTS" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OracleRouting,
                         ::testing::ValuesIn(dispatchCaseNames("plain")),
                         [](const auto &info) { return info.param; });

TEST(OracleRoutingKinds, Rejected) {
  for (const std::string &name : dispatchCaseNames("reject"))
    EXPECT_EQ(codeOf(placementOf(dispatchCase(name)["spec"])), "E_PLACEMENT");
}

TEST(OracleRoutingKinds, CountsOnly) {
  for (const std::string &name : dispatchCaseNames("counts_only")) {
    const Json &spec = dispatchCase(name)["spec"];
    const Json &want = dispatchCase(name)["expect"]["per_rank"];
    Placement placement = take(placementOf(spec));
    RouteCounts matrix = CasePlan::known(
        RouteCounts::create(placement, flatten<int64_t>(spec["counts"])));
    for (int64_t rank = 0; rank < placement.ranks(); ++rank) {
      Ints recv = matrix.recvSplits(rank);
      EXPECT_EQ(matrix.sendSplits(rank),
                want[rank]["input_splits"].get<Ints>());
      EXPECT_EQ(recv, want[rank]["output_splits"].get<Ints>());
      Arrivals arrivals = *Arrivals::create(matrix, rank);
      EXPECT_EQ(arrivals.rows, want[rank]["R"].get<int64_t>());
      EXPECT_EQ(arrivals.counts, want[rank]["counts_local"].get<Ints>());
      int64_t row = 0;
      for (int64_t i = 0; i < placement.ranks(); row += recv[i++])
        EXPECT_EQ(take(rowBytes(row, spec["row_bytes"])),
                  want[rank]["recv_byte_offsets"][i].get<int64_t>());
      EXPECT_EQ(take(rowBytes(row, spec["row_bytes"])),
                want[rank]["recv_bytes"].get<int64_t>());
    }
  }
}

TEST(OracleRoutingKinds, Chunks) {
  for (const std::string &name : dispatchCaseNames("chunked")) {
    const Json &spec = dispatchCase(name)["spec"];
    const Json &want = dispatchCase(name)["expect"]["chunks"];
    int64_t chunks = spec["n_chunks"];
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      auto cut = [&](const Json &all) {
        Json part = Json::array();
        for (const Json &rows : all) {
          int64_t n = rows.size(), step = (n + chunks - 1) / chunks;
          Json mine = Json::array();
          for (int64_t t = chunk * step; t < std::min(n, (chunk + 1) * step);
               ++t)
            mine.push_back(rows[t]);
          part.push_back(mine);
        }
        return part;
      };
      CasePlan plan(spec, cut(spec["ids"]), cut(spec["scores"]));
      for (int64_t rank = 0; rank < plan.placement.ranks(); ++rank) {
        EXPECT_EQ(plan.routings[rank].tokens,
                  want[chunk]["tokens_per_rank"][rank].get<int64_t>());
        EXPECT_EQ(plan.routings[rank].sendSplits,
                  want[chunk]["input_splits"][rank].get<Ints>());
        EXPECT_EQ(Arrivals::create(*plan.matrix, rank)->counts,
                  want[chunk]["counts_local"][rank].get<Ints>());
      }
    }
  }
}

/// Expert tensor parallelism: an all-to-all over ep for each tp coordinate,
/// then the tp ranks gather their rows: the same reordering once more, with tp
/// coordinates for sources.
TEST(OracleRoutingKinds, ExpertTensorParallel) {
  for (const std::string &name : dispatchCaseNames("etp")) {
    const Json &spec = dispatchCase(name)["spec"];
    const Json &want = dispatchCase(name)["expect"]["per_rank"];
    int64_t ep = spec["ep"], tp = spec["tp"];
    std::vector<CasePlan> plans;
    for (int64_t j = 0; j < tp; ++j) {
      Json ids = Json::array(), scores = Json::array();
      for (int64_t i = 0; i < ep; ++i) {
        ids.push_back(spec["ids"][i * tp + j]);
        scores.push_back(spec["scores"][i * tp + j]);
      }
      plans.emplace_back(spec, ids, scores);
    }
    for (int64_t i = 0; i < ep; ++i) {
      // The rows of the tp ranks, one after the other, each expert-major.
      std::vector<Ints> gathered;
      Ints counts, gatherCounts;
      for (int64_t j = 0; j < tp; ++j) {
        const CasePlan &plan = plans[j];
        std::vector<Ints> arrived;
        for (int64_t source = 0; source < ep; ++source) {
          const Routing &routing = plan.routings[source];
          for (int64_t slot : routing.slotOf) {
            int64_t instance = routing.instanceOf[slot];
            if (plan.placement.rankOf(instance) == i)
              arrived.push_back({source * tp + j, slot / routing.topK,
                                 slot % routing.topK,
                                 plan.placement.expertOf(instance)});
          }
        }
        Arrivals arrivals = *Arrivals::create(*plan.matrix, i);
        for (int64_t arrival : arrivals.arrivalOf())
          gathered.push_back(arrived[arrival]);
        counts.insert(counts.end(), arrivals.counts.begin(),
                      arrivals.counts.end());
        gatherCounts.push_back(arrivals.rows);
      }
      // Every tp rank holds the experts of coordinate i.
      std::vector<Ints> table(tp);
      int64_t locals = plans[0].placement.localInstances(i);
      for (int64_t local = 0; local < locals; ++local)
        table[0].push_back(local);
      Placement shared = take(Placement::fromTable(locals, table));
      Arrivals merged = *Arrivals::create(
          CasePlan::known(RouteCounts::create(shared, counts)), 0);
      std::vector<Ints> rows;
      for (int64_t arrival : merged.arrivalOf())
        rows.push_back(gathered[arrival]);
      for (int64_t j = 0; j < tp; ++j) {
        const Json &rank = want[i * tp + j];
        EXPECT_EQ(rows, rank["rows"].get<std::vector<Ints>>());
        EXPECT_EQ(merged.counts, rank["counts_local"].get<Ints>());
        EXPECT_EQ(gatherCounts, rank["tp_allgather_counts"].get<Ints>());
        EXPECT_EQ(plans[j].routings[i].sendSplits,
                  rank["input_splits_ep"].get<Ints>());
        EXPECT_EQ(plans[j].matrix->recvSplits(i),
                  rank["output_splits_ep"].get<Ints>());
      }
    }
  }
}

} // namespace
