//===- LayerStack.h - Parallel sizes to a logical program ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_FRONTEND_LAYERSTACK_H
#define SHUNT_FRONTEND_LAYERSTACK_H

#include "Shunt/Core/Batch.h"

namespace shunt {

enum class BlockKind { Attention, Moe, Dense };

/// A stack of transformer blocks and how each kind is parallelised. Meshes have
/// the axes `dp cp tp` (attention), `dp ep tp` (MoE), `dp tp` (dense) in any
/// order; the batch's home is attention's mesh and its owners are `[dp, cp]`.
struct LayerStack {
  Batch batch;
  std::optional<Mesh> moe, dense;
  std::vector<BlockKind> blocks;

  /// Elements of a row of hidden states.
  int64_t hidden = 64;
  /// `f32`, `bf16` or `f16`.
  std::string dtype = "f32";
  /// Inner sizes of attention's pair of matmuls, the dense MLP and one expert;
  /// multiples of the tp that splits them.
  int64_t attnInner = 64, denseInner = 128, expertInner = 32;
  /// A multiple of ep, unless rows are dispatched.
  int64_t experts = 8;
  int64_t topK = 2;
  /// How rows reach the experts. Empty: every rank of an expert group gathers
  /// all rows of the group. Otherwise they are routed, by the algorithm of this
  /// name (RoutingVolume.h) or, with `auto`, by the one that shunt-plan chooses.
  std::string dispatch = {};
  /// Machines of the cluster, and what they are (Cluster::fromPreset).
  int64_t nodes = 1;
  std::string cluster = {};

  const Mesh &attn() const { return batch.spec().mesh; }
};

/// The module, as text: cluster, meshes, batch and `@main`, which computes,
/// over linalg ops on tensors of all tokens,
///
///   attention: x += Wo · silu(Wqkv · norm(x))       (column, row parallel)
///   MoE:       x += Σ_k score_k · expert_{id_k}(norm(x)), experts SwiGLU
///   dense:     x += Wd · (silu(Wg · norm(x)) ⊙ Wu · norm(x))
///
/// and norm(x) last. Rows that are dispatched are those of the tokens that
/// attention scattered: the MoE mesh splits them over dp and ep. Arguments: hidden states and, with MoE blocks, expert ids
/// (i32, -1: dropped) and scores (f32) per token in attention's layout; then
/// the weights in the order of their use. Each redistribution carries its
/// `step` and the index of the block (`post_moe@1`); steps are pre_attention,
/// post_attention, pre_moe, routing, post_moe, pre_dense, post_dense, final.
/// Errors: E_STACK (no block, a block whose mesh is missing), E_SIZE (a size
/// that its axes do not divide), E_MODE (a dispatch of no known name).
Result<std::string> layerStackProgram(const LayerStack &stack);

} // namespace shunt

#endif // SHUNT_FRONTEND_LAYERSTACK_H
