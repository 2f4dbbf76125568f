//===- LayoutTest.cpp - Layouts, digits, exchanges by example ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

TEST(Digits, merge_neighbours_and_drop_size_one) {
  Mesh m = mesh("m", {{"a", 2}, {"b", 3}, {"one", 1}, {"c", 4}});
  EXPECT_EQ(digits(m, {1, 3}), (std::vector<Digit>{{1, 12}}));
  EXPECT_EQ(digits(m, {3, 1}), digits(m, {1, 2, 3}));
  EXPECT_EQ(digits(m, {0, 3}), (std::vector<Digit>{{12, 2}, {1, 4}}));
  EXPECT_EQ(digits(m, {2}), std::vector<Digit>());
}

TEST(SameGroups, compares_ranks_not_sizes) {
  // The oracle's g02: dp fastest, so both groups have two ranks, but others.
  Mesh attn = mesh("attn", {{"cp", 1}, {"tp", 2}, {"dp", 2}});
  Mesh moe = moeMesh(2, 1, 2);
  EXPECT_FALSE(sameGroups(attn, {1}, moe, {1, 2}));
  EXPECT_TRUE(sameGroups(attn, {2}, moe, {1, 2}));
  EXPECT_FALSE(sameGroups(attn, {}, attnMesh(2, 2, 2), {}));
}

TEST(SameGroups, order_of_members_counts) {
  Mesh plain = denseMesh(2, 2);
  Mesh swapped = mesh("m", {{"dp", 2}, {"tp", 2}}, {1, 0, 3, 2});
  Mesh groupsSwapped = mesh("m", {{"dp", 2}, {"tp", 2}}, {2, 3, 0, 1});
  Mesh identity = mesh("m", {{"dp", 2}, {"tp", 2}}, {0, 1, 2, 3});
  EXPECT_FALSE(sameGroups(plain, {1}, swapped, {1}));
  EXPECT_TRUE(sameGroups(plain, {1}, groupsSwapped, {1}));
  EXPECT_TRUE(sameGroups(plain, {1}, identity, {1}));
  EXPECT_TRUE(sameGroups(swapped, {1}, swapped, {1}));
}

TEST(SameRows, of_two_meshes) {
  Layout full = layout(attnMesh(2, 1, 4), {"dp", "cp"});
  EXPECT_TRUE(sameRows(full, layout(moeMesh(2, 4, 1), {"dp"})));
  EXPECT_FALSE(sameRows(full, layout(moeMesh(2, 4, 1), {"dp", "ep"})));
  EXPECT_TRUE(sameRows(layout(denseMesh(1, 8), {"tp"}),
                       layout(moeMesh(2, 4, 1), {"dp", "ep"})));
}

TEST(RowsOf, a_gather_over_the_major_axis_is_strided) {
  Mesh moe = moeMesh(2, 2, 1);
  Batch batch = take(Batch::create(attnSpec(attnMesh(1, 1, 4)), {10}));
  std::vector<RowRun> want = {{0, 0, 3, 3}, {6, 6, 2, 2}};
  EXPECT_EQ(rowsOf(batch, layout(moe, {"ep"}), 0), want);
  EXPECT_EQ(rowsOf(batch, layout(moe, {"ep"}), 2), want);
  EXPECT_EQ(rowCounts(batch, layout(moe, {"ep"})), (Ints{5, 5, 5, 5}));
}

TEST(RowsOf, keeps_empty_cells_and_marks_padding) {
  BatchSpec spec = attnSpec(attnMesh(2, 1, 2));
  Batch batch = take(Batch::create(spec, {1, 4}, {1, 3}));
  Layout all = layout(denseMesh(1, 4), {"dp"});
  std::vector<RowRun> want = {
      {0, 0, 1, 1}, {1, 1, 0, 0}, {1, 1, 2, 2}, {3, 3, 2, 1}};
  EXPECT_EQ(rowsOf(batch, all, 3), want);
  EXPECT_EQ(validCounts(batch, all), Ints(4, 4));
}

TEST(DuplicateFactor, only_gathered_copies_count) {
  BatchSpec spec = attnSpec(attnMesh(1, 2, 2), /*replicate=*/true);
  Batch batch = take(Batch::create(spec, {5, 5}));
  EXPECT_EQ(duplicateFactor(batch, layout(moeMesh(1, 4, 1), {"dp"})), 2);
  EXPECT_EQ(duplicateFactor(batch, layout(moeMesh(2, 2, 1), {"dp"})), 1);
  Batch shard = take(Batch::create(attnSpec(attnMesh(1, 2, 2)), {5, 5}));
  EXPECT_EQ(duplicateFactor(shard, layout(moeMesh(1, 4, 1), {"dp"})), 1);
}

TEST(DuplicateFactor, padding_is_no_token) {
  BatchSpec spec = attnSpec(attnMesh(1, 2, 1), /*replicate=*/true);
  Batch batch = take(Batch::create(spec, {4, 4}, {0, 0}));
  EXPECT_EQ(duplicateFactor(batch, layout(moeMesh(1, 2, 1), {"dp"})), 1);
}

TEST(Exchange, nearest_holder_below_sends) {
  // Every rank of a tp group holds the part; the group of rank 2 is {2, 3}.
  Layout from = layout(attnMesh(2, 1, 2), {"dp", "cp"});
  Layout to = layout(denseMesh(1, 4), {});
  Exchange x = exchange(from, to);
  EXPECT_EQ(x.cells[0][0], (RankList{0, 1}));
  EXPECT_EQ(x.cells[3][0], (RankList{2, 3})); // cyclic: no holder below 0
  EXPECT_EQ(x.cells[1][2], (RankList{0, 1}));
  EXPECT_EQ(x.cells[2][2], (RankList{2, 3}));
  EXPECT_EQ(x.cells[3][3], (RankList{2, 3}));
  EXPECT_TRUE(x.cells[0][2].empty());

  Batch batch = take(Batch::create(attnSpec(attnMesh(2, 1, 2)), {5, 3}));
  EXPECT_EQ(x.rows(batch), (Ints{5, 0, 0, 0, //
                                 0, 5, 5, 5, //
                                 0, 0, 3, 0, //
                                 3, 3, 0, 3}));
}
