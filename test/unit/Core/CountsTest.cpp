//===- CountsTest.cpp - Counts from outside: lengths, peers, padding ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

TEST(ExpandCounts, accepts_dp_dpcp_and_world) {
  BatchSpec spec = attnSpec(attnMesh(2, 2, 2), /*replicate=*/true);
  Ints want = {5, 5, 3, 3};
  EXPECT_EQ(take(expandCounts(spec, {5, 3})), want);
  EXPECT_EQ(take(expandCounts(spec, {5, 5, 3, 3})), want);
  EXPECT_EQ(take(expandCounts(spec, {5, 5, 5, 5, 3, 3, 3, 3})), want);
  EXPECT_EQ(take(expandCounts(spec, {5, 3}, CountsPer::MajorOwner)), want);
  EXPECT_EQ(take(expandCounts(spec, want, CountsPer::Part)), want);
  EXPECT_EQ(codeOf(expandCounts(spec, {5, 3}, CountsPer::Part)),
            "E_COUNTS_LEN");
}

TEST(ExpandCounts, length_error_lists_the_alternatives) {
  Mesh attn = attnMesh(2, 2, 2);
  EXPECT_EQ(messageOf(expandCounts(attnSpec(attn, true), {1, 2, 3})),
            "got 3 counts; want 2 (one per dp), 4 (one per dp·cp) or 8 (one "
            "per rank) [E_COUNTS_LEN]");
  EXPECT_EQ(
      messageOf(expandCounts(attnSpec(attn, true), {1, 2, 3}, CountsPer::Rank)),
      "got 3 counts; want 8 (one per rank) [E_COUNTS_LEN]");
}

TEST(ExpandCounts, shards_need_a_count_each) {
  EXPECT_EQ(messageOf(expandCounts(attnSpec(attnMesh(2, 2, 2)), {4, 6})),
            "got 2 counts; want 4 (one per dp·cp) or 8 (one per rank); one "
            "per dp is enough only if cp replicates [E_COUNTS_LEN]");
}

TEST(ExpandCounts, names_axes_as_the_mesh_does) {
  Mesh m = mesh("a", {{"data", 2}, {"head", 2}});
  BatchSpec spec = take(BatchSpec::create(m, {0}));
  EXPECT_EQ(messageOf(expandCounts(spec, {1, 2, 3})),
            "got 3 counts; want 2 (one per data) or 4 (one per rank) "
            "[E_COUNTS_LEN]");
  EXPECT_EQ(messageOf(expandCounts(spec, {4, 6, 5, 5})),
            "rank 0 reports 4 tokens but rank 1, its head peer, reports 6; "
            "ranks of one attention group work on the same rows "
            "[E_TP_PEER_COUNTS]");
}

TEST(ExpandCounts, replicated_peers_must_agree) {
  BatchSpec spec = attnSpec(attnMesh(2, 2, 1), /*replicate=*/true);
  EXPECT_EQ(messageOf(expandCounts(spec, {4, 4, 1, 6})),
            "rank 2 reports 1 token but rank 3, its cp peer, reports 6; in "
            "replicate mode they hold the same rows, use cp shard if each has "
            "rows of its own [E_CP_PEER_COUNTS]");
  EXPECT_EQ(take(expandCounts(attnSpec(attnMesh(2, 2, 1)), {4, 4, 1, 6})),
            (Ints{4, 4, 1, 6}));
}

TEST(ExpandCounts, missing_counts) {
  BatchSpec spec = attnSpec(attnMesh(2, 1, 2), /*replicate=*/true);
  EXPECT_EQ(messageOf(expandCounts(spec, {})),
            "no counts for the 2 parts of mesh @attn; want 2 (one per dp) or "
            "4 (one per rank), or the count exchange [E_COUNTS_MISSING]");
  EXPECT_EQ(codeOf(expandCounts(attnSpec(attnMesh(1, 1, 2)), {})),
            "E_COUNTS_LEN");
}

TEST(ExpandCounts, negative_counts_name_index_and_value) {
  EXPECT_EQ(messageOf(expandCounts(attnSpec(attnMesh(2, 1, 2)), {4, -1})),
            "count 1 is -1; a count is at least 0 [E_COUNTS_NEG]");
}

TEST(ExpandCounts, three_owner_axes) {
  Mesh m = mesh("a", {{"pod", 2}, {"dp", 2}, {"cp", 2}, {"tp", 2}});
  BatchSpec spec = take(BatchSpec::create(m, {0, 1, 2}, {2}));
  EXPECT_EQ(take(expandCounts(spec, {1, 2, 3, 4})),
            (Ints{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(ExpandCounts, replica_axis_may_be_major) {
  Mesh m = attnMesh(2, 2, 1);
  BatchSpec spec = take(BatchSpec::create(m, {1, 0}, {1}));
  EXPECT_EQ(take(expandCounts(spec, {5, 3})), (Ints{5, 3, 5, 3}));
}

TEST(ExpandCounts, one_part_for_all) {
  Mesh m = mesh("a", {{"tp", 4}});
  BatchSpec spec = take(BatchSpec::create(m, {}));
  EXPECT_EQ(take(expandCounts(spec, {9})), (Ints{9}));
  EXPECT_EQ(messageOf(expandCounts(spec, {1, 2})),
            "got 2 counts; want 1 (one for all ranks) or 4 (one per rank) "
            "[E_COUNTS_LEN]");
}

TEST(ExpandCounts, counts_per_rank_follow_the_device_list) {
  // Ranks 3 and 1 are part 0.
  Mesh m = mesh("a", {{"dp", 2}, {"tp", 2}}, {3, 1, 0, 2});
  BatchSpec spec = take(BatchSpec::create(m, {0}));
  EXPECT_EQ(take(expandCounts(spec, {7, 4, 7, 4})), (Ints{4, 7}));
}

TEST(PadCounts, policies) {
  EXPECT_EQ(take(padCounts({5, 3}, PadPolicy::None)), (Ints{5, 3}));
  EXPECT_EQ(take(padCounts({5, 3}, PadPolicy::MaxPart)), (Ints{5, 5}));
  EXPECT_EQ(take(padCounts({5, 0}, PadPolicy::Rows, 8)), (Ints{8, 8}));
  EXPECT_EQ(take(padCounts({}, PadPolicy::MaxPart)), Ints());
  EXPECT_EQ(messageOf(padCounts({1, 9}, PadPolicy::Rows, 8)),
            "part 1 has 9 tokens but the bucket holds 8; use a larger bucket "
            "[E_BUCKET]");
  EXPECT_EQ(codeOf(padCounts({-1}, PadPolicy::MaxPart)), "E_COUNTS_NEG");
}
