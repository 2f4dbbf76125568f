//===- Print.cpp - Plans as a table and as JSON ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace shunt::plan {

/// More than this many entries are cut short in the table; JSON has all.
constexpr size_t kMostShown = 16;

template <typename Range> static std::string shortList(const Range &values) {
  std::string text;
  raw_string_ostream os(text);
  interleave(
      ArrayRef(values).take_front(kMostShown), os,
      [&](int64_t value) { os << value; }, " ");
  if (values.size() > kMostShown)
    os << formatv(" … ({0} in all)", values.size());
  return text;
}

/// Expected rows are no whole numbers.
static std::string rowsText(const std::vector<double> &values) {
  std::string text;
  raw_string_ostream os(text);
  interleave(
      ArrayRef(values).take_front(kMostShown), os,
      [&](double value) {
        if (value == std::floor(value))
          os << int64_t(value);
        else
          os << format("%.1f", value);
      },
      " ");
  if (values.size() > kMostShown)
    os << formatv(" … ({0} in all)", values.size());
  return text;
}

static std::string sizesText(const Mesh &mesh) {
  std::string text;
  for (const Axis &axis : mesh.axes())
    text +=
        formatv("{0}{1}={2}", text.empty() ? "" : " ", axis.name, axis.size);
  return text;
}

static std::string bytesText(int64_t bytes) {
  if (bytes < 10 * 1024)
    return formatv("{0} B", bytes);
  if (bytes < 10 * 1024 * 1024)
    return formatv("{0:F1} KiB", bytes / 1024.0);
  return formatv("{0:F1} MiB", bytes / 1024.0 / 1024.0);
}

static void printRouted(raw_ostream &os, const Report &report) {
  const RoutedStep &first = report.routed.front();
  os << formatv("\nrouted rows ({0} experts, top {1}, {2} placement; {3})\n",
                first.experts, first.topK, first.placement,
                report.exactRouting ? "of the given routing"
                                    : "expected for uniform routing");
  for (const RoutedStep &step : report.routed) {
    os << formatv("  {0,2}  {1,-15} {2,-16} over {3,-9} of @{4,-6} {5,10}\n",
                  step.block, step.op, step.algorithm, join(step.axes, ","),
                  step.mesh, bytesText(int64_t(step.bytes)));
    for (const RoutedStep::Group &group :
         ArrayRef(step.groups).take_front(kMostShown))
      os << formatv("      ranks {0}: out {1}; in {2}\n",
                    shortList(group.ranks), rowsText(group.sent),
                    rowsText(group.received));
    if (step.groups.size() > kMostShown)
      os << formatv("      … ({0} groups in all)\n", step.groups.size());
  }
}

void printTable(raw_ostream &os, const Report &report,
                const LayerStack &stack) {
  os << "world      " << stack.attn().world() << " ranks\n";
  os << "attention  " << sizesText(stack.attn()) << "\n";
  if (stack.moe)
    os << "moe        " << sizesText(*stack.moe) << "\n";
  if (stack.dense)
    os << "dense      " << sizesText(*stack.dense) << "\n";
  os << "blocks     ";
  interleave(
      stack.blocks, os, [&](BlockKind kind) { os << blockName(kind); }, " ");
  os << formatv("; rows of {0} x {1}\n\n", stack.hidden, stack.dtype);

  const Batch &batch = stack.batch;
  os << "rows of each rank\n";
  auto rows = [&](StringRef name, const Layout &layout) {
    os << formatv("  {0,-12} {1}\n", name, shortList(rowCounts(batch, layout)));
  };
  rows("attention", blockLayout(stack, BlockKind::Attention));
  if (batch.partValid() != batch.partRows())
    os << formatv("  {0,-12} {1}\n", " not padding",
                  shortList(validCounts(
                      batch, blockLayout(stack, BlockKind::Attention))));
  rows("scattered", scatteredLayout(stack));
  if (stack.moe)
    rows("moe", blockLayout(stack, BlockKind::Moe));
  if (stack.dense)
    rows("dense", blockLayout(stack, BlockKind::Dense));

  os << "\ncollectives\n";
  if (report.collectives.empty())
    os << "  none: every group has one rank\n";
  int64_t total = 0;
  for (const Collective &collective : report.collectives) {
    total += collective.bytes;
    os << formatv("  {0,2}  {1,-15} {2,-15} over {3,-10} of @{4,-6} {5,10}\n",
                  collective.block, collective.step, collective.op,
                  join(collective.axes, ","), collective.mesh,
                  bytesText(collective.bytes));
    for (const Collective::Group &group :
         ArrayRef(collective.groups).take_front(kMostShown))
      os << formatv("      ranks {0}: {1} rows\n", shortList(group.ranks),
                    shortList(group.counts));
    if (collective.groups.size() > kMostShown)
      os << formatv("      … ({0} groups in all)\n", collective.groups.size());
  }
  if (!report.routed.empty())
    printRouted(os, report);
  os << formatv("\ntotal      {0} received by all ranks together",
                bytesText(total));
  if (!report.companions.empty()) {
    int64_t routing = 0;
    for (const Collective &collective : report.companions)
      routing += collective.bytes;
    os << formatv(", and {0} of expert ids and scores", bytesText(routing));
  }
  os << "\n";
  if (report.proof == "proved")
    os << "proof      every row reaches the ranks that need it, each summand "
          "is added once\n";
  else if (report.proof == "failed")
    os << "proof      FAILED: " << report.proofMessage << "\n";
  for (const Warning &warning : report.warnings)
    os << formatv("warning    {0} [{1}]\n", warning.message, warning.code);
}

