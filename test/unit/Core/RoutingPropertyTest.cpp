//===- RoutingPropertyTest.cpp - Random routings, straightforwardly ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/RoutingVolume.h"
#include "TestSupport.h"

#include <map>
#include <set>

using namespace shunt;
using namespace shunt::test;

namespace {

/// One travelling slot, from the definition.
struct Row {
  int64_t source, slot, instance, rank;
};

struct World {
  int64_t ranks, experts, topK;
  std::vector<Ints> table;
  std::vector<std::vector<int32_t>> ids;
};

World randomWorld(std::mt19937 &rng) {
  World world;
  world.ranks = 1 + rng() % 8;
  world.experts = 1 + rng() % 12;
  world.topK = rng() % 4 == 0 ? world.experts : 1 + rng() % 4;
  world.table.resize(world.ranks);
  for (int64_t expert = 0; expert < world.experts; ++expert) {
    world.table[rng() % world.ranks].push_back(expert);
    while (rng() % 3 == 0)
      world.table[rng() % world.ranks].push_back(expert);
  }
  bool hot = rng() % 5 == 0;
  for (int64_t rank = 0; rank < world.ranks; ++rank) {
    int64_t tokens = rng() % 3 == 0 ? 0 : rng() % 9;
    world.ids.emplace_back();
    for (int64_t slot = 0; slot < tokens * world.topK; ++slot)
      world.ids[rank].push_back(rng() % 8 == 0 ? -1
                                : hot          ? 0
                                               : rng() % world.experts);
  }
  return world;
}

/// All rows, sorted as they lie in the buffers: by rank, instance, source,
/// slot. Replicas go round by source.
std::vector<Row> allRows(const World &world) {
  std::vector<Row> rows;
  std::vector<Ints> instances(world.experts);
  Ints rankOf;
  for (int64_t rank = 0; rank < world.ranks; ++rank)
    for (int64_t expert : world.table[rank]) {
      instances[expert].push_back(rankOf.size());
      rankOf.push_back(rank);
    }
  for (int64_t source = 0; source < world.ranks; ++source)
    for (size_t slot = 0; slot < world.ids[source].size(); ++slot) {
      int32_t id = world.ids[source][slot];
      if (id < 0)
        continue;
      int64_t instance = instances[id][source % instances[id].size()];
      rows.push_back({source, int64_t(slot), instance, rankOf[instance]});
    }
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::tie(a.instance, a.source, a.slot) <
           std::tie(b.instance, b.source, b.slot);
  });
  return rows;
}

void expectVolumes(const World &world, const Placement &placement,
                   const std::vector<Routing> &routings,
                   const std::vector<Row> &rows, int64_t nodeSize) {
  using Copy = std::tuple<int64_t, int64_t, int64_t>;
  std::set<Copy> toRanks, toNodes;
  std::map<DispatchAlgorithm, std::vector<Volume<int64_t>>> want;
  auto move = [&](DispatchAlgorithm algorithm, int64_t from, int64_t to) {
    auto &volumes = want[algorithm];
    volumes.resize(world.ranks);
    bool far = from / nodeSize != to / nodeSize;
    volumes[from].sent += from != to;
    volumes[to].received += from != to;
    volumes[from].sentFar += far;
    volumes[to].receivedFar += far;
  };
  for (const Row &row : rows) {
    int64_t token = row.slot / world.topK;
    move(DispatchAlgorithm::AllToAll, row.source, row.rank);
    toRanks.insert({row.source, token, row.rank});
    toNodes.insert({row.source, token, row.rank / nodeSize});
  }
  auto via = [&](int64_t source, int64_t node) {
    int64_t size = std::min(nodeSize, world.ranks - node * nodeSize);
    return node * nodeSize + source % nodeSize % size;
  };
  for (auto [source, token, rank] : toRanks) {
    move(DispatchAlgorithm::AllToAllDedup, source, rank);
    move(DispatchAlgorithm::Hierarchical, via(source, rank / nodeSize), rank);
  }
  for (auto [source, token, node] : toNodes)
    move(DispatchAlgorithm::Hierarchical, source, via(source, node));
  for (int64_t source = 0; source < world.ranks; ++source)
    for (size_t i = 0; i < world.ids[source].size(); i += world.topK)
      for (int64_t rank = 0; rank < world.ranks; ++rank)
        move(DispatchAlgorithm::AllGather, source, rank);
  for (auto &[algorithm, volumes] : want)
    EXPECT_EQ(take(dispatchRows(algorithm, placement, routings, nodeSize)),
              volumes)
        << toString(algorithm);
}

