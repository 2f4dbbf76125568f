//===- shunt/runtime.h - Ragged collectives over a world of ranks
//----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI of Shunt's runtime. A *world* has `size` ranks; a *comm* is one
// rank's handle; a *group* is an ordered list of ranks. A tensor is `rows`
// contiguous rows of `row_elems` elements of one dtype. Counts are in rows, one
// entry for each member of the group, in group order, and may differ and be 0.
//
// Every collective: blocks until all members have called it; first checks that
// the members agree (op, counts, row_elems, dtype), before any data moves; then
// moves data; returns when `in` and `out` may be reused. A rank with 0 rows
// calls it like the others. Members call the collectives of a group in the same
// order. A buffer of 0 bytes may be null. Buffers of one call must not overlap,
// except as its comment allows.
//
// Errors: each function returns a shunt_status; shunt_comm_error gives the
// message, which names op, ranks and values and may end in a stable code, as in
// `... [X_COUNTS_DISAGREE]`. The first error of a collective is sticky: every
// later collective of that comm returns its status at once and zero-fills
// `out`. Peers that wait for the rank are released with an error that names it.
// Nothing waits longer for an absent rank than the comm's timeout.
//
// Thread-safety: a comm is used by one thread at a time, except that
// shunt_comm_error and shunt_comm_stats may be called from any. Different comms
// are used from different threads, at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_H
#define SHUNT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define SHUNT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// What a call ended in. Values are stable.
typedef int32_t shunt_status;
enum {
  SHUNT_OK = 0,
  /// This call alone is wrong: null, negative, overflow, rows against counts.
  SHUNT_INVALID_ARGUMENT = 1,
  /// Members of the group disagree: op, group, counts, row_elems or dtype.
  SHUNT_MISMATCH = 2,
  /// A member did not arrive within the timeout.
  SHUNT_TIMEOUT = 3,
  /// The backend is not in this build or cannot run on this machine.
  SHUNT_UNAVAILABLE = 4,
  SHUNT_OUT_OF_MEMORY = 5,
  SHUNT_INTERNAL = 6,
  /// A member failed, or finished, and so will not arrive.
  SHUNT_ABORTED = 7
};

/// Element types. Values are stable.
typedef int32_t shunt_dtype;
enum {
  SHUNT_F32 = 0,
  SHUNT_BF16 = 1,
  SHUNT_F16 = 2,
  SHUNT_I32 = 3,
  SHUNT_I64 = 4,
  /// Is moved, not summed.
  SHUNT_F8E4M3 = 5
};

/// Kinds of collectives, as indices into shunt_stats.
typedef int32_t shunt_op;
enum {
  SHUNT_OP_BARRIER = 0,
  SHUNT_OP_ALL_REDUCE = 1,
  SHUNT_OP_ALL_GATHER = 2,
  SHUNT_OP_REDUCE_SCATTER = 3,
  SHUNT_OP_ALL_TO_ALL = 4,
  SHUNT_OP_COUNT = 5
};

typedef struct shunt_world shunt_world;
typedef struct shunt_comm shunt_comm;
typedef struct shunt_group shunt_group;

/// Zero-initialise; 0 means the default.
typedef struct shunt_options {
  /// Milliseconds to wait for an absent rank. Default: the environment's
  /// SHUNT_TIMEOUT_MS, else 60000.
  int64_t timeout_ms;
  int64_t reserved[7];
} shunt_options;

/// What one rank did in calls that succeeded. Bytes are payload that left for,
/// or came from, other ranks (for all_reduce, of reduce-scatter + all-gather).
typedef struct shunt_op_stats {
  int64_t calls;
  int64_t rows_in;
  int64_t rows_out;
  int64_t bytes_sent;
  int64_t bytes_received;
} shunt_op_stats;

typedef struct shunt_stats {
  shunt_op_stats ops[SHUNT_OP_COUNT];
  int64_t bytes_sent;
  int64_t bytes_received;
} shunt_stats;

/// `out of memory` and the like; never null. Static storage.
SHUNT_API const char *shunt_status_string(shunt_status status);

/// Bytes of one element; 0 for a value that is no dtype.
SHUNT_API int64_t shunt_dtype_size(shunt_dtype dtype);

//===----------------------------------------------------------------------===//
// Worlds
//===----------------------------------------------------------------------===//

