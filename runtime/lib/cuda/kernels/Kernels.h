//===- Kernels.h - The kernels of dispatch, combine and reduction ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that launch kernels on a stream and return; none waits for the
// device, none allocates, so all can be captured in a CUDA graph. Sizes that
// are fixed in a graph (tokens, K, hidden size, ranks, experts) are arguments;
// what depends on the expert ids (rows, splits, places) stays in device memory
// and is read there.
//
// Pointers are device pointers unless they say `host`; arrays of pointers too
// lie on the device. Index arrays are as in Shunt/Core/Routing.h, of which
// these kernels compute the same numbers: a *slot* t·K + k is the k-th choice
// of token t, an *instance* an expert at a rank, `from`, `rowOf` and
// `instanceOf` are -1 for nothing. Offsets are 64-bit. Rows may have any size
// and place; those of a multiple of 16 bytes that start at multiples of 16 move
// in 16-byte words. Products and sums are in f32, never fused, and rounded
// once: the bits are those of the `host` backend.
//
// The result is a cudaError_t of the launches (0: success).
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CUDA_KERNELS_KERNELS_H
#define SHUNT_RUNTIME_CUDA_KERNELS_KERNELS_H

#include "shunt/runtime.h"

#include <cstddef>
#include <cstdint>

// cudaStream_t, without the need for CUDA's headers.
struct CUstream_st;

namespace shunt::rt::cuda {

using Stream = CUstream_st *;
using Status = int;

//===----------------------------------------------------------------------===//
// Order: the slots of one source by instance
//===----------------------------------------------------------------------===//

/// What orderSlots found.
struct OrderReport {
  /// Rows that travel.
  int64_t rows;
  /// The first slot whose id is neither an expert nor -1; INT64_MAX if there is
  /// none. Such slots are dropped: the caller reports E_EXPERT_ID.
  int64_t badSlot;
  /// The first instance with more rows than the capacity, and how many it
  /// would get; -1 and 0 if there is none.
  int64_t overInstance, overRows;
};

struct OrderCall {
  /// [slots] expert ids.
  const int32_t *ids;
  int64_t slots, experts;
  /// [experts] the instance that serves this source; -1 drops its slots.
  const int32_t *instanceFor;
  int64_t instances;
  /// Most rows of an instance; 0 for any. The first stay or, if `scores`
  /// [slots] are given, the highest, of equal ones the first.
  int64_t capacity;
  const float *scores;

  /// Results: [slots] instance and row of each slot, rows being sorted by
  /// instance, then slot; [slots] the slot of each row (the first `rows`
  /// count).
  int32_t *instanceOf;
  int64_t *rowOf, *slotOf;
  /// [instances] rows; [instances + 1] the first row, at the end `rows`.
  int64_t *counts, *firstRows;
  /// [experts] slots that name each expert, dropped or not; null if not asked.
  int64_t *expertSlots;
  OrderReport *report;
};

/// Bytes that orderSlots needs beside its results, aligned to 256.
size_t orderWorkspace(int64_t slots, int64_t instances);
constexpr int64_t mostInstances = int64_t(1) << 30;
/// A stable sort, of at most `mostInstances` instances.
Status orderSlots(const OrderCall &call, void *workspace, Stream stream);

//===----------------------------------------------------------------------===//
// Places: where rows lie in the receivers' buffers
//===----------------------------------------------------------------------===//

struct ArrangeCall {
  /// [ranks, instances] rows from every source to every instance.
  const int64_t *counts;
  int64_t ranks, instances;
  /// [ranks + 1] the first instance of each rank.
  const int32_t *firstOf;
  bool expertMajor;
  /// Of expert-major rows.
  int64_t alignment;
  bool padEmpty;
  /// Most rows of a rank with padding; 0 for any.
  int64_t bound;

  /// Results: [ranks, instances] first row, in the buffer of the instance's
  /// rank, of what each source sends to each instance.
  int64_t *starts;
  /// [instances] rows from all sources, without and with padding.
  int64_t *sums, *padded;
  /// [ranks] rows of each rank's buffer.
  int64_t *rows;
  /// Set to 1 if a rank's rows are more than the bound; else left alone. May be
  /// null without a bound.
  int32_t *overflow;
};
/// shunt::Arrivals of all ranks at once.
Status arrangeRows(const ArrangeCall &call, Stream stream);

/// [instances] `starts` of rows that are packed for an all-to-all in which each
/// pair of ranks exchanges `blockRows` rows: those for rank r from
/// r · blockRows on.
Status packedStarts(const int64_t *firstRows, const int32_t *firstOf,
                    int64_t ranks, int64_t blockRows, int64_t *starts,
                    Stream stream);

struct PlaceCall {
  const int32_t *instanceOf;
  const int64_t *rowOf;
  int64_t slots;
  /// [instances + 1] of the same source.
  const int64_t *firstRows;
  /// [instances] the source's row of arrangeRows' starts, or packedStarts.
  const int64_t *starts;
  /// [instances] or null, if all rows go to one buffer.
  const int32_t *rankOf;
  /// Rows of the receivers' buffers; 0 for enough. Rows beyond it are dropped.
  int64_t bound;

