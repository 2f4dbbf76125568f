//===- Plan.cpp - Plans of the algorithms ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "Convert.h"
#include "Moe.h"

#include <algorithm>
#include <numeric>

namespace shunt::rt {

using Counts = std::vector<int64_t>;

static int64_t total(const Counts &counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t(0));
}

/// First rows of lists that follow each other.
static Counts offsets(const Counts &counts) {
  Counts first(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), first.begin(), int64_t(0));
  return first;
}

Inverse Inverse::create(const std::vector<int64_t> &from, int64_t n) {
  Inverse inverse;
  inverse.starts.resize(n + 1);
  for (int64_t origin : from)
    if (origin >= 0)
      ++inverse.starts[origin + 1];
  std::partial_sum(inverse.starts.begin(), inverse.starts.end(),
                   inverse.starts.begin());
  inverse.items.resize(inverse.starts.back());
  Counts next(inverse.starts.begin(), inverse.starts.end() - 1);
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] >= 0)
      inverse.items[next[from[i]]++] = static_cast<int64_t>(i);
  return inverse;
}

static void addStage(Plan &plan, int64_t inRows, Counts from, Counts send,
                     Counts recv) {
  Stage stage;
  stage.inRows = inRows;
  stage.sendRows = total(send);
  stage.recvRows = total(recv);
  stage.from = std::move(from);
  stage.send = std::move(send);
  stage.recv = std::move(recv);
  plan.stages.push_back(std::move(stage));
}

namespace {
/// What an owner must know of a row that it receives as part of a copy. Two
/// 64-bit words, so that it travels as a row of SHUNT_I64.
struct Record {
  /// In the list of copies of the same sender.
  int64_t copy;
  uint32_t scoreBits;
  int32_t choice;
};
static_assert(sizeof(Record) == 16, "travels as two words");
} // namespace

static shunt_status exchangeRecords(shunt_moe &moe,
                                    const std::vector<Record> &in,
                                    const Counts &send, const Counts &recv,
                                    std::vector<Record> &out) {
  out.resize(total(recv));
  return exchangeRows(moe, in.data(), send, out.data(), recv, 2, SHUNT_I64);
}

/// Records of the caller's rows, in sorted order.
static std::vector<Record> ownRecords(const shunt_moe_routing &routing,
                                      const Counts &copyOf) {
  const Routing &own = routing.own;
  std::vector<Record> records(own.rows());
  for (int64_t row = 0; row < own.rows(); ++row) {
    int64_t slot = own.slotOf[row];
    float score = routing.scores.empty() ? 1.0f : routing.scores[slot];
    records[row] = {copyOf[row], bitsOf(score),
                    static_cast<int32_t>(slot - own.tokenOf[row] * own.topK)};
  }
  return records;
}

/// Fills the last selection from records in the order of arrival, whose copies
/// are rows of what was received last.
static void setExpand(shunt_moe_routing &routing,
                      const std::vector<Record> &arrived) {
  Plan &plan = routing.plan;
  plan.expand = routing.arrivals.arrivalOf();
  plan.choices.resize(plan.expand.size());
  if (routing.moe->options.score != SHUNT_MOE_SCORE_NONE)
    plan.scores.resize(plan.expand.size());
  for (size_t row = 0; row < plan.expand.size(); ++row) {
    if (plan.expand[row] < 0)
      continue;
    const Record &record = arrived[plan.expand[row]];
    plan.expand[row] = record.copy;
    plan.choices[row] = record.choice;
    if (!plan.scores.empty())
      plan.scores[row] = floatOf(record.scoreBits);
  }
}

//===----------------------------------------------------------------------===//
// all_to_all, all_gather
//===----------------------------------------------------------------------===//

static void planAllToAll(shunt_moe_routing &routing) {
  const Routing &own = routing.own;
  Plan &plan = routing.plan;
  addStage(plan, own.tokens, own.tokenOf, routing.sendSplits,
           routing.recvSplits);
  plan.expand = routing.arrivals.arrivalOf();
  if (routing.moe->options.score == SHUNT_MOE_SCORE_BEFORE)
    for (int64_t slot : own.slotOf)
      plan.sendScores.push_back(routing.scores[slot]);
}

