//===- RowPropertyTest.cpp - Rows are conserved, over all meshes ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace shunt;
using namespace shunt::test;

namespace {
/// Ownership row by row, from the definitions alone: no offsets, no strides.
struct Model {
  /// Rows of the cell of each rank, as ids; valid rows, as a prefix length.
  std::vector<Ints> cells;
  Ints valid;
  int64_t total = 0;
};

/// A layout of a mesh without device list, by which ranks share a key.
using Keys = std::vector<Ints>;
} // namespace

static int64_t ceilDiv(int64_t n, int64_t k) { return (n + k - 1) / k; }

/// Deals rows to the ranks of an attention mesh (dp, cp, tp).
static Model deal(const Ints &sizes, const Split &split, const Ints &rows,
                  const Ints &valid) {
  Model model;
  int64_t tp = sizes[2];
  for (size_t part = 0; part < rows.size(); ++part) {
    int64_t padded = split.rule == SplitRule::Balanced
                         ? rows[part]
                         : ceilDiv(rows[part], tp) * tp;
    int64_t left = valid[part];
    for (int64_t i = 0; i < tp; ++i) {
      int64_t mine = (padded + tp - 1 - i) / tp;
      Ints &cell = model.cells.emplace_back(mine);
      std::iota(cell.begin(), cell.end(), model.total);
      model.total += mine;
      model.valid.push_back(std::min(left, mine));
      left -= model.valid.back();
    }
  }
  return model;
}

/// Key of each rank: its coordinates on the token axes.
static Keys keysOf(const Layout &layout) {
  Keys keys(layout.mesh.world());
  for (Rank rank = 0; rank < layout.mesh.world(); ++rank) {
    Ints coords = layout.mesh.coordinates(rank);
    for (unsigned axis : layout.tokens)
      keys[rank].push_back(coords[axis]);
  }
  return keys;
}

static Ints idsOf(const std::vector<RowRun> &runs) {
  Ints ids;
  for (const RowRun &run : runs)
    for (int64_t i = 0; i < run.rows; ++i)
      ids.push_back(run.offset + i);
  return ids;
}

/// Checks rows, counts and valid rows of all ranks, and that each row has as
/// many owners as the layout has ranks per group.
static void expectRows(const Batch &batch, const Layout &layout,
                       const Model &model) {
  Keys keys = keysOf(layout);
  Ints counts = rowCounts(batch, layout), valids = validCounts(batch, layout);
  Ints owners(model.total);
  for (Rank rank = 0; rank < layout.mesh.world(); ++rank) {
    // Without a device list mesh order is the order of the ranks.
    Ints want, gotValid, wantValid;
    for (Rank other = 0; other < layout.mesh.world(); ++other)
      if (keys[other] == keys[rank]) {
        want.insert(want.end(), model.cells[other].begin(),
                    model.cells[other].end());
        wantValid.push_back(model.valid[other]);
      }
    std::vector<RowRun> runs = rowsOf(batch, layout, rank);
    Ints ids = idsOf(runs);
    ASSERT_EQ(ids, want);
    ASSERT_EQ(counts[rank], int64_t(ids.size()));
    for (const RowRun &run : runs)
      gotValid.push_back(run.valid);
    ASSERT_EQ(gotValid, wantValid);
    ASSERT_EQ(valids[rank],
              std::accumulate(gotValid.begin(), gotValid.end(), int64_t(0)));
    for (int64_t id : ids)
      ++owners[id];
  }
  ASSERT_EQ(owners,
            Ints(model.total, layout.mesh.groupSize(layout.gathered())));
}

/// A random batch on `attn`, and the model of it.
static std::pair<Batch, Model> randomBatch(std::mt19937 &rng,
                                           const Ints &sizes) {
  Split split{rng() % 3 ? SplitRule::Balanced : SplitRule::Ceil};
  Mesh attn = attnMesh(sizes[0], sizes[1], sizes[2]);
  BatchSpec spec = attnSpec(attn, false, split);
  Ints valid = randomCounts(rng, sizes[0] * sizes[1]), rows = valid;
  if (rng() % 3 == 0)
    rows = take(padCounts(valid, PadPolicy::MaxPart));
  return {take(Batch::create(spec, rows, valid)),
          deal(sizes, split, rows, valid)};
}

TEST(RowProperty, every_attention_mesh_to_every_dense_mesh) {
  std::mt19937 rng(11);
  for (int64_t world = 1; world <= 64; ++world)
    for (const Ints &sizes : factorisations(world, 3)) {
      auto [batch, model] = randomBatch(rng, sizes);
      ASSERT_EQ(batch.totalRows(), model.total);
      Ints table = batch.cellTable();
      ASSERT_EQ(std::accumulate(table.begin(), table.end(), int64_t(0)),
                model.total);
      ASSERT_NO_FATAL_FAILURE(
          expectRows(batch, layout(batch.spec().mesh, {"dp", "cp"}), model));
      for (const Ints &dense : factorisations(world, 2))
        ASSERT_NO_FATAL_FAILURE(expectRows(
            batch, layout(denseMesh(dense[0], dense[1]), {"dp"}), model))
            << testing::PrintToString(sizes) << testing::PrintToString(dense);
    }
}

TEST(RowProperty, every_attention_mesh_to_every_moe_mesh_and_layout) {
  std::mt19937 rng(12);
  for (int64_t world = 1; world <= 18; ++world)
    for (const Ints &sizes : factorisations(world, 3))
      for (const Ints &moe : factorisations(world, 3)) {
        auto [batch, model] = randomBatch(rng, sizes);
        Layout to{moeMesh(moe[0], moe[1], moe[2]), {}, {}};
        to.tokens = randomAxes(rng, to.mesh);
        ASSERT_NO_FATAL_FAILURE(expectRows(batch, to, model))
            << testing::PrintToString(sizes) << testing::PrintToString(moe);
      }
}

