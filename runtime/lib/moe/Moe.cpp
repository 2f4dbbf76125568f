//===- Moe.cpp - The C API of dispatch and combine ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moe.h"
#include "Options.h"
#include "Reduce.h"
#include "Text.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace shunt::rt;
using shunt::DispatchAlgorithm;
using shunt::Overflow;
using shunt::Placement;
using shunt::RouteDemand;
using shunt::RouteRules;
using shunt::RowOrder;
using shunt::Volume;

static_assert(static_cast<int32_t>(DispatchAlgorithm::AllToAll) ==
                      SHUNT_MOE_ALL_TO_ALL &&
                  static_cast<int32_t>(DispatchAlgorithm::AllGather) ==
                      SHUNT_MOE_ALL_GATHER &&
                  static_cast<int32_t>(DispatchAlgorithm::AllToAllDedup) ==
                      SHUNT_MOE_ALL_TO_ALL_DEDUP &&
                  static_cast<int32_t>(DispatchAlgorithm::Hierarchical) ==
                      SHUNT_MOE_HIERARCHICAL,
              "the core's algorithms are those of the C API");

shunt_moe::shunt_moe(shunt_comm *comm, shunt_group *group,
                     const shunt_moe_options &options, Placement placement)
    : comm(comm), group(group), options(options),
      placement(std::move(placement)), pool(options.threads) {
  if (options.active)
    active.assign(options.active, options.active + ranks());
  if (options.static_counts)
    staticCounts.assign(options.static_counts,
                        options.static_counts + options.experts);
  this->options.active = nullptr;
  this->options.static_counts = nullptr;
  this->options.table = this->options.table_sizes = nullptr;
  direct = !options.no_direct &&
           (ranks() == 1 || (options.algorithm == SHUNT_MOE_ALL_TO_ALL &&
                             comm->impl->sharesMemory()));
}

// Here, where a routing is a complete type.
shunt_moe::~shunt_moe() = default;

RowOrder shunt_moe::rowOrder() const {
  return {options.layout == SHUNT_MOE_EXPERT_MAJOR, options.alignment,
          options.pad_empty != 0};
}

RouteRules shunt_moe::rules() const {
  RouteRules rules;
  if (options.capacity)
    rules.capacity = options.capacity;
  rules.overflow =
      options.overflow == SHUNT_MOE_OVERFLOW_ERROR       ? Overflow::Error
      : options.overflow == SHUNT_MOE_OVERFLOW_DROP_LAST ? Overflow::DropLast
                                                         : Overflow::DropLowest;
  rules.active = active;
  return rules;
}

