//===- Batch.cpp - see Batch.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Batch.h"

#include "Counts.h"
#include "Text.h"

#include <algorithm>

namespace shunt {

/// Rows of a batch stay below this, so that the sum of any two numbers made
/// from them, and every offset in a buffer of two batches, fits.
static constexpr int64_t kMaxRows = int64_t(1) << 62;

//===----------------------------------------------------------------------===//
// BatchSpec
//===----------------------------------------------------------------------===//

/// Checks that `axes` are axes of `mesh`, each once.
static MaybeError checkAxes(const Mesh &mesh, const AxisList &axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= mesh.numAxes())
      return Error{"E_AXIS", "mesh @" + mesh.name() + " has no axis number " +
                                 std::to_string(axes[i]) + "; it has " +
                                 std::to_string(mesh.numAxes()) + " axes"};
    if (std::count(axes.begin(), axes.end(), axes[i]) > 1)
      return Error{"E_AXIS", "axis " + mesh.axes()[axes[i]].name +
                                 " of mesh @" + mesh.name() +
                                 " is listed twice; list it once"};
  }
  return std::nullopt;
}

Result<BatchSpec> BatchSpec::create(Mesh mesh, AxisList owners,
                                    AxisList replicas, Split split) {
  if (MaybeError error = checkAxes(mesh, owners))
    return *error;
  if (MaybeError error = checkAxes(mesh, replicas))
    return *error;
  for (unsigned axis : replicas)
    if (!contains(owners, axis))
      return Error{"E_AXIS", "replica axis " + mesh.axes()[axis].name +
                                 " of mesh @" + mesh.name() +
                                 " is no owner axis; add it to the owners"};

  BatchSpec spec{std::move(mesh), std::move(owners), std::move(replicas),
                 split};
  // Whether a part can be shared at all does not depend on its count.
  if (Result<int64_t> padded = paddedRows(0, spec.partSize(), split); !padded)
    return padded.error();
  return spec;
}

int64_t BatchSpec::partOf(Rank rank) const {
  int64_t part = 0;
  for (unsigned axis : owners)
    part = part * mesh.axes()[axis].size + mesh.coordinate(rank, axis);
  return part;
}

int64_t BatchSpec::cellIndex(Rank rank) const {
  int64_t index = 0;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    if (!contains(owners, axis))
      index = index * mesh.axes()[axis].size + mesh.coordinate(rank, axis);
  return index;
}

Rank BatchSpec::firstRank(int64_t part) const {
  std::vector<int64_t> coords(mesh.numAxes(), 0);
  for (size_t i = owners.size(); i-- > 0;) {
    int64_t size = mesh.axes()[owners[i]].size;
    coords[owners[i]] = part % size;
    part /= size;
  }
  return mesh.rankAt(coords);
}

int64_t BatchSpec::firstCopy(int64_t part) const {
  int64_t copy = part, stride = 1, rest = part;
  for (size_t i = owners.size(); i-- > 0;) {
    int64_t size = mesh.axes()[owners[i]].size;
    if (contains(replicas, owners[i]))
      copy -= rest % size * stride;
    stride *= size;
    rest /= size;
  }
  return copy;
}

//===----------------------------------------------------------------------===//
// Batch
//===----------------------------------------------------------------------===//

static MaybeError checkPartCounts(const BatchSpec &spec,
                                  const std::vector<int64_t> &counts) {
  if (int64_t(counts.size()) != spec.numParts())
    return Error{"E_COUNTS_LEN",
                 "got " + plural(counts.size(), "count") + "; want " +
                     std::to_string(spec.numParts()) + " (one " +
                     perAxes(spec.mesh, spec.owners) + ")"};
  if (MaybeError error = checkNotNegative(counts))
    return error;
  return checkReplicas(spec, counts);
}

Result<Batch> Batch::create(BatchSpec spec, std::vector<int64_t> rows,
                            std::vector<int64_t> valid) {
  if (MaybeError error = checkPartCounts(spec, rows))
    return *error;
  if (valid.empty())
    valid = rows;
  else if (MaybeError error = checkPartCounts(spec, valid))
    return *error;

  Batch batch;
  int64_t total = 0, tokens = 0;
  for (int64_t part = 0, e = rows.size(); part < e; ++part) {
    if (valid[part] > rows[part])
      return Error{"E_BUCKET", "part " + std::to_string(part) + " has " +
                                   plural(valid[part], "valid token") +
                                   " but only " + plural(rows[part], "row") +
                                   "; use a larger bucket"};
    Result<int64_t> padded =
        paddedRows(rows[part], spec.partSize(), spec.split);
    if (!padded)
      return padded.error();
    if (*padded > kMaxRows - total)
      return Error{"E_OVERFLOW", "the rows of parts 0 to " +
                                     std::to_string(part) +
                                     " add up to more than 2^62"};
    rows[part] = *padded;
    batch.partOffset.push_back(total);
    total += *padded;

    // Parts are numbered so that the first copy comes before the others.
    int64_t first = spec.firstCopy(part);
    batch.partToken.push_back(first == part ? tokens : batch.partToken[first]);
    if (first == part)
      tokens += *padded;
  }
  batch.batchSpec = std::move(spec);
  batch.rows = std::move(rows);
  batch.valid = std::move(valid);
  return batch;
}

static int64_t sum(const std::vector<int64_t> &values) {
  int64_t total = 0;
  for (int64_t value : values)
    total += value;
  return total;
}

int64_t Batch::totalRows() const { return sum(rows); }
int64_t Batch::totalValid() const { return sum(valid); }

int64_t Batch::cellRows(Rank rank) const {
  return splitPart(rows[batchSpec.partOf(rank)], batchSpec.partSize(),
                   batchSpec.cellIndex(rank), batchSpec.split);
}

int64_t Batch::offsetInPart(Rank rank) const {
  return splitOffset(rows[batchSpec.partOf(rank)], batchSpec.partSize(),
                     batchSpec.cellIndex(rank), batchSpec.split);
}

int64_t Batch::cellValid(Rank rank) const {
  // Padding is the tail of the part, not of each cell.
  int64_t left = valid[batchSpec.partOf(rank)] - offsetInPart(rank);
  return std::clamp<int64_t>(left, 0, cellRows(rank));
}

int64_t Batch::cellOffset(Rank rank) const {
  return partOffset[batchSpec.partOf(rank)] + offsetInPart(rank);
}

int64_t Batch::cellToken(Rank rank) const {
  return partToken[batchSpec.partOf(rank)] + offsetInPart(rank);
}

std::vector<int64_t> Batch::cellTable() const {
  std::vector<int64_t> table(batchSpec.world());
  for (Rank rank = 0; rank < batchSpec.world(); ++rank)
    table[rank] = cellRows(rank);
  return table;
}

} // namespace shunt
