//===- SplitTest.cpp - Sharing rows, chunk schedules ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

static const Split balanced{SplitRule::Balanced};
static const Split ceilSplit{SplitRule::Ceil};

static Split align(int64_t multiple = 0) {
  return {SplitRule::Align, multiple};
}

TEST(Split, balanced_gives_the_first_parts_one_more) {
  EXPECT_EQ(splitRows(10, 4, balanced), (Ints{3, 3, 2, 2}));
  EXPECT_EQ(splitRows(2, 4, balanced), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(splitRows(0, 3, balanced), (Ints{0, 0, 0}));
  EXPECT_EQ(splitRows(7, 1, balanced), (Ints{7}));
}

TEST(Split, ceil_and_align_share_equally) {
  EXPECT_EQ(splitRows(3, 2, ceilSplit), (Ints{2, 2}));
  EXPECT_EQ(splitRows(97, 8, align()), Ints(8, 13));
  EXPECT_EQ(splitRows(97, 8, align(64)), Ints(8, 16));
  EXPECT_EQ(splitRows(28, 8, align()), Ints(8, 4));
  EXPECT_EQ(splitRows(0, 2, ceilSplit), (Ints{0, 0}));
  EXPECT_EQ(splitRows(0, 2, align(8)), (Ints{0, 0}));
}

TEST(Split, texts_round_trip) {
  for (const char *text : {"balanced", "ceil", "align", "align:64"})
    EXPECT_EQ(toString(take(parseSplit(text))), text);
  for (const char *text : {"", "Balanced", "align:", "align:0", "align:-4",
                           "align:8x", "align: 8", "align:1234567890123456789"})
    EXPECT_EQ(codeOf(parseSplit(text)), "E_SPLIT") << text;
  EXPECT_EQ(messageOf(parseSplit("pad")),
            "unknown split rule 'pad'; want balanced, ceil, align or align:M "
            "with M of at least 1 [E_SPLIT]");
}

TEST(Split, padded_rows_rejects_bad_input) {
  EXPECT_EQ(messageOf(paddedRows(5, 4, align(6))),
            "split align:6 cannot be shared equally by 4 ranks; use a "
            "multiple of 4 [E_SPLIT]");
  EXPECT_EQ(codeOf(paddedRows(5, 4, align(-4))), "E_SPLIT");
  EXPECT_EQ(codeOf(paddedRows(-1, 4, balanced)), "E_COUNTS_NEG");
  EXPECT_EQ(codeOf(paddedRows(1, 0, balanced)), "E_SIZE");
  EXPECT_EQ(codeOf(paddedRows(INT64_MAX, 4, ceilSplit)), "E_OVERFLOW");
  EXPECT_EQ(take(paddedRows(INT64_MAX, 4, balanced)), INT64_MAX);
}

TEST(Split, parts_offsets_and_padding_agree) {
  for (Split split : {balanced, ceilSplit, align(), align(120)})
    for (int64_t k : {1, 2, 3, 4, 5, 8, 12})
      for (int64_t n = 0; n < 300; n += n < 30 ? 1 : 17) {
        if (split.multiple && split.multiple % k != 0)
          continue;
        Ints rows = splitRows(n, k, split);
        int64_t offset = 0;
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(splitOffset(n, k, i, split), offset);
          offset += rows[i];
        }
        int64_t padded = take(paddedRows(n, k, split));
        ASSERT_EQ(offset, padded);
        ASSERT_GE(padded, n);
        // Rounding twice is rounding once: a batch stores the rounded number.
        ASSERT_EQ(splitRows(padded, k, split), rows);
        if (split == balanced)
          for (int64_t i = 0; i < k; ++i)
            ASSERT_EQ(rows[i], (n + k - 1 - i) / k);
      }
}

TEST(Split, sizes_near_64_bits_do_not_overflow) {
  for (int64_t n : {(int64_t(1) << 61) + 5, INT64_MAX})
    for (int64_t k : {int64_t(3), int64_t(7), int64_t(1) << 40}) {
      int64_t last = k - 1;
      EXPECT_EQ(splitOffset(n, k, last, balanced) +
                    splitPart(n, k, last, balanced),
                n);
    }
  int64_t n = (int64_t(1) << 61) + 1;
  EXPECT_EQ(splitPart(n, 8, 7, ceilSplit), (int64_t(1) << 58) + 1);
  EXPECT_EQ(splitOffset(n, 8, 7, align(8)), 7 * ((int64_t(1) << 58) + 1));
}

TEST(Zigzag, pairs_early_and_late_blocks) {
  EXPECT_EQ(zigzagRows(13, 4), (Ints{3, 3, 3, 4}));
  EXPECT_EQ(zigzagRows(16, 2), (Ints{8, 8}));
  EXPECT_EQ(zigzagRows(1, 2), (Ints{1, 0}));
  EXPECT_EQ(zigzagRows(0, 2), (Ints{0, 0}));
  for (int64_t cp : {1, 2, 3, 4, 8})
    for (int64_t n = 0; n < 100; ++n) {
      Ints rows = zigzagRows(n, cp);
      ASSERT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t(0)), n);
    }
}

TEST(ChunkSchedule, rejects_bad_input) {
  EXPECT_EQ(codeOf(chunkSchedule({1}, 0)), "E_SIZE");
  EXPECT_EQ(messageOf(chunkSchedule({1, -2}, 4)),
            "count 1 is -2; a count is at least 0 [E_COUNTS_NEG]");
  EXPECT_EQ(codeOf(chunkSchedule({int64_t(1) << 61}, 1)), "E_SIZE");
}

TEST(ChunkSchedule, conserves_rows) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    Ints rows = randomCounts(rng, 1 + rng() % 8);
    int64_t limit = 1 + rng() % 9;
    Ints sent(rows.size());
    for (const Ints &iteration : take(chunkSchedule(rows, limit)))
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_LE(iteration[i], limit);
        sent[i] += iteration[i];
      }
    ASSERT_EQ(sent, rows);
  }
}

TEST(ChunkSchedule, limit_near_64_bits) {
  EXPECT_EQ(take(chunkSchedule({INT64_MAX, 1}, INT64_MAX - 1)),
            (std::vector<Ints>{{INT64_MAX - 1, 1}, {1, 0}}));
}
