//===- Options.cpp - The command line of shunt-plan ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Shunt/Core/Layout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace shunt::plan {

static cl::OptionCategory category("Shunt plan options");

// Strings throughout: what is wrong with a value is said here, with its code.
#define OPTION(NAME, FLAG, DEFAULT, VALUE, HELP)                               \
  static cl::opt<std::string> NAME(FLAG, cl::init(DEFAULT),                    \
                                   cl::value_desc(VALUE), cl::desc(HELP),      \
                                   cl::cat(category))

OPTION(worldFlag, "world", "", "N", "Number of ranks");
OPTION(attnFlag, "attn", "",
       "dp=,cp=,tp=", "Attention's parallel sizes; one may be left out");
OPTION(moeFlag, "moe", "", "dp=,ep=,tp=", "MoE's parallel sizes");
OPTION(denseFlag, "dense", "", "dp=,tp=", "The dense MLP's parallel sizes");
OPTION(blocksFlag, "blocks", "", "attn,moe,…",
       "The stack (default: attn,moe, or attn,dense without --moe)");
OPTION(tokensFlag, "tokens", "", "N,N,…",
       "Tokens per DP group, per (dp, cp) group or per rank, told apart by "
       "their number");
OPTION(tokensPerFlag, "tokens-per", "", "dp|cp|rank",
       "What --tokens counts, where two fit");
OPTION(cpModeFlag, "cp-mode", "", "shard|replicate",
       "Do context-parallel peers hold parts or copies of the tokens "
       "(default: replicate if counts are per DP group or peers agree)");
OPTION(splitFlag, "split", "balanced", "balanced|ceil|align[:M]",
       "How a group shares rows");
OPTION(padFlag, "pad", "", "max|ROWS", "Pad every part to this many rows");
OPTION(capacityFlag, "capacity", "", "ROWS", "Rows that a buffer holds");
OPTION(attnOrderFlag, "attn-order", "dp,cp,tp", "axes",
       "Attention's axes, slowest to fastest");
OPTION(moeOrderFlag, "moe-order", "dp,ep,tp", "axes",
       "MoE's axes, slowest to fastest");
OPTION(denseOrderFlag, "dense-order", "dp,tp", "axes",
       "The dense MLP's axes, slowest to fastest");
OPTION(modeFlag, "mode", "auto", "scatter|reduce|auto",
       "How rows travel between blocks");
OPTION(backendCapsFlag, "backend-caps", "all", "all|even_only|nonempty",
       "Whether the backend can do ragged lists, and zero rows");
OPTION(formatFlag, "format", "table", "table|json|mlir", "What to print");
OPTION(levelFlag, "level", "collective", "logical|collective|local|runtime",
       "Which IR --format mlir prints");
OPTION(hiddenFlag, "hidden", "64", "N", "Elements of a row");
OPTION(dtypeFlag, "dtype", "f32", "f32|bf16|f16", "Element type of rows");
OPTION(ffnFlag, "ffn", "", "N",
       "Inner size of attention's matmuls and the dense MLP (default: from "
       "--hidden)");
OPTION(expertFfnFlag, "expert-ffn", "", "N",
       "Inner size of one expert (default: from --hidden)");
OPTION(expertsFlag, "experts", "", "E", "Experts (default: two per ep rank)");
OPTION(expertsPerFlag, "experts-per", "all", "all|rank",
       "What --experts counts: those of all ranks, or of one ep rank");
OPTION(topKFlag, "top-k", "", "K", "Experts per token (default: 2)");
OPTION(dispatchFlag, "dispatch", "",
       "auto|all_gather|all_to_all|all_to_all_dedup|hierarchical",
       "Send each row to its experts (default: gather all rows of an expert "
       "group)");
OPTION(routingFlag, "routing", "", "uniform|zipf:S|file",
       "Count rows for expert ids that are drawn or listed, a line for each "
       "token (default: expected rows)");
OPTION(seedFlag, "seed", "0", "N", "Seed of the ids that are drawn");
OPTION(nodesFlag, "nodes", "1", "N", "Machines that the ranks are on");
OPTION(clusterFlag, "cluster", "", "preset",
       "What the machines are, e.g. h200-nvl8-cx7 (default: generic)");

#undef OPTION

