//===- Report.cpp - A plan as read from the IR ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "Shunt/Analysis/GivenCounts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace shunt::plan {

static AxisList axesOf(const Mesh &mesh, ArrayRef<StringRef> names) {
  AxisList axes;
  for (StringRef name : names)
    axes.push_back(*mesh.axisIndex(name.str()));
  return axes;
}

Layout blockLayout(const LayerStack &stack, BlockKind kind) {
  const Mesh &mesh = kind == BlockKind::Attention ? stack.attn()
                     : kind == BlockKind::Moe     ? *stack.moe
                                                  : *stack.dense;
  return kind == BlockKind::Attention
             ? Layout{mesh, axesOf(mesh, {"dp", "cp"}), {}}
         : kind == BlockKind::Moe && !stack.dispatch.empty()
             ? Layout{mesh, axesOf(mesh, {"dp", "ep"}), {}}
             : Layout{mesh, axesOf(mesh, {"dp"}), {}};
}

Layout scatteredLayout(const LayerStack &stack) {
  return {stack.attn(), stack.attn().complement({}), {}};
}

StringRef blockName(BlockKind kind) {
  return kind == BlockKind::Attention ? "attn"
         : kind == BlockKind::Moe     ? "moe"
                                      : "dense";
}

/// Bytes that all members of the group receive from others; none if they are
/// too many for 64 bits.
static std::optional<int64_t>
bytesOf(StringRef op, const Collective::Group &group, int64_t rowBytes) {
  int64_t members = group.ranks.size();
  int64_t rows =
      std::accumulate(group.counts.begin(), group.counts.end(), int64_t(0));
  // A gather brings each row to all others; a reduce-scatter brings each kept
  // row from all others; an all-reduce does both once with 1/members of the
  // rows that every member holds.
  int64_t copies = members - 1;
  if (op == "all_reduce") {
    copies = 2 * (members - 1);
    rows = group.counts.front();
  } else if (op == "all_to_all") {
    copies = 1;
  }
  int64_t moved, bytes;
  if (llvm::MulOverflow(copies, rows, moved) ||
      llvm::MulOverflow(moved, rowBytes, bytes))
    return std::nullopt;
  return bytes;
}

static InFlightDiagnostic tooManyBytes(Operation *op,
                                       const Collective &collective) {
  return op->emitError()
         << collective.step << " " << collective.op << " moves more than 2^63 "
         << "bytes in rows of " << collective.rowBytes
         << "; give smaller counts or a smaller --hidden [E_OVERFLOW]";
}

static FailureOr<std::optional<Collective>>
readCollective(Operation *op, SymbolTableCollection &symbols) {
  bool exchanges = isa<AllToAllOp>(op);
  if (!exchanges && !isa<AllGatherOp, ReduceScatterOp, AllReduceOp>(op))
    return std::optional<Collective>();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto axesAttr = op->getAttrOfType<ArrayAttr>("axes");
  Resolver resolver(op, symbols);
  FailureOr<Layout> from =
      resolver.layout(getLayout(op->getOperand(0).getType()));
  FailureOr<Layout> to = resolver.layout(getLayout(type));
  if (failed(from) || failed(to))
    return failure();
  FailureOr<AxisList> axes = resolver.axes(from->mesh, axesAttr);
  if (failed(axes))
    return failure();
  if (from->mesh.groupSize(*axes) == 1)
    return std::optional<Collective>();

  Collective collective;
  auto step = op->getAttrOfType<StringAttr>("step");
  auto [name, block] = (step ? step.getValue() : StringRef()).split('@');
  collective.step = name.str();
  block.getAsInteger(10, collective.block);
  collective.op = op->getName().stripDialect().str();
  collective.mesh = from->mesh.name();
  for (Attribute axis : axesAttr)
    collective.axes.push_back(cast<StringAttr>(axis).str());
  int64_t bits = type.getElementTypeBitWidth();
  for (int64_t size : type.getShape().drop_front())
    bits *= size;
  collective.rowBytes = bits / 8;

  std::vector<int64_t> table;
  int64_t world = from->mesh.world();
  if (exchanges) {
    FailureOr<std::optional<Batch>> batch = resolver.batch(op->getOperand(1));
    if (failed(batch) || !*batch)
      return failure();
    std::vector<int64_t> matrix = exchange(*from, *to).rows(**batch);
    table.assign(world, 0);
    for (int64_t src = 0; src < world; ++src)
      for (int64_t dst = 0; dst < world; ++dst)
        table[src] += src == dst ? 0 : matrix[src * world + dst];
  } else {
    auto counts = derivedCounts(CountedCollective(op), symbols);
    if (failed(counts) || !*counts)
      return failure();
    table = **counts;
  }
  for (const RankList &ranks : from->mesh.groups(*axes)) {
    Collective::Group group{ranks, countsOf(table, ranks)};
    std::optional<int64_t> bytes =
        bytesOf(collective.op, group, collective.rowBytes);
    if (!bytes || llvm::AddOverflow(collective.bytes, *bytes, collective.bytes))
      return tooManyBytes(op, collective);
    collective.groups.push_back(std::move(group));
  }
  return std::optional<Collective>(std::move(collective));
}

