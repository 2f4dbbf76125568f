//===- Mesh.cpp - see Mesh.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Mesh.h"

#include "Text.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace shunt {

static std::string meshPrefix(const std::string &name) {
  return "mesh @" + name + ": ";
}

/// `sizes dp=2, tp=4 multiply to 8`; the product is empty when it overflows.
static std::string describeProduct(const std::vector<Axis> &axes,
                                   std::optional<int64_t> product) {
  std::string sizes;
  for (const Axis &axis : axes)
    if (axis.size != kInfer)
      sizes += (sizes.empty() ? "" : ", ") + axis.name + "=" +
               std::to_string(axis.size);
  if (sizes.empty())
    return "an empty list of sizes multiplies to 1";
  return "sizes " + sizes + " multiply to " +
         (product ? std::to_string(*product) : "more than 2^63");
}

/// The product of the stated sizes; empty when it overflows.
static std::optional<int64_t> productOf(const std::vector<Axis> &axes) {
  int64_t product = 1;
  for (const Axis &axis : axes) {
    if (axis.size == kInfer)
      continue;
    if (product > std::numeric_limits<int64_t>::max() / axis.size)
      return std::nullopt;
    product *= axis.size;
  }
  return product;
}

Result<std::vector<Axis>> inferSizes(const std::string &meshName,
                                     std::vector<Axis> axes, int64_t world) {
  if (world < 1)
    return Error{"E_SIZE", meshPrefix(meshName) + "the world has " +
                               plural(world, "rank") + "; it needs at least 1"};
  Axis *inferred = nullptr;
  for (Axis &axis : axes) {
    if (axis.size == kInfer) {
      if (inferred)
        return Error{"E_SIZE", meshPrefix(meshName) + "the sizes of " +
                                   inferred->name + " and " + axis.name +
                                   " are both left out; state one of them"};
      inferred = &axis;
    } else if (axis.size < 1) {
      return Error{"E_SIZE", meshPrefix(meshName) + "axis " + axis.name +
                                 " has size " + std::to_string(axis.size) +
                                 "; a size is at least 1"};
    }
  }

  std::optional<int64_t> product = productOf(axes);
  if (inferred) {
    if (!product || world % *product != 0)
      return Error{"E_PRODUCT",
                   meshPrefix(meshName) + describeProduct(axes, product) +
                       ", which does not divide the world of " +
                       plural(world, "rank") + ", so " + inferred->name +
                       " has no size; change one of the sizes"};
    inferred->size = world / *product;
    return axes;
  }
  if (!product || *product != world)
    return Error{"E_PRODUCT",
                 meshPrefix(meshName) + describeProduct(axes, product) +
                     " but the world has " + plural(world, "rank") +
                     "; change one size or leave one out"};
  return axes;
}

/// The inverse of `devices`, or why it is no permutation.
static Result<RankList> invert(const std::string &meshName,
                               const RankList &devices, int64_t world) {
  if (int64_t(devices.size()) != world)
    return Error{"E_MESH", meshPrefix(meshName) + "the device list has " +
                               std::to_string(devices.size()) +
                               " entries but the world has " +
                               plural(world, "rank") +
                               "; list every rank once"};
  RankList positions(world, -1);
  for (int64_t i = 0; i < world; ++i) {
    Rank rank = devices[i];
    if (rank < 0 || rank >= world)
      return Error{"E_MESH",
                   meshPrefix(meshName) + "entry " + std::to_string(i) +
                       " of the device list is rank " + std::to_string(rank) +
                       "; ranks are 0 to " + std::to_string(world - 1)};
    if (positions[rank] != -1)
      return Error{"E_MESH", meshPrefix(meshName) + "entries " +
                                 std::to_string(positions[rank]) + " and " +
                                 std::to_string(i) +
                                 " of the device list are both rank " +
                                 std::to_string(rank) +
                                 "; list every rank once"};
    positions[rank] = i;
  }
  return positions;
}

Result<Mesh> Mesh::create(std::string name, std::vector<Axis> axes,
                          int64_t world, RankList devices) {
  std::set<std::string> seen;
  for (const Axis &axis : axes) {
    if (axis.name.empty())
      return Error{"E_MESH", meshPrefix(name) + "an axis has no name"};
    if (!seen.insert(axis.name).second)
      return Error{"E_MESH", meshPrefix(name) + "two axes are named " +
                                 axis.name + "; rename one"};
  }
  Result<std::vector<Axis>> sized = inferSizes(name, std::move(axes), world);
  if (!sized)
    return sized.error();

  Mesh mesh;
  if (!devices.empty()) {
    Result<RankList> positions = invert(name, devices, world);
    if (!positions)
      return positions.error();
    mesh.positionOfDevice = std::move(*positions);
  }
  mesh.meshName = std::move(name);
  mesh.meshAxes = std::move(*sized);
  mesh.worldSize = world;
  mesh.deviceList = std::move(devices);
  mesh.strides.resize(mesh.meshAxes.size());
  int64_t stride = 1;
  for (size_t i = mesh.meshAxes.size(); i-- > 0;) {
    mesh.strides[i] = stride;
    stride *= mesh.meshAxes[i].size;
  }
  return mesh;
}