static Result<int64_t> number(StringRef flag, StringRef text, int64_t least,
                              int64_t most) {
  int64_t value;
  if (text.trim().getAsInteger(10, value) || value < least || value > most)
    return Error{"E_SIZE",
                 formatv("--{0} is '{1}'; want a whole number from {2} to {3}",
                         flag, text, least, most)};
  return value;
}

static Result<unsigned> choice(StringRef flag, StringRef text,
                               ArrayRef<StringRef> choices) {
  for (auto [i, name] : enumerate(choices))
    if (name == text)
      return unsigned(i);
  return Error{"E_OPTION", formatv("--{0} is '{1}'; want one of {2}", flag,
                                   text, join(choices, ", "))};
}

cl::OptionCategory &optionCategory() { return category; }

Format requestedFormat() {
  return StringSwitch<Format>(formatFlag)
      .Case("json", Format::Json)
      .Case("mlir", Format::Mlir)
      .Default(Format::Table);
}

Result<Options> readOptions() {
  Options options;
  Result<unsigned> format =
      choice("format", formatFlag, {"table", "json", "mlir"});
  Result<unsigned> level =
      choice("level", levelFlag, {"logical", "collective", "local", "runtime"});
  Result<unsigned> mode =
      choice("mode", modeFlag, {"auto", "scatter", "reduce"});
  Result<unsigned> caps =
      choice("backend-caps", backendCapsFlag, {"all", "even_only", "nonempty"});
  for (const Result<unsigned> *result : {&format, &level, &mode, &caps})
    if (!*result)
      return result->error();
  options.format = Format(*format);
  options.level = Level(*level);
  options.mode = modeFlag;
  options.caps = BackendCaps(*caps);
  if (!capacityFlag.empty()) {
    Result<int64_t> rows =
        number("capacity", capacityFlag, 0, int64_t(1) << 62);
    if (!rows)
      return rows.error();
    options.capacity = *rows;
  }
  if (!routingFlag.empty()) {
    Result<RoutingSource> source = parseRoutingSource(routingFlag);
    if (!source)
      return source.error();
    options.routing = *source;
  }
  Result<int64_t> seed = number("seed", seedFlag, 0, INT64_MAX);
  if (!seed)
    return seed.error();
  options.seed = *seed;
  return options;
}

/// `dp=2,tp=2` for a mesh whose axes, and their order, `order` lists. An axis
/// that is left out is inferred; when more are, all but the first of
/// `inferOrder` have size 1.
static Result<Mesh> readMesh(StringRef name, StringRef text, StringRef order,
                             ArrayRef<StringRef> inferOrder, int64_t world) {
  SmallVector<StringRef> allowed(inferOrder), names, entries;
  llvm::sort(allowed);
  order.split(names, ',');
  SmallVector<StringRef> sorted(names);
  llvm::sort(sorted);
  if (sorted != allowed)
    return Error{"E_AXIS",
                 formatv("--{0}-order is '{1}'; it lists each of {2} once, "
                         "slowest to fastest",
                         name, order, join(allowed, ", "))};
  std::vector<Axis> axes;
  for (StringRef axis : names)
    axes.push_back({axis.str(), 0});
  auto find = [&](StringRef axis) {
    return llvm::find_if(axes, [&](const Axis &a) { return a.name == axis; });
  };
  SmallVector<bool> given(axes.size());
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [axis, size] = entry.split('=');
    auto at = find(axis.trim());
    if (at == axes.end() || given[at - axes.begin()])
      return Error{
          "E_AXIS",
          formatv("--{0}: axis '{1}' {2}; mesh @{0} has {3}", name, axis.trim(),
                  at == axes.end() ? "does not exist" : "is given twice",
                  join(allowed, ", "))};
    Result<int64_t> value =
        number((name + " " + axis.trim()).str(), size, 1, int64_t(1) << 40);
    if (!value)
      return value.error();
    at->size = *value;
    given[at - axes.begin()] = true;
  }
  bool inferred = false;
  for (StringRef axis : inferOrder) {
    auto at = find(axis);
    if (given[at - axes.begin()])
      continue;
    at->size = inferred ? 1 : kInfer;
    inferred = true;
  }
  Result<std::vector<Axis>> sizes = inferSizes(name.str(), axes, world);
  if (!sizes)
    return sizes.error();
  return Mesh::create(name.str(), *sizes, world);
}