namespace shunt::rt {

Error asError(const shunt_moe &moe, const char *what,
              const shunt::Error &error) {
  return {SHUNT_INVALID_ARGUMENT, std::string(what) + " over ranks " +
                                      formatList(moe.group->ranks) + ": " +
                                      error.str()};
}

static Call makeCall(const shunt_moe &moe, shunt_op op, const void *in,
                     void *out, int64_t rowElems, shunt_dtype dtype) {
  Call call;
  call.op = op;
  call.purpose = moe.purpose;
  call.in = in;
  call.out = out;
  call.rowElems = rowElems;
  call.dtype = dtype;
  return call;
}

shunt_status gatherRows(shunt_moe &moe, const void *in, int64_t inRows,
                        void *out, const std::vector<int64_t> &counts,
                        int64_t rowElems, shunt_dtype dtype) {
  Call call = makeCall(moe, SHUNT_OP_ALL_GATHER, in, out, rowElems, dtype);
  call.counts = counts.data();
  call.inRows = inRows;
  call.outRows = sumCounts(counts.data(), moe.ranks());
  return runCollective(moe.comm, moe.group, call);
}

shunt_status exchangeRows(shunt_moe &moe, const void *in,
                          const std::vector<int64_t> &send, void *out,
                          const std::vector<int64_t> &recv, int64_t rowElems,
                          shunt_dtype dtype) {
  Call call = makeCall(moe, SHUNT_OP_ALL_TO_ALL, in, out, rowElems, dtype);
  call.counts = send.data();
  call.recvCounts = recv.data();
  call.inRows = sumCounts(send.data(), moe.ranks());
  call.outRows = sumCounts(recv.data(), moe.ranks());
  return runCollective(moe.comm, moe.group, call);
}

shunt_status reduceRows(shunt_moe &moe, const void *in, void *out,
                        const std::vector<int64_t> &counts, int64_t rowElems,
                        shunt_dtype dtype) {
  Call call = makeCall(moe, SHUNT_OP_REDUCE_SCATTER, in, out, rowElems, dtype);
  call.counts = counts.data();
  call.inRows = sumCounts(counts.data(), moe.ranks());
  call.outRows = counts[moe.me()];
  return runCollective(moe.comm, moe.group, call);
}

static std::string sizeText(int64_t rows, int64_t rowElems) {
  return std::to_string(rows) + (rows == 1 ? " row of " : " rows of ") +
         std::to_string(rowElems) + " elements";
}

/// Checks a buffer of the caller; sets its size in bytes.
static Error checkBuffer(const char *what, const char *name, const void *data,
                         int64_t rows, int64_t rowElems, shunt_dtype dtype,
                         int64_t &bytes) {
  int64_t size = shunt_dtype_size(dtype);
  std::string subject = std::string(what) + ": ";
  if (!size)
    return {SHUNT_INVALID_ARGUMENT,
            subject + "there is no " + dtypeName(dtype)};
  if (rowElems < 0)
    return {SHUNT_INVALID_ARGUMENT, subject + "row_elems is " +
                                        std::to_string(rowElems) +
                                        ", expected at least 0"};
  if (__builtin_mul_overflow(rowElems, size, &bytes) ||
      __builtin_mul_overflow(rows, bytes, &bytes))
    return {SHUNT_INVALID_ARGUMENT,
            subject + name + " has " + sizeText(rows, rowElems) +
                ", which is more than 2^63 - 1 bytes [E_OVERFLOW]"};
  if (bytes && !data)
    return {SHUNT_INVALID_ARGUMENT,
            subject + name + " is null, but has " + sizeText(rows, rowElems)};
  return {};
}

static Error checkOverlap(const char *what, const void *in, int64_t inBytes,
                          const void *out, int64_t outBytes) {
  auto a = static_cast<const char *>(in), b = static_cast<const char *>(out);
  std::less<const char *> before;
  if (!inBytes || !outBytes || !before(a, b + outBytes) ||
      !before(b, a + inBytes))
    return {};
  return {SHUNT_INVALID_ARGUMENT, std::string(what) + ": in and out overlap"};
}

static Error checkPayload(const shunt_moe_routing &routing,
                          const shunt_moe_payload &p, int64_t &outBytes) {
  int64_t inBytes = 0;
  if (Error error = checkBuffer("dispatch", "out", p.out, routing.arrivals.rows,
                                p.row_elems, p.dtype, outBytes))
    return error;
  if (Error error = checkBuffer("dispatch", "in", p.in, routing.own.tokens,
                                p.row_elems, p.dtype, inBytes))
    return error;
  if (p.scored && routing.moe->options.score == SHUNT_MOE_SCORE_BEFORE &&
      !isFloat(p.dtype))
    return {
        SHUNT_INVALID_ARGUMENT,
        "dispatch: " + dtypeName(p.dtype) +
            " rows cannot be multiplied by scores" +
            (p.dtype == SHUNT_F8E4M3 ? "; set `scored` on their scales" : "")};
  return checkOverlap("dispatch", p.in, inBytes, p.out, outBytes);
}

/// Runs a checked collective of a routing; on an error zero-fills `out`.
template <typename Check, typename Body>
static shunt_status enter(shunt_moe_routing *routing, void *const &out,
                          const int64_t &outBytes, Check check, Body body) {
  shunt_comm *comm = routing->moe->comm;
  shunt_status status = SHUNT_OK;
  Error error = guarded([&]() -> Error {
    if (Error error = check())
      return error;
    status = comm->stickyStatus;
    if (status == SHUNT_OK)
      status = body();
    return {};
  });
  if (error)
    status = comm->fail(std::move(error));
  if (status != SHUNT_OK && out && outBytes > 0)
    std::memset(out, 0, static_cast<size_t>(outBytes));
  return status;
}

static shunt_status dispatch(shunt_moe_routing &routing,
                             const shunt_moe_payload &payload) {
  routing.moe->purpose = {Purpose::Dispatch, payload.dtype, routing.number};
  return routing.moe->direct ? dispatchDirect(routing, payload)
                             : dispatchPlanned(routing, payload);
}

static shunt_status combine(shunt_moe_routing &routing,
                            const CombineCall &call) {
  routing.moe->purpose = {Purpose::Combine, call.dtype, routing.number};
  if (routing.moe->direct)
    return combineDirect(routing, call);
  return sendsPartials(routing, call) ? combinePartials(routing, call)
                                      : combineSlots(routing, call);
}

} // namespace shunt::rt

