//===- OracleTest.cpp - The simulation oracle's cases ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace shunt;
using namespace shunt::test;
using Json = nlohmann::json;

static const Json &document() {
  static const Json json = [] {
    std::ifstream file(SHUNT_TEST_DATA "/cases_counts.json");
    return Json::parse(file);
  }();
  return json;
}

/// What is not a matter of token counts, and so not of the core: values that
/// are no integers (the reader's), stacks and backends (the planner's).
static const std::set<std::string> beyondCore = {
    "E_COUNTS_TYPE", "E_STACK", "E_UNEVEN_BACKEND", "E_EMPTY_BACKEND"};

/// The oracle lists axes fastest first, the core slowest first.
static Result<Mesh> parseMesh(const std::string &name, const Json &json,
                              std::string order, int64_t world) {
  order = json.value("order", order);
  std::vector<Axis> axes;
  for (size_t begin = 0; begin <= order.size(); begin += 3) {
    std::string axis = order.substr(begin, 2);
    axes.insert(axes.begin(), {axis, json.value(axis, int64_t(1))});
  }
  return Mesh::create(name, axes, world);
}

namespace {
/// A case, as far as it is legal.
struct CaseSetup {
  Mesh attn, mlp;
  AxisList attnTp, mlpGroup;
  Batch batch;
  Ints counts;
};
} // namespace

static Result<std::vector<int64_t>> parseCounts(const Json &json,
                                                const BatchSpec &spec) {
  Ints counts;
  if (json.contains("counts") && !json["counts"].is_null())
    counts = json["counts"].get<Ints>();
  CountsPer per = CountsPer::Auto;
  std::string stated = json.value("counts_layout", "");
  if (stated == "rank")
    per = CountsPer::Rank;
  else if (stated == "dpcp")
    per = CountsPer::Part;
  else if (stated == "dp")
    per = CountsPer::MajorOwner;
  return expandCounts(spec, counts, per);
}

static Result<CaseSetup> setUp(const Json &json) {
  int64_t world = json["world"];
  Result<Mesh> attn = parseMesh("attn", json["attn"], "tp-cp-dp", world);
  if (!attn)
    return attn.error();
  bool dense = json.value("stack", json.contains("moe") ? "M" : "D")[0] == 'D';
  Result<Mesh> mlp = dense ? parseMesh("dense", json["dense"], "tp-dp", world)
                           : parseMesh("moe", json["moe"], "tp-ep-dp", world);
  if (!mlp)
    return mlp.error();

  bool replicate = json.value("cp_mode", "replicate") == "replicate";
  std::string rule = json.value("split", "base_rem");
  Split split{rule == "base_rem"   ? SplitRule::Balanced
              : rule == "ceil_pad" ? SplitRule::Ceil
                                   : SplitRule::Align};
  BatchSpec spec = attnSpec(*attn, replicate, split);
  Result<Ints> counts = parseCounts(json, spec);
  if (!counts)
    return counts.error();

  PadPolicy policy = PadPolicy::None;
  int64_t bucket = 0;
  if (json.contains("pad") && !json["pad"].is_null()) {
    policy = json["pad"].is_string() ? PadPolicy::MaxPart : PadPolicy::Rows;
    bucket = json["pad"].is_string() ? 0 : json["pad"].get<int64_t>();
  }
  Result<Ints> padded = padCounts(*counts, policy, bucket);
  if (!padded)
    return padded.error();
  Result<Batch> batch = Batch::create(spec, *padded, *counts);
  if (!batch)
    return batch.error();

  AxisList mlpGroup =
      take(dense ? mlp->axisIndices({"tp"}) : mlp->axisIndices({"ep", "tp"}));
  return CaseSetup{*attn,    *mlp,   take(attn->axisIndices({"tp"})),
                   mlpGroup, *batch, *counts};
}

static std::string modeOf(const CaseSetup &s) {
  if (!sameGroups(s.attn, s.attnTp, s.mlp, s.mlpGroup))
    return "rsag";
  return s.attn.groupSize(s.attnTp) == 1 ? "none" : "all_reduce";
}

/// Compares a family of collectives: each group with its count list, or, where
/// rows stay replicated, with the rows that each member has.
static void expectFamily(const Json &want, const Mesh &mesh,
                         const AxisList &axes, const Ints &scattered,
                         const Ints &held) {
  std::vector<RankList> groups = mesh.groups(axes);
  ASSERT_EQ(want.size(), groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(want[i]["ranks"].get<RankList>(), groups[i]);
    if (want[i].contains("counts"))
      EXPECT_EQ(want[i]["counts"].get<Ints>(), countsOf(scattered, groups[i]));
    else
      EXPECT_EQ(want[i]["rows"].get<int64_t>(), held[groups[i][0]]);
  }
}