static Result<std::vector<int64_t>> readCounts(StringRef text) {
  std::vector<int64_t> counts;
  if (text.empty())
    return Error{"E_COUNTS_LEN", "--tokens lists 0 counts; give one per DP "
                                 "group, per (dp, cp) group or per rank"};
  SmallVector<StringRef> entries;
  text.split(entries, ',');
  for (auto [i, entry] : enumerate(entries)) {
    int64_t count;
    if (entry.trim().getAsInteger(10, count))
      return Error{"E_COUNTS_TYPE", formatv("--tokens: entry {0} is '{1}'; "
                                            "counts are whole numbers",
                                            i, entry)};
    counts.push_back(count);
  }
  return counts;
}

/// Counts, owners and padding on attention's mesh.
static Result<Batch> readBatch(const Mesh &attn) {
  AxisList owners{*attn.axisIndex("dp"), *attn.axisIndex("cp")};
  AxisList replicas{owners[1]};
  Result<Split> split = parseSplit(splitFlag);
  if (!split)
    return split.error();
  if (tokensFlag.getNumOccurrences() == 0)
    return Error{"E_COUNTS_MISSING",
                 formatv("no --tokens: the counts of {0} (dp = 0 … {1}) are "
                         "unknown; give one per DP group, per (dp, cp) group "
                         "or per rank",
                         attn.axes()[owners[0]].size == 1 ? "the DP group"
                                                          : "the DP groups",
                         attn.axes()[owners[0]].size - 1)};
  Result<std::vector<int64_t>> counts = readCounts(tokensFlag);
  if (!counts)
    return counts.error();
  CountsPer per = CountsPer::Auto;
  if (!tokensPerFlag.empty()) {
    Result<unsigned> index =
        choice("tokens-per", tokensPerFlag, {"dp", "cp", "rank"});
    if (!index)
      return index.error();
    per = *index == 0   ? CountsPer::MajorOwner
          : *index == 1 ? CountsPer::Part
                        : CountsPer::Rank;
  }
  bool replicate = true;
  if (!cpModeFlag.empty()) {
    Result<unsigned> index =
        choice("cp-mode", cpModeFlag, {"shard", "replicate"});
    if (!index)
      return index.error();
    replicate = *index == 1;
  }
  auto makeSpec = [&](bool copies) {
    return BatchSpec::create(attn, owners, copies ? replicas : AxisList(),
                             *split);
  };
  Result<BatchSpec> spec = makeSpec(replicate);
  if (!spec)
    return spec.error();
  Result<std::vector<int64_t>> parts = expandCounts(*spec, *counts, per);
  if (!parts && cpModeFlag.empty() &&
      parts.error().code == "E_CP_PEER_COUNTS") {
    // Nothing was said of cp, and peers that differ cannot be copies.
    spec = makeSpec(false);
    if (!spec)
      return spec.error();
    parts = expandCounts(*spec, *counts, per);
  }
  if (!parts)
    return parts.error();
  PadPolicy policy = padFlag.empty()    ? PadPolicy::None
                     : padFlag == "max" ? PadPolicy::MaxPart
                                        : PadPolicy::Rows;
  int64_t bucket = 0;
  if (policy == PadPolicy::Rows) {
    Result<int64_t> rows = number("pad", padFlag, 0, int64_t(1) << 62);
    if (!rows)
      return rows.error();
    bucket = *rows;
  }
  Result<std::vector<int64_t>> padded = padCounts(*parts, policy, bucket);
  if (!padded)
    return padded.error();
  return Batch::create(*spec, *padded, *parts);
}

static int64_t axisSize(const Mesh &mesh, StringRef axis) {
  return mesh.axes()[*mesh.axisIndex(axis.str())].size;
}

/// The number given with `flag`, or `deflt` rounded up to a multiple.
static Result<int64_t> sizeOr(StringRef flag, StringRef text, int64_t deflt,
                              int64_t multiple) {
  if (!text.empty())
    return number(flag, text, 1, int64_t(1) << 30);
  return (deflt + multiple - 1) / multiple * multiple;
}

