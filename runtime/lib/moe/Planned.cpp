//===- Planned.cpp - Rows go by a plan of collectives ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include <algorithm>
#include <cstring>

namespace shunt::rt {

/// Copies rows `from[i]` of `in` to rows i of `out`, zeros for -1; with scores,
/// rows are multiplied by theirs.
static void selectRows(shunt_moe &moe, char *out, const char *in,
                       const std::vector<int64_t> &from, int64_t rowElems,
                       shunt_dtype dtype, const float *scores) {
  int64_t rowBytes = rowElems * shunt_dtype_size(dtype);
  int64_t rows = static_cast<int64_t>(from.size());
  Write write = writeFor(rows * rowBytes);
  moe.pool.run(rows, grainFor(rowBytes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char *target = out + row * rowBytes;
      if (from[row] < 0) {
        std::memset(target, 0, rowBytes);
        continue;
      }
      const char *source = in + from[row] * rowBytes;
      if (scores)
        scaleRow(target, source, scores[row], rowElems, dtype, write);
      else
        copyRow(target, source, rowBytes, write);
    }
    finishStreaming();
  });
}

static const float *dataOrNull(const std::vector<float> &values, bool wanted) {
  return wanted && !values.empty() ? values.data() : nullptr;
}

shunt_status dispatchPlanned(shunt_moe_routing &routing,
                             const shunt_moe_payload &payload) {
  shunt_moe &moe = *routing.moe;
  const Plan &plan = routing.plan;
  int64_t rowBytes = payload.row_elems * shunt_dtype_size(payload.dtype);
  bool scored = payload.scored && moe.options.score == SHUNT_MOE_SCORE_BEFORE;
  auto in = static_cast<const char *>(payload.in);
  const float *scores = dataOrNull(plan.sendScores, scored);
  for (const Stage &stage : plan.stages) {
    int64_t received = stage.recvRows * rowBytes;
    char *out;
    shunt_status status;
    if (stage.gathers) {
      out = moe.workspace.receive(received);
      status = gatherRows(moe, in, stage.sendRows, out, stage.recv,
                          payload.row_elems, payload.dtype);
    } else {
      char *sent = moe.workspace.send(stage.sendRows * rowBytes);
      selectRows(moe, sent, in, stage.from, payload.row_elems, payload.dtype,
                 scores);
      // What the stage before received has been read: its buffer is free.
      out = moe.workspace.receive(received);
      status = exchangeRows(moe, sent, stage.send, out, stage.recv,
                            payload.row_elems, payload.dtype);
    }
    if (status != SHUNT_OK)
      return status;
    in = out;
    scores = nullptr;
  }
  selectRows(moe, static_cast<char *>(payload.out), in, plan.expand,
             payload.row_elems, payload.dtype, dataOrNull(plan.scores, scored));
  return SHUNT_OK;
}

