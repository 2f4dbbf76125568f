//===- LayerStack.cpp - Parallel sizes to a logical program ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Frontend/LayerStack.h"

#include "Shunt/Core/RoutingVolume.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <array>

using namespace llvm;

namespace shunt {

namespace {

/// `dp = 2, cp = 1, tp = 2`
std::string axesText(const Mesh &mesh) {
  std::string text;
  raw_string_ostream os(text);
  interleaveComma(mesh.axes(), os, [&](const Axis &axis) {
    os << axis.name << " = " << axis.size;
  });
  return text;
}

/// Writes the body of @main op by op. Values are strings: SSA names and types
/// (most of them aliases that `header` defines).
class Writer {
public:
  explicit Writer(const LayerStack &stack)
      : stack(stack), dt(stack.dtype), narrow(stack.dtype != "f32") {}

  std::string module();

private:
  struct Value {
    std::string name, type;
  };

  Value fresh(const Twine &type) {
    return {"%" + std::to_string(numValues++), type.str()};
  }
  Value argument(const Twine &type, StringRef attrs = "") {
    Value arg{"%arg" + std::to_string(arguments.size()), type.str()};
    arguments.push_back(arg.name + ": " + arg.type +
                        (attrs.empty() ? "" : " " + attrs.str()));
    return arg;
  }
  /// A tensor of tokens `?xINNERxELEMENT` with an encoding.
  static std::string tokens(const Twine &inner, const Twine &encoding) {
    return ("tensor<?x" + inner + ", " + encoding + ">").str();
  }
  std::string h(const Twine &element) const {
    return (Twine(stack.hidden) + "x" + element).str();
  }

  Value empty(const Value &rows, const Twine &type);
  Value zeros(const Value &rows, const Twine &type);
  /// A linalg.generic. In `body`, `%NAME` of `names` (the inputs', then that of
  /// `init`) are their elements, those of the row type as f32; `yield` is an
  /// f32 value, rounded to what `init` holds.
  Value generic(ArrayRef<Value> inputs, const Value &init,
                ArrayRef<StringRef> names, ArrayRef<StringRef> maps,
                StringRef iterators, StringRef body, StringRef yield);
  /// The same where all shapes are equal.
  Value elementwise(ArrayRef<Value> inputs, ArrayRef<StringRef> names,
                    const Twine &type, unsigned rank, StringRef body,
                    StringRef yield);
  /// `step` is labelled with the block being written.
  Value redistribute(const Value &value, const Twine &type, StringRef step);
  Value matmul(const Value &x, const Value &weight, const Twine &type);
  /// Rounds f32 accumulators to the row type.
  Value narrowed(const Value &value, const Twine &type, unsigned rank);
  Value norm(const Value &x);
  Value add(const Value &a, const Value &b);

  Value attention(const Value &x);
  /// Each group of ep gathers its rows and computes its experts on all of them.
  Value gatheredMoe(const Value &x);
  /// Each rank's rows go to their experts and back.
  Value dispatchedMoe(const Value &x);
  Value expertMatmul(const Value &routing, const Value &rows,
                     const Value &weights, const Twine &type);
  /// Gate, up and down; the experts are not split where ep does not divide.
  std::array<Value, 3> expertWeights();
  Value denseMlp(const Value &x);

