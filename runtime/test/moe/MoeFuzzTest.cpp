//===- MoeFuzzTest.cpp - Random batches, every algorithm ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SHUNT_RANDOM_SEED=N runs one case. Otherwise SHUNT_FUZZ_SEED is the first of
// SHUNT_FUZZ_ROUTINGS cases: by default of 2000 from a fixed seed on, so that a
// failure repeats, and of fewer under a sanitizer, which takes ten times as
// long for each. `ctest -L slow` runs 50,000.
//
//===----------------------------------------------------------------------===//

#include "MoeWorkspace.h"
#include "RandomMoe.h"

#include <cstdlib>

using namespace shunt::rt::test;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHUNT_SLOW_BUILD
#endif
#endif

namespace {

#ifdef SHUNT_SLOW_BUILD
constexpr int64_t usualRoutings = 300;
#else
constexpr int64_t usualRoutings = 2000;
#endif

int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Every way on every rank of one world; all must give the reference's bits.
void expectEveryWay(const MoeCase &moe) {
  MoeReference reference(moe);
  MoeWorkspace workspace(moe, reference);
  Ranks ranks(moe.ranks);
  std::vector<std::vector<MoeResult>> results(std::size(ways));
  for (auto &perRank : results)
    perRank.resize(moe.ranks);
  shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t me = shunt_comm_rank(comm);
    for (size_t way = 0; way < std::size(ways); ++way) {
      MoeCase mine = moe;
      mine.options.algorithm = ways[way].algorithm;
      mine.options.no_direct = ways[way].noDirect;
      if (shunt_status status =
              runMoe(comm, nullptr, me, mine, reference.expertOfRow[me],
                     results[way][me]))
        return status;
    }
    return SHUNT_OK;
  });
  ASSERT_EQ(status, SHUNT_OK) << errorsOf(ranks);
  for (size_t way = 0; way < std::size(ways); ++way)
    for (int64_t rank = 0; rank < moe.ranks; ++rank) {
      SCOPED_TRACE(std::string(ways[way].name) + ", rank " +
                   std::to_string(rank));
      const MoeResult &result = results[way][rank];
      expectResult(result, reference.results[rank]);
      EXPECT_EQ(result.workspace, workspace.expect(ways[way], rank));
      // The bytes that the plan states are the bytes that were sent.
      EXPECT_EQ(result.stats.bytes_sent,
                result.volume.rows_sent * moe.rowBytes());
      EXPECT_EQ(result.stats.bytes_received,
                result.volume.rows_received * moe.rowBytes());
    }
}

/// Runs `body` with a few seeds, up to the first that fails.
void forSeeds(int64_t share, const std::function<void(Random &)> &body) {
  int64_t first = fromEnvironment("SHUNT_FUZZ_SEED", 1);
  int64_t count = fromEnvironment("SHUNT_FUZZ_ROUTINGS", usualRoutings) / share;
  if (int64_t only = fromEnvironment("SHUNT_RANDOM_SEED", 0))
    first = only, count = 1;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("SHUNT_RANDOM_SEED=" + std::to_string(seed));
    Random random(static_cast<unsigned>(seed));
    body(random);
    if (::testing::Test::HasFailure())
      return;
  }
}

TEST(MoeFuzz, EveryAlgorithmGivesTheReferencesBits) {
  forSeeds(1, [](Random &random) {
    std::vector<uint8_t> active;
    expectEveryWay(randomCase(random, active));
  });
}

/// A batch in which nothing may depend on who holds a token: no limits for
/// each source, no partial sums of ranks.
MoeCase anyonesCase(Random &random) {
  std::vector<uint8_t> active;
  MoeCase moe = randomCase(random, active);
  shunt_moe_options &o = moe.options;
  o.active = nullptr;
  o.capacity = 0;
  o.order = SHUNT_MOE_ORDER_SLOT;
  moe.ids.clear();
  moe.scores.clear();
  moe.x.clear();
  moe.bias.clear();
  moe.ranks = 1;
  fillAtRandom(moe, random);
  return moe;
}