std::optional<unsigned> Mesh::axisIndex(const std::string &axis) const {
  for (unsigned i = 0; i < numAxes(); ++i)
    if (meshAxes[i].name == axis)
      return i;
  return std::nullopt;
}

Result<AxisList>
Mesh::axisIndices(const std::vector<std::string> &names) const {
  AxisList indices;
  for (const std::string &axis : names) {
    std::optional<unsigned> index = axisIndex(axis);
    if (!index) {
      AxisList all(numAxes());
      std::iota(all.begin(), all.end(), 0u);
      return Error{"E_AXIS", "mesh @" + meshName + " has no axis " + axis +
                                 "; its axes are " + axisNames(all, ", ")};
    }
    if (std::count(indices.begin(), indices.end(), *index))
      return Error{"E_AXIS", "axis " + axis + " of mesh @" + meshName +
                                 " is listed twice; list it once"};
    indices.push_back(*index);
  }
  return indices;
}

std::string Mesh::axisNames(const AxisList &axes,
                            const std::string &separator) const {
  std::string text;
  for (unsigned axis : axes)
    text += (text.empty() ? "" : separator) + meshAxes[axis].name;
  return text;
}

int64_t Mesh::positionOf(Rank rank) const {
  return positionOfDevice.empty() ? rank : positionOfDevice[rank];
}

Rank Mesh::rankAtPosition(int64_t position) const {
  return deviceList.empty() ? position : deviceList[position];
}

int64_t Mesh::coordinate(Rank rank, unsigned axis) const {
  return positionOf(rank) / strides[axis] % meshAxes[axis].size;
}

std::vector<int64_t> Mesh::coordinates(Rank rank) const {
  std::vector<int64_t> coords(numAxes());
  int64_t position = positionOf(rank);
  for (unsigned i = 0; i < numAxes(); ++i)
    coords[i] = position / strides[i] % meshAxes[i].size;
  return coords;
}

Rank Mesh::rankAt(const std::vector<int64_t> &coords) const {
  int64_t position = 0;
  for (unsigned i = 0; i < numAxes(); ++i)
    position += coords[i] * strides[i];
  return rankAtPosition(position);
}

int64_t Mesh::groupSize(const AxisList &axes) const {
  int64_t size = 1;
  for (unsigned axis : axes)
    size *= meshAxes[axis].size;
  return size;
}

/// Distances, in mesh positions, of the members of a group over `axes` (in
/// mesh order) from its first member.
static std::vector<int64_t> memberOffsets(const Mesh &mesh,
                                          const AxisList &axes) {
  std::vector<int64_t> offsets = {0};
  for (unsigned axis : axes) {
    int64_t size = mesh.axes()[axis].size, stride = mesh.stride(axis);
    if (size == 1)
      continue;
    std::vector<int64_t> next;
    next.reserve(offsets.size() * size);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(offset + i * stride);
    offsets = std::move(next);
  }
  return offsets;
}

static AxisList inMeshOrder(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

RankList Mesh::group(Rank rank, const AxisList &axes) const {
  int64_t first = positionOf(rank);
  for (unsigned axis : axes)
    first -= coordinate(rank, axis) * strides[axis];
  RankList ranks = memberOffsets(*this, inMeshOrder(axes));
  for (Rank &member : ranks)
    member = rankAtPosition(first + member);
  return ranks;
}

std::vector<RankList> Mesh::groups(const AxisList &axes) const {
  std::vector<int64_t> offsets = memberOffsets(*this, inMeshOrder(axes));
  std::vector<RankList> result;
  for (int64_t first : memberOffsets(*this, complement(axes))) {
    RankList &ranks = result.emplace_back();
    ranks.reserve(offsets.size());
    for (int64_t offset : offsets)
      ranks.push_back(rankAtPosition(first + offset));
  }
  return result;
}

int64_t Mesh::rankInGroup(Rank rank, const AxisList &axes) const {
  int64_t index = 0;
  for (unsigned axis : inMeshOrder(axes))
    index = index * meshAxes[axis].size + coordinate(rank, axis);
  return index;
}

AxisList Mesh::complement(const AxisList &axes) const {
  AxisList others;
  for (unsigned i = 0; i < numAxes(); ++i)
    if (!std::count(axes.begin(), axes.end(), i))
      others.push_back(i);
  return others;
}

} // namespace shunt
