//===- KernelMoe.h - A MoE layer by kernels, on emulated ranks ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks are in this process; what collectives would move is copied by the
// test. Every array has exactly the size that it needs, so that
// AddressSanitizer sees what a kernel touches beyond.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_CUDA_SIMT_KERNELMOE_H
#define SHUNT_RUNTIME_TEST_CUDA_SIMT_KERNELMOE_H

#include "../../moe/MoeCase.h"
#include "OnDevice.h"

#include "Shunt/Core/Placement.h"

#include <climits>
#include <functional>

namespace shunt::rt::test {

/// How rows travel.
enum class KernelWay {
  /// Straight to their place in the peers' buffers.
  Direct,
  /// Packed, exchanged with exact counts, moved to their place.
  Packed,
  /// The same in blocks of equal size.
  Padded
};
constexpr KernelWay kernelWays[] = {KernelWay::Direct, KernelWay::Packed,
                                    KernelWay::Padded};

inline const char *nameOf(KernelWay way) {
  const char *names[] = {"direct", "packed", "padded"};
  return names[static_cast<int>(way)];
}

inline Placement placementOf(const MoeCase &moe) {
  return *Placement::fromTable(moe.options.experts, moe.table);
}

/// The instance that serves each expert for a source, as its rules say.
inline std::vector<int32_t>
instancesFor(const MoeCase &moe, const Placement &placement, int64_t source) {
  const uint8_t *active = moe.options.active;
  std::vector<int32_t> instances;
  for (int64_t expert = 0; expert < placement.experts(); ++expert) {
    int64_t instance = placement.instanceFor(expert, source);
    bool travels =
        !active || (active[source] && active[placement.rankOf(instance)]);
    instances.push_back(travels ? static_cast<int32_t>(instance) : -1);
  }
  return instances;
}

/// What orderSlots says of one source.
struct Ordered {
  std::vector<int32_t> instanceOf;
  Ints rowOf, slotOf, counts, firstRows, expertSlots;
  /// One.
  std::vector<cuda::OrderReport> reports{1};
  const cuda::OrderReport &report() const { return reports[0]; }

  void run(const std::vector<int32_t> &ids,
           const std::vector<int32_t> &instanceFor, int64_t instances,
           int64_t capacity, const float *scores) {
    int64_t slots = ids.size();
    instanceOf.assign(slots, -7);
    rowOf.assign(slots, -7);
    slotOf.assign(slots, -7);
    counts.assign(instances, -7);
    firstRows.assign(instances + 1, -7);
    expertSlots.assign(instanceFor.size(), -7);
    std::vector<char> workspace(cuda::orderWorkspace(slots, instances));
    cuda::OrderCall call = {};
    call.ids = ids.data();
    call.slots = slots;
    call.experts = instanceFor.size();
    call.instanceFor = instanceFor.data();
    call.instances = instances;
    call.capacity = capacity;
    call.scores = scores;
    call.instanceOf = instanceOf.data();
    call.rowOf = rowOf.data();
    call.slotOf = slotOf.data();
    call.counts = counts.data();
    call.firstRows = firstRows.data();
    call.expertSlots = expertSlots.data();
    call.report = reports.data();
    ASSERT_EQ(ended(cuda::orderSlots(call, workspace.data(), nullptr)), 0);
  }
};

class KernelMoe {
public:
  explicit KernelMoe(const MoeCase &moe)
      : moe(moe), o(moe.options), placement(placementOf(moe)), ranks(moe.ranks),
        instances(placement.instances()), rowBytes(moe.rowBytes()),
        results(ranks) {
    route();
  }

  /// What the experts of a rank do to its buffer.
  using Experts = std::function<void(int64_t, Bytes &)>;

  std::vector<MoeResult> run(KernelWay which, const Experts &runExperts) {
    way = which;
    if (::testing::Test::HasFatalFailure())
      return results;
    buffers.clear();
    sent.clear();
    done.clear();
    experts.clear();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      results[rank].routed.assign(rows[rank] * rowBytes, 0xa5);
      buffers.push_back(results[rank].routed.data());
    }
    for (int64_t source = 0; source < ranks; ++source)
      place(source);
    for (int64_t source = 0; source < ranks; ++source)
      dispatch(source);
    if (way != KernelWay::Direct)
      for (int64_t rank = 0; rank < ranks; ++rank)
        take(rank);
    for (int64_t rank = 0; rank < ranks; ++rank)
      clear(rank);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      done.push_back(results[rank].routed);
      runExperts(rank, done[rank]);
      experts.push_back(done[rank].data());
    }
    if (way != KernelWay::Direct)
      for (int64_t rank = 0; rank < ranks; ++rank)
        giveBack(rank);
    for (int64_t source = 0; source < ranks; ++source)
      combine(source);
    return results;
  }

  int64_t paddedRows(int64_t instance) const { return padded[instance]; }

