//===- GivenCounts.cpp - see GivenCounts.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/GivenCounts.h"

#include "Shunt/Analysis/CollectiveText.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shunt {

CountedCollective::CountedCollective(Operation *candidate) {
  llvm::TypeSwitch<Operation *>(candidate)
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, SliceOp>(
          [&](auto collective) {
            op = candidate;
            input = collective.getInput();
            batch = collective.getBatch();
            given = collective.getGiven();
            axes = collective.getAxes();
            result = collective.getResult();
          });
}

LayoutAttr CountedCollective::countsLayout() const {
  bool ofResult = isa<ReduceScatterOp, SliceOp>(op);
  return getLayout((ofResult ? result : input).getType());
}

FailureOr<std::optional<std::vector<int64_t>>>
derivedCounts(const CountedCollective &collective,
              SymbolTableCollection &symbols) {
  Resolver resolver(collective.op, symbols);
  FailureOr<std::optional<Batch>> batch = resolver.batch(collective.batch);
  FailureOr<Layout> layout = resolver.layout(collective.countsLayout());
  if (failed(batch) || failed(layout))
    return failure();
  if (!*batch)
    return std::optional<std::vector<int64_t>>();
  return std::optional<std::vector<int64_t>>(rowCounts(**batch, *layout));
}

/// Compares lists, one a rank, whose entries are counts of the group's members
/// or, with one entry per world rank, of all ranks.
static LogicalResult compareLists(GivenReport &report, const Mesh &mesh,
                                  const AxisList &axes, Operation *op,
                                  ArrayRef<int64_t> values, int64_t columns) {
  int64_t world = mesh.world();
  bool byGroup = columns == mesh.groupSize(axes);
  if (!byGroup && columns != world)
    return op->emitOpError()
           << "has lists of " << columns << " counts, expected "
           << mesh.groupSize(axes) << ", one for each member of a group, or "
           << world << ", one for each rank [X_COUNTS_LENGTH]";
  report.given.assign(world, 0);
  for (const RankList &ranks : mesh.groups(axes)) {
    std::vector<std::vector<int64_t>> lists;
    for (Rank rank : ranks) {
      ArrayRef<int64_t> row = values.slice(rank * columns, columns);
      std::vector<int64_t> list(row.begin(), row.end());
      lists.push_back(byGroup ? list : countsOf(list, ranks));
    }
    for (size_t i = 0; i < ranks.size(); ++i)
      report.given[ranks[i]] = lists.front()[i];
    if (!llvm::all_equal(lists))
      report.disagreements.push_back({ranks, std::move(lists)});
  }
  return success();
}

FailureOr<GivenReport> compareGiven(const CountedCollective &collective,
                                    SymbolTableCollection &symbols) {
  Operation *op = collective.op;
  Resolver resolver(op, symbols);
  FailureOr<Mesh> mesh =
      resolver.mesh(getLayout(collective.input.getType()).getMesh());
  if (failed(mesh))
    return failure();
  FailureOr<AxisList> axes = resolver.axes(*mesh, collective.axes);
  FailureOr<std::optional<std::vector<int64_t>>> derived =
      derivedCounts(collective, symbols);
  if (failed(axes) || failed(derived))
    return failure();

  GivenReport report;
  if (!*derived) {
    report.unknown = "the batch is not known at compile time";
    return report;
  }
  report.derived = std::move(**derived);
  DenseIntElementsAttr constant;
  if (!matchPattern(collective.given, m_Constant(&constant))) {
    report.unknown = "the table is not a constant";
    return report;
  }

  auto values = llvm::to_vector(constant.getValues<int64_t>());
  int64_t world = mesh->world();
  ArrayRef<int64_t> shape = constant.getType().getShape();
  if (shape.front() != world)
    return op->emitOpError()
           << "has a table of " << shape.front() << " entries, expected "
           << world << ", one for each rank of the world [X_COUNTS_LENGTH]";
  if (shape.size() == 1)
    report.given.assign(values.begin(), values.end());
  else if (failed(compareLists(report, *mesh, *axes, op, values, shape[1])))
    return failure();

  // Where lists disagree there is no one number to call wrong.
  std::vector<bool> disagrees(world);
  for (const GivenReport::Disagreement &item : report.disagreements)
    for (Rank rank : item.ranks)
      disagrees[rank] = true;
  for (Rank rank = 0; rank < world; ++rank)
    if (!disagrees[rank] && report.given[rank] != report.derived[rank])
      report.wrong.push_back({rank, report.given[rank], report.derived[rank]});
  return report;
}

static StringRef wrongCountCode(Operation *op) {
  if (isa<AllGatherOp>(op))
    return "X_AG_ROWS";
  return isa<AllReduceOp>(op) ? "X_RAGGED_REDUCE" : "X_RS_SUM";
}

LogicalResult checkGiven(Operation *op, SymbolTableCollection &symbols) {
  CountedCollective collective(op);
  if (!collective || !collective.given)
    return success();
  FailureOr<GivenReport> report = compareGiven(collective, symbols);
  if (failed(report))
    return failure();
  if (!report->unknown.empty())
    return op->emitOpError()
           << "has a hand-written count table that cannot be checked: "
           << report->unknown
           << "; derive it (shunt-rewrite-token-counts) [X_COUNTS_UNKNOWN]";
  for (const GivenReport::Disagreement &item : report->disagreements) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "has members that pass different counts in "
                                 "group "
                              << groupText(item.ranks) << ":";
    for (auto [rank, list] : llvm::zip(item.ranks, item.lists))
      diag << (rank == item.ranks.front() ? " " : ", ") << "rank " << rank
           << " " << listText(list);
    return diag << "; derived "
                << listText(countsOf(report->derived, item.ranks))
                << " (shunt-rewrite-token-counts) [X_COUNTS_DISAGREE]";
  }
  if (report->wrong.empty())
    return success();
  const GivenReport::WrongCount &first = report->wrong.front();
  return op->emitOpError() << "has a wrong count for rank " << first.rank
                           << ": " << first.given << " given, " << first.derived
                           << " derived (table " << listText(report->given)
                           << ", derived " << listText(report->derived)
                           << "); derive it (shunt-rewrite-token-counts) ["
                           << wrongCountCode(op) << "]";
}

} // namespace shunt