/// All combined rows of a batch, whoever holds them, in every way.
std::vector<Bytes> combineEveryWay(const MoeCase &moe) {
  MoeReference reference(moe);
  Ranks ranks(moe.ranks);
  std::vector<std::vector<Bytes>> parts(std::size(ways));
  for (auto &perRank : parts)
    perRank.resize(moe.ranks);
  shunt_status status = ranks.run([&](shunt_comm *comm) -> int32_t {
    int64_t me = shunt_comm_rank(comm);
    for (size_t way = 0; way < std::size(ways); ++way) {
      MoeCase mine = moe;
      mine.options.algorithm = ways[way].algorithm;
      mine.options.no_direct = ways[way].noDirect;
      MoeResult result;
      if (shunt_status status = runMoe(comm, nullptr, me, mine,
                                       reference.expertOfRow[me], result))
        return status;
      parts[way][me] = std::move(result.out);
    }
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << errorsOf(ranks);
  std::vector<Bytes> outs;
  for (const auto &perRank : parts)
    outs.push_back(concatenate(perRank));
  return outs;
}

TEST(MoeFuzz, BitsDependOnNeitherRanksNorAlgorithmNorRun) {
  forSeeds(16, [](Random &random) {
    MoeCase alone = anyonesCase(random);
    Bytes want = combineEveryWay(dealTo(1, alone))[0];
    for (int64_t ranks : {1, 2, 4, 8})
      for (int run : {1, 2}) {
        MoeCase moe = dealTo(ranks, alone);
        moe.options.threads = run;
        auto outs = combineEveryWay(moe);
        for (size_t way = 0; way < outs.size(); ++way)
          EXPECT_TRUE(outs[way] == want)
              << ranks << " ranks, run " << run << ", " << ways[way].name;
      }
  });
}

/// What the cases are to contain, often enough.
TEST(MoeFuzz, CasesAreOfEveryKind) {
  std::map<std::string, int64_t> found;
  const int64_t cases = 400;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    Random random(static_cast<unsigned>(seed));
    std::vector<uint8_t> active;
    MoeCase moe = randomCase(random, active);
    const shunt_moe_options &o = moe.options;
    std::map<int32_t, int64_t> slots;
    bool empty = false;
    for (const auto &ids : moe.ids) {
      empty |= ids.empty();
      for (int32_t id : ids)
        ++slots[id];
    }
    int64_t instances = 0;
    for (const Ints &mine : moe.table)
      instances += mine.size();
    ++found[std::to_string(moe.ranks) + " ranks"];
    found["an empty rank"] += empty;
    found["one hot expert"] += moe.ranks > 1 && o.experts > 2 &&
                               slots.size() - slots.count(-1) == 1 &&
                               slots.count(0);
    found["K = E"] += o.experts > 1 && o.top_k == o.experts;
    found["dropped slots"] += slots.count(-1);
    found["replicas"] += instances > o.experts;
    found["experts that ranks do not divide"] += o.experts % moe.ranks != 0;
    found["alignment"] += o.alignment > 1;
    found["padding of empty experts"] += o.pad_empty && o.alignment > 1;
    found["rank-major rows"] += o.layout == SHUNT_MOE_RANK_MAJOR;
    found["capacity"] += o.capacity > 0;
    found["absent ranks"] += o.active != nullptr;
    found["threads"] += o.threads > 1;
    found["a bias"] += !moe.bias.empty();
    ++found["order " + std::to_string(o.order)];
    ++found["score " + std::to_string(o.score)];
    ++found["dtype " + std::to_string(moe.dtype)];
  }
  EXPECT_EQ(found.size(), 8u + 13u + 5u + 3u + 3u);
  for (auto &[kind, count] : found)
    EXPECT_GE(count, cases / 50) << kind;
}

} // namespace