extern "C" {

shunt_status shunt_moe_create(shunt_comm *comm, shunt_group *group,
                              const shunt_moe_options *given, shunt_moe **out) {
  if (out)
    *out = nullptr;
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  Error error = guarded([&]() -> Error {
    if (!out || !given)
      return invalidOption(out ? "options is null" : "out is null");
    if (!group)
      if (Error error = comm->findGroup(nullptr, 0, group))
        return error;
    if (group->comm != comm)
      return invalidOption(
          "the group belongs to rank " + std::to_string(group->comm->rank) +
          ", not to the caller, rank " + std::to_string(comm->rank));
    shunt_moe_options options = *given;
    if (Error error = resolveOptions(options))
      return error;
    std::optional<Placement> placement;
    if (Error error = placeExperts(options, shunt_group_size(group), placement))
      return error;
    *out = new shunt_moe(comm, group, options, std::move(*placement));
    return {};
  });
  return error ? comm->note(error) : SHUNT_OK;
}

void shunt_moe_destroy(shunt_moe *moe) { delete moe; }

int64_t shunt_moe_local_experts(const shunt_moe *moe) {
  return moe ? moe->placement.localInstances(moe->me()) : 0;
}

int64_t shunt_moe_workspace(const shunt_moe *moe) {
  return moe ? moe->workspace.peakBytes() : 0;
}

shunt_status shunt_moe_dispatch_volume(const shunt_moe_routing *routing,
                                       shunt_moe_volume *out) {
  if (!routing || !out)
    return SHUNT_INVALID_ARGUMENT;
  const shunt_moe &moe = *routing->moe;
  Error error = guarded([&]() -> Error {
    RouteDemand demand;
    demand.tokens = routing->tokens;
    demand.rankCopies = routing->rankCopies;
    demand.nodeCopies = routing->nodeCopies;
    for (int64_t source = 0; source < moe.ranks(); ++source)
      for (int64_t rows : routing->counts->sendSplits(source))
        demand.rows.push_back(rows);
    Volume<int64_t> mine =
        dispatchRows(static_cast<DispatchAlgorithm>(moe.options.algorithm),
                     demand, moe.nodes())[moe.me()];
    *out = {mine.sent, mine.received, mine.sentFar, mine.receivedFar};
    return {};
  });
  return error ? moe.comm->note(error) : SHUNT_OK;
}

shunt_status shunt_moe_dispatch(shunt_moe_routing *routing,
                                const shunt_moe_payload *payloads,
                                int64_t numPayloads) {
  if (!routing)
    return SHUNT_INVALID_ARGUMENT;
  if (numPayloads < 0 || (numPayloads && !payloads))
    return routing->moe->comm->fail(
        {SHUNT_INVALID_ARGUMENT, "dispatch: payloads is null, or their number "
                                 "negative: " +
                                     std::to_string(numPayloads)});
  shunt_status first = SHUNT_OK;
  // After an error the others' outputs are zero-filled, too.
  for (int64_t i = 0; i < numPayloads; ++i) {
    const shunt_moe_payload &payload = payloads[i];
    int64_t outBytes = 0;
    shunt_status status = enter(
        routing, payload.out, outBytes,
        [&] { return checkPayload(*routing, payload, outBytes); },
        [&] { return dispatch(*routing, payload); });
    first = first == SHUNT_OK ? status : first;
  }
  return first;
}

shunt_status shunt_moe_combine(shunt_moe_routing *routing, const void *in,
                               void *out, int64_t rowElems, shunt_dtype dtype,
                               const void *bias) {
  if (!routing)
    return SHUNT_INVALID_ARGUMENT;
  int64_t outBytes = 0;
  auto check = [&]() -> Error {
    int64_t inBytes = 0;
    if (Error error = checkBuffer("combine", "out", out, routing->own.tokens,
                                  rowElems, dtype, outBytes))
      return error;
    if (Error error = checkBuffer("combine", "in", in, routing->arrivals.rows,
                                  rowElems, dtype, inBytes))
      return error;
    if (!isFloat(dtype))
      return {SHUNT_INVALID_ARGUMENT, "combine: " + dtypeName(dtype) +
                                          " rows cannot be summed; expected "
                                          "f32, bf16 or f16"};
    return checkOverlap("combine", in, inBytes, out, outBytes);
  };
  auto body = [&] {
    CombineCall call;
    call.in = static_cast<const char *>(in);
    call.out = static_cast<char *>(out);
    call.rowElems = rowElems;
    call.rowBytes = rowElems * shunt_dtype_size(dtype);
    call.dtype = dtype;
    call.bias = static_cast<const char *>(bias);
    return combine(*routing, call);
  };
  return enter(routing, out, outBytes, check, body);
}

} // extern "C"
