//===- Route.cpp - Makes routings -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Moe.h"
#include "Options.h"

namespace shunt::rt {

/// Compares the members' options, at the first routing.
static shunt_status agree(shunt_moe &moe) {
  if (moe.agreed || moe.ranks() == 1)
    return SHUNT_OK;
  std::vector<int64_t> mine = agreementWords(
      moe.options, moe.placement, moe.active, moe.staticCounts, moe.direct);
  int64_t words = static_cast<int64_t>(mine.size());
  std::vector<int64_t> all(moe.ranks() * words);
  if (shunt_status status =
          gatherRows(moe, mine.data(), 1, all.data(),
                     std::vector<int64_t>(moe.ranks(), 1), words, SHUNT_I64))
    return status;
  if (Error error = checkWords(all, moe.group->ranks))
    return moe.comm->fail(std::move(error));
  moe.agreed = true;
  return SHUNT_OK;
}

/// What would be exchanged, where it is known beforehand.
static Error assumeCounts(shunt_moe_routing &routing) {
  shunt_moe &moe = *routing.moe;
  const std::vector<int64_t> &expected = moe.staticCounts;
  for (int64_t expert = 0; expert < moe.options.experts; ++expert)
    if (routing.own.expertSlots[expert] != expected[expert])
      return asError(
          moe, "route",
          {"E_EXPERT_COUNTS",
           "the ids of rank " + std::to_string(moe.comm->rank) +
               " name expert " + std::to_string(expert) + " " +
               std::to_string(routing.own.expertSlots[expert]) +
               " times, but static_counts says " +
               std::to_string(expected[expert]) +
               "; leave static_counts out, and counts are exchanged"});
  std::vector<int64_t> counts;
  for (int64_t source = 0; source < moe.ranks(); ++source) {
    std::vector<int64_t> row(moe.placement.instances());
    for (int64_t expert = 0; expert < moe.options.experts; ++expert)
      row[moe.placement.instanceFor(expert, source)] = expected[expert];
    counts.insert(counts.end(), row.begin(), row.end());
  }
  auto result = RouteCounts::create(moe.placement, std::move(counts));
  if (!result)
    return asError(moe, "route", result.error());
  routing.counts = std::move(*result);
  routing.number = moe.group->sequence;
  // Of others only their rows are known; nothing that uses them asks for more.
  routing.tokens.assign(moe.ranks(), routing.own.tokens);
  routing.rankCopies.clear();
  routing.nodeCopies.clear();
  routing.sendSplits = routing.own.sendSplits;
  routing.recvSplits = routing.counts->recvSplits(moe.me());
  return {};
}

/// One row of every rank: its tokens, its rows for each instance, and its
/// copies for each rank and node.
static shunt_status exchangeCounts(shunt_moe_routing &routing) {
  shunt_moe &moe = *routing.moe;
  int64_t ranks = moe.ranks(), nodes = moe.nodes().count();
  int64_t instances = moe.placement.instances();
  std::vector<int64_t> mine = {routing.own.tokens};
  auto append = [&](const std::vector<int64_t> &counts) {
    mine.insert(mine.end(), counts.begin(), counts.end());
  };
  append(routing.own.counts);
  if (moe.countsCopies()) {
    append(CopyPlan::create(moe.placement, routing.own).counts);
    append(
        CopyPlan::create(moe.placement, routing.own, moe.nodes().size).counts);
  }

  int64_t width = static_cast<int64_t>(mine.size());
  std::vector<int64_t> all(ranks * width);
  if (ranks == 1)
    all = mine;
  else if (shunt_status status =
               gatherRows(moe, mine.data(), 1, all.data(),
                          std::vector<int64_t>(ranks, 1), width, SHUNT_I64))
    return status;

  routing.number = moe.group->sequence;
  routing.tokens.clear();
  routing.rankCopies.clear();
  routing.nodeCopies.clear();
  std::vector<int64_t> counts;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto row = all.begin() + rank * width;
    auto take = [&](std::vector<int64_t> &list, int64_t n) {
      list.insert(list.end(), row, row + n);
      row += n;
    };
    take(routing.tokens, 1);
    take(counts, instances);
    if (moe.countsCopies()) {
      take(routing.rankCopies, ranks);
      take(routing.nodeCopies, nodes);
    }
  }
  auto result = RouteCounts::create(moe.placement, std::move(counts));
  if (!result)
    return moe.comm->fail(asError(moe, "route", result.error()));
  routing.counts = std::move(*result);
  routing.sendSplits = routing.own.sendSplits;
  routing.recvSplits = routing.counts->recvSplits(moe.me());
  return SHUNT_OK;
}