/// Creates a world of `size` ranks on a backend: "host" (ranks are threads of
/// this process), "mpi" or "nccl". `options` may be null. On an error writes a
/// message to `err` (`errlen` bytes, always terminated; may be null) and null
/// to `*out`. The caller destroys the world. Like MPI_Init, ncclCommInitAll.
/// Errors: INVALID_ARGUMENT, UNAVAILABLE, OUT_OF_MEMORY.
SHUNT_API shunt_status shunt_world_create(const char *backend, int64_t size,
                                          const shunt_options *options,
                                          shunt_world **out, char *err,
                                          size_t errlen);

/// Destroys the world, its comms and their groups. Blocks for no rank: no
/// thread may be in a call of this world any more. Null is ignored.
SHUNT_API void shunt_world_destroy(shunt_world *world);

SHUNT_API int64_t shunt_world_size(const shunt_world *world);

/// The message of the world's first error, "" if there is none. Valid until
/// the world is destroyed. Any thread.
SHUNT_API const char *shunt_world_error(const shunt_world *world);

/// The handle of `rank`, owned by the world; null when the rank is out of range
/// or lives in another process.
SHUNT_API shunt_comm *shunt_world_comm(shunt_world *world, int64_t rank);

/// What a rank runs; a result other than 0 is an error of that rank (INTERNAL
/// if it is no shunt_status).
typedef int32_t (*shunt_rank_fn)(shunt_comm *comm, void *user);

/// Runs `fn(comm, user)` for every local rank, each on a thread of its own, and
/// joins them. A rank whose `fn` returns is finished: peers that wait for it
/// get ABORTED. Returns the error that came first, of a collective or of `fn`.
/// Blocks; one run at a time per world. May be called again; sticky errors
/// stay.
SHUNT_API shunt_status shunt_world_run(shunt_world *world, shunt_rank_fn fn,
                                       void *user);

//===----------------------------------------------------------------------===//
// Comms and groups
//===----------------------------------------------------------------------===//

SHUNT_API int64_t shunt_comm_rank(const shunt_comm *comm);
SHUNT_API int64_t shunt_comm_size(const shunt_comm *comm);

/// The sticky error's message, else that of the last call that failed, else "".
/// Valid until the world is destroyed. Any thread.
SHUNT_API const char *shunt_comm_error(const shunt_comm *comm);

/// The sticky status, OK if there is none. Any thread.
SHUNT_API shunt_status shunt_comm_status(const shunt_comm *comm);

/// Copies the comm's counters. Any thread.
SHUNT_API shunt_status shunt_comm_stats(const shunt_comm *comm,
                                        shunt_stats *out);

/// Sets how long this rank waits for absent ones, in milliseconds, > 0.
SHUNT_API shunt_status shunt_comm_set_timeout(shunt_comm *comm,
                                              int64_t timeout_ms);

/// Says that this rank enters no further collective, as shunt_world_run does
/// when `fn` returns; for ranks on threads of the caller. Does not block.
SHUNT_API shunt_status shunt_comm_finish(shunt_comm *comm);

/// Makes `status` and `message` this rank's sticky error (unless it has one)
/// and releases the peers that wait for it. Does not block. Like MPI_Abort for
/// this rank, ncclCommAbort. Returns the sticky status.
SHUNT_API shunt_status shunt_comm_abort(shunt_comm *comm, shunt_status status,
                                        const char *message);

/// Finds or makes the group of `n` world ranks, in this order, of which the
/// caller is one. No communication. The comm owns it and returns the same
/// handle for the same list. Like MPI_Group_incl. Errors (not sticky):
/// INVALID_ARGUMENT for a rank out of range, twice in the list, or the caller
/// missing.
SHUNT_API shunt_status shunt_group_create(shunt_comm *comm,
                                          const int64_t *ranks, int64_t n,
                                          shunt_group **out);

SHUNT_API int64_t shunt_group_size(const shunt_group *group);
/// The caller's position in the list.
SHUNT_API int64_t shunt_group_rank(const shunt_group *group);

/// What a collective is part of.
typedef int32_t shunt_part;
enum {
  SHUNT_PART_NONE = 0,
  SHUNT_PART_ROUTE = 1,
  SHUNT_PART_DISPATCH = 2,
  SHUNT_PART_COMBINE = 3
};

