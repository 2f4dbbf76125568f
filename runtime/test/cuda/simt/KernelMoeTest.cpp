//===- KernelMoeTest.cpp - Kernels against the host backend, on the CPU ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SHUNT_RANDOM_SEED=N runs one random case. Otherwise SHUNT_FUZZ_SEED is the
// first of SHUNT_FUZZ_KERNELS cases: of 1000, or fewer under a sanitizer.
//
//===----------------------------------------------------------------------===//

#include "KernelMoe.h"
#include "../../moe/OracleCase.h"
#include "../../moe/RandomMoe.h"

#include <cstdlib>

using namespace shunt::rt::test;
using shunt::test::dispatchCase;
using shunt::test::dispatchCaseNames;

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHUNT_SLOW_BUILD
#endif
#endif
#ifdef SHUNT_SLOW_BUILD
constexpr int64_t usualCases = 150;
#else
constexpr int64_t usualCases = 1000;
#endif

/// Results and expert rows of every rank on the host backend.
void runHost(const MoeCase &moe, const std::vector<Ints> &expertOfRow,
             std::vector<MoeResult> &results) {
  Ranks ranks(moe.ranks);
  results.resize(moe.ranks);
  shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t me = shunt_comm_rank(comm);
    return runMoe(comm, nullptr, me, moe, expertOfRow[me], results[me]);
  });
  ASSERT_EQ(status, SHUNT_OK) << errorsOf(ranks);
}

void expectHostsBits(const MoeCase &moe, std::vector<MoeResult> &host) {
  MoeReference reference(moe);
  runHost(moe, reference.expertOfRow, host);
  if (::testing::Test::HasFailure())
    return;
  KernelMoe kernels(moe);
  for (KernelWay way : kernelWays) {
    auto got = kernels.run(way, [&](int64_t rank, Bytes &rows) {
      const Ints &experts = reference.expertOfRow[rank];
      if (rows.size() == experts.size() * moe.rowBytes())
        runExperts(moe, rank, experts, rows);
    });
    for (int64_t rank = 0; rank < moe.ranks; ++rank) {
      SCOPED_TRACE(std::string(nameOf(way)) + ", rank " + std::to_string(rank));
      expectResult(got[rank], host[rank]);
    }
  }
}

int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

TEST(KernelMoe, RandomCasesHaveTheHostsBits) {
  int64_t first = fromEnvironment("SHUNT_FUZZ_SEED", 1);
  int64_t count = fromEnvironment("SHUNT_FUZZ_KERNELS", usualCases);
  if (int64_t only = fromEnvironment("SHUNT_RANDOM_SEED", 0))
    first = only, count = 1;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("SHUNT_RANDOM_SEED=" + std::to_string(seed));
    Random random(static_cast<unsigned>(seed));
    std::vector<uint8_t> active;
    MoeCase moe = randomCase(random, active);
    moe.options.order = SHUNT_MOE_ORDER_SLOT;
    moe.options.round_sums = moe.options.round_products = 0;
    setResidentBlocks(random.draw(1, 5));
    std::vector<MoeResult> host;
    expectHostsBits(moe, host);
    if (HasFailure())
      return;
  }
}

/// A case of the oracle, with the sum that the kernels make.
MoeCase caseOf(const Json &spec, CaseOptions &given) {
  MoeCase moe;
  moe.ranks = spec["ep"];
  moe.elems = spec["hidden"];
  moe.dtype = dtypeOf(spec);
  moe.options = given.options;
  moe.options.order = SHUNT_MOE_ORDER_SLOT;
  moe.options.round_sums = moe.options.round_products = 0;
  shunt::Placement placement = *shunt::test::placementOf(spec);
  for (int64_t rank = 0; rank < moe.ranks; ++rank) {
    moe.table.emplace_back();
    for (int64_t i = 0; i < placement.localInstances(rank); ++i)
      moe.table[rank].push_back(
          placement.expertOf(placement.firstInstance(rank) + i));
    moe.ids.push_back(shunt::test::flatten<int32_t>(spec["ids"][rank]));
    moe.scores.push_back(shunt::test::flatten<float>(spec["scores"][rank]));
    moe.x.push_back(pack(spec["x"][rank], moe.dtype));
  }
  if (spec.contains("capacity"))
    moe.options.capacity =
        *shunt::capacityFor(spec["ids"][0].size(), spec["top_k"],
                            spec["num_experts"], spec["capacity"]["factor"]);
  return moe;
}

