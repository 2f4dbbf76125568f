//===- BatchTextTest.cpp - Batch specs as text ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <gtest/gtest.h>

using namespace shunt;
using namespace shunt::test;

namespace {

BatchSpec spec(std::vector<Axis> axes, RankList devices, AxisList owners,
               AxisList replicas, Split split) {
  int64_t world = 1;
  for (const Axis &axis : axes)
    world *= axis.size;
  return take(BatchSpec::create(
      take(Mesh::create("a mesh", std::move(axes), world, std::move(devices))),
      std::move(owners), std::move(replicas), split));
}

TEST(BatchText, says_all_of_a_spec) {
  BatchSpec plain =
      spec({{"dp", 2}, {"tp", 2}}, {}, {0}, {}, {SplitRule::Balanced});
  EXPECT_EQ(toString(plain), "a%20mesh dp=2,tp=2 0 - - balanced");
  BatchSpec full = spec({{"dp", 2}, {"c,p", 2}, {"=", 1}}, {3, 1, 0, 2}, {0, 1},
                        {1}, {SplitRule::Align, 4});
  EXPECT_EQ(toString(full),
            "a%20mesh dp=2,c%2Cp=2,%3D=1 0,1 1 3,1,0,2 align:4");
}

TEST(BatchText, is_read_back) {
  for (const BatchSpec &original :
       {spec({{"dp", 2}, {"tp", 2}}, {}, {0}, {}, {}),
        spec({}, {}, {}, {}, {SplitRule::Ceil}),
        spec({{"dp", 2}, {"c,p", 2}, {"=", 1}}, {3, 1, 0, 2}, {0, 1}, {1},
             {SplitRule::Align, 4})}) {
    BatchSpec read = take(parseBatchSpec(toString(original)));
    EXPECT_EQ(toString(read), toString(original));
    EXPECT_EQ(read.mesh.name(), original.mesh.name());
    EXPECT_EQ(read.mesh.devices(), original.mesh.devices());
    EXPECT_EQ(read.owners, original.owners);
    EXPECT_EQ(read.replicas, original.replicas);
    EXPECT_TRUE(read.split == original.split);
    ASSERT_EQ(read.mesh.numAxes(), original.mesh.numAxes());
    for (unsigned axis = 0; axis < read.mesh.numAxes(); ++axis)
      EXPECT_EQ(read.mesh.axes()[axis].name, original.mesh.axes()[axis].name);
  }
}

TEST(BatchText, refuses_other_text) {
  for (const char *text :
       {"", "m", "m dp=2 0 - -", "m dp 0 - - balanced", "m dp=x 0 - - balanced",
        "m dp=0 0 - - balanced", "m dp=2 x - - balanced",
        "m dp=2 -1 - - balanced", "m dp=4000000000,tp=4 0 - - balanced",
        "m dp=2 0 - - balanced more"})
    EXPECT_EQ(codeOf(parseBatchSpec(text)), "E_BATCH_TEXT") << text;
  EXPECT_EQ(codeOf(parseBatchSpec("m dp=2 7 - - balanced")), "E_AXIS");
  EXPECT_EQ(codeOf(parseBatchSpec("m dp=2 0 - 1,1 balanced")), "E_MESH");
  EXPECT_EQ(codeOf(parseBatchSpec("m dp=2 0 - - odd")), "E_SPLIT");
}

TEST(BatchText, sums_of_cells_leave_out_padding) {
  EXPECT_EQ(sumCells({3, 2, 2, 1}, {{0, 1}, {}, {3, -1}, {2, 2}}),
            Ints({5, 0, 1, 4}));
}

} // namespace
