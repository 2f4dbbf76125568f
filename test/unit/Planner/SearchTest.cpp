//===- SearchTest.cpp - The cheapest way, against all ways ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Search.h"
#include "Shunt/Planner/Refinement.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

using namespace shunt;

namespace {

Cluster twoLevels(int64_t world, int64_t perNode) {
  // A scale-up domain of an H200 holds 8.
  return *Cluster::fromPreset(perNode <= 8 ? "h200" : "generic",
                              world / perNode, perNode);
}

Batch batchOf(const Mesh &mesh, const std::vector<std::string> &owners,
              std::vector<int64_t> rows) {
  return *Batch::create(*BatchSpec::create(mesh, *mesh.axisIndices(owners)),
                        std::move(rows));
}

//===----------------------------------------------------------------------===//
// All ways
//===----------------------------------------------------------------------===//

/// Every layout on digits of prime size, every step between two of them that
/// the ops allow, relaxed until nothing changes: no estimate, no order, no
/// merged digits, and counts by the core.
class AllWays {
public:
  AllWays(const CostModel &model, const Batch &batch, const Mesh &mesh,
          int64_t rowBytes)
      : model(model), batch(batch), mesh(mesh), rowBytes(rowBytes) {}

  double cheapest(const Layout &from, const Layout &to) {
    using Key = std::vector<int>;
    auto keyOf = [&](const Layout &layout) {
      Key key(mesh.numAxes());
      for (unsigned axis : layout.tokens)
        key[axis] = 1;
      for (unsigned axis : layout.partial)
        key[axis] = 2;
      return key;
    };
    auto layoutOf = [&](const Key &key) {
      Layout layout{mesh, {}, {}};
      for (unsigned axis = 0; axis < key.size(); ++axis) {
        if (key[axis] == 1)
          layout.tokens.push_back(axis);
        if (key[axis] == 2)
          layout.partial.push_back(axis);
      }
      return layout;
    };
    // 0 copies, 1 splits the tokens, 2 pending: all keys.
    std::vector<Key> keys = {{}};
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
      std::vector<Key> longer;
      for (const Key &key : keys)
        for (int state : {0, 1, 2}) {
          longer.push_back(key);
          longer.back().push_back(state);
        }
      keys = longer;
    }
    std::map<Key, double> least;
    for (const Key &key : keys)
      least[key] = INFINITY;
    least[keyOf(from)] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Key &a : keys) {
        if (least[a] == INFINITY)
          continue;
        for (const Key &b : keys) {
          std::optional<std::pair<CollectiveKind, AxisList>> step =
              stepOf(a, b);
          if (!step)
            continue;
          double seconds = least[a] + price(step->first, step->second,
                                            layoutOf(a), layoutOf(b));
          if (seconds < least[b]) {
            least[b] = seconds;
            changed = true;
          }
        }
      }
    }
    return least[keyOf(to)];
  }

private:
  /// The one step from a to b, if there is one.
  static std::optional<std::pair<CollectiveKind, AxisList>>
  stepOf(const std::vector<int> &a, const std::vector<int> &b) {
    AxisList axes;
    std::map<std::pair<int, int>, int> changes;
    bool pending = false;
    for (unsigned axis = 0; axis < a.size(); ++axis) {
      pending |= a[axis] == 2;
      if (a[axis] == b[axis])
        continue;
      axes.push_back(axis);
      ++changes[{a[axis], b[axis]}];
    }
    if (changes.size() == 2 && !pending && changes.count({0, 1}) &&
        changes.count({1, 0}))
      return std::pair(CollectiveKind::AllToAll, axes);
    if (changes.size() != 1)
      return std::nullopt;
    std::pair<int, int> change = changes.begin()->first;
    if (change == std::pair(1, 0))
      return std::pair(CollectiveKind::AllGather, axes);
    if (change == std::pair(0, 1))
      return std::pair(CollectiveKind::Slice, axes);
    if (change == std::pair(2, 1))
      return std::pair(CollectiveKind::ReduceScatter, axes);
    if (change == std::pair(2, 0))
      return std::pair(CollectiveKind::AllReduce, axes);
    return std::nullopt;
  }

  double price(CollectiveKind kind, const AxisList &axes, const Layout &from,
               const Layout &to) {
    if (kind == CollectiveKind::Slice)
      return 0;
    auto key = std::tuple(int(kind), axes, from.tokens, to.tokens);
    auto [found, isNew] = prices.try_emplace(key);
    if (!isNew)
      return found->second;
    CollectiveCall call;
    call.kind = kind;
    call.rowBytes = rowBytes;
    call.groups = mesh.groups(axes);
    if (kind == CollectiveKind::AllToAll) {
      call = reshardCall(batch, kind, axes, from, to, rowBytes);
    } else {
      std::vector<int64_t> rows =
          rowCounts(batch, kind == CollectiveKind::ReduceScatter ? to : from);
      for (const RankList &ranks : call.groups)
        call.rows.push_back(countsOf(rows, ranks));
    }
    return found->second = model.best(call)->cost.seconds;
  }

  const CostModel &model;
  const Batch &batch;
  const Mesh &mesh;
  int64_t rowBytes;
  std::map<std::tuple<int, AxisList, AxisList, AxisList>, double> prices;
};

