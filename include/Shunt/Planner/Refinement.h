//===- Refinement.h - Two meshes in terms of one ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PLANNER_REFINEMENT_H
#define SHUNT_PLANNER_REFINEMENT_H

#include "Shunt/Core/Layout.h"
#include "Shunt/Planner/Cluster.h"

namespace shunt {

/// A mesh whose axes are digits of a rank's position, so fine that every axis
/// of two meshes, and every level of a cluster, is made of whole digits. A
/// layout of either mesh is one of the refinement, with the same rows on every
/// rank in the same order.
struct Refinement {
  Mesh mesh;

  /// The digits that make up `axes` of one of the two meshes.
  AxisList digitsOf(const Mesh &coarse, const AxisList &axes) const;
  /// The same layout in terms of digits.
  Layout layoutOf(const Layout &coarse) const;
};

/// Nothing when there is none: strides that do not nest (tp = 3 against tp = 4
/// on 12 ranks), or ranks in different orders. Levels that do not nest with the
/// meshes are left out. With `primes`, digits are of prime size.
/// Digits are named after the axes of `b`.
std::optional<Refinement> refine(const Mesh &a, const Mesh &b,
                                 const Cluster &cluster, bool primes = false);

} // namespace shunt

#endif // SHUNT_PLANNER_REFINEMENT_H
