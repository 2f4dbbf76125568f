//===- Direct.cpp - Rows go straight to their place -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For ranks that share memory, and for one rank alone. A source reads each of
// its tokens once and writes it to the buffers of its experts, at the rows that
// follow from everybody's counts; in combine it reads them from there.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include <algorithm>
#include <cstring>

namespace shunt::rt {

/// Lets `mover` work while all members are in the call.
static shunt_status meet(shunt_moe &moe, Call call, const Mover &mover) {
  if (moe.ranks() > 1) {
    call.mover = &mover;
    call.purpose = moe.purpose;
    return runCollective(moe.comm, moe.group, call);
  }
  if (shunt_status status = moe.comm->stickyStatus)
    return status;
  const Call *self = &call;
  mover.move(&self);
  return SHUNT_OK;
}

/// Fills the rows of a buffer that are padding with zeros.
static void zeroPadding(const shunt_moe_routing &routing, char *out,
                        int64_t rowBytes) {
  const Arrivals &arrivals = routing.arrivals;
  int64_t row = 0;
  for (int64_t local = 0; local < arrivals.locals(); ++local) {
    int64_t padding = arrivals.padded[local] - arrivals.counts[local];
    row += arrivals.padded[local];
    if (padding)
      std::memset(out + (row - padding) * rowBytes, 0, padding * rowBytes);
  }
}

namespace {
class DispatchMover : public Mover {
public:
  DispatchMover(shunt_moe_routing &routing, const shunt_moe_payload &payload,
                int64_t rowBytes)
      : routing(routing), payload(payload), rowBytes(rowBytes) {}

  void move(const Call *const *calls) const override {
    zeroPadding(routing, static_cast<char *>(payload.out), rowBytes);
    const shunt_moe &moe = *routing.moe;
    int64_t topK = routing.own.topK;
    bool scored = payload.scored && moe.options.score == SHUNT_MOE_SCORE_BEFORE;
    // Both what is written here and what one peer gets may be the large part.
    int64_t written = std::max(routing.own.rows(), routing.arrivals.rows);
    Write write = writeFor(written * rowBytes);
    auto piece = [&](int64_t begin, int64_t end) {
      const Destinations &to = routing.destinations;
      for (int64_t token = begin; token < end; ++token) {
        const char *in =
            static_cast<const char *>(payload.in) + token * rowBytes;
        for (int64_t slot = token * topK; slot < (token + 1) * topK; ++slot) {
          if (to.rankOf[slot] < 0)
            continue;
          char *out = static_cast<char *>(calls[to.rankOf[slot]]->out) +
                      to.rowOf[slot] * rowBytes;
          if (scored)
            scaleRow(out, in, routing.scores[slot], payload.row_elems,
                     payload.dtype, write);
          else
            copyRow(out, in, rowBytes, write);
        }
      }
      finishStreaming();
    };
    routing.moe->pool.run(routing.own.tokens, grainFor(topK * rowBytes), piece);
  }

private:
  shunt_moe_routing &routing;
  const shunt_moe_payload &payload;
  int64_t rowBytes;
};

class CombineMover : public Mover {
public:
  CombineMover(shunt_moe_routing &routing, const CombineCall &call)
      : routing(routing), call(call) {}

  void move(const Call *const *calls) const override {
    const Destinations &to = routing.destinations;
    sumSlots(routing, call, [&](int64_t slot) {
      return static_cast<const char *>(calls[to.rankOf[slot]]->in) +
             to.rowOf[slot] * call.rowBytes;
    });
  }

private:
  shunt_moe_routing &routing;
  const CombineCall &call;
};
} // namespace

shunt_status dispatchDirect(shunt_moe_routing &routing,
                            const shunt_moe_payload &payload) {
  Call call;
  call.op = SHUNT_OP_ALL_TO_ALL;
  call.counts = routing.sendSplits.data();
  call.recvCounts = routing.recvSplits.data();
  call.inRows = routing.own.rows();
  call.out = payload.out;
  call.outRows = routing.arrivals.validRows;
  call.rowElems = payload.row_elems;
  call.dtype = payload.dtype;
  int64_t rowBytes = payload.row_elems * shunt_dtype_size(payload.dtype);
  return meet(*routing.moe, call, DispatchMover(routing, payload, rowBytes));
}

shunt_status combineDirect(shunt_moe_routing &routing,
                           const CombineCall &combine) {
  Call call;
  call.op = SHUNT_OP_ALL_TO_ALL;
  call.counts = routing.recvSplits.data();
  call.recvCounts = routing.sendSplits.data();
  call.in = combine.in;
  call.inRows = routing.arrivals.validRows;
  call.outRows = routing.own.rows();
  call.rowElems = combine.rowElems;
  call.dtype = combine.dtype;
  return meet(*routing.moe, call, CombineMover(routing, combine));
}

} // namespace shunt::rt
