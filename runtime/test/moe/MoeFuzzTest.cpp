//===- MoeFuzzTest.cpp - Random batches, every algorithm ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SHUNT_FUZZ_SEED sets the first seed (the default is fixed, so that a failure
// repeats), SHUNT_FUZZ_ROUTINGS how many routings are tried: by default 2000,
// and fewer under a sanitizer, which takes ten times as long for each.
//
//===----------------------------------------------------------------------===//

#include "MoeCase.h"

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

void placeAtRandom(MoeCase &moe, Random &random) {
  int64_t experts = moe.options.experts;
  moe.table.resize(moe.ranks);
  moe.options.placement = static_cast<int32_t>(random.draw(0, 2));
  if (moe.options.placement == SHUNT_MOE_EVEN && experts % moe.ranks)
    moe.options.placement = SHUNT_MOE_BALANCED;
  if (moe.options.placement == SHUNT_MOE_TABLE) {
    for (int64_t expert = 0; expert < experts; ++expert)
      for (bool more = true; more; more = random.draw(0, 2) == 0)
        moe.table[random.draw(0, moe.ranks - 1)].push_back(expert);
    return;
  }
  int64_t expert = 0;
  for (int64_t rank = 0; rank < moe.ranks; ++rank)
    for (int64_t i = experts / moe.ranks + (rank < experts % moe.ranks); i > 0;
         --i)
      moe.table[rank].push_back(expert++);
}

void fillAtRandom(MoeCase &moe, Random &random) {
  bool hot = random.draw(0, 4) == 0, drops = random.draw(0, 1);
  int64_t most = random.draw(0, 5) == 0 ? 40 : 8;
  for (int64_t rank = 0; rank < moe.ranks; ++rank) {
    int64_t tokens = random.draw(0, 3) == 0 ? 0 : random.draw(0, most);
    moe.ids.emplace_back();
    moe.scores.emplace_back();
    for (int64_t slot = 0; slot < tokens * moe.options.top_k; ++slot) {
      int64_t id = hot ? 0 : random.draw(0, moe.options.experts - 1);
      moe.ids[rank].push_back(drops && random.draw(0, 5) == 0 ? -1 : id);
      moe.scores[rank].push_back(
          std::ldexp(float(random.draw(-64, 64)), int(random.draw(-8, 0))));
    }
    moe.x.push_back(random.rows(tokens * moe.elems, moe.dtype));
  }
  if (random.draw(0, 3) == 0)
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      moe.bias.push_back(random.rows(moe.tokens(rank) * moe.elems, moe.dtype));
}

MoeCase randomCase(Random &random, std::vector<uint8_t> &active) {
  MoeCase moe;
  moe.ranks = random.draw(1, 8);
  moe.elems =
      random.draw(0, 7) == 0 ? random.draw(200, 1200) : random.draw(1, 24);
  const shunt_dtype floats[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16};
  moe.dtype = floats[random.draw(0, 2)];
  shunt_moe_options &o = moe.options;
  o.experts = random.draw(1, 16);
  o.top_k = random.draw(0, 4) == 0 ? o.experts : random.draw(1, 5);
  o.threads = random.draw(0, 7) == 0 ? random.draw(2, 3) : 0;
  o.node_size = random.draw(0, moe.ranks);
  o.layout = random.draw(0, 3) == 0;
  if (o.layout == SHUNT_MOE_EXPERT_MAJOR && random.draw(0, 1)) {
    o.alignment = random.draw(1, 9);
    o.pad_empty = static_cast<int32_t>(random.draw(0, 1));
  }
  o.score = static_cast<int32_t>(random.draw(0, 2));
  o.order = random.draw(0, 1) ? static_cast<int32_t>(random.draw(0, 4))
                              : SHUNT_MOE_ORDER_SLOT;
  if (random.draw(0, 3) == 0) {
    o.round_sums = static_cast<int32_t>(random.draw(0, 1));
    o.round_products = static_cast<int32_t>(random.draw(0, 1));
  }
  o.round_partials = static_cast<int32_t>(random.draw(0, 1));
  if (random.draw(0, 5) == 0) {
    o.capacity = random.draw(1, 4);
    o.overflow = o.score == SHUNT_MOE_SCORE_NONE || random.draw(0, 1)
                     ? SHUNT_MOE_OVERFLOW_DROP_LAST
                     : SHUNT_MOE_OVERFLOW_DROP_LOWEST;
  }
  if (random.draw(0, 7) == 0) {
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      active.push_back(random.draw(0, 4) != 0);
    o.active = active.data();
  }
  placeAtRandom(moe, random);
  fillAtRandom(moe, random);
  return moe;
}

/// Every way on every rank of one world; all must give the reference's bits.
void expectEveryWay(const MoeCase &moe) {
  MoeReference reference(moe);
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
      // The bytes that the plan states are the bytes that were sent.
      EXPECT_EQ(result.stats.bytes_sent,
                result.volume.rows_sent * moe.rowBytes());
      EXPECT_EQ(result.stats.bytes_received,
                result.volume.rows_received * moe.rowBytes());
    }
}

TEST(MoeFuzz, EveryAlgorithmGivesTheReferencesBits) {
  int64_t first = fromEnvironment("SHUNT_FUZZ_SEED", 1);
  int64_t count = fromEnvironment("SHUNT_FUZZ_ROUTINGS", usualRoutings);
  for (int64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<unsigned>(seed));
    std::vector<uint8_t> active;
    expectEveryWay(randomCase(random, active));
  }
}

} // namespace