static MaybeError readModel(LayerStack &stack) {
  Result<int64_t> hidden = number("hidden", hiddenFlag, 1, 1 << 24);
  if (!hidden)
    return hidden.error();
  Result<unsigned> dtype = choice("dtype", dtypeFlag, {"f32", "bf16", "f16"});
  if (!dtype)
    return dtype.error();
  stack.hidden = *hidden;
  stack.dtype = dtypeFlag;
  int64_t ep = stack.moe ? axisSize(*stack.moe, "ep") : 1;
  int64_t moeTp = stack.moe ? axisSize(*stack.moe, "tp") : 1;
  int64_t denseTp = stack.dense ? axisSize(*stack.dense, "tp") : 1;
  struct {
    int64_t &field;
    Result<int64_t> value;
  } sizes[] = {
      {stack.attnInner,
       sizeOr("ffn", ffnFlag, stack.hidden, axisSize(stack.attn(), "tp"))},
      {stack.denseInner, sizeOr("ffn", ffnFlag, 2 * stack.hidden, denseTp)},
      {stack.expertInner,
       sizeOr("expert-ffn", expertFfnFlag, (stack.hidden + 1) / 2, moeTp)},
      {stack.experts, sizeOr("experts", expertsFlag, 2 * ep, ep)},
  };
  Result<unsigned> per = choice("experts-per", expertsPerFlag, {"all", "rank"});
  if (!per)
    return per.error();
  for (auto &size : sizes) {
    if (!size.value)
      return size.value.error();
    size.field = *size.value;
  }
  if (*per == 1 && !expertsFlag.empty())
    stack.experts *= ep;
  Result<int64_t> topK =
      sizeOr("top-k", topKFlag, std::min<int64_t>(2, stack.experts), 1);
  if (!topK)
    return topK.error();
  stack.topK = *topK;
  return std::nullopt;
}

static Result<std::vector<BlockKind>> readBlocks() {
  StringRef text = !blocksFlag.empty() ? StringRef(blocksFlag)
                   : moeFlag.empty() && !denseFlag.empty()
                       ? StringRef("attn,dense")
                       : StringRef("attn,moe");
  std::vector<BlockKind> blocks;
  for (StringRef name : split(text, ',')) {
    Result<unsigned> kind =
        choice("blocks", name.trim(), {"attn", "moe", "dense"});
    if (!kind)
      return Error{"E_STACK", kind.error().message};
    blocks.push_back(BlockKind(*kind));
  }
  // Said before the counts are looked at: without sizes they mean little.
  if (moeFlag.empty() && denseFlag.empty() &&
      any_of(blocks, [](BlockKind k) { return k != BlockKind::Attention; }))
    return Error{"E_STACK", "neither --moe nor --dense is given; give the "
                            "sizes of the stack's blocks, e.g. --dense tp=2, "
                            "or --blocks attn"};
  return blocks;
}

Result<LayerStack> readStack() {
  // A larger world would be a typing error, and takes long to print.
  Result<int64_t> world = number("world", worldFlag, 1, 65536);
  if (!world)
    return world.error();
  if (attnFlag.empty())
    return Error{"E_STACK", "no --attn; give attention's sizes, e.g. --attn "
                            "dp=2,tp=2"};
  Result<Mesh> attn =
      readMesh("attn", attnFlag, attnOrderFlag, {"dp", "tp", "cp"}, *world);
  if (!attn)
    return attn.error();
  Result<std::vector<BlockKind>> blocks = readBlocks();
  if (!blocks)
    return blocks.error();
  std::optional<Mesh> moe, dense;
  if (!moeFlag.empty()) {
    Result<Mesh> mesh =
        readMesh("moe", moeFlag, moeOrderFlag, {"dp", "ep", "tp"}, *world);
    if (!mesh)
      return mesh.error();
    moe = *mesh;
  }
  if (!denseFlag.empty()) {
    Result<Mesh> mesh =
        readMesh("dense", denseFlag, denseOrderFlag, {"dp", "tp"}, *world);
    if (!mesh)
      return mesh.error();
    dense = *mesh;
  }
  Result<Batch> batch = readBatch(*attn);
  if (!batch)
    return batch.error();
  LayerStack stack;
  stack.batch = *batch;
  stack.moe = moe;
  stack.dense = dense;
  stack.blocks = *blocks;
  stack.dispatch = dispatchFlag;
  stack.cluster = clusterFlag;
  Result<int64_t> nodes = number("nodes", nodesFlag, 1, *world);
  if (!nodes)
    return nodes.error();
  stack.nodes = *nodes;
  if (MaybeError error = readModel(stack))
    return *error;
  return stack;
}

} // namespace shunt::plan
