//===- WorkedValuesTest.cpp - The table of the specification ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

namespace {
/// A row of the table "Worked values" of token-counts.md.
struct Worked {
  const char *name;
  Ints attn; // dp, cp, tp
  Ints moe;  // dp, ep, tp
  Ints perRank;
  std::vector<Ints> gathers; // counts, group by group
  bool sameGroups = false;
};
} // namespace

static const Worked table[] = {
    {"tp2dp2_tp4", {2, 1, 2}, {1, 1, 4}, {5, 5, 3, 3}, {{3, 2, 2, 1}}},
    {"cp4_tp4", {1, 4, 1}, {1, 1, 4}, {3, 3, 2, 2}, {{3, 3, 2, 2}}},
    {"cp2dp4_tp8",
     {4, 2, 1},
     {1, 1, 8},
     {3, 3, 5, 5, 7, 7, 9, 9},
     {{3, 3, 5, 5, 7, 7, 9, 9}}},
    {"tp4dp2_ep4dp2",
     {2, 1, 4},
     {2, 4, 1},
     {6, 6, 6, 6, 1, 1, 1, 1},
     {{2, 2, 1, 1}, {1, 0, 0, 0}},
     true},
    {"tp8_ep4dp2",
     {1, 1, 8},
     {2, 4, 1},
     {10, 10, 10, 10, 10, 10, 10, 10},
     {{2, 2, 1, 1}, {1, 1, 1, 1}}},
    {"tp2cp2dp2_tp2ep4",
     {2, 2, 2},
     {1, 4, 2},
     {5, 5, 4, 4, 1, 1, 0, 0},
     {{3, 2, 2, 2, 1, 0, 0, 0}}},
    {"tp3dp4_tp4ep3",
     {4, 1, 3},
     {1, 3, 4},
     {7, 7, 7, 2, 2, 2, 0, 0, 0, 4, 4, 4},
     {{3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1}}},
    {"tp3dp4_tp2ep2dp3",
     {4, 1, 3},
     {3, 2, 2},
     {7, 7, 7, 2, 2, 2, 0, 0, 0, 4, 4, 4},
     {{3, 2, 2, 1}, {1, 0, 0, 0}, {0, 2, 1, 1}}},
};

class WorkedValues : public testing::TestWithParam<Worked> {};

TEST_P(WorkedValues, gather_counts) {
  const Worked &row = GetParam();
  Mesh attn = attnMesh(row.attn[0], row.attn[1], row.attn[2]);
  Mesh moe = moeMesh(row.moe[0], row.moe[1], row.moe[2]);
  BatchSpec spec = attnSpec(attn);
  Batch batch =
      take(Batch::create(spec, take(expandCounts(spec, row.perRank))));

  EXPECT_EQ(rowCounts(batch, layout(attn, {"dp", "cp"})), row.perRank);

  AxisList together = take(moe.axisIndices({"ep", "tp"}));
  Ints scattered = batch.cellTable(), gathered(moe.world());
  std::vector<Ints> gathers;
  for (const RankList &ranks : moe.groups(together)) {
    gathers.push_back(countsOf(scattered, ranks));
    for (Rank rank : ranks)
      gathered[rank] = std::accumulate(gathers.back().begin(),
                                       gathers.back().end(), int64_t(0));
  }
  EXPECT_EQ(gathers, row.gathers);
  EXPECT_EQ(rowCounts(batch, layout(moe, {"dp"})), gathered);
  EXPECT_EQ(sameGroups(attn, take(attn.axisIndices({"tp"})), moe, together),
            row.sameGroups);
}

INSTANTIATE_TEST_SUITE_P(Spec, WorkedValues, testing::ValuesIn(table),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });
