//===- TransitionTest.cpp - Chains move every row to where it must be ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/Transition.h"

#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace shunt;

namespace {

Mesh makeMesh(const std::string &name, std::vector<Axis> axes,
              RankList devices = {}) {
  int64_t world = 1;
  for (const Axis &axis : axes)
    world *= axis.size;
  return *Mesh::create(name, std::move(axes), world, std::move(devices));
}

std::vector<std::string> movesOf(const Transition &transition) {
  std::vector<std::string> moves;
  for (const TransitionStep &step : transition.steps)
    moves.push_back(toString(step.move));
  return moves;
}

/// What each rank holds: for each cell the ranks whose summands are in it.
class Simulation {
public:
  explicit Simulation(const Layout &start) : layout(start) {
    held.resize(start.mesh.world());
    for (Rank rank = 0; rank < start.mesh.world(); ++rank)
      for (Rank cell : start.cells(rank))
        held[rank][cell] = {rank};
    if (start.mesh.groupSize(start.partial) == 1)
      for (auto &cells : held)
        for (auto &[cell, summands] : cells)
          summands = {};
  }

  void apply(const TransitionStep &step);
  /// Every rank holds the cells of `wanted`, all with `summands` summands.
  void expectHeld(const Layout &wanted, size_t summands) const {
    for (Rank rank = 0; rank < wanted.mesh.world(); ++rank) {
      std::set<Rank> cells;
      for (Rank cell : wanted.cells(rank))
        cells.insert(cell);
      ASSERT_EQ(cells.size(), held[rank].size()) << "rank " << rank;
      for (const auto &[cell, parts] : held[rank]) {
        EXPECT_TRUE(cells.count(cell)) << "rank " << rank << " cell " << cell;
        EXPECT_EQ(parts.size(), summands);
      }
    }
  }

private:
  using Cells = std::map<Rank, std::set<Rank>>;
  Cells summed(const RankList &ranks) const;

  Layout layout;
  std::vector<Cells> held;
};

Simulation::Cells Simulation::summed(const RankList &ranks) const {
  Cells sum;
  for (Rank rank : ranks) {
    EXPECT_EQ(held[rank].size(), held[ranks[0]].size());
    for (const auto &[cell, parts] : held[rank]) {
      EXPECT_TRUE(held[ranks[0]].count(cell)) << "adds different rows";
      for (Rank part : parts)
        EXPECT_TRUE(sum[cell].insert(part).second) << "adds a summand twice";
    }
  }
  return sum;
}

void Simulation::apply(const TransitionStep &step) {
  const Mesh &mesh = layout.mesh;
  if (step.move == Move::Relabel) {
    EXPECT_TRUE(sameRows(layout, step.result));
    EXPECT_TRUE(sameGroups(mesh, layout.partial, step.result.mesh,
                           step.result.partial));
    layout = step.result;
    return;
  }
  EXPECT_GT(mesh.groupSize(step.axes), 1) << "a group of one";
  EXPECT_EQ(mesh.name(), step.result.mesh.name());
  std::vector<Cells> next(held.size());
  for (const RankList &ranks : mesh.groups(step.axes)) {
    bool reduces =
        step.move == Move::ReduceScatter || step.move == Move::AllReduce;
    Cells available;
    if (reduces)
      available = summed(ranks);
    for (Rank rank : ranks) {
      if (step.move == Move::Slice)
        available = held[rank];
      else if (!reduces)
        for (Rank member : ranks)
          available.insert(held[member].begin(), held[member].end());
      for (Rank cell : step.result.cells(rank)) {
        ASSERT_TRUE(available.count(cell))
            << toString(step.move) << " lacks cell " << cell;
        next[rank][cell] = available[cell];
      }
    }
  }
  held = std::move(next);
  layout = step.result;
}

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t below(int64_t n) { return engine() % n; }

  Mesh mesh(const std::string &name, int64_t world) {
    std::vector<Axis> axes;
    int64_t rest = world;
    for (int i = 0; i < 3; ++i) {
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= rest; ++d)
        if (rest % d == 0)
          divisors.push_back(d);
      int64_t size = i == 2 ? rest : divisors[below(divisors.size())];
      axes.push_back({std::string(1, 'a' + i), size});
      rest /= size;
    }
    RankList devices;
    if (below(4) == 0) {
      for (Rank rank = 0; rank < world; ++rank)
        devices.push_back(rank);
      for (int64_t i = world - 1; i > 0; --i)
        std::swap(devices[i], devices[below(i + 1)]);
    }
    return makeMesh(name, std::move(axes), std::move(devices));
  }

  Layout layout(const Mesh &mesh, bool mayBePartial) {
    Layout layout{mesh, {}, {}};
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis) {
      int64_t use = below(mayBePartial ? 3 : 2);
      if (use == 0)
        layout.tokens.push_back(axis);
      if (use == 2)
        layout.partial.push_back(axis);
    }
    return layout;
  }

private:
  std::mt19937 engine;
};

TEST(Transition, MovesEveryRowOfRandomMeshes) {
  const int64_t worlds[] = {1, 2, 3, 4, 6, 8, 11, 12, 16, 24};
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int64_t world = worlds[random.below(10)];
    Mesh a = random.mesh("m", world);
    Mesh b = random.below(3) ? random.mesh("n", world) : a;
    Layout from = random.layout(a, true), to = random.layout(b, false);
    Result<Transition> transition = planTransition({from, {}}, {to, {}});
    ASSERT_TRUE(transition) << transition.error().str();
    Simulation simulation(from);
    for (const TransitionStep &step : transition->steps)
      simulation.apply(step);
    int64_t summands = a.groupSize(from.partial);
    simulation.expectHeld(to, summands == 1 ? 0 : summands);
    if (!transition->steps.empty()) {
      const Layout &last = transition->steps.back().result;
      EXPECT_EQ(last.mesh.name(), to.mesh.name());
      EXPECT_EQ(std::set<unsigned>(last.tokens.begin(), last.tokens.end()),
                std::set<unsigned>(to.tokens.begin(), to.tokens.end()));
      EXPECT_TRUE(last.partial.empty());
    }
    if (HasFailure())
      return;
  }
}

TEST(Transition, KeepsPartialAxesOfTheTarget) {
  Mesh mesh = makeMesh("m", {{"dp", 2}, {"cp", 2}, {"tp", 2}});
  Result<Transition> kept =
      planTransition({{mesh, {0}, {2}}, {}}, {{mesh, {1}, {2}}, {}});
  ASSERT_TRUE(kept);
  // An exchange would need complete rows.
  EXPECT_EQ(movesOf(*kept), (std::vector<std::string>{"slice", "all_gather"}));
  for (const TransitionStep &step : kept->steps)
    EXPECT_EQ(step.result.partial, AxisList({2}));

  Result<Transition> some =
      planTransition({{mesh, {0}, {1, 2}}, {}}, {{mesh, {0, 1}, {2}}, {}});
  ASSERT_TRUE(some);
  EXPECT_EQ(movesOf(*some), (std::vector<std::string>{"reduce_scatter"}));

  Mesh other = makeMesh("n", {{"x", 4}, {"y", 2}});
  Result<Transition> renamed =
      planTransition({{mesh, {0, 1}, {2}}, {}}, {{other, {0}, {1}}, {}});
  ASSERT_TRUE(renamed);
  EXPECT_EQ(movesOf(*renamed), (std::vector<std::string>{"relabel"}));
}

TEST(Transition, PrefersWhatReceivesLess) {
  Mesh attn = makeMesh("attn", {{"dp", 2}, {"tp", 4}});
  Mesh moe = makeMesh("moe", {{"ep", 8}});
  // The rows of the own group are there already: 4 cells to receive, not 7.
  Result<Transition> gather =
      planTransition({{attn, {0}, {}}, {}}, {{moe, {}, {}}, {}});
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->received, 4);
  EXPECT_EQ(movesOf(*gather),
            (std::vector<std::string>{"all_gather", "relabel"}));
  // Reduced and scattered before they travel: 3 and then 7, where an
  // all-reduce would take 6 and then 4 as two collectives too.
  Result<Transition> reduce =
      planTransition({{attn, {0}, {1}}, {}}, {{moe, {}, {}}, {}});
  ASSERT_TRUE(reduce);
  EXPECT_EQ(reduce->received, 10);
  EXPECT_EQ(movesOf(*reduce), (std::vector<std::string>{
                                  "reduce_scatter", "relabel", "all_gather"}));
}

TEST(Transition, SameRanksAllReduce) {
  Mesh attn = makeMesh("attn", {{"dp", 2}, {"cp", 1}, {"tp", 4}});
  Mesh moe = makeMesh("moe", {{"dp", 2}, {"ep", 4}});
  Result<Transition> transition =
      planTransition({{attn, {0, 1}, {2}}, {}}, {{moe, {0}, {}}, {}});
  ASSERT_TRUE(transition);
  EXPECT_EQ(movesOf(*transition),
            (std::vector<std::string>{"all_reduce", "relabel"}));
}

TEST(Transition, InnerAxesStay) {
  Mesh mesh = makeMesh("m", {{"dp", 2}, {"tp", 2}});
  Result<Transition> moved =
      planTransition({{mesh, {0}, {}}, {{1}}}, {{mesh, {0}, {}}, {{}}});
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, "X_LAYOUT");
  Result<Transition> kept =
      planTransition({{mesh, {0}, {}}, {{1}}}, {{mesh, {}, {}}, {{1}}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(movesOf(*kept), (std::vector<std::string>{"all_gather"}));
  // The same groups under another name.
  Mesh other = makeMesh("n", {{"x", 2}, {"y", 2}});
  Result<Transition> renamed =
      planTransition({{mesh, {0}, {}}, {{1}}}, {{other, {}, {}}, {{1}}});
  ASSERT_TRUE(renamed) << renamed.error().str();
  EXPECT_EQ(renamed->collectives, 1);
}

TEST(Transition, PartialOverOtherRanksIsAnError) {
  Mesh a = makeMesh("a", {{"x", 2}, {"y", 2}});
  Mesh b = makeMesh("b", {{"z", 4}});
  Result<Transition> transition =
      planTransition({{a, {0}, {1}}, {}}, {{b, {}, {0}}, {}});
  ASSERT_FALSE(transition);
  EXPECT_EQ(transition.error().code, "X_WRONG_GROUP");
}

TEST(Transition, ManyAxesAreNotTriedOneByOne) {
  std::vector<Axis> axes;
  for (char name = 'a'; name < 'm'; ++name)
    axes.push_back({std::string(1, name), 2});
  Mesh many = makeMesh("many", axes);
  Mesh flat = makeMesh("flat", {{"r", 4096}});
  AxisList half = {0, 2, 4, 6, 8, 10};
  Result<Transition> transition =
      planTransition({{many, half, {1, 3}}, {}}, {{flat, {}, {}}, {}});
  ASSERT_TRUE(transition) << transition.error().str();
  EXPECT_EQ(transition->steps.back().result.mesh.name(), "flat");
}

} // namespace
