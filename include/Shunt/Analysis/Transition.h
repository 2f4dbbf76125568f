//===- Transition.h - The collectives between two layouts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_TRANSITION_H
#define SHUNT_ANALYSIS_TRANSITION_H

#include "Shunt/Core/Layout.h"

namespace shunt {

/// What a collective-level op does to a layout.
enum class Move {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Slice,
  Relabel
};

/// The mnemonic of the op.
const char *toString(Move move);

/// How a tensor is held: the layout of its rows, and the axes that split each
/// further dimension (all empty, or one list a dimension).
struct Held {
  Layout layout;
  std::vector<AxisList> inner;
};

struct TransitionStep {
  Move move;
  /// Of the operand's mesh, in mesh order; none for `Relabel`.
  AxisList axes;
  Layout result;
};

/// A chain of legal steps. Rows are measured in cells, the world being `world`
/// of them, since counts need not be known.
struct Transition {
  std::vector<TransitionStep> steps;
  /// Cells that each rank receives, counting a reduction's as it would travel
  /// around a ring.
  int64_t received = 0;
  /// Steps that communicate.
  int64_t collectives = 0;
};

/// The chain from `from` to `to` that receives the fewest cells: reduces what
/// is partial by reduce-scatter, all-reduce or both; goes to the other mesh at
/// a layout that holds the same rows under both; gathers on the target's mesh
/// where that is no worse.
/// Errors: X_LAYOUT (inner dimensions are held differently; the target is
/// partial on an axis on which the source is complete), X_WRONG_GROUP (partial
/// over other ranks).
Result<Transition> planTransition(const Held &from, const Held &to);

} // namespace shunt

#endif // SHUNT_ANALYSIS_TRANSITION_H