  /// Results: [slots] rank and row of its buffer, -1 for a dropped slot.
  /// `placeRank` may be null if all rows go to one buffer.
  int32_t *placeRank;
  int64_t *placeRow;
  /// Set to 1 if a row lies beyond the bound. May be null without one.
  int32_t *overflow;
};
/// shunt::Destinations of one source.
Status placeSlots(const PlaceCall &call, Stream stream);

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// One buffer, or one for each rank: a table of the windows of peers. Buffers
/// of a table start at multiples of 16 bytes.
struct Buffers {
  void *one = nullptr;
  void *const *perRank = nullptr;
};

/// [slots] where each slot's row lies.
struct Places {
  Buffers buffers;
  /// Null with one buffer.
  const int32_t *rank = nullptr;
  const int64_t *row = nullptr;
};

struct DispatchCall {
  /// [tokens, rowElems]
  const void *in;
  int64_t tokens, topK, rowElems;
  shunt_dtype dtype;
  /// [slots] or null: rows are multiplied by their scores. For floats.
  const float *scores;
  Places to;
};
/// Reads each token's row once and writes it to the places of its slots: packs
/// for a collective (one buffer), or puts rows at their final place.
Status dispatchRows(const DispatchCall &call, Stream stream);

/// 8-bit formats; e5m2 has no shunt_dtype, its bytes travel as SHUNT_F8E4M3's.
enum class Float8 { E4M3, E5M2 };
/// Elements that share a scale.
constexpr int64_t scaledElems = 128;

/// The same from f32, bf16 or f16 to 8-bit rows with one f32 scale for each 128
/// elements, which is what an element is multiplied by to give back its value
/// (rt::f8Scale). Scores, if given, are multiplied into the scales.
Status dispatchQuantised(const DispatchCall &call, Float8 format,
                         const Buffers &scales, Stream stream);

struct CombineCall {
  Places from;
  /// [slots] or null for 1.
  const float *weights;
  /// [tokens, rowElems] or null: added last.
  const void *bias;
  void *out;
  int64_t tokens, topK, rowElems;
  shunt_dtype dtype;
};
/// out = ((0 + w0·r0) + w1·r1) + … in the order of slots, + bias, rounded once.
/// For f32, bf16 and f16.
Status combineRows(const CombineCall &call, Stream stream);

struct GatherCall {
  const void *in;
  void *out;
  /// [rows] of `out`: the row of `in`, or -1 for zeros.
  const int64_t *from;
  /// `rows`, or if `deviceRows` is not null what it points to, at most `rows`.
  int64_t rows;
  const int64_t *deviceRows;
  int64_t rowElems;
  shunt_dtype dtype;
  /// [rows] or null: rows are multiplied by their scores. For floats.
  const float *scores;
};
Status gatherRows(const GatherCall &call, Stream stream);

/// Runs of rows that are moved as they are.
struct Segments {
  int64_t count;
  /// [count + 1] rows before each segment; the last is the number of rows.
  const int64_t *prefix;
  /// [count] the first row in `in` and in `out`.
  const int64_t *from, *to;
};
struct MoveCall {
  const void *in;
  void *out;
  Segments segments;
  /// The most rows there can be in all: how much of the device is used.
  int64_t mostRows;
  int64_t rowBytes;
  /// Rows of `in` and `out`; 0 for enough. Rows from or to beyond are left out.
  int64_t inBound, outBound;
};
/// Compacts padded blocks, pads them, or permutes segments.
Status moveSegments(const MoveCall &call, Stream stream);

struct ArrivalCall {
  /// arrangeRows' arguments and result.
  const int64_t *counts, *starts;
  int64_t ranks, instances;
  /// The instances of the receiver.
  int64_t firstInstance, locals;
  /// 0 if sources' rows follow each other; else rows of the block of each.
  int64_t blockRows;

  /// Results: [ranks · locals] segments by source, then instance: where they
  /// arrive, and where they belong. `prefix` has one more entry.
  int64_t *prefix, *arrival, *place;
};
/// The segments that take what an all-to-all received to the experts' buffer
/// (`from` = arrival, `to` = place) and back (the reverse).
Status arrivalSegments(const ArrivalCall &call, Stream stream);

struct ZeroCall {
  void *out;
  int64_t rowBytes;
  /// [locals] of the receiver: the first row of each instance, its rows without
  /// and with padding.
  const int64_t *starts, *sums, *padded;
  int64_t locals;
  /// Rows of `out`; 0 for enough.
  int64_t bound;
};
/// Sets the padding of expert-major rows to zero.
Status zeroPadding(const ZeroCall &call, Stream stream);

struct SumCall {
  /// `buffers` × [elems], each `strideBytes` after the one before.
  const void *in;
  int64_t buffers, strideBytes;
  /// May be the first of them.
  void *out;
  int64_t elems;
  shunt_dtype dtype;
};
/// out = (b0 + b1) + … in that order: floats in f32 and rounded once, integers
/// modulo 2^bits. What makes a reduction of an all-to-all deterministic.
Status sumBuffers(const SumCall &call, Stream stream);

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_CUDA_KERNELS_KERNELS_H
