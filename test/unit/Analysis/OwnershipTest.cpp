//===- OwnershipTest.cpp - Rows that move, add up and are told apart ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/Ownership.h"

#include "gtest/gtest.h"

using namespace shunt;

namespace {

/// Four ranks: two hold tokens 0 to 4, two hold tokens 5 to 7.
struct OwnershipTest : testing::Test {
  const Groups pairs = {{0, 1}, {2, 3}}, all = {{0, 1, 2, 3}};
  Ownership own{4};
  Stage input = own.stage(0);

  HeldRows tokens(int64_t first, int64_t count) {
    return own.complete({{first, first, count, count}}, input);
  }
  WorldRows replicated() {
    return {tokens(0, 5), tokens(0, 5), tokens(5, 3), tokens(5, 3)};
  }
  /// `rows` as summands over `groups`.
  WorldRows partial(const WorldRows &rows, const Groups &groups) {
    WorldRows result(4);
    for (const RankList &group : groups)
      for (Rank rank : group)
        result[rank] = own.contribution(*rows[rank], group, rank);
    return result;
  }
  static CountLists lists(const Groups &groups,
                          const std::vector<int64_t> &table) {
    CountLists result(4);
    for (const RankList &group : groups)
      for (Rank rank : group)
        result[rank] = countsOf(table, group);
    return result;
  }
  static std::vector<int64_t> counts(const WorldRows &rows) {
    std::vector<int64_t> result;
    for (const HeldRows &held : rows)
      result.push_back(numRows(*held));
    return result;
  }
};

template <typename T> std::string codeOf(const Result<T> &result) {
  return result ? "none" : result.error().code;
}

TEST_F(OwnershipTest, ScatterThenGatherRestoresRows) {
  WorldRows rows = partial(replicated(), pairs);
  auto scattered = own.reduceScatter(pairs, rows, lists(pairs, {3, 2, 2, 1}));
  ASSERT_TRUE(scattered);
  EXPECT_EQ(counts(*scattered), (std::vector<int64_t>{3, 2, 2, 1}));
  auto gathered = own.allGather(pairs, *scattered, lists(pairs, {3, 2, 2, 1}));
  ASSERT_TRUE(gathered);
  for (Rank rank = 0; rank < 4; ++rank)
    EXPECT_EQ(*(*gathered)[rank], *replicated()[rank]);
  // One run for all tokens, not one for each row or member.
  auto everywhere = own.allGather(all, *scattered, lists(all, {3, 2, 2, 1}));
  ASSERT_TRUE(everywhere);
  EXPECT_EQ((*everywhere)[3]->size(), 1u);
  EXPECT_EQ(numRows(*(*everywhere)[3]), 8);
}

TEST_F(OwnershipTest, CostIsOfRunsNotOfTokens) {
  constexpr int64_t kRows = int64_t(1) << 40;
  WorldRows rows(4, tokens(0, kRows));
  auto reduced = own.allReduce(all, partial(rows, all));
  ASSERT_TRUE(reduced);
  EXPECT_EQ(numRows(*(*reduced)[2]), kRows);
  EXPECT_EQ((*reduced)[2]->size(), 1u);
}

TEST_F(OwnershipTest, GatherWantsWhatMembersHold) {
  auto wrong = own.allGather(pairs, replicated(), lists(pairs, {5, 5, 3, 2}));
  EXPECT_EQ(codeOf(wrong), "X_AG_ROWS");
  EXPECT_NE(wrong.error().message.find("rank 3 holds 3, not 2"),
            std::string::npos);
  EXPECT_EQ(own.culprits(), std::vector<Stage>{input});
}

TEST_F(OwnershipTest, ScatterWantsAllRows) {
  WorldRows rows = partial(replicated(), pairs);
  EXPECT_EQ(codeOf(own.reduceScatter(pairs, rows, lists(pairs, {3, 1, 2, 1}))),
            "X_RS_SUM");
  EXPECT_EQ(codeOf(own.slice(pairs, replicated(), lists(pairs, {3, 3, 2, 1}))),
            "X_RS_SUM");
}

TEST_F(OwnershipTest, ReductionsAreOfOneSum) {
  WorldRows rows = partial(replicated(), pairs);
  EXPECT_EQ(codeOf(own.allReduce(pairs, replicated())), "X_DOUBLE_REDUCE");
  EXPECT_EQ(codeOf(own.allReduce(all, rows)), "X_RAGGED_REDUCE");
  EXPECT_EQ(codeOf(own.allReduce({{0}, {1}, {2}, {3}}, rows)), "X_WRONG_GROUP");
  WorldRows equal = {tokens(0, 2), tokens(0, 2), tokens(2, 2), tokens(2, 2)};
  EXPECT_EQ(codeOf(own.allReduce(all, partial(equal, all))), "X_ROW_MISMATCH");
  // Both hold the contributions of rank 0, then of rank 1.
  auto gathered = own.allGather(pairs, rows, lists(pairs, {5, 5, 3, 3}));
  ASSERT_TRUE(gathered);
  EXPECT_EQ(codeOf(own.allReduce(pairs, *gathered)), "X_INCOMPLETE");
}

TEST_F(OwnershipTest, SummandsOfOtherComputationsAreOthers) {
  auto doubled = own.combine(1, 0, {tokens(0, 2)}, Reads::Complete);
  auto negated = own.combine(2, 1, {tokens(0, 2)}, Reads::Complete);
  ASSERT_TRUE(doubled && negated);
  WorldRows rows = {*doubled, *negated, *doubled, *doubled};
  EXPECT_EQ(codeOf(own.allReduce(pairs, partial(rows, pairs))),
            "X_ROW_MISMATCH");
}

TEST_F(OwnershipTest, SumsInTwoSteps) {
  WorldRows same(4, tokens(0, 3));
  WorldRows rows = partial(same, all);
  EXPECT_EQ(codeOf(own.allReduce(pairs, rows)), "X_WRONG_GROUP");
  auto half = own.allReduce(pairs, rows, /*continued=*/true);
  ASSERT_TRUE(half);
  EXPECT_TRUE(own.checkComplete(0, *(*half)[0]));
  // The same pairs again would count half of it twice.
  EXPECT_NE(codeOf(own.allReduce(pairs, *half)), "none");
  auto whole = own.allReduce({{0, 2}, {1, 3}}, *half);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(own.checkComplete(0, *(*whole)[0]));
}

TEST_F(OwnershipTest, AdditionsAreOfTheSameRows) {
  auto add = [&](HeldRows a, HeldRows b) {
    return codeOf(own.combine(3, 0, {a, b}, Reads::Added));
  };
  EXPECT_EQ(add(tokens(0, 4), tokens(0, 4)), "none");
  EXPECT_EQ(add(tokens(0, 4), tokens(1, 4)), "X_RESIDUAL_ROWS");
  EXPECT_EQ(add(tokens(0, 4), tokens(0, 3)), "X_RESIDUAL_ROWS");
  HeldRows summand = own.contribution(*tokens(0, 4), {0, 1}, 0);
  EXPECT_EQ(add(summand, summand), "none");
  EXPECT_EQ(add(summand, tokens(0, 4)), "X_PARTIAL_INPUT");
  EXPECT_EQ(add(summand, own.contribution(*tokens(0, 4), {0, 1, 2, 3}, 0)),
            "X_PARTIAL_INPUT");
  EXPECT_EQ(codeOf(own.combine(3, 0, {summand}, Reads::Complete)),
            "X_PARTIAL_INPUT");
  EXPECT_EQ(codeOf(own.combine(3, 0, {summand, tokens(0, 4)}, Reads::Linear)),
            "none");
}

TEST_F(OwnershipTest, AloneNothingIsToBeSummed) {
  EXPECT_FALSE(own.checkComplete(2, *own.contribution(*tokens(0, 4), {2}, 2)));
}

TEST_F(OwnershipTest, ListsOfMembersAgree) {
  std::vector<bool> present(4, true);
  EXPECT_FALSE(own.checkLists(pairs, lists(pairs, {3, 2, 2, 1}), present));
  CountLists own3 = lists(pairs, {3, 2, 2, 1});
  own3[3] = {2, 2};
  EXPECT_EQ(own.checkLists(pairs, own3, present)->code, "X_COUNTS_DISAGREE");
  // Groups that do not come pass nothing.
  EXPECT_FALSE(own.checkLists(pairs, own3, {true, true, false, false}));
  CountLists shorter(4, {5});
  EXPECT_EQ(own.checkLists(pairs, shorter, present)->code, "X_COUNTS_LENGTH");
  EXPECT_EQ(own.checkLists(pairs, lists(pairs, {3, -2, 2, 1}), present)->code,
            "E_COUNTS_NEG");
}

TEST_F(OwnershipTest, FindsWhoIsMissing) {
  EXPECT_FALSE(Ownership::findMissing(pairs, {true, true, false, false}));
  auto found = Ownership::findMissing(pairs, {true, true, false, true});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->group, (RankList{2, 3}));
  EXPECT_EQ(found->missing, (RankList{2}));
}