void expectWorld(const World &world, std::mt19937 &rng) {
  Placement placement = take(Placement::fromTable(world.experts, world.table));
  std::vector<Row> rows = allRows(world);
  std::vector<Routing> routings;
  Ints counts;
  for (int64_t rank = 0; rank < world.ranks; ++rank) {
    routings.push_back(
        take(Routing::create(placement, rank, world.ids[rank].data(),
                             world.ids[rank].size() / world.topK, world.topK)));
    counts.insert(counts.end(), routings[rank].counts.begin(),
                  routings[rank].counts.end());
  }
  RouteCounts matrix = *RouteCounts::create(placement, counts);

  RowOrder order;
  order.expertMajor = rng() % 4 != 0;
  if (order.expertMajor) {
    order.alignment = 1 + rng() % 9;
    order.padEmpty = rng() % 2;
  }
  // Walk the buffers of all ranks by the definition.
  std::vector<std::map<int64_t, std::pair<int64_t, int64_t>>> target(
      world.ranks);
  for (int64_t rank = 0; rank < world.ranks; ++rank) {
    std::vector<Row> mine;
    for (const Row &row : rows)
      if (row.rank == rank)
        mine.push_back(row);
    auto byArrival = mine;
    std::sort(byArrival.begin(), byArrival.end(),
              [](const Row &a, const Row &b) {
                return std::tie(a.source, a.instance, a.slot) <
                       std::tie(b.source, b.instance, b.slot);
              });
    auto arrivalOf = [&](const Row &row) -> int64_t {
      for (size_t i = 0; i < byArrival.size(); ++i)
        if (byArrival[i].source == row.source && byArrival[i].slot == row.slot)
          return i;
      return -2;
    };
    Ints want;
    if (!order.expertMajor)
      mine = byArrival;
    size_t next = 0;
    for (int64_t local = 0; local < placement.localInstances(rank); ++local) {
      int64_t instance = placement.firstInstance(rank) + local, group = 0;
      while (next < mine.size() &&
             (mine[next].instance == instance || !order.expertMajor)) {
        target[mine[next].source][mine[next].slot] = {rank, want.size()};
        want.push_back(arrivalOf(mine[next]));
        ++next;
        ++group;
      }
      while (order.expertMajor && (want.size() % order.alignment != 0 ||
                                   (group == 0 && order.padEmpty))) {
        want.push_back(-1);
        ++group;
      }
    }
    Arrivals arrivals = *Arrivals::create(matrix, rank, order);
    EXPECT_EQ(arrivals.arrivalOf(), want);
    EXPECT_EQ(arrivals.rows, int64_t(want.size()));
    EXPECT_EQ(arrivals.validRows, int64_t(mine.size()));
  }
  for (int64_t rank = 0; rank < world.ranks; ++rank) {
    Destinations to = *Destinations::create(matrix, routings[rank], order);
    for (int64_t slot = 0; slot < routings[rank].slots(); ++slot) {
      auto found = target[rank].find(slot);
      bool travels = found != target[rank].end();
      EXPECT_EQ(to.rankOf[slot], travels ? found->second.first : -1);
      EXPECT_EQ(to.rowOf[slot], travels ? found->second.second : -1);
    }
  }
  expectVolumes(world, placement, routings, rows, 1 + rng() % world.ranks);
}

TEST(RoutingProperty, RandomWorlds) {
  for (unsigned seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    expectWorld(randomWorld(rng), rng);
  }
}

} // namespace
