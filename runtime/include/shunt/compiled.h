//===- shunt/compiled.h - Entry points for compiled code
//-------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `convert-shunt-to-runtime` calls. Compared with shunt/runtime.h:
//
// * The group is found in a static partition: `num_ranks` world ranks, group
//   after group, each of `group_size`; the caller's group is the one that lists
//   it.
// * Counts are tables over the world, the same on every rank; the length is
//   checked [X_COUNTS_LENGTH].
// * Every error is sticky, so that code which ignores the status is safe: later
//   calls zero-fill `out` and shunt_world_run returns the first error.
//
// Statuses are shunt_status, dtypes shunt_dtype, as int32_t. Blocking and
// thread-safety are those of shunt/runtime.h.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_COMPILED_H
#define SHUNT_COMPILED_H

#include "shunt/moe.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The caller's world rank; -1 for a null comm.
SHUNT_API int64_t shunt_rt_rank(shunt_comm *comm);

/// shunt_comm_label.
SHUNT_API void shunt_rt_label(shunt_comm *comm, const char *label);

/// shunt_barrier over the caller's group.
SHUNT_API int32_t shunt_rt_barrier(shunt_comm *comm, const int64_t *partition,
                                   int64_t num_ranks, int64_t group_size);

/// shunt_all_reduce over the caller's group.
SHUNT_API int32_t shunt_rt_all_reduce(shunt_comm *comm,
                                      const int64_t *partition,
                                      int64_t num_ranks, int64_t group_size,
                                      const void *in, void *out, int64_t rows,
                                      int64_t row_elems, int32_t dtype);

/// shunt_all_gather over the caller's group; `world_counts[r]` are the rows of
/// world rank r, for every rank of the world.
SHUNT_API int32_t shunt_rt_all_gather(
    shunt_comm *comm, const int64_t *partition, int64_t num_ranks,
    int64_t group_size, const int64_t *world_counts, int64_t world_counts_len,
    const void *in, int64_t in_rows, void *out, int64_t out_rows,
    int64_t row_elems, int32_t dtype);

/// shunt_reduce_scatter over the caller's group; counts as above.
SHUNT_API int32_t shunt_rt_reduce_scatter(
    shunt_comm *comm, const int64_t *partition, int64_t num_ranks,
    int64_t group_size, const int64_t *world_counts, int64_t world_counts_len,
    const void *in, int64_t in_rows, void *out, int64_t out_rows,
    int64_t row_elems, int32_t dtype);

/// shunt_all_to_all over the caller's group; `matrix` has size x size entries,
/// `matrix[s * size + d]` the rows that world rank s sends to world rank d.
SHUNT_API int32_t shunt_rt_all_to_all(shunt_comm *comm,
                                      const int64_t *partition,
                                      int64_t num_ranks, int64_t group_size,
                                      const int64_t *matrix, int64_t matrix_len,
                                      const void *in, int64_t in_rows,
                                      void *out, int64_t out_rows,
                                      int64_t row_elems, int32_t dtype);

//===----------------------------------------------------------------------===//
// Within one rank: no communication.
//===----------------------------------------------------------------------===//

/// Copies the caller's share of the group's rows: `world_counts[rank]` rows
/// after those of the members before it [X_RS_SUM].
SHUNT_API int32_t shunt_rt_slice(shunt_comm *comm, const int64_t *partition,
                                 int64_t num_ranks, int64_t group_size,
                                 const int64_t *world_counts,
                                 int64_t world_counts_len, const void *in,
                                 int64_t in_rows, void *out, int64_t out_rows,
                                 int64_t row_elems, int32_t dtype);

/// Reorders blocks of rows. Row r of `from` and `to`, of `from_width` and
/// `to_width` entries, lists the cells that rank r's `in` and `out` consist of;
/// the cell of rank c has `cell_counts[c]` rows; -1 stands for none.
SHUNT_API int32_t shunt_rt_permute(shunt_comm *comm, const int64_t *from,
                                   int64_t from_width, const int64_t *to,
                                   int64_t to_width, const int64_t *cell_counts,
                                   int64_t cell_counts_len, const void *in,
                                   int64_t in_rows, void *out, int64_t out_rows,
                                   int64_t row_elems, int32_t dtype);

/// Writes the table (one entry for each rank) that the caller passes: row
/// `rank` of `lists`, which has an entry for each member of its group or for
/// each rank of the world.
SHUNT_API int32_t shunt_rt_own_counts(shunt_comm *comm,
                                      const int64_t *partition,
                                      int64_t num_ranks, int64_t group_size,
                                      const int64_t *lists, int64_t lists_len,
                                      int64_t *out, int64_t out_len);

