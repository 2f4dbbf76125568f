//===- RandomStackTest.cpp - Random stacks against the one-rank reference ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random parallel sizes, counts and stacks, planned, lowered and executed on
// threads, and compared with the same program on one rank. Each test prints the
// seed of what failed; SHUNT_RANDOM_SEED=N runs only that one.
//
//===----------------------------------------------------------------------===//

#include "Shunt/Execution/Run.h"
#include "Shunt/Frontend/LayerStack.h"
#include "Shunt/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <random>

using namespace shunt;

namespace {

constexpr uint64_t kShards = 16, kPerShard = 20;

class Random {
public:
  explicit Random(uint64_t seed) : bits(seed) {}
  /// Uniform enough in [0, n).
  int64_t below(int64_t n) { return int64_t(bits() % uint64_t(n)); }
  int64_t divisorOf(int64_t n) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= n; ++d)
      if (n % d == 0)
        divisors.push_back(d);
    return divisors[below(divisors.size())];
  }
  std::vector<Axis> axes(std::vector<std::string> names, int64_t world) {
    std::vector<Axis> axes;
    for (size_t i = names.size(); i-- > 0;) {
      int64_t size = i == 0 ? world : divisorOf(world);
      world /= size;
      axes.insert(axes.begin(), {names[i], size});
    }
    // Mostly the default order; sometimes another.
    if (below(4) == 0)
      for (size_t i = axes.size(); i-- > 1;)
        std::swap(axes[i], axes[below(i + 1)]);
    return axes;
  }

private:
  std::mt19937_64 bits;
};

int64_t sizeOf(const Mesh &mesh, const char *axis) {
  return mesh.axes()[*mesh.axisIndex(axis)].size;
}

struct Config {
  LayerStack stack;
  std::string mode;
  RoutingSource routing = {};
};

/// A stack that is legal by construction; failing to make one is a failure.
Result<Config> makeConfig(uint64_t seed) {
  Random random(seed);
  static const int64_t worlds[] = {1, 2, 3, 4, 4, 6, 8, 8, 12, 12, 16, 18, 24};
  int64_t world = worlds[random.below(std::size(worlds))];
  Result<Mesh> attn =
      Mesh::create("attn", random.axes({"dp", "cp", "tp"}, world), world);
  Result<Mesh> moe =
      Mesh::create("moe", random.axes({"dp", "ep", "tp"}, world), world);
  Result<Mesh> dense =
      Mesh::create("dense", random.axes({"dp", "tp"}, world), world);
  for (const Result<Mesh> *mesh : {&attn, &moe, &dense})
    if (!*mesh)
      return mesh->error();
  AxisList owners{*attn->axisIndex("dp"), *attn->axisIndex("cp")};
  bool replicate = random.below(2);
  Split split;
  if (int64_t rule = random.below(5); rule >= 3)
    split.rule = rule == 3 ? SplitRule::Ceil : SplitRule::Align;
  Result<BatchSpec> spec = BatchSpec::create(
      *attn, owners, replicate ? AxisList{owners[1]} : AxisList(), split);
  if (!spec)
    return spec.error();
  std::vector<int64_t> counts;
  for (int64_t part = 0; part < spec->numParts(); ++part) {
    static const int64_t sizes[] = {0, 0, 1, 2, 3, 5, 7, 11};
    bool copy = replicate && spec->firstCopy(part) != part;
    counts.push_back(copy ? counts[spec->firstCopy(part)]
                          : sizes[random.below(std::size(sizes))]);
  }
  std::vector<int64_t> rows = counts;
  if (random.below(4) == 0) {
    Result<std::vector<int64_t>> padded = padCounts(counts, PadPolicy::MaxPart);
    if (!padded)
      return padded.error();
    rows = *padded;
  }
  Result<Batch> batch = Batch::create(*spec, rows, counts);
  if (!batch)
    return batch.error();

  Config config{{*batch, *moe, *dense, {}}, "auto"};
  LayerStack &stack = config.stack;
  for (int64_t i = 0, n = 1 + random.below(3); i < n; ++i) {
    stack.blocks.push_back(BlockKind::Attention);
    stack.blocks.push_back(random.below(2) ? BlockKind::Moe : BlockKind::Dense);
  }
  if (random.below(4) == 0)
    config.mode = "scatter";
  static const char *dtypes[] = {"f32", "f32", "f32", "bf16", "f16"};
  stack.dtype = dtypes[random.below(std::size(dtypes))];
  stack.hidden = 4 + random.below(5);
  stack.attnInner = 2 * sizeOf(*attn, "tp");
  stack.denseInner = 2 * sizeOf(*dense, "tp");
  stack.expertInner = 2 * sizeOf(*moe, "tp");
  stack.experts = sizeOf(*moe, "ep") * (1 + random.below(2));
  if (random.below(2)) {
    static const char *algorithms[] = {"auto", "all_gather", "all_to_all",
                                       "all_to_all_dedup", "hierarchical"};
    stack.dispatch = algorithms[random.below(std::size(algorithms))];
    // Also fewer experts than ranks, and such as ep does not divide.
    if (random.below(2))
      stack.experts = 1 + random.below(2 * stack.experts);
    if (random.below(2))
      config.routing = *parseRoutingSource("zipf:1.5");
  }
  stack.topK = 1 + random.below(std::min<int64_t>(stack.experts, 3));
  while (world % (stack.nodes = 1 + random.below(world)) != 0)
    ;
  static const char *clusters[] = {"", "h100", "mi300x"};
  // These have eight ranks in a machine.
  stack.cluster =
      clusters[world / stack.nodes > 8 ? 0 : random.below(std::size(clusters))];
  return config;
}