/// The warnings that follow from counts.
static std::set<std::string> warningsOf(const CaseSetup &s, const Ints &held,
                                        const Layout &gathered) {
  std::set<std::string> warnings;
  int64_t factor = duplicateFactor(s.batch, gathered);
  if (factor > 1)
    warnings.insert("W_CP_DUP x" + std::to_string(factor));
  std::string empty;
  for (size_t rank = 0; rank < held.size(); ++rank)
    if (held[rank] == 0)
      empty += (empty.empty() ? "" : ",") + std::to_string(rank);
  if (!empty.empty())
    warnings.insert("W_EMPTY_RANKS " + empty);
  return warnings;
}

static void expectCounts(const CaseSetup &s, const Json &want) {
  Layout full = layout(s.attn, {"dp", "cp"}), gathered = layout(s.mlp, {"dp"});
  Ints onAttn = rowCounts(s.batch, full);
  Ints scattered = s.batch.cellTable();
  Ints mlpIn = rowCounts(s.batch, gathered);
  std::string mode = modeOf(s);

  EXPECT_EQ(mode, want["mode"].get<std::string>());
  EXPECT_EQ(sameRows(full, gathered), mode != "rsag");
  EXPECT_EQ(onAttn, want["per_rank_attn"].get<Ints>());
  EXPECT_EQ(scattered, want["per_rank_scattered"].get<Ints>());
  EXPECT_EQ(mlpIn, want["per_rank_mlp_in"].get<Ints>());
  const Json &families = want["collectives"];
  expectFamily(families["attn_tp"], s.attn, s.attnTp, scattered, onAttn);
  expectFamily(families["mlp"], s.mlp, s.mlpGroup, scattered, mlpIn);

  Ints mlpRows;
  for (const RankList &ranks : s.mlp.groups(s.mlpGroup))
    mlpRows.push_back(mlpIn[ranks[0]]);
  EXPECT_EQ(mlpRows, want["mlp_rows"].get<Ints>());
  EXPECT_EQ(*std::max_element(scattered.begin(), scattered.end()),
            want["max_rows_per_rank"].get<int64_t>());
  EXPECT_EQ(s.batch.totalRows(), want["sum_rows_world"].get<int64_t>());
  EXPECT_EQ(s.batch.totalValid(),
            std::accumulate(s.counts.begin(), s.counts.end(), int64_t(0)));

  std::set<std::string> warnings;
  for (const std::string warning : want["warn"])
    // Work that is repeated on other ranks is the planner's to see.
    if (warning != "W_REPLICATED_WORK")
      warnings.insert(warning);
  EXPECT_EQ(warningsOf(s, mode == "rsag" ? scattered : onAttn, gathered),
            warnings);
}

TEST(Oracle, cases) {
  std::set<std::string> codes;
  int counted = 0;
  for (const Json &item : document()["cases"]) {
    SCOPED_TRACE(item["id"].get<std::string>());
    const Json &want = item["expect"];
    std::string code = want.value("error", "");
    if (beyondCore.count(code))
      continue;
    Result<CaseSetup> setup = setUp(item["case"]);
    EXPECT_EQ(codeOf(setup), code) << messageOf(setup);
    if (setup && code.empty())
      expectCounts(*setup, want);
    counted += code.empty();
    codes.insert(code);
  }
  // Guards against a file that is empty or a filter that drops too much.
  EXPECT_GE(counted, 48);
  EXPECT_EQ(codes,
            (std::set<std::string>{"", "E_PRODUCT", "E_SIZE", "E_COUNTS_LEN",
                                   "E_COUNTS_NEG", "E_COUNTS_MISSING",
                                   "E_TP_PEER_COUNTS", "E_BUCKET"}));
}

TEST(Oracle, chunk_schedules) {
  ASSERT_FALSE(document()["chunk_cases"].empty());
  for (const Json &item : document()["chunk_cases"]) {
    std::string empty = item["empty"];
    EmptyChunk rule = empty == "zero"  ? EmptyChunk::Zero
                      : empty == "one" ? EmptyChunk::DummyRow
                                       : EmptyChunk::RepeatFirst;
    EXPECT_EQ(take(chunkSchedule(item["counts"], item["limit"], rule)),
              item["expect"].get<std::vector<Ints>>())
        << item["id"];
  }
}