/// One collective that succeeded, as this rank saw it. Bytes as in
/// shunt_op_stats; `rows_sent` are rows of `in` that left, or were added up.
typedef struct shunt_event {
  shunt_op op;
  shunt_part part;
  int64_t group_size;
  int64_t rows_in;
  int64_t rows_out;
  int64_t bytes_sent;
  int64_t bytes_received;
  /// Nanoseconds since the trace began, and how long the call took: waiting for
  /// peers included.
  int64_t start_ns;
  int64_t duration_ns;
  /// The label that was set, cut if need be; terminated.
  char label[40];
} shunt_event;

/// Records this rank's next `capacity` collectives; 0 stops. What was recorded
/// before is dropped. Costs two looks at the clock for each.
SHUNT_API shunt_status shunt_comm_trace(shunt_comm *comm, int64_t capacity);
/// Names what follows, for the trace; null for nothing. Copied.
SHUNT_API void shunt_comm_label(shunt_comm *comm, const char *label);
/// Copies at most `max` events, the first ones; returns how many there are.
SHUNT_API int64_t shunt_comm_events(const shunt_comm *comm, shunt_event *out,
                                    int64_t max);

/// Memory of `bytes` bytes, aligned to pages, for what this rank sends. On the
/// mpi backend ranks of the same machine read it where it is; other memory
/// passes through a buffer. Null when there is none. Not collective. Like
/// MPI_Alloc_mem, ncclMemAlloc.
SHUNT_API void *shunt_alloc(shunt_comm *comm, int64_t bytes);
/// Gives it back, before the world is destroyed. Null is ignored.
SHUNT_API void shunt_free(shunt_comm *comm, void *memory);

//===----------------------------------------------------------------------===//
// Collectives. A null group is the whole world, in order. Errors of all:
// INVALID_ARGUMENT, MISMATCH, TIMEOUT, ABORTED, OUT_OF_MEMORY.
//===----------------------------------------------------------------------===//

/// Returns when all members have called it. Like MPI_Barrier.
SHUNT_API shunt_status shunt_barrier(shunt_comm *comm, shunt_group *group);

/// Sums `rows` rows over the members, into `out` of each. Floats are added in
/// f32, in group order, and rounded once; integers wrap. `in == out` is
/// allowed. Like MPI_Allreduce, ncclAllReduce.
SHUNT_API shunt_status shunt_all_reduce(shunt_comm *comm, shunt_group *group,
                                        const void *in, void *out, int64_t rows,
                                        int64_t row_elems, shunt_dtype dtype);

/// Concatenates the members' rows in group order: member i gives `counts[i]`.
/// `in_rows` is the caller's count, `out_rows` the sum [X_AG_ROWS]. `in` may be
/// the caller's part of `out`. Like MPI_Allgatherv, ncclAllGather.
SHUNT_API shunt_status shunt_all_gather(shunt_comm *comm, shunt_group *group,
                                        const void *in, int64_t in_rows,
                                        void *out, int64_t out_rows,
                                        const int64_t *counts,
                                        int64_t row_elems, shunt_dtype dtype);

/// Sums rows over the members as shunt_all_reduce does; member i receives the
/// `counts[i]` rows after those of the members before it. `in_rows` is the sum
/// of the counts, `out_rows` the caller's [X_RS_SUM]. `out` may be the caller's
/// part of `in`. Like MPI_Reduce_scatter, ncclReduceScatter.
SHUNT_API shunt_status shunt_reduce_scatter(
    shunt_comm *comm, shunt_group *group, const void *in, int64_t in_rows,
    void *out, int64_t out_rows, const int64_t *counts, int64_t row_elems,
    shunt_dtype dtype);

/// Sends `send_counts[i]` rows to member i, those for member 0 first; receives
/// `recv_counts[i]` from member i, those of member 0 first. `in_rows` and
/// `out_rows` are their sums. `recv_counts[i]` equals what member i sends, else
/// MISMATCH [X_COUNTS_DISAGREE]. Like MPI_Alltoallv, ncclSend + ncclRecv.
SHUNT_API shunt_status shunt_all_to_all(shunt_comm *comm, shunt_group *group,
                                        const void *in, int64_t in_rows,
                                        const int64_t *send_counts, void *out,
                                        int64_t out_rows,
                                        const int64_t *recv_counts,
                                        int64_t row_elems, shunt_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif // SHUNT_RUNTIME_H
