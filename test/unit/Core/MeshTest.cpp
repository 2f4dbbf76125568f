//===- MeshTest.cpp - Meshes: sizes, coordinates, groups ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

TEST(InferSizes, fills_in_the_quotient) {
  auto axes =
      take(inferSizes("attn", {{"dp", 2}, {"cp", kInfer}, {"tp", 3}}, 12));
  EXPECT_EQ(axes[1].size, 2);
}

TEST(InferSizes, product_error_names_sizes_product_and_world) {
  auto bad = inferSizes("attn", {{"dp", 2}, {"cp", 1}, {"tp", 4}}, 4);
  EXPECT_EQ(messageOf(bad),
            "mesh @attn: sizes dp=2, cp=1, tp=4 multiply to 8 but the world "
            "has 4 ranks; change one size or leave one out [E_PRODUCT]");
}

TEST(InferSizes, product_must_divide_the_world) {
  auto bad = inferSizes("attn", {{"dp", 3}, {"tp", kInfer}}, 4);
  EXPECT_EQ(messageOf(bad),
            "mesh @attn: sizes dp=3 multiply to 3, which does not divide the "
            "world of 4 ranks, so tp has no size; change one of the sizes "
            "[E_PRODUCT]");
}

TEST(InferSizes, product_that_overflows_is_an_error) {
  int64_t big = int64_t(1) << 40;
  EXPECT_EQ(codeOf(inferSizes("m", {{"a", big}, {"b", big}}, 4)), "E_PRODUCT");
  EXPECT_EQ(codeOf(inferSizes("m", {{"a", big}, {"b", big}, {"c", kInfer}}, 4)),
            "E_PRODUCT");
}

TEST(InferSizes, sizes_below_one_are_errors) {
  EXPECT_EQ(messageOf(inferSizes("attn", {{"dp", 4}, {"cp", 0}}, 4)),
            "mesh @attn: axis cp has size 0; a size is at least 1 [E_SIZE]");
  EXPECT_EQ(codeOf(inferSizes("attn", {{"dp", -2}, {"cp", -2}}, 4)), "E_SIZE");
  EXPECT_EQ(codeOf(inferSizes("attn", {}, 0)), "E_SIZE");
}

TEST(InferSizes, only_one_size_may_be_left_out) {
  EXPECT_EQ(messageOf(inferSizes("attn", {{"dp", kInfer}, {"tp", kInfer}}, 4)),
            "mesh @attn: the sizes of dp and tp are both left out; state one "
            "of them [E_SIZE]");
}

TEST(Mesh, no_axes_is_a_world_of_one) {
  Mesh m = take(Mesh::create("m", {}, 1));
  EXPECT_EQ(m.groups({}), (std::vector<RankList>{{0}}));
  EXPECT_EQ(codeOf(Mesh::create("m", {}, 2)), "E_PRODUCT");
}

TEST(Mesh, rejects_axis_names) {
  EXPECT_EQ(messageOf(Mesh::create("m", {{"tp", 2}, {"tp", 2}}, 4)),
            "mesh @m: two axes are named tp; rename one [E_MESH]");
  EXPECT_EQ(codeOf(Mesh::create("m", {{"", 4}}, 4)), "E_MESH");
}

TEST(Mesh, rejects_device_lists) {
  auto create = [](RankList devices) {
    return Mesh::create("m", {{"a", 4}}, 4, std::move(devices));
  };
  EXPECT_EQ(messageOf(create({0, 1, 2})),
            "mesh @m: the device list has 3 entries but the world has 4 "
            "ranks; list every rank once [E_MESH]");
  EXPECT_EQ(messageOf(create({0, 1, 2, 4})),
            "mesh @m: entry 3 of the device list is rank 4; ranks are 0 to 3 "
            "[E_MESH]");
  EXPECT_EQ(messageOf(create({0, 1, 1, 2})),
            "mesh @m: entries 1 and 2 of the device list are both rank 1; "
            "list every rank once [E_MESH]");
  EXPECT_EQ(codeOf(create({0, 1, 2, -1})), "E_MESH");
}

TEST(Mesh, axis_indices_name_what_there_is) {
  Mesh m = attnMesh(2, 1, 2);
  EXPECT_EQ(take(m.axisIndices({"tp", "dp"})), (AxisList{2, 0}));
  EXPECT_EQ(messageOf(m.axisIndices({"ep"})),
            "mesh @attn has no axis ep; its axes are dp, cp, tp [E_AXIS]");
  EXPECT_EQ(messageOf(m.axisIndices({"tp", "tp"})),
            "axis tp of mesh @attn is listed twice; list it once [E_AXIS]");
  EXPECT_EQ(m.axisIndex("cp"), 1u);
  EXPECT_EQ(m.axisIndex("ep"), std::nullopt);
  EXPECT_EQ(m.axisNames({0, 1}), "dp·cp");
}

TEST(Mesh, last_axis_is_fastest) {
  Mesh m = attnMesh(2, 2, 3);
  EXPECT_EQ(m.coordinates(7), (Ints{1, 0, 1}));
  EXPECT_EQ(m.rankAt({1, 0, 1}), 7);
  EXPECT_EQ(m.group(7, {2}), (RankList{6, 7, 8}));
  EXPECT_EQ(m.group(7, {0}), (RankList{1, 7}));
  EXPECT_EQ(m.group(7, {1}), (RankList{7, 10}));
}

TEST(Mesh, groups_ignore_the_order_of_axes) {
  Mesh m = attnMesh(2, 2, 2);
  EXPECT_EQ(m.group(0, {2, 0}), (RankList{0, 1, 4, 5}));
  EXPECT_EQ(m.group(0, {2, 0}), m.group(0, {0, 2}));
  EXPECT_EQ(m.rankInGroup(4, {2, 0}), 2);
  EXPECT_EQ(m.complement({2, 0}), (AxisList{1}));
  EXPECT_EQ(m.groups({2, 0}),
            (std::vector<RankList>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(Mesh, device_list_places_ranks) {
  Mesh m = mesh("m", {{"dp", 2}, {"tp", 2}}, {3, 1, 0, 2});
  EXPECT_EQ(m.group(1, {1}), (RankList{3, 1}));
  EXPECT_EQ(m.groups({1}), (std::vector<RankList>{{3, 1}, {0, 2}}));
  EXPECT_EQ(m.coordinates(2), (Ints{1, 1}));
  EXPECT_EQ(m.rankInGroup(1, {1}), 1);
}

TEST(Mesh, a_huge_world_costs_nothing) {
  Mesh m =
      mesh("m", {{"a", int64_t(1) << 30}, {"b", int64_t(1) << 30}, {"c", 2}});
  EXPECT_EQ(m.group(5, {2}), (RankList{4, 5}));
}