shunt_status combineSlots(shunt_moe_routing &routing, const CombineCall &call) {
  shunt_moe &moe = *routing.moe;
  // Back into the order of arrival: sources, then their own order.
  std::vector<int64_t> arrivalOf = routing.arrivals.arrivalOf();
  std::vector<int64_t> rowOf(routing.arrivals.validRows);
  for (size_t row = 0; row < arrivalOf.size(); ++row)
    if (arrivalOf[row] >= 0)
      rowOf[arrivalOf[row]] = static_cast<int64_t>(row);
  char *sent = moe.workspace.send(routing.arrivals.validRows * call.rowBytes);
  char *returned = moe.workspace.receive(routing.own.rows() * call.rowBytes);
  selectRows(moe, sent, call.in, rowOf, call.rowElems, call.dtype, nullptr);
  if (shunt_status status =
          exchangeRows(moe, sent, routing.recvSplits, returned,
                       routing.sendSplits, call.rowElems, call.dtype))
    return status;
  sumSlots(routing, call, [&](int64_t slot) {
    return returned + routing.own.rowOf[slot] * call.rowBytes;
  });
  return SHUNT_OK;
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

bool sendsPartials(const shunt_moe_routing &routing, const CombineCall &call) {
  const shunt_moe_options &options = routing.moe->options;
  if (options.round_sums || options.round_products)
    return false;
  switch (options.algorithm) {
  case SHUNT_MOE_ALL_GATHER:
    // A reduce-scatter of 16-bit rows rounds before the bias is added. That
    // there is one is not asked: it may differ between members.
    return options.order == SHUNT_MOE_ORDER_RANK_SLOT &&
           (!options.round_partials || call.dtype == SHUNT_F32);
  case SHUNT_MOE_ALL_TO_ALL_DEDUP:
    return options.order == SHUNT_MOE_ORDER_RANK_SLOT;
  case SHUNT_MOE_HIERARCHICAL:
    return options.order == SHUNT_MOE_ORDER_NODE_RANK_SLOT;
  default:
    return false;
  }
}

namespace {
/// Rows of one type, as many as their holder says.
struct Rows {
  const char *data;
  shunt_dtype dtype;
};

class PartialSums {
public:
  PartialSums(shunt_moe_routing &routing, const CombineCall &call)
      : moe(*routing.moe), plan(routing.plan), call(call),
        partialType(moe.options.round_partials ? call.dtype : SHUNT_F32) {}

  shunt_status run() {
    const Stage &last = plan.stages.back();
    Inverse copies = Inverse::create(plan.expand, last.recvRows);
    sortByChoice(copies);
    bool weighted = moe.options.score == SHUNT_MOE_SCORE_AFTER;
    // Sums of one rank stay exact inside its node.
    shunt_dtype type = plan.stages.size() > 1 ? SHUNT_F32 : partialType;
    char *sums = moe.workspace.send(last.recvRows * bytesOf(type));
    sum(sums, type, copies, {call.in, call.dtype},
        dataOrNull(plan.scores, weighted), false);
    for (size_t i = plan.stages.size(); i-- > 0;) {
      const Stage &stage = plan.stages[i];
      Rows returned;
      if (shunt_status status = sendBack(stage, {sums, type}, returned))
        return status;
      Inverse origins = originsOf(stage);
      if (i == 0) {
        sum(call.out, call.dtype, origins, returned, nullptr, true);
        break;
      }
      type = partialType;
      sums = moe.workspace.send(stage.inRows * bytesOf(type));
      sum(sums, type, origins, returned, nullptr, false);
    }
    return SHUNT_OK;
  }

private:
  int64_t bytesOf(shunt_dtype type) const {
    return call.rowElems * shunt_dtype_size(type);
  }

  void sortByChoice(Inverse &copies) const {
    for (size_t i = 0; i + 1 < copies.starts.size(); ++i)
      std::sort(copies.items.begin() + copies.starts[i],
                copies.items.begin() + copies.starts[i + 1],
                [&](int64_t a, int64_t b) {
                  return plan.choices[a] < plan.choices[b];
                });
  }

  /// The rows that come back for each row that a stage took.
  static Inverse originsOf(const Stage &stage) {
    if (!stage.gathers)
      return Inverse::create(stage.from, stage.inRows);
    Inverse same;
    for (int64_t row = 0; row <= stage.inRows; ++row)
      same.starts.push_back(row);
    same.items.assign(same.starts.begin(), same.starts.end() - 1);
    return same;
  }

  shunt_status sendBack(const Stage &stage, Rows rows, Rows &returned) {
    char *out = moe.workspace.receive(stage.sendRows * bytesOf(rows.dtype));
    returned = {out, rows.dtype};
    if (stage.gathers)
      return reduceRows(moe, rows.data, out, stage.recv, call.rowElems,
                        rows.dtype);
    return exchangeRows(moe, rows.data, stage.recv, out, stage.send,
                        call.rowElems, rows.dtype);
  }

  /// Row i of `out` is the sum of rows items[starts[i]], … of `in`.
  void sum(char *out, shunt_dtype outType, const Inverse &lists, Rows in,
           const float *weights, bool isLast) {
    int64_t inBytes = bytesOf(in.dtype), outBytes = bytesOf(outType);
    int64_t rows = static_cast<int64_t>(lists.starts.size()) - 1;
    Write write = writeFor(rows * outBytes);
    auto piece = [&](int64_t begin, int64_t end) {
      std::vector<const char *> pointers;
      std::vector<float> factors;
      for (int64_t row = begin; row < end; ++row) {
        pointers.clear();
        factors.clear();
        for (int64_t i = lists.starts[row]; i < lists.starts[row + 1]; ++i) {
          pointers.push_back(in.data + lists.items[i] * inBytes);
          factors.push_back(weights ? weights[lists.items[i]] : 1.0f);
        }
        Summands summands;
        summands.rows = pointers.data();
        summands.weights = weights ? factors.data() : nullptr;
        summands.count = static_cast<int64_t>(pointers.size());
        summands.dtype = in.dtype;
        sumRow(out + row * outBytes, outType, summands,
               isLast ? call.biasOf(row) : nullptr, call.dtype, call.rowElems,
               write);
      }
      finishStreaming();
    };
    moe.pool.run(rows, grainFor(inBytes), piece);
  }

  shunt_moe &moe;
  const Plan &plan;
  const CombineCall &call;
  shunt_dtype partialType;
};
} // namespace

shunt_status combinePartials(shunt_moe_routing &routing,
                             const CombineCall &call) {
  return PartialSums(routing, call).run();
}

} // namespace shunt::rt