static void warn(Report &report, const LayerStack &stack) {
  const Batch &batch = stack.batch;
  auto mlp = llvm::find_if(stack.blocks, [](BlockKind kind) {
    return kind != BlockKind::Attention;
  });
  // Ranks that keep all rows of their group hold more than their cell.
  auto first = llvm::find_if(report.collectives, [](const Collective &c) {
    return c.step == "post_attention";
  });
  bool keepsRows =
      first != report.collectives.end() && first->op == "all_reduce";
  std::vector<int64_t> held =
      keepsRows ? rowCounts(batch, blockLayout(stack, BlockKind::Attention))
                : batch.cellTable();
  if (mlp != stack.blocks.end()) {
    Layout layout = blockLayout(stack, *mlp);
    int64_t copies = keepsRows ? 1 : duplicateFactor(batch, layout);
    int64_t work = 0;
    AxisList gathered = layout.gathered();
    std::vector<int64_t> valid = validCounts(batch, layout);
    for (const RankList &ranks : layout.mesh.groups(gathered))
      work += valid[ranks.front()];
    int64_t distinct = 0;
    const BatchSpec &spec = batch.spec();
    for (int64_t part = 0; part < spec.numParts(); ++part)
      if (spec.firstCopy(part) == part)
        distinct += batch.partValid()[part];
    if (copies > 1)
      report.warnings.push_back(
          {"W_CP_DUP",
           llvm::formatv("x{0}: a {1} group holds {0} copies of a token; "
                         "legal, but {0} times the work",
                         copies, blockName(*mlp))});
    else if (!spec.replicas.empty() && work > distinct)
      report.warnings.push_back(
          {"W_REPLICATED_WORK",
           llvm::formatv("{0} groups compute {1} rows for {2} distinct tokens",
                         blockName(*mlp), work, distinct)});
  }
  std::vector<std::string> empty;
  for (auto [rank, rows] : llvm::enumerate(held))
    if (rows == 0)
      empty.push_back(std::to_string(rank));
  if (!empty.empty())
    report.warnings.push_back(
        {"W_EMPTY_RANKS", "ranks " + llvm::join(empty, ",") +
                              " hold no rows; they must still enter every "
                              "collective of their groups"});
}

FailureOr<Report> readPlan(ModuleOp module, const LayerStack &stack) {
  Report report;
  int64_t total = 0;
  SymbolTableCollection symbols;
  WalkResult walk = module.walk([&](Operation *op) {
    FailureOr<std::optional<Collective>> collective =
        readCollective(op, symbols);
    if (failed(collective))
      return WalkResult::interrupt();
    if (!*collective)
      return WalkResult::advance();
    if (llvm::AddOverflow(total, (*collective)->bytes, total)) {
      tooManyBytes(op, **collective);
      return WalkResult::interrupt();
    }
    ((*collective)->step == "routing" ? report.companions : report.collectives)
        .push_back(std::move(**collective));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  warn(report, stack);
  return report;
}

static std::string listText(const std::vector<int64_t> &values) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(values, os, ", ");
  return "[" + text + "]";
}

MaybeError checkLimits(const Report &report, const LayerStack &stack,
                       const Options &options) {
  if (options.capacity >= 0) {
    for (BlockKind kind : stack.blocks) {
      Layout layout = blockLayout(stack, kind);
      std::vector<int64_t> rows = rowCounts(stack.batch, layout);
      auto worst = llvm::max_element(rows);
      if (*worst > options.capacity)
        return Error{
            "E_CAPACITY",
            llvm::formatv("{0} on ranks {1} works on {2} rows but buffers hold "
                          "{3}; raise --capacity or use smaller groups",
                          blockName(kind),
                          listText(layout.cells(worst - rows.begin())), *worst,
                          options.capacity)};
    }
  }
  for (const Collective &collective : report.collectives) {
    if (collective.op == "all_reduce")
      continue;
    for (const Collective::Group &group : collective.groups) {
      bool refused = options.caps == BackendCaps::EvenOnly
                         ? !llvm::all_equal(group.counts)
                     : options.caps == BackendCaps::NonEmpty
                         ? llvm::is_contained(group.counts, 0)
                         : false;
      if (!refused)
        continue;
      bool even = options.caps == BackendCaps::EvenOnly;
      return Error{
          even ? "E_UNEVEN_BACKEND" : "E_EMPTY_BACKEND",
          llvm::formatv("{0} {1} over ranks {2} takes counts {3} but the "
                        "backend {4}; --split ceil with --pad max {5}",
                        collective.step, collective.op, listText(group.ranks),
                        listText(group.counts),
                        even ? "has no ragged collectives"
                             : "cannot send 0 rows",
                        even ? "makes them equal" : "gives every rank a row")};
    }
  }
  return std::nullopt;
}

} // namespace shunt::plan
