//===- JitTest.cpp - Programs run on threads, values checked ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitSupport.h"

using namespace shunt;
using namespace shunt::test;

namespace {

/// Four ranks as dp=2·tp=2 and as one group, 5 and 3 tokens: each rank's own
/// rows are 3, 2, 2, 1.
const std::string kMeshes = R"mlir(
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#dp = #shunt.layout<@attn, tokens = [dp]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#tp = #shunt.layout<@attn, tokens = [tp]>
#own = #shunt.layout<@attn, tokens = [dp, tp]>
#moe = #shunt.layout<@moe, tokens = [ep]>
#all = #shunt.layout<@moe, tokens = []>
)mlir";

using Rows = std::vector<float>;

/// Attention's rows of each rank, numbered through: 0 … 4 and 5 … 7.
std::vector<Buffer> attentionRows(int64_t rank) {
  return {rank < 2 ? column(0, 5) : column(5, 3)};
}

TEST_F(JitTest, GathersRaggedRowsOfAnotherMesh) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #dp>)
    -> (tensor<?x1xf32, #own>, tensor<?x1xf32, #all>) {
  %b = shunt.batch [5, 3] : !b
  %s = shunt.slice %x in %b over [tp]
    : tensor<?x1xf32, #dp>, !b -> tensor<?x1xf32, #own>
  %m = shunt.relabel %s in %b
    : tensor<?x1xf32, #own>, !b -> tensor<?x1xf32, #moe>
  %g = shunt.all_gather %m in %b over [ep]
    : tensor<?x1xf32, #moe>, !b -> tensor<?x1xf32, #all>
  return %s, %g : tensor<?x1xf32, #own>, tensor<?x1xf32, #all>
})mlir");
  ASSERT_TRUE(jit);
  EXPECT_EQ(jit->world(), 4);
  ASSERT_EQ(jit->inputs().size(), 1u);
  EXPECT_EQ(jit->inputs()[0].shape, (std::vector<int64_t>{-1, 1}));
  Run result = run(*jit, 4, attentionRows);
  std::vector<Rows> own = {{0, 1, 2}, {3, 4}, {5, 6}, {7}};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    ASSERT_EQ(result.outputs[rank].size(), 2u);
    EXPECT_EQ(values(result.outputs[rank][0]), own[rank]);
    EXPECT_EQ(values(result.outputs[rank][1]), Rows({0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST_F(JitTest, SumsPartialRows) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #sums>)
    -> (tensor<?x1xf32, #own>, tensor<?x1xf32, #dp>) {
  %b = shunt.batch [5, 3] : !b
  %s = shunt.reduce_scatter %x in %b over [tp]
    : tensor<?x1xf32, #sums>, !b -> tensor<?x1xf32, #own>
  %a = shunt.all_reduce %x in %b over [tp]
    : tensor<?x1xf32, #sums>, !b -> tensor<?x1xf32, #dp>
  return %s, %a : tensor<?x1xf32, #own>, tensor<?x1xf32, #dp>
})mlir");
  ASSERT_TRUE(jit);
  // The ranks of a pair hold 10·r and r for row r.
  Run result = run(*jit, 4, [](int64_t rank) {
    std::vector<Buffer> inputs = attentionRows(rank);
    Rows rows = values(inputs[0]);
    for (float &row : rows)
      row *= rank % 2 ? 1 : 10;
    int64_t count = rows.size();
    return std::vector<Buffer>{floats({count, 1}, rows)};
  });
  std::vector<Rows> own = {{0, 11, 22}, {33, 44}, {55, 66}, {77}};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    EXPECT_EQ(values(result.outputs[rank][0]), own[rank]);
    EXPECT_EQ(values(result.outputs[rank][1]),
              rank < 2 ? Rows({0, 11, 22, 33, 44}) : Rows({55, 66, 77}));
  }
}

TEST_F(JitTest, PutsRowsIntoMeshOrder) {
  // Gathering over the major axis leaves a strided set of rows; gathering the
  // minor axis then must interleave them.
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #own>)
    -> (tensor<?x1xf32, #tp>, tensor<?x1xf32, #shunt.layout<@attn, tokens = []>>,
        tensor<?x1xf32, #tp>) {
  %b = shunt.batch [5, 3] : !b
  %g = shunt.all_gather %x in %b over [dp]
    : tensor<?x1xf32, #own>, !b -> tensor<?x1xf32, #tp>
  %a = shunt.all_gather %g in %b over [tp]
    : tensor<?x1xf32, #tp>, !b
    -> tensor<?x1xf32, #shunt.layout<@attn, tokens = []>>
  %s = shunt.slice %a in %b over [tp]
    : tensor<?x1xf32, #shunt.layout<@attn, tokens = []>>, !b
    -> tensor<?x1xf32, #tp>
  return %g, %a, %s : tensor<?x1xf32, #tp>,
    tensor<?x1xf32, #shunt.layout<@attn, tokens = []>>, tensor<?x1xf32, #tp>
})mlir");
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, [](int64_t rank) {
    const float first[] = {0, 3, 5, 7};
    const int64_t rows[] = {3, 2, 2, 1};
    return std::vector<Buffer>{column(first[rank], rows[rank])};
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    Rows strided = rank % 2 ? Rows({3, 4, 7}) : Rows({0, 1, 2, 5, 6});
    EXPECT_EQ(values(result.outputs[rank][0]), strided);
    EXPECT_EQ(values(result.outputs[rank][1]), Rows({0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(values(result.outputs[rank][2]), strided);
  }
}

TEST_F(JitTest, ExchangesRows) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #dp>) -> tensor<?x1xf32, #tp> {
  %b = shunt.batch [5, 3] : !b
  %t = shunt.all_to_all %x in %b over [dp, tp]
    : tensor<?x1xf32, #dp>, !b -> tensor<?x1xf32, #tp>
  return %t : tensor<?x1xf32, #tp>
})mlir");
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, attentionRows);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    EXPECT_EQ(values(result.outputs[rank][0]),
              rank % 2 ? Rows({3, 4, 7}) : Rows({0, 1, 2, 5, 6}));
  }
}

