//===- LayoutWalkTest.cpp - Random transitions move each row where it must be //
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is a random walk over layouts of two meshes that need not nest.
// Each row holds its number in the logical tensor, so after every step each
// rank's rows must be those that the core says the layout gives it.
//
//===----------------------------------------------------------------------===//

#include "JitSupport.h"

#include "Shunt/Core/Layout.h"

#include <random>

using namespace shunt;
using namespace shunt::test;

namespace {

class Walk {
public:
  Walk(unsigned seed, bool atRunTime);

  std::string text() const;
  std::vector<Buffer> inputs(int64_t rank) const;
  /// What `rank` must hold after step `i`.
  std::vector<float> expected(size_t i, int64_t rank) const;
  int64_t world() const { return batch->spec().world(); }
  size_t numSteps() const { return layouts.size(); }

private:
  int64_t pick(int64_t below) { return random() % below; }
  Mesh makeMesh(const std::string &name, int64_t world);
  void step();
  std::string type(const Layout &layout) const;
  void emit(const std::string &op, const AxisList &axes, Layout to);

  std::mt19937 random;
  bool atRunTime;
  std::vector<Mesh> meshes;
  std::optional<Batch> batch;
  std::vector<Layout> layouts;
  std::vector<std::string> ops;
};

/// Any factorisation into three axes.
Mesh Walk::makeMesh(const std::string &name, int64_t world) {
  std::vector<Axis> axes;
  int64_t rest = world;
  for (const char *axis : {"x", "y"}) {
    std::vector<int64_t> divisors;
    for (int64_t size = 1; size <= rest; ++size)
      if (rest % size == 0)
        divisors.push_back(size);
    axes.push_back({axis, divisors[pick(divisors.size())]});
    rest /= axes.back().size;
  }
  axes.push_back({"z", rest});
  RankList devices;
  if (pick(3) == 0) {
    devices.resize(world);
    std::iota(devices.begin(), devices.end(), 0);
    std::shuffle(devices.begin(), devices.end(), random);
  }
  return *Mesh::create(name, axes, world, devices);
}

Walk::Walk(unsigned seed, bool atRunTime) : random(seed), atRunTime(atRunTime) {
  const int64_t worlds[] = {1, 2, 3, 4, 6, 8, 12};
  int64_t world = worlds[pick(std::size(worlds))];
  meshes = {makeMesh("a", world), makeMesh("b", world)};
  BatchSpec spec =
      *BatchSpec::create(meshes[0], pick(2) ? AxisList{0} : AxisList{0, 1}, {},
                         {pick(2) ? SplitRule::Balanced : SplitRule::Ceil});
  std::vector<int64_t> rows(spec.numParts());
  for (int64_t &count : rows)
    count = pick(4) == 0 ? 0 : pick(9);
  batch = *Batch::create(spec, rows);
  layouts.push_back({meshes[0], {0, 1, 2}, {}});
  for (int i = 0; i < 6; ++i)
    step();
}

void Walk::emit(const std::string &op, const AxisList &axes, Layout to) {
  std::string from = std::to_string(layouts.size() - 1);
  std::string over =
      op == "relabel" ? "" : " over [" + to.mesh.axisNames(axes, ", ") + "]";
  ops.push_back("  %v" + std::to_string(layouts.size()) + " = shunt." + op +
                " %v" + from + " in %b" + over + " : " + type(layouts.back()) +
                ", !b -> " + type(to) + "\n");
  layouts.push_back(std::move(to));
}

void Walk::step() {
  const Layout from = layouts.back();
  AxisList chosen;
  while (chosen.empty())
    for (unsigned axis = 0; axis < 3; ++axis)
      if (pick(2))
        chosen.push_back(axis);
  Layout to = from;
  to.tokens.clear();
  switch (pick(4)) {
  case 0: { // Gather what is split, or split what is gathered.
    bool gather = true;
    for (unsigned axis : chosen)
      gather &= llvm::is_contained(from.tokens, axis);
    bool slice = true;
    for (unsigned axis : chosen)
      slice &= !llvm::is_contained(from.tokens, axis);
    if (!gather && !slice)
      return step();
    for (unsigned axis = 0; axis < 3; ++axis)
      if (llvm::is_contained(from.tokens, axis) !=
          llvm::is_contained(chosen, axis))
        to.tokens.push_back(axis);
    return emit(gather ? "all_gather" : "slice", chosen, to);
  }
  case 1: { // Any other token axes.
    for (unsigned axis = 0; axis < 3; ++axis)
      if (llvm::is_contained(from.tokens, axis) !=
          llvm::is_contained(chosen, axis))
        to.tokens.push_back(axis);
    return emit("all_to_all", chosen, to);
  }
  default: { // The other mesh, if it says the same rows.
    to.mesh = meshes[from.mesh.name() == "a"];
    for (unsigned set = 0; set < 8; ++set) {
      to.tokens.clear();
      for (unsigned axis = 0; axis < 3; ++axis)
        if (set >> axis & 1)
          to.tokens.push_back(axis);
      if (sameRows(from, to))
        return emit("relabel", {}, to);
    }
    return step();
  }
  }
}

std::string Walk::type(const Layout &layout) const {
  return "tensor<?x1xf32, #shunt.layout<@" + layout.mesh.name() +
         ", tokens = [" + layout.mesh.axisNames(layout.tokens, ", ") + "]>>";
}

static std::string list(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string Walk::text() const {
  std::string text =
      "shunt.cluster @pod {ranks_per_node = " + std::to_string(world()) + "}\n";
  for (const Mesh &mesh : meshes) {
    text += "shunt.mesh @" + mesh.name() + " on @pod <";
    for (const Axis &axis : mesh.axes())
      text += (axis.name == "x" ? "" : ", ") + axis.name + " = " +
              std::to_string(axis.size);
    text += ">";
    if (!mesh.devices().empty())
      text += " devices " + list(mesh.devices());
    text += "\n";
  }
  const BatchSpec &spec = batch->spec();
  text += "!b = !shunt.batch<@a, owners = [" +
          spec.mesh.axisNames(spec.owners, ", ") + "], split = \"" +
          toString(spec.split) + "\">\n";
  std::string types, values;
  for (size_t i = 0; i < layouts.size(); ++i) {
    types += (i ? ", " : "") + type(layouts[i]);
    values += (i ? ", %v" : "%v") + std::to_string(i);
  }
  std::string parts = "tensor<" + std::to_string(spec.numParts()) + "xi64>";
  text += "func.func @main(%v0: " + type(layouts[0]) +
          (atRunTime ? ", %n: " + parts : "") + ") -> (" + types + ") {\n";
  text += atRunTime
              ? "  %b = shunt.batch from %n : " + parts + " -> !b\n"
              : "  %b = shunt.batch " + list(batch->partRows()) + " : !b\n";
  for (const std::string &op : ops)
    text += op;
  return text + "  return " + values + " : " + types + "\n}\n";
}

std::vector<float> Walk::expected(size_t i, int64_t rank) const {
  std::vector<float> rows;
  for (const RowRun &run : rowsOf(*batch, layouts[i], rank))
    for (int64_t row = 0; row < run.rows; ++row)
      rows.push_back(run.offset + row);
  return rows;
}

std::vector<Buffer> Walk::inputs(int64_t rank) const {
  std::vector<float> rows = expected(0, rank);
  int64_t count = rows.size();
  std::vector<Buffer> inputs = {floats({count, 1}, rows)};
  if (atRunTime)
    inputs.push_back(integers(batch->partRows()));
  return inputs;
}

class LayoutWalk : public JitTest, public ::testing::WithParamInterface<int> {};

TEST_P(LayoutWalk, MovesEachRow) {
  Walk walk(GetParam(), /*atRunTime=*/GetParam() % 2);
  SCOPED_TRACE(walk.text());
  auto jit = compile(walk.text());
  ASSERT_TRUE(jit);
  Run result =
      run(*jit, walk.world(), [&](int64_t rank) { return walk.inputs(rank); });
  for (int64_t rank = 0; rank < walk.world(); ++rank) {
    ASSERT_EQ(result.errors[rank], "");
    ASSERT_EQ(result.outputs[rank].size(), walk.numSteps());
    for (size_t i = 0; i < walk.numSteps(); ++i)
      EXPECT_EQ(values(result.outputs[rank][i]), walk.expected(i, rank))
          << "rank " << rank << ", step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LayoutWalk, ::testing::Range(0, 60));

} // namespace