  const LayerStack &stack;
  std::string dt;
  bool narrow;
  std::vector<std::string> arguments;
  Value ids, scores;
  unsigned numValues = 0, block = 0;
  std::string text;
  raw_string_ostream os{text};
};

Writer::Value Writer::empty(const Value &rows, const Twine &type) {
  Value size = fresh("index");
  os << size.name << " = tensor.dim " << rows.name << ", %c0 : " << rows.type
     << "\n";
  Value result = fresh(type);
  os << result.name << " = tensor.empty(" << size.name << ") : " << result.type
     << "\n";
  return result;
}

Writer::Value Writer::zeros(const Value &rows, const Twine &type) {
  Value init = empty(rows, type), result = fresh(type);
  os << result.name << " = linalg.fill ins(%zero : f32) outs(" << init.name
     << " : " << init.type << ") -> " << result.type << "\n";
  return result;
}

/// The element type: what follows the last 'x' of the shape.
static StringRef elementOf(StringRef type) {
  return type.take_front(type.find_first_of(",>")).rsplit('x').second;
}

Writer::Value Writer::generic(ArrayRef<Value> inputs, const Value &init,
                              ArrayRef<StringRef> names,
                              ArrayRef<StringRef> maps, StringRef iterators,
                              StringRef body, StringRef yield) {
  Value result = fresh(init.type);
  os << result.name << " = linalg.generic {indexing_maps = [";
  interleaveComma(maps, os,
                  [&](StringRef map) { os << "affine_map<" << map << ">"; });
  os << "], iterator_types = [";
  interleaveComma(iterators, os, [&](char kind) {
    os << (kind == 'p' ? "\"parallel\"" : "\"reduction\"");
  });
  os << "]} ins(";
  interleaveComma(inputs, os, [&](const Value &v) { os << v.name; });
  os << " : ";
  interleaveComma(inputs, os, [&](const Value &v) { os << v.type; });
  os << ") outs(" << init.name << " : " << init.type << ") {\n^bb0(";
  std::string widened;
  for (auto [name, input] : zip(names, inputs)) {
    StringRef element = elementOf(input.type);
    bool row = narrow && element == dt;
    os << "%" << name << (row ? "_row: " : ": ") << element << ", ";
    if (row)
      widened += formatv("%{0} = arith.extf %{0}_row : {1} to f32\n", name, dt);
  }
  StringRef element = elementOf(init.type);
  os << "%" << names.back() << ": " << element << "):\n" << widened << body;
  if (element == "f32")
    os << "linalg.yield " << yield << " : f32";
  else
    os << "%rounded = arith.truncf " << yield << " : f32 to " << element
       << "\nlinalg.yield %rounded : " << element;
  os << "\n} -> " << result.type << "\n";
  return result;
}

Writer::Value Writer::elementwise(ArrayRef<Value> inputs,
                                  ArrayRef<StringRef> names, const Twine &type,
                                  unsigned rank, StringRef body,
                                  StringRef yield) {
  StringRef map = rank == 2 ? "(t, h) -> (t, h)" : "(t, e, f) -> (t, e, f)";
  SmallVector<StringRef> maps(inputs.size() + 1, map), all(names);
  all.push_back("old");
  Value init = empty(inputs.front(), type);
  return generic(inputs, init, all, maps, StringRef("ppp").take_front(rank),
                 body, yield);
}

Writer::Value Writer::redistribute(const Value &value, const Twine &type,
                                   StringRef step) {
  Value result = fresh(type);
  os << result.name << " = shunt.redistribute " << value.name
     << " in %batch {step = \"" << step << "@" << block
     << "\"} : " << value.type << ", !batch -> " << result.type << "\n";
  return result;
}

Writer::Value Writer::matmul(const Value &x, const Value &weight,
                             const Twine &type) {
  Value init = zeros(x, type), result = fresh(type);
  os << result.name << " = linalg.matmul ins(" << x.name << ", " << weight.name
     << " : " << x.type << ", " << weight.type << ") outs(" << init.name
     << " : " << init.type << ") -> " << result.type << "\n";
  return result;
}

Writer::Value Writer::narrowed(const Value &value, const Twine &type,
                               unsigned rank) {
  return narrow ? elementwise({value}, {"x"}, type, rank, "", "%x") : value;
}

Writer::Value Writer::norm(const Value &x) {
  Value weight = argument("tensor<" + h(dt) + ">");
  Value squares =
      generic({x}, zeros(x, "tensor<?xf32, #shunt.auto>"), {"x", "sum"},
              {"(t, h) -> (t, h)", "(t, h) -> (t)"}, "pr",
              "%square = arith.mulf %x, %x : f32\n"
              "%next = arith.addf %sum, %square : f32\n",
              "%next");
  return generic({x, squares, weight}, empty(x, x.type),
                 {"x", "sum", "weight", "old"},
                 {"(t, h) -> (t, h)", "(t, h) -> (t)", "(t, h) -> (h)",
                  "(t, h) -> (t, h)"},
                 "pp",
                 "%mean = arith.divf %sum, %hidden : f32\n"
                 "%safe = arith.addf %mean, %epsilon : f32\n"
                 "%scale = math.rsqrt %safe : f32\n"
                 "%normed = arith.mulf %x, %scale : f32\n"
                 "%scaled = arith.mulf %normed, %weight : f32\n",
                 "%scaled");
}

Writer::Value Writer::add(const Value &a, const Value &b) {
  return elementwise({a, b}, {"a", "b"}, a.type, 2,
                     "%sum = arith.addf %a, %b : f32\n", "%sum");
}

/// In a body: `%silu` = `%x` · sigmoid(`%x`), f32.
#define SILU                                                                   \
  "%neg = arith.negf %x : f32\n"                                               \
  "%exp = math.exp %neg : f32\n"                                               \
  "%den = arith.addf %exp, %one : f32\n"                                       \
  "%silu = arith.divf %x, %den : f32\n"
constexpr StringLiteral kSilu = SILU;
/// `%gated` = silu(`%x`) · `%up`.
constexpr StringLiteral kGated = SILU "%gated = arith.mulf %silu, %up : f32\n";
#undef SILU

Writer::Value Writer::attention(const Value &x) {
  Value rows = redistribute(norm(x), tokens(h(dt), "#attn"), "pre_attention");
  std::string f = std::to_string(stack.attnInner);
  Value wIn = argument("tensor<" + Twine(stack.hidden) + "x" + f + "x" + dt +
                       ", #shunt.shard<@attn, [[], [tp]]>>");
  Value wOut = argument("tensor<" + f + "x" + h(dt) +
                        ", #shunt.shard<@attn, [[tp], []]>>");
  Value inner = matmul(rows, wIn, tokens(f + "xf32", "#attn_heads"));
  Value active = elementwise(
      {inner}, {"x"}, tokens(f + "x" + dt, "#attn_heads"), 2, kSilu, "%silu");
  Value out = narrowed(matmul(active, wOut, tokens(h("f32"), "#attn_partial")),
                       tokens(h(dt), "#attn_partial"), 2);
  return add(x, redistribute(out, x.type, "post_attention"));
}

Writer::Value Writer::denseMlp(const Value &x) {
  Value rows = redistribute(norm(x), tokens(h(dt), "#dense"), "pre_dense");
  std::string f = std::to_string(stack.denseInner);
  std::string column = ("tensor<" + Twine(stack.hidden) + "x" + f + "x" + dt +
                        ", #shunt.shard<@dense, [[], [tp]]>>")
                           .str();
  Value wGate = argument(column), wUp = argument(column);
  Value wDown = argument("tensor<" + f + "x" + h(dt) +
                         ", #shunt.shard<@dense, [[tp], []]>>");
  Value gate = matmul(rows, wGate, tokens(f + "xf32", "#dense_inner"));
  Value up = matmul(rows, wUp, tokens(f + "xf32", "#dense_inner"));
  Value active =
      elementwise({gate, up}, {"x", "up"}, tokens(f + "x" + dt, "#dense_inner"),
                  2, kGated, "%gated");
  Value out =
      narrowed(matmul(active, wDown, tokens(h("f32"), "#dense_partial")),
               tokens(h(dt), "#dense_partial"), 2);
  return add(x, redistribute(out, x.type, "post_dense"));
}

std::array<Writer::Value, 3> Writer::expertWeights() {
  bool even =
      stack.experts % stack.moe->axes()[*stack.moe->axisIndex("ep")].size == 0;
  StringRef experts = even ? "[ep]" : "[]";
  std::string e = std::to_string(stack.experts);
  std::string f = std::to_string(stack.expertInner);
  std::string column =
      ("tensor<" + Twine(e) + "x" + Twine(stack.hidden) + "x" + f + "x" + dt +
       ", #shunt.shard<@moe, [" + experts + ", [], [tp]]>>")
          .str();
  Value gate = argument(column), up = argument(column);
  Value down = argument("tensor<" + Twine(e) + "x" + f + "x" + h(dt) +
                        ", #shunt.shard<@moe, [" + experts + ", [tp], []]>>");
  return {gate, up, down};
}

Writer::Value Writer::expertMatmul(const Value &routing, const Value &rows,
                                   const Value &weights, const Twine &type) {
  Value result = fresh(type);
  os << result.name << " = shunt.expert_matmul " << rows.name << ", "
     << weights.name << " via " << routing.name << " : !routing, " << rows.type
     << ", " << weights.type << " -> " << result.type << "\n";
  return result;
}

Writer::Value Writer::dispatchedMoe(const Value &x) {
  Value rows = redistribute(norm(x), tokens(h(dt), "#moe_rows"), "pre_moe");
  std::string k = std::to_string(stack.topK);
  Value id = redistribute(ids, tokens(k + "xi32", "#moe_rows"), "routing");
  Value score =
      redistribute(scores, tokens(k + "xf32", "#moe_rows"), "routing");
  bool even =
      stack.experts % stack.moe->axes()[*stack.moe->axisIndex("ep")].size == 0;
  auto step = [&](StringRef name) {
    return formatv("{{step = \"{0}@{1}\"}", name, block).str();
  };
  Value routing = fresh("!routing");
  os << routing.name << " = shunt.route " << id.name << " scores(" << score.name
     << " : " << score.type << ") in %batch "
     << (stack.dispatch == "auto" ? "" : "algorithm " + stack.dispatch + " ")
     << "placement " << (even ? "even" : "balanced") << " " << step("dispatch")
     << " : " << id.type << ", !batch -> !routing\n";
  Value sent = fresh(tokens(h(dt), "#moe_routed"));
  os << sent.name << " = shunt.dispatch " << rows.name << " via "
     << routing.name << " " << step("dispatch") << " : !routing, " << rows.type
     << " -> " << sent.type << "\n";
  auto [wGate, wUp, wDown] = expertWeights();
  std::string inner =
      tokens(Twine(stack.expertInner) + "x" + dt, "#moe_routed_inner");
  Value gate = expertMatmul(routing, sent, wGate, inner);
  Value up = expertMatmul(routing, sent, wUp, inner);
  Value active =
      elementwise({gate, up}, {"x", "up"}, inner, 2, kGated, "%gated");
  Value made = expertMatmul(routing, active, wDown,
                            tokens(h(dt), "#moe_routed_partial"));
  Value out = fresh(tokens(h(dt), "#moe_rows_partial"));
  os << out.name << " = shunt.combine " << made.name << " via " << routing.name
     << " " << step("combine") << " : !routing, " << made.type << " -> "
     << out.type << "\n";
  return add(x, redistribute(out, x.type, "post_moe"));
}

Writer::Value Writer::gatheredMoe(const Value &x) {
  Value rows = redistribute(norm(x), tokens(h(dt), "#moe"), "pre_moe");
  std::string k = std::to_string(stack.topK);
  Value id = redistribute(ids, tokens(k + "xi32", "#moe"), "routing");
  Value score = redistribute(scores, tokens(k + "xf32", "#moe"), "routing");
  std::string e = std::to_string(stack.experts);
  std::string f = std::to_string(stack.expertInner);
  auto [wGate, wUp, wDown] = expertWeights();
  std::string inner = tokens(e + "x" + f + "xf32", "#moe_inner");
  auto project = [&, rows = rows](const Value &weight) {
    return generic({rows, weight}, zeros(rows, inner), {"x", "weight", "sum"},
                   {"(t, e, f, h) -> (t, h)", "(t, e, f, h) -> (e, h, f)",
                    "(t, e, f, h) -> (t, e, f)"},
                   "pppr",
                   "%product = arith.mulf %x, %weight : f32\n"
                   "%next = arith.addf %sum, %product : f32\n",
                   "%next");
  };
  Value gate = project(wGate), up = project(wUp);
  Value active =
      elementwise({gate, up}, {"x", "up"}, inner, 3, kGated, "%gated");
  // How much of each expert a token takes: the sum of its scores for it.
  Value share = generic(
      {id, score}, zeros(rows, tokens(e + "xf32", "#moe_experts")),
      {"id", "score", "sum"},
      {"(t, e, k) -> (t, k)", "(t, e, k) -> (t, k)", "(t, e, k) -> (t, e)"},
      "ppr",
      "%e = linalg.index 1 : index\n"
      "%expert = arith.index_cast %e : index to i32\n"
      "%mine = arith.cmpi eq, %id, %expert : i32\n"
      "%take = arith.select %mine, %score, %zero : f32\n"
      "%next = arith.addf %sum, %take : f32\n",
      "%next");
  Value sum = generic({share, active, wDown},
                      zeros(rows, tokens(h("f32"), "#moe_partial")),
                      {"share", "active", "weight", "sum"},
                      {"(t, h, e, f) -> (t, e)", "(t, h, e, f) -> (t, e, f)",
                       "(t, h, e, f) -> (e, f, h)", "(t, h, e, f) -> (t, h)"},
                      "pprr",
                      "%scaled = arith.mulf %share, %active : f32\n"
                      "%product = arith.mulf %scaled, %weight : f32\n"
                      "%next = arith.addf %sum, %product : f32\n",
                      "%next");
  Value out = narrowed(sum, tokens(h(dt), "#moe_partial"), 2);
  return add(x, redistribute(out, x.type, "post_moe"));
}

std::string Writer::module() {
  Value input = argument(tokens(h(dt), "#attn"));
  if (is_contained(stack.blocks, BlockKind::Moe)) {
    std::string k = std::to_string(stack.topK);
    ids =
        argument(tokens(k + "xi32", "#attn"),
                 formatv("{{shunt.experts = {0} : i64}", stack.experts).str());
    scores = argument(tokens(k + "xf32", "#attn"));
  }
  Value x = redistribute(input, tokens(h(dt), "#shunt.auto"), "pre_attention");
  for (BlockKind kind : stack.blocks) {
    x = kind == BlockKind::Attention ? attention(x)
        : kind == BlockKind::Dense   ? denseMlp(x)
        : stack.dispatch.empty()     ? gatheredMoe(x)
                                     : dispatchedMoe(x);
    ++block;
  }
  Value result = redistribute(norm(x), input.type, "final");

  std::string all;
  raw_string_ostream out(all);
  auto layout = [&](StringRef alias, StringRef mesh, StringRef rest) {
    out << "#" << alias << " = #shunt.layout<@" << mesh << ", " << rest
        << ">\n";
  };
  const Batch &batch = stack.batch;
  layout("attn", "attn", "tokens = [dp, cp]");
  layout("attn_heads", "attn", "tokens = [dp, cp], inner = [[tp]]");
  layout("attn_partial", "attn", "tokens = [dp, cp], partial = [tp]");
  if (stack.moe && !stack.dispatch.empty()) {
    auto routed = [&](StringRef alias, StringRef rest) {
      out << "#" << alias
          << " = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]" << rest
          << ">\n";
    };
    layout("moe_rows", "moe", "tokens = [dp, ep]");
    layout("moe_rows_partial", "moe", "tokens = [dp, ep], partial = [tp]");
    routed("moe_routed", "");
    routed("moe_routed_inner", ", inner = [[tp]]");
    routed("moe_routed_partial", ", partial = [tp]");
    out << formatv("!routing = !shunt.routing<@moe, tokens = [dp, ep], over = "
                   "[ep], experts = {0}, top_k = {1}>\n",
                   stack.experts, stack.topK);
  } else if (stack.moe) {
    layout("moe", "moe", "tokens = [dp]");
    layout("moe_inner", "moe", "tokens = [dp], inner = [[ep], [tp]]");
    layout("moe_experts", "moe", "tokens = [dp], inner = [[ep]]");
    layout("moe_partial", "moe", "tokens = [dp], partial = [ep, tp]");
  }
  if (stack.dense) {
    layout("dense", "dense", "tokens = [dp]");
    layout("dense_inner", "dense", "tokens = [dp], inner = [[tp]]");
    layout("dense_partial", "dense", "tokens = [dp], partial = [tp]");
  }
  out << "!batch = !shunt.batch<@attn, owners = [dp, cp]";
  if (batch.spec().mesh.groupSize(batch.spec().replicas) > 1)
    out << ", replicas = [cp]";
  if (batch.spec().split.rule != SplitRule::Balanced)
    out << ", split = \"" << toString(batch.spec().split) << "\"";
  out << ">\n\n";
  out << "shunt.cluster @cluster {";
  if (stack.nodes != 1)
    out << "nodes = " << stack.nodes << " : i64, ";
  if (!stack.cluster.empty())
    out << "preset = \"" << stack.cluster << "\", ";
  out << "ranks_per_node = " << stack.attn().world() / stack.nodes
      << " : i64}\n";
  out << "shunt.mesh @attn on @cluster <" << axesText(stack.attn()) << ">\n";
  if (stack.moe)
    out << "shunt.mesh @moe on @cluster <" << axesText(*stack.moe) << ">\n";
  if (stack.dense)
    out << "shunt.mesh @dense on @cluster <" << axesText(*stack.dense) << ">\n";
  out << "\nfunc.func @main(";
  interleave(arguments, out, ",\n    ");
  out << ")\n    -> " << result.type << " {\n%batch = shunt.batch [";
  interleaveComma(batch.partRows(), out);
  out << "]";
  if (batch.partValid() != batch.partRows()) {
    out << " valid [";
    interleaveComma(batch.partValid(), out);
    out << "]";
  }
  out << " : !batch\n"
      << "%c0 = arith.constant 0 : index\n"
         "%zero = arith.constant 0.0 : f32\n"
         "%one = arith.constant 1.0 : f32\n"
         "%epsilon = arith.constant 1.0e-5 : f32\n"
      << "%hidden = arith.constant " << stack.hidden << ".0 : f32\n"
      << text << "return " << result.name << " : " << result.type << "\n}\n";
  return all;
}

/// `what` of size `size` is split over `axes` of `mesh`.
MaybeError checkDivides(StringRef what, int64_t size, const Mesh &mesh,
                        StringRef axis) {
  int64_t parts = mesh.axes()[*mesh.axisIndex(axis.str())].size;
  if (size >= 1 && size % parts == 0)
    return std::nullopt;
  return Error{"E_SIZE", formatv("{0} is {1}, which {2}={3} of mesh @{4} does "
                                 "not divide; choose a multiple of {3}",
                                 what, size, axis, parts, mesh.name())};
}

} // namespace

Result<std::string> layerStackProgram(const LayerStack &stack) {
  if (stack.blocks.empty())
    return Error{"E_STACK", "the stack has no blocks; give attn, moe or dense"};
  std::vector<MaybeError> checks;
  checks.push_back(checkDivides("attention's inner size", stack.attnInner,
                                stack.attn(), "tp"));
  for (BlockKind block : stack.blocks) {
    if (block == BlockKind::Moe && !stack.moe)
      return Error{"E_STACK", "the stack has a moe block but no MoE sizes are "
                              "given; add --moe dp=,ep=,tp="};
    if (block == BlockKind::Dense && !stack.dense)
      return Error{"E_STACK", "the stack has a dense block but no dense sizes "
                              "are given; add --dense dp=,tp="};
  }
  if (stack.moe) {
    if (stack.dispatch.empty())
      checks.push_back(checkDivides("the number of experts", stack.experts,
                                    *stack.moe, "ep"));
    else if (stack.dispatch != "auto")
      if (auto known = parseDispatchAlgorithm(stack.dispatch); !known)
        return known.error();
    checks.push_back(checkDivides("an expert's inner size", stack.expertInner,
                                  *stack.moe, "tp"));
  }
  if (stack.dense)
    checks.push_back(checkDivides("the dense inner size", stack.denseInner,
                                  *stack.dense, "tp"));
  for (const MaybeError &error : checks)
    if (error)
      return *error;
  if (stack.nodes < 1 || stack.attn().world() % stack.nodes != 0)
    return Error{"E_SIZE", formatv("{0} ranks cannot be shared equally by {1} "
                                   "nodes; take nodes that divide them",
                                   stack.attn().world(), stack.nodes)};
  if (stack.hidden < 1 || stack.topK < 1 || stack.topK > stack.experts)
    return Error{"E_SIZE",
                 formatv("hidden={0}, top_k={1} and experts={2} must be at "
                         "least 1, and top_k at most the number of experts",
                         stack.hidden, stack.topK, stack.experts)};
  return Writer(stack).module();
}

} // namespace shunt