static shunt_status planAllGather(shunt_moe_routing &routing) {
  shunt_moe &moe = *routing.moe;
  const Routing &own = routing.own;
  Plan &plan = routing.plan;
  Stage stage;
  stage.gathers = true;
  stage.inRows = stage.sendRows = own.tokens;
  stage.recv = routing.tokens;
  stage.recvRows = total(routing.tokens);

  // Instances and scores of a token are one row.
  bool scored = moe.options.score != SHUNT_MOE_SCORE_NONE;
  int64_t k = own.topK, width = scored ? 2 * k : k;
  std::vector<int32_t> mine(own.tokens * width), all(stage.recvRows * width);
  for (int64_t token = 0; token < own.tokens; ++token) {
    int32_t *row = mine.data() + token * width;
    std::copy_n(own.instanceOf.begin() + token * k, k, row);
    for (int64_t i = 0; scored && i < k; ++i)
      row[k + i] = static_cast<int32_t>(bitsOf(routing.scores[token * k + i]));
  }
  if (shunt_status status = gatherRows(moe, mine.data(), own.tokens, all.data(),
                                       stage.recv, width, SHUNT_I32))
    return status;

  const Arrivals &arrivals = routing.arrivals;
  int64_t first = moe.placement.firstInstance(moe.me());
  plan.expand.assign(arrivals.rows, -1);
  plan.choices.resize(arrivals.rows);
  plan.scores.resize(scored ? arrivals.rows : 0);
  int64_t token = 0;
  for (int64_t source = 0; source < moe.ranks(); ++source) {
    Counts next(arrivals.locals());
    for (int64_t local = 0; local < arrivals.locals(); ++local)
      next[local] = arrivals.start(source, local);
    for (int64_t end = token + routing.tokens[source]; token < end; ++token)
      for (int64_t i = 0; i < k; ++i) {
        const int32_t *entry = all.data() + token * width + i;
        int64_t local = *entry - first;
        if (local < 0 || local >= arrivals.locals())
          continue;
        int64_t row = next[local]++;
        plan.expand[row] = token;
        plan.choices[row] = static_cast<int32_t>(i);
        if (scored)
          plan.scores[row] = floatOf(static_cast<uint32_t>(entry[k]));
      }
  }
  plan.stages.push_back(std::move(stage));
  return SHUNT_OK;
}

//===----------------------------------------------------------------------===//
// all_to_all_dedup
//===----------------------------------------------------------------------===//

static shunt_status planDedup(shunt_moe_routing &routing) {
  shunt_moe &moe = *routing.moe;
  CopyPlan copies = CopyPlan::create(moe.placement, routing.own);
  Counts recv(moe.ranks());
  for (int64_t source = 0; source < moe.ranks(); ++source)
    recv[source] = routing.rankCopies[source * moe.ranks() + moe.me()];
  Counts first = offsets(recv);

  std::vector<Record> arrived;
  if (shunt_status status =
          exchangeRecords(moe, ownRecords(routing, copies.copyOf),
                          routing.sendSplits, routing.recvSplits, arrived))
    return status;
  auto record = arrived.begin();
  for (int64_t source = 0; source < moe.ranks(); ++source)
    for (int64_t i = 0; i < routing.recvSplits[source]; ++i)
      (record++)->copy += first[source];
  addStage(routing.plan, routing.own.tokens, std::move(copies.tokenOf),
           std::move(copies.counts), std::move(recv));
  setExpand(routing, arrived);
  return SHUNT_OK;
}

//===----------------------------------------------------------------------===//
// hierarchical
//===----------------------------------------------------------------------===//

namespace {
/// Builds the two stages: to the forwarders, and from them to the owners.
class HierarchicalPlan {
public:
  explicit HierarchicalPlan(shunt_moe_routing &routing)
      : routing(routing), moe(*routing.moe), nodes(moe.nodes()), me(moe.me()),
        ranks(moe.ranks()), node(nodes.nodeOf(me)) {}

  shunt_status build() {
    if (shunt_status status = sendToForwarders())
      return status;
    return forwardToOwners();
  }

private:
  /// Does `source` reach this node through `rank`?
  bool isVia(int64_t source, int64_t rank) const {
    return nodes.forwarder(source, node) == rank;
  }
  int64_t nodeCopies(int64_t source) const {
    return routing.nodeCopies[source * nodes.count() + node];
  }