TEST_F(OwnershipTest, ExchangesAndPermutesRows) {
  WorldRows rows = {tokens(0, 3), tokens(3, 2), tokens(5, 2), tokens(7, 1)};
  CountLists sent = {{1, 2}, {0, 2}, {1, 1}, {1, 0}};
  auto moved = own.allToAll(pairs, rows, sent);
  ASSERT_TRUE(moved);
  EXPECT_EQ(*(*moved)[0], *tokens(0, 1));
  EXPECT_EQ(*(*moved)[1], *tokens(1, 4));
  sent[1] = {1, 2};
  EXPECT_EQ(codeOf(own.allToAll(pairs, rows, sent)), "X_RS_SUM");

  auto swapped = own.permute(
      {{0, 1}, {1}, {2}, {3}}, {{1, 0}, {1}, {2}, {3}},
      {tokens(0, 5), tokens(3, 2), tokens(5, 2), nullptr}, {3, 2, 2, 1});
  ASSERT_TRUE(swapped);
  EXPECT_EQ((*swapped)[0]->front(), (OwnedRun{3, 2, input}));
  EXPECT_FALSE((*swapped)[3]);
  EXPECT_EQ(codeOf(own.permute({{0}, {1}, {2}, {3}}, {{0}, {1}, {2}, {3}}, rows,
                               {3, 2, 2, 2})),
            "X_AG_ROWS");
}

TEST_F(OwnershipTest, AttentionWantsItsRows) {
  EXPECT_FALSE(own.checkTokens(0, *tokens(0, 5), *tokens(0, 5), "X_ATTN_ROWS"));
  EXPECT_EQ(
      own.checkTokens(0, *tokens(0, 3), *tokens(0, 5), "X_ATTN_ROWS")->code,
      "X_ATTN_ROWS");
  EXPECT_NE(own.checkTokens(0, *tokens(1, 5), *tokens(0, 5), "X_ATTN_ROWS")
                ->message.find("token 1 in row 0 of rank 0 where token 0"),
            std::string::npos);
}

} // namespace
