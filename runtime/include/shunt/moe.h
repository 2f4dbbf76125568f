//===- shunt/moe.h - MoE dispatch and combine -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tokens go to the ranks of their experts (dispatch) and the experts' results
// come back and are added up (combine). A *dispatcher* is made once for a layer
// and an expert group; each batch then has a *routing*, made from the expert
// ids, which dispatch and combine share:
//
//   shunt_moe_create(comm, group, &options, &moe);
//   shunt_moe_route(moe, ids, tokens, scores, NULL, &routing);
//   rows = shunt_moe_rows(routing);            // allocate expert_in,
//   expert_out shunt_moe_dispatch(routing, &payload, 1);  // x -> expert_in
//   ...                                        // the experts
//   shunt_moe_combine(routing, expert_out, out, row_elems, dtype, NULL);
//   shunt_moe_routing_destroy(routing);
//
// A *slot* is the k-th choice of a token, a *row* a slot that travels. Results
// follow from the stated order of summation and never from the algorithm, the
// number of ranks or the number of threads: bit for bit.
//
// route, dispatch and combine are collectives over the group: errors are sticky
// and reach every member, as in shunt/runtime.h. Options, and the order of
// calls, are the same on every member. A group of one rank communicates
// nothing. Thread-safety: a dispatcher and its routings belong to the thread
// that uses their comm.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_MOE_H
#define SHUNT_MOE_H

#include "shunt/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shunt_moe shunt_moe;
typedef struct shunt_moe_routing shunt_moe_routing;

/// Which experts a member holds. Values of all enums are stable.
typedef int32_t shunt_moe_placement;
enum {
  /// Blocks of equal size; experts % members == 0.
  SHUNT_MOE_EVEN = 0,
  /// The first experts % members members hold one more.
  SHUNT_MOE_BALANCED = 1,
  /// `table`. An expert may have replicas: of n, a source with position s in
  /// the group uses number s mod n.
  SHUNT_MOE_TABLE = 2
};

/// How rows travel.
typedef int32_t shunt_moe_algorithm;
enum {
  /// Every row to its expert's rank. On backends whose ranks share memory rows
  /// are written to, and read from, their final place: no other copy.
  SHUNT_MOE_ALL_TO_ALL = 0,
  /// Every token to every member.
  SHUNT_MOE_ALL_GATHER = 1,
  /// One copy of a token for each rank that needs it.
  SHUNT_MOE_ALL_TO_ALL_DEDUP = 2,
  /// One copy for each node, passed on inside the node.
  SHUNT_MOE_HIERARCHICAL = 3
};

/// The order of the rows that arrive; inside, the order of the source's slots.
typedef int32_t shunt_moe_layout;
enum { SHUNT_MOE_EXPERT_MAJOR = 0, SHUNT_MOE_RANK_MAJOR = 1 };

/// Where the scores are multiplied in.
typedef int32_t shunt_moe_score;
enum {
  /// In combine, in f32.
  SHUNT_MOE_SCORE_AFTER = 0,
  /// In dispatch, rounded to the row's type.
  SHUNT_MOE_SCORE_BEFORE = 1,
  SHUNT_MOE_SCORE_NONE = 2
};

/// The order in which combine adds up the slots of a token, from zero.
typedef int32_t shunt_moe_order;
enum {
  /// By k, in f32, rounded once.
  SHUNT_MOE_ORDER_SLOT = 0,
  /// By expert instance, then k.
  SHUNT_MOE_ORDER_EXPERT = 1,
  /// By k for each owner rank; then the partial sums by rank. all_gather and
  /// all_to_all_dedup send partial sums back instead of slots.
  SHUNT_MOE_ORDER_RANK_SLOT = 2,
  /// The same by rank, then by node. hierarchical sends partial sums back.
  SHUNT_MOE_ORDER_NODE_RANK_SLOT = 3,
  /// Pairwise over the K slots; a missing slot is 0.
  SHUNT_MOE_ORDER_TREE = 4
};

/// What becomes of rows over the capacity.
typedef int32_t shunt_moe_overflow;
enum {
  SHUNT_MOE_OVERFLOW_ERROR = 0,
  SHUNT_MOE_OVERFLOW_DROP_LAST = 1,
  SHUNT_MOE_OVERFLOW_DROP_LOWEST = 2
};