/// Says where rows arrive; checks every member's rows against the bound, so
/// that all find the same.
static Error arrange(shunt_moe_routing &routing) {
  shunt_moe &moe = *routing.moe;
  for (int64_t rank = 0; rank < moe.ranks(); ++rank) {
    if (rank != moe.me() && !moe.options.bound)
      continue;
    auto arrivals = Arrivals::create(*routing.counts, rank, moe.rowOrder());
    if (!arrivals)
      return asError(moe, "route", arrivals.error());
    if (moe.options.bound && arrivals->rows > moe.options.bound)
      return asError(
          moe, "route",
          {"E_CAPACITY", "rank " + std::to_string(moe.group->ranks[rank]) +
                             " receives " + std::to_string(arrivals->rows) +
                             " rows, over the bound of " +
                             std::to_string(moe.options.bound) +
                             "; use a larger bound, or a capacity"});
    if (rank == moe.me())
      routing.arrivals = std::move(*arrivals);
  }
  if (!moe.direct)
    return {};
  if (MaybeError error = routing.destinations.assign(
          *routing.counts, routing.own, moe.rowOrder()))
    return asError(moe, "route", *error);
  return {};
}

/// What a rank finds out alone.
static Error routeOwn(shunt_moe &moe, const int32_t *ids, int64_t tokens,
                      const float *scores, const int64_t *counts,
                      std::unique_ptr<shunt_moe_routing> &out) {
  auto invalid = [&](const std::string &message) {
    return Error(SHUNT_INVALID_ARGUMENT, "route: " + message);
  };
  const shunt_moe_options &options = moe.options;
  if (tokens > 0 && !ids)
    return invalid("ids is null, but there are " + std::to_string(tokens) +
                   " tokens");
  bool scored = options.score != SHUNT_MOE_SCORE_NONE;
  if (tokens > 0 && scored && !scores)
    return invalid("scores is null; give scores, or SHUNT_MOE_SCORE_NONE");
  if (moe.spare.empty()) {
    out = std::make_unique<shunt_moe_routing>(&moe);
  } else {
    out = std::move(moe.spare.back());
    moe.spare.pop_back();
  }
  if (MaybeError error = out->own.assign(moe.placement, moe.me(), ids, tokens,
                                         options.top_k, moe.rules(), scores))
    return asError(moe, "route", *error);
  if (counts)
    if (MaybeError error =
            out->own.checkCounts({counts, counts + options.experts}))
      return asError(moe, "route", *error);
  out->scores.assign(scores, scores + (scored ? out->own.slots() : 0));
  out->plan = Plan();
  return {};
}

} // namespace shunt::rt

using namespace shunt::rt;

extern "C" {

shunt_status shunt_moe_route(shunt_moe *moe, const int32_t *ids, int64_t tokens,
                             const float *scores, const int64_t *counts,
                             shunt_moe_routing **out) {
  if (out)
    *out = nullptr;
  if (!moe)
    return SHUNT_INVALID_ARGUMENT;
  if (shunt_status status = moe->comm->stickyStatus)
    return status;
  shunt_status status = SHUNT_OK;
  Error error = guarded([&]() -> Error {
    if (!out)
      return {SHUNT_INVALID_ARGUMENT, "shunt_moe_route: out is null"};
    std::unique_ptr<shunt_moe_routing> routing;
    if (Error error = routeOwn(*moe, ids, tokens, scores, counts, routing))
      return error;
    moe->purpose = {Purpose::Route, SHUNT_F32, 0};
    status = agree(*moe);
    if (status == SHUNT_OK && !moe->staticCounts.empty()) {
      if (Error error = assumeCounts(*routing))
        return error;
    } else if (status == SHUNT_OK) {
      status = exchangeCounts(*routing);
    }
    if (status != SHUNT_OK)
      return {};
    if (Error error = arrange(*routing))
      return error;
    if (!moe->direct)
      status = makePlan(*routing);
    if (status == SHUNT_OK)
      *out = routing.release();
    return {};
  });
  return error ? moe->comm->fail(std::move(error)) : status;
}

void shunt_moe_routing_destroy(shunt_moe_routing *routing) {
  if (!routing)
    return;
  std::unique_ptr<shunt_moe_routing> owned(routing);
  // Two serve a layer whose next batch is routed before the last one is done.
  const size_t mostSpare = 2;
  try {
    if (routing->moe->spare.size() < mostSpare)
      routing->moe->spare.push_back(std::move(owned));
  } catch (const std::bad_alloc &) {
    // Then its memory is given back, which is as good.
  }
}

int64_t shunt_moe_rows(const shunt_moe_routing *routing) {
  return routing ? routing->arrivals.rows : 0;
}

static void copyOut(const std::vector<int64_t> &values, int64_t *out) {
  if (out)
    std::copy(values.begin(), values.end(), out);
}

shunt_status shunt_moe_counts(const shunt_moe_routing *routing, int64_t *counts,
                              int64_t *padded) {
  if (!routing)
    return SHUNT_INVALID_ARGUMENT;
  copyOut(routing->arrivals.counts, counts);
  copyOut(routing->arrivals.padded, padded);
  return SHUNT_OK;
}

shunt_status shunt_moe_splits(const shunt_moe_routing *routing, int64_t *send,
                              int64_t *recv) {
  if (!routing)
    return SHUNT_INVALID_ARGUMENT;
  copyOut(routing->sendSplits, send);
  copyOut(routing->recvSplits, recv);
  return SHUNT_OK;
}

} // extern "C"