const std::string kExchangedCounts = R"mlir(
func.func @main(%x: tensor<?x1xf32, #dp>, %n: i64) -> tensor<?x1xf32, #all> {
  %b = shunt.gather_batch %n : i64 -> !b
  %r = call @layer(%x, %b)
    : (tensor<?x1xf32, #dp>, !b) -> tensor<?x1xf32, #all>
  return %r : tensor<?x1xf32, #all>
}
func.func private @layer(%x: tensor<?x1xf32, #dp>, %b: !b)
    -> tensor<?x1xf32, #all> {
  %s = shunt.slice %x in %b over [tp]
    : tensor<?x1xf32, #dp>, !b -> tensor<?x1xf32, #own>
  %m = shunt.relabel %s in %b
    : tensor<?x1xf32, #own>, !b -> tensor<?x1xf32, #moe>
  %g = shunt.all_gather %m in %b over [ep]
    : tensor<?x1xf32, #moe>, !b -> tensor<?x1xf32, #all>
  return %g : tensor<?x1xf32, #all>
})mlir";

TEST_F(JitTest, ExchangesCountsAtRunTime) {
  auto jit = compile(kMeshes + kExchangedCounts);
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, [](int64_t rank) {
    std::vector<Buffer> inputs = attentionRows(rank);
    inputs.push_back(integer(rank < 2 ? 5 : 3));
    return inputs;
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    EXPECT_EQ(values(result.outputs[rank][0]), Rows({0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST_F(JitTest, NamesPeersWhoseCountsDiffer) {
  auto jit = compile(kMeshes + kExchangedCounts);
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, [](int64_t rank) {
    return std::vector<Buffer>{column(0, rank == 1 ? 4 : 5),
                               integer(rank == 1 ? 4 : 5)};
  });
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_NE(result.errors[rank].find("[E_TP_PEER_COUNTS]"), std::string::npos)
        << result.errors[rank];
}

TEST_F(JitTest, ComputesInHalfPrecision) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xbf16, #dp>) -> tensor<?x1xbf16, #dp> {
  %y = math.exp %x : tensor<?x1xbf16, #dp>
  %z = math.rsqrt %y : tensor<?x1xbf16, #dp>
  %w = arith.addf %z, %x : tensor<?x1xbf16, #dp>
  return %w : tensor<?x1xbf16, #dp>
})mlir");
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, [](int64_t) {
    Buffer zero; // 0 as bf16
    zero.shape = {1, 1};
    zero.type = ElementType::BF16;
    zero.data.assign(2, 0);
    return std::vector<Buffer>{zero};
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(result.errors[rank], "");
    uint16_t bits;
    std::memcpy(&bits, result.outputs[rank][0].data.data(), 2);
    EXPECT_EQ(bits, 0x3F80); // exp(0)^(-1/2) + 0 = 1
  }
}

TEST_F(JitTest, LeavesInputsAlone) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #dp>)
    -> (tensor<?x1xf32, #dp>, tensor<?x1xf32, #dp>) {
  %y = arith.addf %x, %x : tensor<?x1xf32, #dp>
  return %y, %x : tensor<?x1xf32, #dp>, tensor<?x1xf32, #dp>
})mlir");
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, attentionRows);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(values(result.outputs[rank][0]),
              rank < 2 ? Rows({0, 2, 4, 6, 8}) : Rows({10, 12, 14}));
    EXPECT_EQ(values(result.outputs[rank][1]), values(attentionRows(rank)[0]));
  }
}

TEST_F(JitTest, RefusesInputsThatDoNotFit) {
  auto jit = compile(kMeshes + R"mlir(
func.func @main(%x: tensor<?x1xf32, #dp>) -> tensor<?x1xf32, #dp> {
  return %x : tensor<?x1xf32, #dp>
})mlir");
  ASSERT_TRUE(jit);
  Run result = run(*jit, 4, [](int64_t) {
    return std::vector<Buffer>{floats({1, 2}, {1, 2})};
  });
  EXPECT_EQ(result.errors[0], "input 0 is 1x2xf32, expected ?x1xf32 [X_INPUT]");
  result = run(*jit, 2, attentionRows);
  EXPECT_EQ(result.errors[1],
            "the program is planned for 4 ranks and runs on 2; plan it for "
            "this world [E_PRODUCT]");
}

} // namespace