/// All ways to write `n` as a product of `factors` sizes, in order.
std::vector<std::vector<int64_t>> factorings(int64_t n, int factors) {
  if (factors == 1)
    return {{n}};
  std::vector<std::vector<int64_t>> all;
  for (int64_t first = 1; first <= n; ++first)
    if (n % first == 0)
      for (std::vector<int64_t> &rest : factorings(n / first, factors - 1)) {
        rest.insert(rest.begin(), first);
        all.push_back(rest);
      }
  return all;
}

/// Attention's partial rows to what another mesh reads, for all meshes of a
/// world: the search, on as few digits as there can be, finds what trying
/// everything on prime digits finds.
TEST(Search, EqualsTryingEverything) {
  std::mt19937 random(7);
  int64_t compared = 0;
  const char *given = std::getenv("SHUNT_SEARCH_WORLD");
  for (int64_t world = 1; world <= (given ? std::atoll(given) : 16); ++world) {
    Cluster cluster = twoLevels(world, world % 2 ? world : world / 2);
    CostModel model(cluster);
    for (const auto &a : factorings(world, 2))
      for (const auto &b : factorings(world, 2)) {
        Mesh attn = *Mesh::create("attn", {{"dp", a[0]}, {"tp", a[1]}}, world);
        Mesh moe = *Mesh::create("moe", {{"dp", b[0]}, {"ep", b[1]}}, world);
        std::optional<Refinement> digits = refine(attn, moe, cluster);
        std::optional<Refinement> primes = refine(attn, moe, cluster, true);
        if (!digits)
          continue;
        ASSERT_TRUE(primes);
        std::vector<int64_t> counts(a[0]);
        for (int64_t &count : counts)
          count = random() % 4 == 0 ? 0 : random() % 300;
        Batch batch = batchOf(attn, {"dp"}, counts);
        int64_t rowBytes = random() % 2 ? 14336 : 256;
        Layout rows{attn, {0}, {}}, partial{attn, {0}, {1}};
        Layout spread{attn, {0, 1}, {}};
        Layout gathered{moe, {0}, {}}, pending{moe, {0}, {1}};
        Layout experts{moe, {0, 1}, {}};
        for (auto [from, to] :
             {std::pair(partial, gathered), std::pair(spread, gathered),
              std::pair(pending, spread), std::pair(pending, rows),
              std::pair(rows, experts), std::pair(gathered, rows)}) {
          Result<ReshardPlan> plan =
              planReshard(model, batch, digits->layoutOf(from),
                          digits->layoutOf(to), rowBytes);
          ASSERT_TRUE(plan) << plan.error().str();
          double best =
              AllWays(model, batch, primes->mesh, rowBytes)
                  .cheapest(primes->layoutOf(from), primes->layoutOf(to));
          EXPECT_NEAR(plan->cost.seconds, best, 1e-9 * best)
              << world << " ranks, " << a[0] << "x" << a[1] << " to " << b[0]
              << "x" << b[1];
          ++compared;
        }
      }
  }
  EXPECT_GT(compared, 100);
}