/// From one count for each rank to one for each part of the batch that the text
/// `batch` describes [E_TP_PEER_COUNTS, E_CP_PEER_COUNTS].
SHUNT_API int32_t shunt_rt_part_counts(shunt_comm *comm, const char *batch,
                                       const int64_t *rank_counts,
                                       int64_t rank_counts_len, int64_t *out,
                                       int64_t out_len);

/// From one count for each part to the rows of each rank's cell.
SHUNT_API int32_t shunt_rt_cell_counts(shunt_comm *comm, const char *batch,
                                       const int64_t *part_counts,
                                       int64_t part_counts_len, int64_t *out,
                                       int64_t out_len);

/// Entry i of `out` is the sum of the counts of the `width` cells in row i of
/// `cells`; -1 stands for none.
SHUNT_API int32_t shunt_rt_sum_cells(shunt_comm *comm, const int64_t *cells,
                                     int64_t width, const int64_t *counts,
                                     int64_t counts_len, int64_t *out,
                                     int64_t out_len);

//===----------------------------------------------------------------------===//
// Routing, see shunt/moe.h. A null routing is that of a failed route: it has no
// rows, and what needs one fails.
//===----------------------------------------------------------------------===//

/// The options of a dispatcher as a table: the fields of shunt_moe_options.
enum {
  SHUNT_RT_MOE_EXPERTS,
  SHUNT_RT_MOE_TOP_K,
  SHUNT_RT_MOE_NODE_SIZE,
  SHUNT_RT_MOE_ALIGNMENT,
  SHUNT_RT_MOE_BOUND,
  SHUNT_RT_MOE_CAPACITY,
  SHUNT_RT_MOE_PLACEMENT,
  SHUNT_RT_MOE_ALGORITHM,
  SHUNT_RT_MOE_LAYOUT,
  SHUNT_RT_MOE_SCORE,
  SHUNT_RT_MOE_ORDER,
  SHUNT_RT_MOE_OVERFLOW,
  SHUNT_RT_MOE_PAD_EMPTY,
  SHUNT_RT_MOE_FIELDS
};

/// shunt_moe_route over the caller's group, by a dispatcher that is made when
/// first asked for. Static counts, one for each expert, may follow the options:
/// `options_len` is then larger. `table_sizes` (one for each member) and `table` are null
/// unless the placement is SHUNT_MOE_TABLE. Null after an error.
SHUNT_API shunt_moe_routing *
shunt_rt_moe_route(shunt_comm *comm, const int64_t *partition,
                   int64_t num_ranks, int64_t group_size,
                   const int64_t *options, int64_t options_len,
                   const int64_t *table_sizes, const int64_t *table,
                   const int32_t *ids, int64_t tokens, const float *scores);
SHUNT_API void shunt_rt_moe_release(shunt_comm *comm,
                                    shunt_moe_routing *routing);
/// Rows that arrive at this rank, with padding.
SHUNT_API int64_t shunt_rt_moe_rows(shunt_comm *comm,
                                    shunt_moe_routing *routing);
/// Experts that this rank holds, at most `len`; writes the rows of each, with
/// padding, and which of `weights` weights are its own: those of all experts,
/// or of this rank's in order. Entries beyond are 0.
SHUNT_API int64_t shunt_rt_moe_experts(shunt_comm *comm,
                                       shunt_moe_routing *routing,
                                       int64_t weights, int64_t *rows,
                                       int64_t *index, int64_t len);
/// shunt_moe_dispatch of one payload; numbers of rows are checked [X_ROUTING].
SHUNT_API int32_t shunt_rt_moe_dispatch(shunt_comm *comm,
                                        shunt_moe_routing *routing,
                                        const void *in, int64_t in_rows,
                                        void *out, int64_t out_rows,
                                        int64_t row_elems, int32_t dtype,
                                        int32_t scored);
/// shunt_moe_combine; `bias` may be null.
SHUNT_API int32_t shunt_rt_moe_combine(shunt_comm *comm,
                                       shunt_moe_routing *routing,
                                       const void *in, int64_t in_rows,
                                       const void *bias, void *out,
                                       int64_t out_rows, int64_t row_elems,
                                       int32_t dtype);

#ifdef __cplusplus
}
#endif

#endif // SHUNT_COMPILED_H