void runSeed(mlir::MLIRContext &context, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Result<Config> config = makeConfig(seed);
  ASSERT_TRUE(bool(config)) << config.error().str();
  Result<std::string> text = layerStackProgram(config->stack);
  ASSERT_TRUE(bool(text)) << text.error().str();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(*text, &context);
  ASSERT_TRUE(bool(module));
  RunOptions options;
  options.mode = config->mode;
  options.seed = seed;
  options.routing = config->routing;
  options.check = true;
  options.timeoutMs = 60000;
  options.optLevel = 0; // compiling is most of the time
  llvm::Expected<RunReport> report = runProgram(*module, options);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError()) << *text;
  const Comparison &comparison = *report->comparison;
  EXPECT_TRUE(comparison.equal())
      << "error " << comparison.maxError << " at result " << comparison.result
      << " rank " << comparison.rank << " row " << comparison.row << ": "
      << comparison.got << ", want " << comparison.want << "\n"
      << *text;
  // What the layout says every rank holds was compared.
  const Batch &batch = config->stack.batch;
  int64_t rows = 0;
  Layout full{batch.spec().mesh, batch.spec().owners, {}};
  for (int64_t count : validCounts(batch, full))
    rows += count;
  EXPECT_EQ(comparison.rows, rows);
}

class RandomStackTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomStackTest, EqualsTheOneRankReference) {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  if (const char *only = std::getenv("SHUNT_RANDOM_SEED")) {
    if (GetParam() == 0)
      runSeed(context, std::strtoull(only, nullptr, 10));
    return;
  }
  for (uint64_t i = 0; i < kPerShard; ++i)
    runSeed(context, GetParam() * kPerShard + i);
}

INSTANTIATE_TEST_SUITE_P(Shards, RandomStackTest,
                         ::testing::Range<uint64_t>(0, kShards));

/// What a stack of one attention and one MoE block makes of 13 tokens that
/// `ranks` ranks share unevenly, nothing but tokens and experts split.
std::vector<char> runDispatched(const std::string &algorithm, int64_t ranks,
                                const std::string &dtype) {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Mesh attn =
      *Mesh::create("attn", {{"dp", ranks}, {"cp", 1}, {"tp", 1}}, ranks);
  Mesh moe = *Mesh::create("moe", {{"dp", 1}, {"ep", ranks}, {"tp", 1}}, ranks);
  std::vector<int64_t> counts(ranks);
  for (int64_t token = 0; token < 13; ++token)
    ++counts[std::min<int64_t>(ranks - 1, token * token / 20)];
  LayerStack stack;
  stack.batch = *Batch::create(*BatchSpec::create(attn, {0, 1}), counts);
  stack.moe = moe;
  stack.blocks = {BlockKind::Attention, BlockKind::Moe};
  stack.hidden = 12;
  stack.attnInner = 8;
  stack.expertInner = 6;
  stack.experts = 7;
  stack.topK = 3;
  stack.dtype = dtype;
  stack.dispatch = algorithm;
  stack.nodes = ranks % 2 ? 1 : 2;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      *layerStackProgram(stack), &context);
  RunOptions options;
  options.optLevel = 0;
  llvm::Expected<RunReport> report = runProgram(*module, options);
  if (!report) {
    ADD_FAILURE() << llvm::toString(report.takeError());
    return {};
  }
  const auto &data = report->results[0].data;
  return std::vector<char>(data.begin(), data.end());
}

/// In slot order neither the algorithm nor the number of ranks changes a bit.
TEST(RunTest, DispatchedBitsAreTheSame) {
  for (const char *dtype : {"f32", "bf16"}) {
    std::vector<char> one = runDispatched("all_to_all", 1, dtype);
    ASSERT_FALSE(one.empty());
    EXPECT_EQ(runDispatched("all_to_all", 8, dtype), one) << "again";
    for (const char *algorithm :
         {"all_gather", "all_to_all", "all_to_all_dedup", "hierarchical"})
      for (int64_t ranks : {2, 4, 8})
        EXPECT_EQ(runDispatched(algorithm, ranks, dtype), one)
            << algorithm << " on " << ranks << " ranks, " << dtype;
  }
}

/// A reference that is not itself checked would prove nothing: a program with a
/// wrong row must differ.
TEST(RunTest, FindsADifference) {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Multiplies by the rank + 1; one rank has no rank 1.
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    shunt.cluster @c {ranks_per_node = 2 : i64}
    shunt.mesh @m on @c <dp = 2>
    #l = #shunt.layout<@m, tokens = [dp]>
    #map = affine_map<(t, h) -> (t, h)>
    func.func @main(%x: tensor<?x4xf32, #l>) -> tensor<?x4xf32, #l> {
      %b = shunt.batch [2, 3] : !shunt.batch<@m, owners = [dp]>
      %rank = shunt.rank
      %c1 = arith.constant 1 : index
      %r = arith.addi %rank, %c1 : index
      %i = arith.index_cast %r : index to i32
      %f = arith.sitofp %i : i32 to f32
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x4xf32, #l>
      %e = tensor.empty(%n) : tensor<?x4xf32, #l>
      %y = linalg.generic {indexing_maps = [#map, #map],
          iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<?x4xf32, #l>) outs(%e : tensor<?x4xf32, #l>) {
      ^bb0(%in: f32, %out: f32):
        %z = arith.mulf %in, %f : f32
        linalg.yield %z : f32
      } -> tensor<?x4xf32, #l>
      return %y : tensor<?x4xf32, #l>
    })mlir",
                                                        &context);
  ASSERT_TRUE(bool(module));
  RunOptions options;
  options.check = true;
  llvm::Expected<RunReport> report = runProgram(*module, options);
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  EXPECT_FALSE(report->comparison->equal());
  EXPECT_EQ(report->comparison->rank, 1);
}

} // namespace
