//===- CostModelTest.cpp - Bytes and times of collectives ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/CostModel.h"

#include "Machines.h"

#include <gtest/gtest.h>

using namespace shunt;
using Algorithm = CollectiveAlgorithm;

/// One group of consecutive ranks, one byte a row.
static CollectiveCall flat(CollectiveKind kind, std::vector<int64_t> rows) {
  CollectiveCall e;
  e.kind = kind;
  e.groups = {ranks(rows.size())};
  e.rows = {std::move(rows)};
  e.rowBytes = 1;
  return e;
}

static Cost price(const CostModel &model, const CollectiveCall &e,
                  Algorithm a) {
  Result<Cost> cost = model.price(e, a);
  EXPECT_TRUE(cost) << toString(a) << ": " << cost.error().str();
  return cost ? *cost : Cost();
}

// planning.md 4.6: per-rank max(send, recv) in rows of 8 ranks.
TEST(CostModel, RaggedTable) {
  CostModel model(plainCluster(1, 8));
  struct Row {
    std::vector<int64_t> counts;
    double direct, padded, allReduce, rebalanced, ring;
  };
  const std::vector<int64_t> mild = {700, 620, 560, 500, 470, 446, 426, 374};
  for (const Row &row :
       {Row{mild, 4900, 4900, 7168, 3928, 3722},
        Row{{4096, 1, 1, 1, 1, 1, 1, 1}, 28672, 28672, 7181, 7174, 4102},
        Row{{1024, 1024, 1024, 1024, 0, 0, 0, 0},
            7168,
            7168,
            7168,
            4608,
            4096}}) {
    for (CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      CollectiveCall e = flat(kind, row.counts);
      EXPECT_EQ(price(model, e, Algorithm::Direct).moved, row.direct);
      EXPECT_EQ(price(model, e, Algorithm::Padded).moved, row.padded);
      EXPECT_EQ(price(model, e, Algorithm::Rebalanced).moved, row.rebalanced);
      EXPECT_EQ(price(model, e, Algorithm::Ring).moved, row.ring);
    }
    int64_t total =
        std::accumulate(row.counts.begin(), row.counts.end(), int64_t(0));
    CollectiveCall all =
        flat(CollectiveKind::AllReduce, std::vector<int64_t>(8, total));
    EXPECT_EQ(price(model, all, Algorithm::Direct).moved, row.allReduce);
  }
}