/// Zero-initialise; set at least `experts` and `top_k`.
typedef struct shunt_moe_options {
  int64_t experts;
  int64_t top_k;
  /// Threads of this rank, the caller's included; 0 for 1. May differ between
  /// members.
  int64_t threads;
  /// Consecutive members on one node; 0 for 1.
  int64_t node_size;
  /// Every expert's rows are padded with zero rows to a multiple; 0 for 1.
  int64_t alignment;
  /// Most rows, with padding, that a member may receive; 0 for any. More are
  /// an error [E_CAPACITY].
  int64_t bound;
  /// Most rows that one source sends to one expert instance; 0 for any.
  int64_t capacity;
  /// For TABLE: how many experts each member holds, and which, one member
  /// after the other. Copied.
  const int64_t *table_sizes;
  const int64_t *table;
  /// Slots that every member sends to each of the `experts` experts, where that
  /// is known beforehand; null if it is not. Counts are then not exchanged, and
  /// a member whose ids say otherwise fails [E_EXPERT_COUNTS]. For ALL_TO_ALL,
  /// without capacity and `active`. Copied.
  const int64_t *static_counts;
  /// One entry for each member, 0 for one whose experts may not be used and
  /// whose own slots are dropped; null if all are. Copied.
  const uint8_t *active;
  shunt_moe_placement placement;
  shunt_moe_algorithm algorithm;
  shunt_moe_layout layout;
  shunt_moe_score score;
  shunt_moe_order order;
  shunt_moe_overflow overflow;
  /// An expert without rows gets `alignment` rows of padding.
  int32_t pad_empty;
  /// Combine rounds to the row's type: the running sum, the product with a
  /// score, the partial sum of a rank (RANK_SLOT) or node (NODE_RANK_SLOT).
  int32_t round_sums;
  int32_t round_products;
  int32_t round_partials;
  /// Never place rows directly, even where ranks share memory.
  int32_t no_direct;
  int32_t reserved[11];
} shunt_moe_options;

/// One tensor that dispatch moves, e.g. rows, or fp8 rows and their scales.
typedef struct shunt_moe_payload {
  /// One row for each token.
  const void *in;
  /// shunt_moe_rows rows.
  void *out;
  int64_t row_elems;
  shunt_dtype dtype;
  /// With SCORE_BEFORE: multiply these rows by the score. For fp8 rows, which
  /// cannot be, set it on their f32 scales.
  int32_t scored;
} shunt_moe_payload;

/// Rows of one routing that this rank exchanges with others in dispatch; of
/// these, those that cross nodes. Exact.
typedef struct shunt_moe_volume {
  int64_t rows_sent;
  int64_t rows_received;
  int64_t rows_sent_far;
  int64_t rows_received_far;
} shunt_moe_volume;

/// Makes a dispatcher over a group of `comm` (null: the world); the options are
/// copied. No communication. The caller destroys it, after its routings and
/// before the world. Errors (not sticky): INVALID_ARGUMENT, OUT_OF_MEMORY.
SHUNT_API shunt_status shunt_moe_create(shunt_comm *comm, shunt_group *group,
                                        const shunt_moe_options *options,
                                        shunt_moe **out);
SHUNT_API void shunt_moe_destroy(shunt_moe *moe);

/// Expert instances that this rank holds.
SHUNT_API int64_t shunt_moe_local_experts(const shunt_moe *moe);
/// Bytes of rows that the dispatcher has held at most beside the caller's
/// buffers. It keeps its buffers, since fresh memory costs more than a copy.
SHUNT_API int64_t shunt_moe_workspace(const shunt_moe *moe);

/// Sorts `ids` [tokens, top_k] (-1: a dropped slot) and exchanges counts.
/// `scores` has the same shape; it may be null with SCORE_NONE. `counts`, if
/// not null, are slots for each expert that the caller has counted: they are
/// compared with the ids [E_EXPERT_COUNTS]. All are copied. Collective; like an
/// MPI_Allgather of counts. Errors: those of collectives; INVALID_ARGUMENT for
/// an id out of range [E_EXPERT_ID], rows over capacity or bound [E_CAPACITY];
/// MISMATCH for options that differ between members.
SHUNT_API shunt_status shunt_moe_route(shunt_moe *moe, const int32_t *ids,
                                       int64_t tokens, const float *scores,
                                       const int64_t *counts,
                                       shunt_moe_routing **out);
SHUNT_API void shunt_moe_routing_destroy(shunt_moe_routing *routing);

/// Rows that arrive at this rank, with padding.
SHUNT_API int64_t shunt_moe_rows(const shunt_moe_routing *routing);
/// Rows of each local expert, without and with padding: shunt_moe_local_experts
/// entries each; either may be null.
SHUNT_API shunt_status shunt_moe_counts(const shunt_moe_routing *routing,
                                        int64_t *counts, int64_t *padded);
/// Rows to and from each member; either may be null.
SHUNT_API shunt_status shunt_moe_splits(const shunt_moe_routing *routing,
                                        int64_t *send, int64_t *recv);
SHUNT_API shunt_status shunt_moe_dispatch_volume(
    const shunt_moe_routing *routing, shunt_moe_volume *out);

/// Moves each payload's rows from the tokens to the experts; padding rows are
/// zero. Collective, once for each payload; like MPI_Alltoallv.
SHUNT_API shunt_status shunt_moe_dispatch(shunt_moe_routing *routing,
                                          const shunt_moe_payload *payloads,
                                          int64_t num_payloads);

/// Adds up the experts' rows of each token into `out` [tokens, row_elems]:
/// zero for a token without rows. `bias`, of the shape of `out`, may be null;
/// it is added last, before rounding. f32, bf16 and f16. Collective.
SHUNT_API shunt_status shunt_moe_combine(shunt_moe_routing *routing,
                                         const void *in, void *out,
                                         int64_t row_elems, shunt_dtype dtype,
                                         const void *bias);

#ifdef __cplusplus
}
#endif

#endif // SHUNT_MOE_H