  shunt_status sendToForwarders() {
    CopyPlan copies = CopyPlan::create(moe.placement, routing.own, nodes.size);
    Counts send(ranks), recv(ranks), recordSend(ranks), recordRecv(ranks);
    for (int64_t to = 0; to < nodes.count(); ++to) {
      int64_t forwarder = nodes.forwarder(me, to);
      send[forwarder] = copies.counts[to];
      for (int64_t i = 0; i < nodes.sizeOf(to); ++i)
        recordSend[forwarder] += routing.sendSplits[nodes.first(to) + i];
    }
    for (int64_t source = 0; source < ranks; ++source) {
      if (!isVia(source, me))
        continue;
      recv[source] = nodeCopies(source);
      for (int64_t i = 0; i < nodes.sizeOf(node); ++i)
        recordRecv[source] +=
            routing.counts->rowsBetween(source, nodes.first(node) + i);
    }
    firstCopy = offsets(recv);
    firstRecord = offsets(recordRecv);
    addStage(routing.plan, routing.own.tokens, std::move(copies.tokenOf),
             std::move(send), std::move(recv));
    return exchangeRecords(moe, ownRecords(routing, copies.copyOf), recordSend,
                           recordRecv, records);
  }

  /// Appends what `source` has for `owner`: the records, and one copy for each
  /// of its tokens, which keep their order.
  void forward(int64_t source, int64_t owner, int64_t &copiesSent) {
    int64_t rows = routing.counts->rowsBetween(source, owner);
    const Record *begin = records.data() + firstRecord[source];
    firstRecord[source] += rows; // the next owner's
    Counts copyOf(nodeCopies(source), -1);
    for (int64_t i = 0; i < rows; ++i)
      copyOf[begin[i].copy] = 0;
    for (size_t copy = 0; copy < copyOf.size(); ++copy) {
      if (copyOf[copy] < 0)
        continue;
      copyOf[copy] = copiesSent++;
      from.push_back(firstCopy[source] + static_cast<int64_t>(copy));
    }
    for (int64_t i = 0; i < rows; ++i) {
      forwarded.push_back(begin[i]);
      forwarded.back().copy = copyOf[begin[i].copy];
    }
  }

  shunt_status forwardToOwners() {
    Counts send(ranks), recv(ranks), recordSend(ranks), recordRecv(ranks);
    for (int64_t i = 0; i < nodes.sizeOf(node); ++i) {
      int64_t owner = nodes.first(node) + i, forwarder = owner;
      int64_t before = static_cast<int64_t>(forwarded.size());
      for (int64_t source = 0; source < ranks; ++source) {
        if (isVia(source, me))
          forward(source, owner, send[owner]);
        if (!isVia(source, forwarder))
          continue;
        recv[forwarder] += routing.rankCopies[source * ranks + me];
        recordRecv[forwarder] += routing.recvSplits[source];
      }
      recordSend[owner] = static_cast<int64_t>(forwarded.size()) - before;
    }
    std::vector<Record> arrived;
    if (shunt_status status =
            exchangeRecords(moe, forwarded, recordSend, recordRecv, arrived))
      return status;
    setExpand(routing, inOrderOfSources(arrived, offsets(recv)));
    int64_t inRows = routing.plan.stages.back().recvRows;
    addStage(routing.plan, inRows, std::move(from), std::move(send),
             std::move(recv));
    return SHUNT_OK;
  }

  /// Records come by forwarder, then source.
  std::vector<Record> inOrderOfSources(const std::vector<Record> &arrived,
                                       const Counts &firstOfForwarder) const {
    std::vector<Record> ordered(arrived.size());
    Counts firstOfSource = offsets(routing.recvSplits);
    auto record = arrived.begin();
    for (int64_t i = 0; i < nodes.sizeOf(node); ++i) {
      int64_t forwarder = nodes.first(node) + i;
      for (int64_t source = 0; source < ranks; ++source) {
        if (!isVia(source, forwarder))
          continue;
        for (int64_t row = 0; row < routing.recvSplits[source]; ++row) {
          Record &target = ordered[firstOfSource[source] + row];
          target = *record++;
          target.copy += firstOfForwarder[forwarder];
        }
      }
    }
    return ordered;
  }

  shunt_moe_routing &routing;
  shunt_moe &moe;
  Nodes nodes;
  int64_t me, ranks, node;
  /// What this rank receives as a forwarder, by source.
  std::vector<Record> records;
  Counts firstCopy, firstRecord;
  /// What it passes on.
  std::vector<Record> forwarded;
  Counts from;
};
} // namespace

shunt_status makePlan(shunt_moe_routing &routing) {
  switch (routing.moe->options.algorithm) {
  case SHUNT_MOE_ALL_GATHER:
    return planAllGather(routing);
  case SHUNT_MOE_ALL_TO_ALL_DEDUP:
    return planDedup(routing);
  case SHUNT_MOE_HIERARCHICAL:
    return HierarchicalPlan(routing).build();
  default:
    planAllToAll(routing);
    return SHUNT_OK;
  }
}

} // namespace shunt::rt