static json::Array toArray(const std::vector<int64_t> &values) {
  json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

static json::Object sizesJson(const Mesh &mesh) {
  json::Object sizes;
  for (const Axis &axis : mesh.axes())
    sizes[axis.name] = axis.size;
  return sizes;
}

static json::Array collectivesJson(const std::vector<Collective> &list) {
  json::Array array;
  for (const Collective &collective : list) {
    json::Array groups;
    for (const Collective::Group &group : collective.groups)
      groups.push_back(json::Object{{"ranks", toArray(group.ranks)},
                                    {"counts", toArray(group.counts)}});
    array.push_back(json::Object{{"step", collective.step},
                                 {"block", collective.block},
                                 {"op", collective.op},
                                 {"mesh", collective.mesh},
                                 {"axes", json::Array(collective.axes)},
                                 {"groups", std::move(groups)},
                                 {"row_bytes", collective.rowBytes},
                                 {"bytes", collective.bytes}});
  }
  return array;
}

static json::Array routedJson(const Report &report) {
  json::Array array;
  for (const RoutedStep &step : report.routed) {
    json::Array groups;
    for (const RoutedStep::Group &group : step.groups)
      groups.push_back(json::Object{{"ranks", toArray(group.ranks)},
                                    {"sent", json::Array(group.sent)},
                                    {"received", json::Array(group.received)}});
    array.push_back(json::Object{{"step", step.step},
                                 {"block", step.block},
                                 {"op", step.op},
                                 {"algorithm", step.algorithm},
                                 {"mesh", step.mesh},
                                 {"axes", json::Array(step.axes)},
                                 {"placement", step.placement},
                                 {"experts", step.experts},
                                 {"top_k", step.topK},
                                 {"exact", report.exactRouting},
                                 {"groups", std::move(groups)},
                                 {"row_bytes", step.rowBytes},
                                 {"bytes", step.bytes}});
  }
  return array;
}

json::Value toJson(const Report &report, const LayerStack &stack) {
  const Batch &batch = stack.batch;
  Layout attention = blockLayout(stack, BlockKind::Attention);
  json::Object tokens{
      {"attention", toArray(rowCounts(batch, attention))},
      {"scattered", toArray(rowCounts(batch, scatteredLayout(stack)))},
      {"attention_valid", toArray(validCounts(batch, attention))},
      {"scattered_valid", toArray(validCounts(batch, scatteredLayout(stack)))}};
  json::Object meshes{{"attn", sizesJson(stack.attn())}};
  for (auto [kind, mesh] : {std::pair(BlockKind::Moe, &stack.moe),
                            std::pair(BlockKind::Dense, &stack.dense)})
    if (*mesh) {
      meshes[blockName(kind)] = sizesJson(**mesh);
      tokens[blockName(kind)] =
          toArray(rowCounts(batch, blockLayout(stack, kind)));
    }
  json::Array warnings, blocks;
  for (const Warning &warning : report.warnings)
    warnings.push_back(
        json::Object{{"code", warning.code}, {"message", warning.message}});
  for (BlockKind kind : stack.blocks)
    blocks.push_back(blockName(kind));
  int64_t total = 0;
  for (const Collective &collective : report.collectives)
    total += collective.bytes;
  json::Object proof{{"status", report.proof}};
  if (!report.proofMessage.empty())
    proof["message"] = report.proofMessage;
  return json::Object{{"schema", 1},
                      {"world", stack.attn().world()},
                      {"meshes", std::move(meshes)},
                      {"blocks", std::move(blocks)},
                      {"tokens", std::move(tokens)},
                      {"collectives", collectivesJson(report.collectives)},
                      {"companions", collectivesJson(report.companions)},
                      {"routed", routedJson(report)},
                      {"bytes", total},
                      {"proof", std::move(proof)},
                      {"warnings", std::move(warnings)}};
}

} // namespace shunt::plan
