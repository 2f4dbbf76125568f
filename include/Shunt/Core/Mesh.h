//===- Mesh.h - Ranks as a mixed-radix factorisation ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_MESH_H
#define SHUNT_CORE_MESH_H

#include "Shunt/Core/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shunt {

/// A rank of the world, a row count, a size: signed and 64-bit throughout.
using Rank = int64_t;
using RankList = std::vector<Rank>;
/// Axes of one mesh, by index into `Mesh::axes()`. Where it stands for a set
/// it is in any order and has no duplicates.
using AxisList = std::vector<unsigned>;

struct Axis {
  std::string name;
  /// At least 1. `kInfer` in an input of `inferSizes` only.
  int64_t size;
};

/// Marks the one axis size that `inferSizes` computes.
constexpr int64_t kInfer = -1;

/// Fills in the one size that is `kInfer` with the quotient of `world` and the
/// others; checks that all sizes multiply to `world`.
/// Errors: E_SIZE (a size < 1, more than one left out), E_PRODUCT (names the
/// sizes, the product and the world).
Result<std::vector<Axis>> inferSizes(const std::string &meshName,
                                     std::vector<Axis> axes, int64_t world);

/// A view of the ranks 0 … W-1 of the world as coordinates. Axes are listed
/// slowest to fastest. `devices`, if not empty, is a permutation of the ranks:
/// the rank at linear position `i` of the mesh is `devices[i]`.
class Mesh {
public:
  /// Errors: E_SIZE, E_PRODUCT, E_MESH (duplicate or empty axis name, a device
  /// list that is not a permutation of 0 … world-1).
  static Result<Mesh> create(std::string name, std::vector<Axis> axes,
                             int64_t world, RankList devices = {});

  const std::string &name() const { return meshName; }
  const std::vector<Axis> &axes() const { return meshAxes; }
  unsigned numAxes() const { return meshAxes.size(); }
  int64_t world() const { return worldSize; }
  const RankList &devices() const { return deviceList; }

  std::optional<unsigned> axisIndex(const std::string &axis) const;
  /// Indices for `names`, in that order.
  /// Errors: E_AXIS (unknown: lists the axes there are; or listed twice).
  Result<AxisList> axisIndices(const std::vector<std::string> &names) const;

  /// The names of `axes`, as messages print them: `dp·cp`.
  std::string axisNames(const AxisList &axes,
                        const std::string &separator = "·") const;

  /// Distance in mesh positions between neighbours on `axis`.
  int64_t stride(unsigned axis) const { return strides[axis]; }
  /// Linear position of `rank` in the mesh, and its inverse.
  int64_t positionOf(Rank rank) const;
  Rank rankAtPosition(int64_t position) const;

  /// Coordinate of `rank` on `axis`. Precondition: both in range.
  int64_t coordinate(Rank rank, unsigned axis) const;
  std::vector<int64_t> coordinates(Rank rank) const;
  /// The rank at `coords`, one per axis.
  Rank rankAt(const std::vector<int64_t> &coords) const;

  /// Product of the sizes of `axes`.
  int64_t groupSize(const AxisList &axes) const;
  /// The ranks that agree with `rank` on every axis not in `axes`, in mesh
  /// order (lexicographic by coordinates, slowest axis first).
  RankList group(Rank rank, const AxisList &axes) const;
  /// All groups over `axes`, each in mesh order, by their first member's mesh
  /// position. Together a partition of the world.
  std::vector<RankList> groups(const AxisList &axes) const;
  /// Position of `rank` in `group(rank, axes)`.
  int64_t rankInGroup(Rank rank, const AxisList &axes) const;

  /// The axes not in `axes`, in mesh order.
  AxisList complement(const AxisList &axes) const;

private:
  std::string meshName;
  std::vector<Axis> meshAxes;
  std::vector<int64_t> strides;
  int64_t worldSize = 1;
  RankList deviceList;       // empty: identity
  RankList positionOfDevice; // inverse of deviceList, empty: identity
};

} // namespace shunt

#endif // SHUNT_CORE_MESH_H
