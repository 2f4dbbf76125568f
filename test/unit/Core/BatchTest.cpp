//===- BatchTest.cpp - Parts, cells, padding ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

static Ints cellValids(const Batch &batch) {
  Ints table;
  for (Rank rank = 0; rank < batch.spec().world(); ++rank)
    table.push_back(batch.cellValid(rank));
  return table;
}

TEST(BatchSpec, rejects_axes) {
  Mesh m = attnMesh(2, 2, 2);
  EXPECT_EQ(messageOf(BatchSpec::create(m, {0, 3})),
            "mesh @attn has no axis number 3; it has 3 axes [E_AXIS]");
  EXPECT_EQ(messageOf(BatchSpec::create(m, {0, 0})),
            "axis dp of mesh @attn is listed twice; list it once [E_AXIS]");
  EXPECT_EQ(messageOf(BatchSpec::create(m, {0}, {1})),
            "replica axis cp of mesh @attn is no owner axis; add it to the "
            "owners [E_AXIS]");
  EXPECT_EQ(codeOf(BatchSpec::create(m, {0}, {}, {SplitRule::Align, 6})),
            "E_SPLIT");
}

TEST(BatchSpec, owners_number_parts_major_to_minor) {
  Mesh m = attnMesh(2, 2, 2);
  BatchSpec dpMajor = take(BatchSpec::create(m, {0, 1}));
  BatchSpec cpMajor = take(BatchSpec::create(m, {1, 0}));
  EXPECT_EQ(dpMajor.partOf(2), 1);
  EXPECT_EQ(cpMajor.partOf(2), 2);
  EXPECT_EQ(cpMajor.firstRank(2), 2);
  EXPECT_EQ(cpMajor.partSize(), 2);
  EXPECT_EQ(cpMajor.cellIndex(3), 1);
}

TEST(BatchSpec, first_copy_drops_replica_coordinates) {
  BatchSpec spec = attnSpec(attnMesh(3, 2, 1), /*replicate=*/true);
  for (int64_t part = 0; part < 6; ++part)
    EXPECT_EQ(spec.firstCopy(part), part / 2 * 2);
}

TEST(BatchSpec, other_axes_share_a_part_in_mesh_order) {
  // tp slower than cp, as in the oracle's g01.
  Mesh m = mesh("attn", {{"dp", 1}, {"tp", 2}, {"cp", 2}});
  BatchSpec spec = take(BatchSpec::create(m, {0, 2}, {2}));
  Batch batch = take(Batch::create(spec, {5, 5}));
  EXPECT_EQ(batch.cellTable(), (Ints{3, 3, 2, 2}));
}

TEST(Batch, padding_is_last_in_its_part) {
  BatchSpec spec = attnSpec(attnMesh(2, 1, 2));
  Batch batch = take(Batch::create(spec, {8, 8}, {5, 0}));
  EXPECT_EQ(batch.cellTable(), (Ints{4, 4, 4, 4}));
  EXPECT_EQ(cellValids(batch), (Ints{4, 1, 0, 0}));
  EXPECT_EQ(batch.totalRows(), 16);
  EXPECT_EQ(batch.totalValid(), 5);
}

TEST(Batch, ceil_rounds_the_rows_up) {
  BatchSpec spec = attnSpec(attnMesh(2, 1, 2), false, {SplitRule::Ceil});
  Batch batch = take(Batch::create(spec, {3, 5}));
  EXPECT_EQ(batch.partRows(), (Ints{4, 6}));
  EXPECT_EQ(batch.partValid(), (Ints{3, 5}));
  EXPECT_EQ(batch.cellTable(), (Ints{2, 2, 3, 3}));
  EXPECT_EQ(cellValids(batch), (Ints{2, 1, 3, 2}));
  EXPECT_EQ(batch.cellOffset(2), 4);
}

TEST(Batch, align_to_a_stated_multiple) {
  BatchSpec spec = attnSpec(attnMesh(1, 1, 4), false, {SplitRule::Align, 16});
  Batch batch = take(Batch::create(spec, {17}));
  EXPECT_EQ(batch.cellTable(), (Ints{8, 8, 8, 8}));
  EXPECT_EQ(cellValids(batch), (Ints{8, 8, 1, 0}));
}

TEST(Batch, copies_share_tokens_but_not_rows) {
  BatchSpec spec = attnSpec(attnMesh(2, 2, 2), /*replicate=*/true);
  Batch batch = take(Batch::create(spec, {5, 5, 3, 3}));
  Ints offsets, tokens;
  for (Rank rank = 0; rank < 8; ++rank) {
    offsets.push_back(batch.cellOffset(rank));
    tokens.push_back(batch.cellToken(rank));
  }
  EXPECT_EQ(offsets, (Ints{0, 3, 5, 8, 10, 12, 13, 15}));
  EXPECT_EQ(tokens, (Ints{0, 3, 0, 3, 5, 7, 5, 7}));
}

TEST(Batch, rejects_counts) {
  BatchSpec shard = attnSpec(attnMesh(2, 2, 1));
  BatchSpec replicate = attnSpec(attnMesh(2, 2, 1), /*replicate=*/true);
  EXPECT_EQ(messageOf(Batch::create(shard, {1, 2})),
            "got 2 counts; want 4 (one per dp·cp) [E_COUNTS_LEN]");
  EXPECT_EQ(codeOf(Batch::create(shard, {1, 2, 3, 4}, {1})), "E_COUNTS_LEN");
  EXPECT_EQ(codeOf(Batch::create(shard, {1, 2, 3, -4})), "E_COUNTS_NEG");
  EXPECT_EQ(codeOf(Batch::create(shard, {1, 2, 3, 4}, {0, 0, 0, -1})),
            "E_COUNTS_NEG");
  EXPECT_EQ(messageOf(Batch::create(shard, {1, 2, 3, 4}, {1, 2, 4, 4})),
            "part 2 has 4 valid tokens but only 3 rows; use a larger bucket "
            "[E_BUCKET]");
  EXPECT_EQ(codeOf(Batch::create(replicate, {1, 2, 3, 3})), "E_CP_PEER_COUNTS");
  EXPECT_EQ(codeOf(Batch::create(replicate, {2, 2, 3, 3}, {1, 2, 3, 3})),
            "E_CP_PEER_COUNTS");
}

TEST(Batch, large_counts_are_exact_and_sums_bounded) {
  int64_t big = (int64_t(1) << 61) - 3;
  BatchSpec spec = attnSpec(attnMesh(2, 1, 3));
  Batch batch = take(Batch::create(spec, {big, big}));
  Ints table = batch.cellTable();
  EXPECT_EQ(std::accumulate(table.begin(), table.end(), int64_t(0)), 2 * big);
  EXPECT_EQ(batch.cellOffset(5) + batch.cellRows(5), 2 * big);
  EXPECT_EQ(rowCounts(batch, layout(denseMesh(1, 6), {})), Ints(6, 2 * big));
  EXPECT_EQ(messageOf(Batch::create(spec, {int64_t(1) << 61, big + 4})),
            "the rows of parts 0 to 1 add up to more than 2^62 [E_OVERFLOW]");
  BatchSpec ceil = attnSpec(attnMesh(2, 1, 3), false, {SplitRule::Ceil});
  EXPECT_EQ(codeOf(Batch::create(ceil, {INT64_MAX, 0})), "E_OVERFLOW");
}
