//===- RoutingSampleTest.cpp - Expert ids that are drawn or read ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/RoutingSample.h"
#include "TestSupport.h"

#include <algorithm>
#include <set>

using namespace shunt;
using namespace shunt::test;

namespace {

std::vector<int32_t> draw(const std::string &source, int64_t tokens,
                          int64_t experts, int64_t topK, uint64_t seed = 1) {
  auto ids =
      sampleExpertIds(*parseRoutingSource(source), tokens, experts, topK, seed);
  EXPECT_TRUE(ids);
  return ids ? *ids : std::vector<int32_t>();
}

/// Slots of each expert, most first.
std::vector<int64_t> loads(const std::vector<int32_t> &ids, int64_t experts) {
  std::vector<int64_t> counts(experts);
  for (int32_t id : ids)
    ++counts.at(id);
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

TEST(RoutingSample, NamesOfSources) {
  EXPECT_EQ(parseRoutingSource("uniform")->kind, RoutingSource::Uniform);
  Result<RoutingSource> zipf = parseRoutingSource("zipf:1.25");
  EXPECT_EQ(zipf->kind, RoutingSource::Zipf);
  EXPECT_EQ(zipf->exponent, 1.25);
  EXPECT_EQ(parseRoutingSource("ids.txt")->path, "ids.txt");
  for (const char *wrong :
       {"", "zipf:", "zipf:x", "zipf:-1", "zipf:11", "zipf:1 2", "zipf:nan"})
    EXPECT_EQ(codeOf(parseRoutingSource(wrong)), "E_ROUTING") << wrong;
}

TEST(RoutingSample, TokensChooseDifferentExperts) {
  for (const char *source : {"uniform", "zipf:2"})
    for (int64_t topK : {1, 3, 8}) {
      std::vector<int32_t> ids = draw(source, 200, 8, topK);
      for (int64_t token = 0; token < 200; ++token) {
        std::set<int32_t> chosen(ids.begin() + token * topK,
                                 ids.begin() + (token + 1) * topK);
        EXPECT_EQ(int64_t(chosen.size()), topK);
        EXPECT_GE(*chosen.begin(), 0);
        EXPECT_LT(*chosen.rbegin(), 8);
      }
    }
}

/// More choices than experts: every expert before any comes again.
TEST(RoutingSample, MoreChoicesThanExperts) {
  std::vector<int32_t> ids = draw("uniform", 50, 3, 5);
  for (int64_t token = 0; token < 50; ++token) {
    std::set<int32_t> first(ids.begin() + token * 5,
                            ids.begin() + token * 5 + 3);
    EXPECT_EQ(first.size(), 3u);
  }
}

TEST(RoutingSample, SameForEqualSeeds) {
  EXPECT_EQ(draw("zipf:1", 64, 16, 4, 7), draw("zipf:1", 64, 16, 4, 7));
  EXPECT_NE(draw("zipf:1", 64, 16, 4, 7), draw("zipf:1", 64, 16, 4, 8));
}

/// The favourite of 16 experts by 1/r has a share of 1/H(16) = 0.296; uniform
/// shares are 1/16. 20000 draws, six standard deviations.
TEST(RoutingSample, LoadsFollowTheWeights) {
  double n = 20000;
  std::vector<int64_t> zipf = loads(draw("zipf:1", n, 16, 1), 16);
  EXPECT_NEAR(zipf[0] / n, 0.2958, 0.02);
  EXPECT_NEAR(zipf[1] / n, 0.1479, 0.016);
  std::vector<int64_t> uniform = loads(draw("uniform", n, 16, 1), 16);
  EXPECT_NEAR(uniform.front() / n, 1 / 16.0, 0.011);
  EXPECT_NEAR(uniform.back() / n, 1 / 16.0, 0.011);
}

TEST(RoutingSample, Sizes) {
  RoutingSource uniform;
  EXPECT_TRUE(sampleExpertIds(uniform, 0, 4, 2, 0));
  EXPECT_EQ(codeOf(sampleExpertIds(uniform, -1, 4, 2, 0)), "E_SIZE");
  EXPECT_EQ(codeOf(sampleExpertIds(uniform, 1, 0, 2, 0)), "E_SIZE");
  EXPECT_EQ(codeOf(sampleExpertIds(uniform, 1, 4, 0, 0)), "E_SIZE");
  EXPECT_EQ(codeOf(sampleExpertIds(uniform, INT64_MAX, 4, 2, 0)), "E_SIZE");
}

TEST(RoutingSample, ReadsText) {
  EXPECT_EQ(
      *parseExpertIds("# two tokens\n0 3\n\n-1, 2 # dropped\r\n", 2, 4, 2),
      (std::vector<int32_t>{0, 3, -1, 2}));
  auto messageOf = [](const char *text, int64_t tokens) {
    Result<std::vector<int32_t>> ids = parseExpertIds(text, tokens, 4, 2);
    return ids ? "" : ids.error().str();
  };
  EXPECT_EQ(messageOf("0 1\n0 1 2\n", 2), "line 2 of the ids has 3 ids; each "
                                          "token has top_k = 2 [E_ROUTING]");
  EXPECT_EQ(messageOf("0 4\n", 1),
            "line 1 of the ids has expert 4; ids are -1 (dropped) or 0 to 3 "
            "[E_ROUTING]");
  EXPECT_EQ(messageOf("0 1.5\n", 1), "line 1 of the ids has '1.5'; ids are "
                                     "whole numbers [E_ROUTING]");
  EXPECT_EQ(messageOf("0 1\n", 2), "the ids are of 1 tokens, but the batch has "
                                   "2; give each a line [E_ROUTING]");
}

TEST(RoutingSample, MissingFile) {
  RoutingSource file = *parseRoutingSource("/no/such/file");
  EXPECT_EQ(codeOf(readExpertIds(file, 1, 4, 2, 0)), "E_FILE");
}

} // namespace