private:
  void route() {
    for (int64_t rank = 0; rank <= ranks; ++rank)
      firstOf.push_back(static_cast<int32_t>(
          rank < ranks ? placement.firstInstance(rank) : instances));
    for (int64_t i = 0; i < instances; ++i)
      rankOf.push_back(static_cast<int32_t>(placement.rankOf(i)));
    ordered.resize(ranks);
    for (int64_t source = 0; source < ranks; ++source) {
      bool lowest = o.overflow == SHUNT_MOE_OVERFLOW_DROP_LOWEST;
      ordered[source].run(moe.ids[source], instancesFor(moe, placement, source),
                          instances, o.capacity,
                          lowest ? moe.scores[source].data() : nullptr);
      ASSERT_EQ(ordered[source].report().badSlot, INT64_MAX);
      counts.insert(counts.end(), ordered[source].counts.begin(),
                    ordered[source].counts.end());
    }
    arrange();
    places.resize(ranks);
  }

  void arrange() {
    starts.assign(ranks * instances, -7);
    sums.assign(instances, -7);
    padded.assign(instances, -7);
    rows.assign(ranks, -7);
    cuda::ArrangeCall call = {};
    call.counts = counts.data();
    call.ranks = ranks;
    call.instances = instances;
    call.firstOf = firstOf.data();
    call.expertMajor = o.layout == SHUNT_MOE_EXPERT_MAJOR;
    call.alignment = std::max<int64_t>(o.alignment, 1);
    call.padEmpty = o.pad_empty;
    call.starts = starts.data();
    call.sums = sums.data();
    call.padded = padded.data();
    call.rows = rows.data();
    ASSERT_EQ(ended(cuda::arrangeRows(call, nullptr)), 0);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      MoeResult &result = results[rank];
      auto cut = [&](const Ints &all) {
        return Ints(all.begin() + firstOf[rank],
                    all.begin() + firstOf[rank + 1]);
      };
      result.counts = cut(sums);
      result.padded = cut(padded);
      for (int64_t other = 0; other < ranks; ++other) {
        result.send.push_back(between(rank, other));
        result.recv.push_back(between(other, rank));
        blockRows = std::max(blockRows, between(rank, other));
      }
    }
    // Larger than it must be, as a bound is.
    blockRows += 2;
  }

  int64_t between(int64_t source, int64_t rank) const {
    int64_t sum = 0;
    for (int64_t i = firstOf[rank]; i < firstOf[rank + 1]; ++i)
      sum += counts[source * instances + i];
    return sum;
  }

  void place(int64_t source) {
    const Ordered &own = ordered[source];
    Ints packed(instances, -7);
    if (way == KernelWay::Padded)
      ASSERT_EQ(
          ended(cuda::packedStarts(own.firstRows.data(), firstOf.data(), ranks,
                                   blockRows, packed.data(), nullptr)),
          0);
    SlotPlaces &to = places[source];
    to.rank.assign(own.rowOf.size(), -7);
    to.row.assign(own.rowOf.size(), -7);
    bool isDirect = way == KernelWay::Direct;
    cuda::PlaceCall call = {};
    call.instanceOf = own.instanceOf.data();
    call.rowOf = own.rowOf.data();
    call.slots = own.rowOf.size();
    call.firstRows = own.firstRows.data();
    call.starts = isDirect                   ? &starts[source * instances]
                  : way == KernelWay::Padded ? packed.data()
                                             : own.firstRows.data();
    call.rankOf = isDirect ? rankOf.data() : nullptr;
    call.placeRank = isDirect ? to.rank.data() : nullptr;
    call.placeRow = to.row.data();
    ASSERT_EQ(ended(cuda::placeSlots(call, nullptr)), 0);
  }

  /// Rows that a source exchanges with each rank, and where they begin.
  int64_t sentRows(int64_t source) const {
    return way == KernelWay::Padded ? ranks * blockRows
                                    : ordered[source].report().rows;
  }
  int64_t receivedRows(int64_t rank) const {
    if (way == KernelWay::Padded)
      return ranks * blockRows;
    int64_t sum = 0;
    for (int64_t source = 0; source < ranks; ++source)
      sum += between(source, rank);
    return sum;
  }
  int64_t offset(int64_t me, int64_t peer, bool sends) const {
    int64_t sum = 0;
    for (int64_t other = 0; other < peer; ++other)
      sum += way == KernelWay::Padded ? blockRows
             : sends                  ? between(me, other)
                                      : between(other, me);
    return sum * rowBytes;
  }

  cuda::Places placesOf(int64_t source, uint8_t *one, void **perRank) {
    cuda::Places to;
    if (way == KernelWay::Direct) {
      to.buffers.perRank = perRank;
      to.rank = places[source].rank.data();
    } else {
      to.buffers.one = one;
    }
    to.row = places[source].row.data();
    return to;
  }

  void dispatch(int64_t source) {
    Bytes send(way == KernelWay::Direct ? 0 : sentRows(source) * rowBytes,
               0xa5);
    cuda::DispatchCall call = {};
    call.in = moe.x[source].data();
    call.tokens = moe.tokens(source);
    call.topK = o.top_k;
    call.rowElems = moe.elems;
    call.dtype = moe.dtype;
    call.scores =
        o.score == SHUNT_MOE_SCORE_BEFORE ? moe.scores[source].data() : nullptr;
    call.to = placesOf(source, send.data(), buffers.data());
    ASSERT_EQ(ended(cuda::dispatchRows(call, nullptr)), 0);
    sent.push_back(send);
  }

  /// The segments of what a rank receives.
  struct Arrived {
    Ints prefix, arrival, place;
  };
  Arrived arrived(int64_t rank) {
    int64_t locals = firstOf[rank + 1] - firstOf[rank];
    int64_t segments = ranks * locals;
    Arrived result = {Ints(segments + 1, -7), Ints(segments, -7),
                      Ints(segments, -7)};
    cuda::ArrivalCall call = {};
    call.counts = counts.data();
    call.starts = starts.data();
    call.ranks = ranks;
    call.instances = instances;
    call.firstInstance = firstOf[rank];
    call.locals = locals;
    call.blockRows = way == KernelWay::Padded ? blockRows : 0;
    call.prefix = result.prefix.data();
    call.arrival = result.arrival.data();
    call.place = result.place.data();
    EXPECT_EQ(ended(cuda::arrivalSegments(call, nullptr)), 0);
    return result;
  }

  void move(const void *in, void *out, const Ints &prefix, const Ints &from,
            const Ints &to) {
    cuda::MoveCall call = {};
    call.in = in;
    call.out = out;
    call.segments = {static_cast<int64_t>(from.size()), prefix.data(),
                     from.data(), to.data()};
    call.mostRows = prefix.back();
    call.rowBytes = rowBytes;
    ASSERT_EQ(ended(cuda::moveSegments(call, nullptr)), 0);
  }

  /// Receives, and puts rows where they belong.
  void take(int64_t rank) {
    Bytes received(receivedRows(rank) * rowBytes, 0xa5);
    for (int64_t source = 0; source < ranks; ++source)
      copy(received, offset(rank, source, false), sent[source],
           offset(source, rank, true), between(source, rank));
    Arrived to = arrived(rank);
    move(received.data(), buffers[rank], to.prefix, to.arrival, to.place);
  }

  void copy(Bytes &out, int64_t to, const Bytes &in, int64_t from,
            int64_t rows) const {
    std::copy_n(in.begin() + from, rows * rowBytes, out.begin() + to);
  }

  void clear(int64_t rank) {
    if (o.layout != SHUNT_MOE_EXPERT_MAJOR)
      return;
    cuda::ZeroCall call = {};
    call.out = buffers[rank];
    call.rowBytes = rowBytes;
    call.starts = &starts[firstOf[rank]];
    call.sums = &sums[firstOf[rank]];
    call.padded = &padded[firstOf[rank]];
    call.locals = firstOf[rank + 1] - firstOf[rank];
    ASSERT_EQ(ended(cuda::zeroPadding(call, nullptr)), 0);
  }

  void giveBack(int64_t rank) {
    Bytes back(receivedRows(rank) * rowBytes, 0xa5);
    Arrived to = arrived(rank);
    move(done[rank].data(), back.data(), to.prefix, to.place, to.arrival);
    for (int64_t source = 0; source < ranks; ++source)
      copy(sent[source], offset(source, rank, true), back,
           offset(rank, source, false), between(source, rank));
  }

  void combine(int64_t source) {
    MoeResult &result = results[source];
    result.out.assign(moe.tokens(source) * rowBytes, 0xa5);
    cuda::CombineCall call = {};
    call.from = placesOf(source, sent[source].data(), experts.data());
    call.weights =
        o.score == SHUNT_MOE_SCORE_AFTER ? moe.scores[source].data() : nullptr;
    call.bias = moe.bias.empty() ? nullptr : moe.bias[source].data();
    call.out = result.out.data();
    call.tokens = moe.tokens(source);
    call.topK = o.top_k;
    call.rowElems = moe.elems;
    call.dtype = moe.dtype;
    ASSERT_EQ(ended(cuda::combineRows(call, nullptr)), 0);
  }

  struct SlotPlaces {
    std::vector<int32_t> rank;
    Ints row;
  };

  const MoeCase &moe;
  const shunt_moe_options &o;
  KernelWay way = KernelWay::Direct;
  Placement placement;
  int64_t ranks, instances, rowBytes, blockRows = 0;
  std::vector<int32_t> firstOf, rankOf;
  std::vector<Ordered> ordered;
  std::vector<SlotPlaces> places;
  Ints counts, starts, sums, padded, rows;
  std::vector<MoeResult> results;
  std::vector<void *> buffers, experts;
  std::vector<Bytes> sent, done;
};

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_CUDA_SIMT_KERNELMOE_H