//===----------------------------------------------------------------------===//
// Examples of the planning reference (§4.5): bytes of the busiest rank in units
// of all tokens' bytes, and rounds
//===----------------------------------------------------------------------===//

struct Example {
  const char *name;
  std::vector<Axis> a, b;
  std::vector<std::string> owners;
  /// Token and partial axes of source and target; `back`: from b to a.
  std::vector<std::string> fromTokens, fromPartial, toTokens;
  bool back;
  int64_t perNode;
  double bytes;
  int64_t rounds;
};

ReshardPlan planExample(const Example &e, int64_t tokensInAll = 4096,
                        int64_t rowBytes = 14336) {
  int64_t world = 1;
  for (const Axis &axis : e.a)
    world *= axis.size;
  Mesh a = *Mesh::create("a", e.a, world), b = *Mesh::create("b", e.b, world);
  Cluster cluster = twoLevels(world, e.perNode);
  CostModel model(cluster);
  AxisList owners = *a.axisIndices(e.owners);
  Batch batch =
      batchOf(a, e.owners,
              std::vector<int64_t>(a.groupSize(owners),
                                   tokensInAll / a.groupSize(owners)));
  std::optional<Refinement> digits = refine(a, b, cluster);
  const Mesh &source = e.back ? b : a, &target = e.back ? a : b;
  Layout from{source, *source.axisIndices(e.fromTokens),
              *source.axisIndices(e.fromPartial)};
  Layout to{target, *target.axisIndices(e.toTokens), {}};
  return *planReshard(model, batch, digits->layoutOf(from),
                      digits->layoutOf(to), rowBytes);
}

TEST(Search, ExamplesOfTheReference) {
  const Example examples[] = {
      {"1",
       {{"dp", 2}, {"tp", 2}},
       {{"tp", 4}},
       {"dp"},
       {"dp"},
       {"tp"},
       {},
       false,
       4,
       1.0,
       2},
      {"1'",
       {{"dp", 2}, {"tp", 2}},
       {{"tp", 4}},
       {"dp"},
       {},
       {"tp"},
       {"dp"},
       true,
       4,
       1.0,
       2},
      {"2a",
       {{"dp", 8}, {"tp", 8}},
       {{"ep", 64}},
       {"dp"},
       {"dp"},
       {"tp"},
       {"ep"},
       false,
       8,
       0.109375,
       1},
      {"3",
       {{"tp", 4}, {"cp", 2}},
       {{"ep", 4}, {"tp", 2}},
       {"cp"},
       {"cp"},
       {"tp"},
       {},
       false,
       8,
       1.25,
       2},
      {"3'",
       {{"tp", 4}, {"cp", 2}},
       {{"ep", 4}, {"tp", 2}},
       {"cp"},
       {},
       {"ep", "tp"},
       {"cp"},
       true,
       8,
       1.25,
       2},
      {"4",
       {{"dp", 8}},
       {{"tp", 8}},
       {"dp"},
       {"dp"},
       {},
       {},
       false,
       8,
       0.875,
       1},
      {"4'",
       {{"dp", 8}},
       {{"tp", 8}},
       {"dp"},
       {},
       {"tp"},
       {"dp"},
       true,
       8,
       0.875,
       1},
  };
  for (const Example &e : examples) {
    SCOPED_TRACE(e.name);
    ReshardPlan plan = planExample(e);
    double all = 4096.0 * 14336;
    EXPECT_LE(plan.cost.moved / all, e.bytes + 1e-9);
    EXPECT_LE(plan.cost.rounds, e.rounds);
    EXPECT_NEAR(plan.aboveBound(), 0, 1e-9);
  }
}