TEST(RowProperty, copies_hold_the_same_tokens) {
  std::mt19937 rng(13);
  for (int64_t world = 1; world <= 64; ++world)
    for (const Ints &sizes : factorisations(world, 3)) {
      Mesh attn = attnMesh(sizes[0], sizes[1], sizes[2]);
      BatchSpec spec = attnSpec(attn, /*replicate=*/true);
      Ints counts = take(expandCounts(spec, randomCounts(rng, sizes[0]),
                                      CountsPer::MajorOwner));
      Batch batch = take(Batch::create(spec, counts));
      // Tokens are numbered without gaps in the order of the first copies.
      int64_t next = 0;
      for (Rank rank = 0; rank < world; ++rank) {
        Ints coords = attn.coordinates(rank);
        if (coords[1] == 0) {
          ASSERT_EQ(batch.cellToken(rank), next);
          next += batch.cellRows(rank);
        }
        Rank original = attn.rankAt({coords[0], 0, coords[2]});
        ASSERT_EQ(batch.cellToken(rank), batch.cellToken(original));
        ASSERT_EQ(batch.cellRows(rank), batch.cellRows(original));
      }
      ASSERT_EQ(next * sizes[1], batch.totalRows());
      int64_t all = duplicateFactor(batch, layout(denseMesh(1, world), {}));
      ASSERT_EQ(all, batch.totalRows() == 0 ? 1 : sizes[1]);
      ASSERT_EQ(duplicateFactor(batch, layout(attn, {"dp", "cp"})), 1);
    }
}

/// Checks that `x` gives every rank its cells once, from ranks that have them.
static void expectDelivery(const Exchange &x, const Batch &batch,
                           const Layout &from, const Layout &to) {
  int64_t world = from.mesh.world();
  auto holds = [&](Rank rank, Rank cell) {
    RankList cells = from.cells(rank);
    return std::count(cells.begin(), cells.end(), cell) == 1;
  };
  Ints rows = x.rows(batch), counts = rowCounts(batch, to);
  for (Rank dst = 0; dst < world; ++dst) {
    std::vector<size_t> next(world);
    int64_t received = 0;
    for (Rank cell : to.cells(dst)) {
      // Exactly one sender has this cell next in its list.
      int64_t senders = 0;
      for (Rank src = 0; src < world; ++src) {
        const RankList &sent = x.cells[src][dst];
        if (next[src] == sent.size() || sent[next[src]] != cell)
          continue;
        ++next[src];
        ++senders;
        ASSERT_TRUE(holds(src, cell));
        ASSERT_TRUE(src == dst || !holds(dst, cell));
        for (Rank d = dst; d != src; d = (d + world - 1) % world)
          ASSERT_FALSE(holds(d, cell)) << "a nearer holder exists";
      }
      ASSERT_EQ(senders, 1);
    }
    for (Rank src = 0; src < world; ++src) {
      ASSERT_EQ(next[src], x.cells[src][dst].size());
      received += rows[src * world + dst];
    }
    ASSERT_EQ(received, counts[dst]);
  }
}

TEST(RowProperty, exchange_delivers_exactly_the_rows) {
  std::mt19937 rng(14);
  for (int round = 0; round < 600; ++round) {
    int64_t world = 1 + rng() % 24;
    std::vector<Ints> all = factorisations(world, 3);
    auto [batch, model] = randomBatch(rng, all[rng() % all.size()]);
    auto pick = [&] {
      const Ints &sizes = all[rng() % all.size()];
      Layout picked{
          mesh("m", {{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}},
               rng() % 2 ? randomPermutation(rng, world) : RankList()),
          {},
          {}};
      picked.tokens = randomAxes(rng, picked.mesh);
      return picked;
    };
    Layout from = pick(), to = pick();
    ASSERT_NO_FATAL_FAILURE(expectDelivery(exchange(from, to), batch, from, to))
        << "round " << round;
  }
}

TEST(RowProperty, device_permutations_rename_ranks) {
  // A permutation of both meshes by one list moves every row to the new name.
  std::mt19937 rng(15);
  for (int round = 0; round < 500; ++round) {
    int64_t world = 1 + rng() % 64;
    std::vector<Ints> all = factorisations(world, 3);
    Ints a = all[rng() % all.size()], b = all[rng() % all.size()];
    RankList names = randomPermutation(rng, world);
    std::vector<Axis> axesA = {{"dp", a[0]}, {"cp", a[1]}, {"tp", a[2]}};
    std::vector<Axis> axesB = {{"dp", b[0]}, {"ep", b[1]}, {"tp", b[2]}};
    Ints counts = randomCounts(rng, a[0] * a[1]);
    Batch plain = take(Batch::create(attnSpec(mesh("attn", axesA)), counts));
    Batch named =
        take(Batch::create(attnSpec(mesh("attn", axesA, names)), counts));
    Layout to{mesh("moe", axesB), {}, {}};
    to.tokens = randomAxes(rng, to.mesh);
    Layout toNamed{mesh("moe", axesB, names), to.tokens, {}};
    for (Rank rank = 0; rank < world; ++rank)
      ASSERT_EQ(idsOf(rowsOf(plain, to, rank)),
                idsOf(rowsOf(named, toNamed, names[rank])));
  }
}