class KernelOracle : public ::testing::TestWithParam<std::string> {};

TEST_P(KernelOracle, HostsBits) {
  const Json &spec = dispatchCase(GetParam())["spec"];
  CaseOptions given(spec);
  std::vector<MoeResult> host;
  expectHostsBits(caseOf(spec, given), host);
}

/// Whether a case's rows are added as the kernels do, or in any order: those
/// that say nothing of the sum have exact ones.
bool isSummedBySlot(const Json &spec) {
  if (!spec.contains("reduce"))
    return true;
  const Json &sum = spec["reduce"];
  return sum["order"] == "slot" && sum.value("acc", "f32") == "f32" &&
         sum.value("product", "storage") == "acc";
}

TEST_P(KernelOracle, Answers) {
  const Json &spec = dispatchCase(GetParam())["spec"];
  const Json &want = dispatchCase(GetParam())["expect"]["per_rank"];
  CaseOptions given(spec);
  MoeCase moe = caseOf(spec, given);
  shunt::Placement placement = *shunt::test::placementOf(spec);
  KernelMoe kernels(moe);
  for (KernelWay way : kernelWays) {
    auto got = kernels.run(way, [&](int64_t rank, Bytes &buffer) {
      Rows rows = unpack(buffer, moe.elems, moe.dtype);
      size_t row = 0;
      for (int64_t i = 0; i < placement.localInstances(rank); ++i) {
        int64_t instance = placement.firstInstance(rank) + i;
        for (int64_t n = kernels.paddedRows(instance); n > 0; --n, ++row)
          rows[row] = runExpert(spec.value("expert_fn", "affine"),
                                placement.expertOf(instance), rows[row]);
      }
      buffer = pack(Json(rows), moe.dtype);
    });
    for (int64_t rank = 0; rank < moe.ranks; ++rank) {
      SCOPED_TRACE(std::string(nameOf(way)) + ", rank " + std::to_string(rank));
      const Json &expected = want[rank];
      EXPECT_EQ(got[rank].send, expected["input_splits"].get<Ints>());
      EXPECT_EQ(got[rank].recv, expected["output_splits"].get<Ints>());
      EXPECT_EQ(got[rank].counts, expected["counts_local"].get<Ints>());
      EXPECT_EQ(got[rank].padded, expected["padded_counts"].get<Ints>());
      Rows routed, rows = expected["routed_input"];
      for (int64_t source : expected["padded_row_source"])
        routed.push_back(source < 0 ? std::vector<double>(moe.elems, 0.0)
                                    : rows[source]);
      EXPECT_EQ(unpack(got[rank].routed, moe.elems, moe.dtype), routed);
      if (isSummedBySlot(spec))
        EXPECT_EQ(unpack(got[rank].out, moe.elems, moe.dtype),
                  expected["combined"].get<Rows>());
    }
  }
}

TEST(KernelOracleKinds, MostSumsAreCompared) {
  int64_t compared = 0;
  for (const std::string &name : dispatchCaseNames("plain"))
    compared += isSummedBySlot(dispatchCase(name)["spec"]);
  EXPECT_GE(compared, 30);
}

INSTANTIATE_TEST_SUITE_P(Cases, KernelOracle,
                         ::testing::ValuesIn(dispatchCaseNames("plain")),
                         [](const auto &info) { return info.param; });

} // namespace