/// Example 1 on two nodes: only a gather over the major digit first, which
/// leaves strided rows, crosses the nodes once with each row.
TEST(Search, StridedLayoutsSaveTheWire) {
  Example e{"1",
            {{"dp", 2}, {"tp", 2}},
            {{"tp", 4}},
            {"dp"},
            {"dp"},
            {"tp"},
            {},
            false,
            2,
            1.0,
            3};
  ReshardPlan plan = planExample(e);
  double all = 4096.0 * 14336;
  EXPECT_NEAR(plan.cost.moved / all, 1.0, 1e-9);
  // Into a node: the other node's half of the tokens, shared by its two ranks.
  ASSERT_EQ(plan.bounds.cut.size(), 2u);
  EXPECT_NEAR(plan.bounds.cut[0] / all, 0.5, 1e-9);
  EXPECT_NEAR(plan.cost.cutBytes[0] / all, 0.5, 1e-9);
}

TEST(Search, NothingToDo) {
  Mesh mesh = *Mesh::create("m", {{"dp", 2}, {"tp", 2}}, 4);
  CostModel model(twoLevels(4, 4));
  Batch batch = batchOf(mesh, {"dp"}, {5, 3});
  Layout rows{mesh, {0}, {}};
  Result<ReshardPlan> plan = planReshard(model, batch, rows, rows, 64);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->steps.empty());
  EXPECT_EQ(plan->cost.seconds, 0);
  EXPECT_EQ(plan->aboveBound(), 0);
}

TEST(Search, PartialCannotBeMade) {
  Mesh mesh = *Mesh::create("m", {{"dp", 2}, {"tp", 2}}, 4);
  CostModel model(twoLevels(4, 4));
  Batch batch = batchOf(mesh, {"dp"}, {5, 3});
  Result<ReshardPlan> plan =
      planReshard(model, batch, {mesh, {0}, {}}, {mesh, {0}, {1}}, 64);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "X_LAYOUT");
}

//===----------------------------------------------------------------------===//
// Refinements
//===----------------------------------------------------------------------===//

TEST(Refinement, HoldsTheSameRows) {
  for (int64_t world : {4, 8, 12, 16})
    for (const auto &a : factorings(world, 3))
      for (const auto &b : factorings(world, 2)) {
        Mesh m =
            *Mesh::create("m", {{"x", a[0]}, {"y", a[1]}, {"z", a[2]}}, world);
        Mesh n = *Mesh::create("n", {{"u", b[0]}, {"v", b[1]}}, world);
        std::optional<Refinement> r = refine(m, n, twoLevels(world, 4));
        if (!r)
          continue;
        for (const Layout &layout :
             {Layout{m, {0}, {2}}, Layout{m, {1, 2}, {}}, Layout{m, {2}, {0}},
              Layout{n, {0}, {}}, Layout{n, {1}, {0}}}) {
          Layout fine = r->layoutOf(layout);
          EXPECT_TRUE(sameRows(layout, fine));
          EXPECT_TRUE(
              sameGroups(layout.mesh, layout.partial, fine.mesh, fine.partial));
        }
      }
}

TEST(Refinement, NoneWhereStridesDoNotNest) {
  Mesh three = *Mesh::create("a", {{"dp", 4}, {"tp", 3}}, 12);
  Mesh four = *Mesh::create("b", {{"dp", 3}, {"tp", 4}}, 12);
  EXPECT_FALSE(refine(three, four, twoLevels(12, 6)));
  Mesh turned =
      *Mesh::create("c", {{"dp", 2}, {"tp", 2}}, 4, RankList{0, 2, 1, 3});
  Mesh straight = *Mesh::create("d", {{"dp", 2}, {"tp", 2}}, 4);
  EXPECT_FALSE(refine(turned, straight, twoLevels(4, 4)));
  EXPECT_TRUE(refine(turned, turned, twoLevels(4, 4)));
}

TEST(Refinement, SplitsAtTheLevels) {
  Mesh mesh = *Mesh::create("m", {{"dp", 2}, {"tp", 8}}, 16);
  std::optional<Refinement> r = refine(mesh, mesh, twoLevels(16, 4));
  ASSERT_TRUE(r);
  // Nodes of 4 cut tp in two.
  ASSERT_EQ(r->mesh.numAxes(), 3u);
  EXPECT_EQ(r->mesh.axes()[1].name, "tp0");
  EXPECT_EQ(r->mesh.axes()[2].size, 4);
}

} // namespace
