//===- CollectiveCounts.cpp - Count tables against layout and batch ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

using namespace mlir;

namespace shunt::checks {

/// Axes of `mesh` whose sizes multiply to `length`, the fewest: what whoever
/// wrote the table had in mind. Empty if there are none.
static AxisList axesOfLength(const Mesh &mesh, int64_t length) {
  constexpr unsigned kMaxAxes = 10;
  AxisList best;
  if (mesh.numAxes() > kMaxAxes)
    return best;
  for (unsigned set = 1; set < 1u << mesh.numAxes(); ++set) {
    AxisList axes;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      if (set >> axis & 1 && mesh.axes()[axis].size > 1)
        axes.push_back(axis);
    if (!axes.empty() && mesh.groupSize(axes) == length &&
        (best.empty() || axes.size() < best.size()))
      best = axes;
  }
  return best;
}

/// Reports a table of `length` entries.
static LogicalResult failLength(const Transition &t, StringRef what,
                                int64_t length) {
  const Mesh &mesh = t.from.mesh;
  InFlightDiagnostic diag = t.op->emitOpError()
                            << "has " << what << " of " << length
                            << (length == 1 ? " entry" : " entries")
                            << " but the world has "
                            << countText(mesh.world(), "rank");
  AxisList axes = axesOfLength(mesh, length);
  if (!axes.empty())
    diag << " (" << length << " is " << mesh.axisNames(axes) << " of mesh @"
         << mesh.name() << ")";
  return diag << "; a table has one entry for each rank [X_COUNTS_LENGTH]";
}

/// Checks the shape of `given`: an entry for each rank, or a list for each
/// rank, of the counts of its group or of all ranks.
static LogicalResult verifyGiven(const Transition &t, Value given) {
  auto type = cast<RankedTensorType>(given.getType());
  const Mesh &mesh = t.from.mesh;
  if (!type.isDynamicDim(0) && type.getDimSize(0) != mesh.world())
    return failLength(t, "a given table", type.getDimSize(0));
  if (type.getRank() == 1 || type.isDynamicDim(1))
    return success();
  int64_t length = type.getDimSize(1), members = mesh.groupSize(t.axes);
  if (length == members || length == mesh.world())
    return success();
  return t.op->emitOpError()
         << "has given lists of " << length << " counts; a list has " << members
         << ", one for each member of a group over " << axesText(mesh, t.axes)
         << ", or " << mesh.world() << ", one for each rank [X_COUNTS_LENGTH]";
}

static StringRef wrongCountCode(Operation *op) {
  if (isa<AllGatherOp>(op))
    return "X_AG_ROWS";
  return isa<AllReduceOp>(op) ? "X_RAGGED_REDUCE" : "X_RS_SUM";
}

LogicalResult verifyCounts(const Transition &t, const Layout &layout,
                           std::optional<ArrayRef<int64_t>> counts,
                           Value given) {
  if (given && failed(verifyGiven(t, given)))
    return failure();
  if (!counts)
    return success();
  if (int64_t(counts->size()) != layout.mesh.world())
    return failLength(t, "counts", counts->size());
  FailureOr<std::optional<Batch>> batch = t.resolver.batch(t.batch);
  if (failed(batch))
    return failure();
  if (!*batch)
    return success();
  std::vector<int64_t> table = rowCounts(**batch, layout);
  for (auto [rank, count, right] : llvm::enumerate(*counts, table)) {
    if (count == right)
      continue;
    InFlightDiagnostic diag = t.op->emitOpError()
                              << "has a wrong count for rank " << rank << ": "
                              << count << " instead of " << right << " (counts "
                              << tableText(*counts) << ", by layout and batch "
                              << tableText(table)
                              << "); drop `counts` to have them derived ["
                              << wrongCountCode(t.op) << "]";
    noteProducer(diag, t.batch, "batch");
    return failure();
  }
  return success();
}

} // namespace shunt::checks
