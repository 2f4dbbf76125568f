//===- CostModel.cpp - see CostModel.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/CostModel.h"

#include "PhaseBuilder.h"
#include "Shunt/Core/Split.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace shunt {

std::string toString(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Slice:
    return "slice";
  }
  return "";
}

static constexpr CollectiveAlgorithm kAlgorithms[] = {
    CollectiveAlgorithm::Direct,       CollectiveAlgorithm::Padded,
    CollectiveAlgorithm::Ring,         CollectiveAlgorithm::Rebalanced,
    CollectiveAlgorithm::Hierarchical, CollectiveAlgorithm::OneShot,
    CollectiveAlgorithm::InNetwork};

std::string toString(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
  case CollectiveAlgorithm::Direct:
    return "direct";
  case CollectiveAlgorithm::Padded:
    return "padded";
  case CollectiveAlgorithm::Ring:
    return "ring";
  case CollectiveAlgorithm::Rebalanced:
    return "rebalanced";
  case CollectiveAlgorithm::Hierarchical:
    return "hierarchical";
  case CollectiveAlgorithm::OneShot:
    return "one_shot";
  case CollectiveAlgorithm::InNetwork:
    return "in_network";
  }
  return "";
}

Result<CollectiveAlgorithm> parseCollectiveAlgorithm(const std::string &text) {
  std::string known;
  for (CollectiveAlgorithm algorithm : kAlgorithms) {
    if (text == toString(algorithm))
      return algorithm;
    known += (known.empty() ? "" : ", ") + toString(algorithm);
  }
  return Error{"E_MODE", "unknown collective algorithm '" + text +
                             "'; want one of " + known};
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

Traffic::Traffic(const Cluster &cluster)
    : cluster(&cluster), ranks(cluster.world()), levels(cluster.numLevels()),
      sentBytes(ranks * levels), receivedBytes(ranks * levels),
      pairBytes(levels), sentMessages(ranks * levels),
      receivedMessages(ranks * levels) {}

void Traffic::send(Rank from, unsigned level, double bytes, double messages) {
  sentBytes[from * levels + level] += bytes;
  sentMessages[from * levels + level] += messages;
}

void Traffic::receive(Rank to, unsigned level, double bytes, double messages) {
  receivedBytes[to * levels + level] += bytes;
  receivedMessages[to * levels + level] += messages;
}

void Traffic::notePair(unsigned level, double bytes) {
  pairBytes[level] = std::max(pairBytes[level], bytes);
}

void Traffic::move(Rank from, Rank to, double bytes, double messages) {
  if (from == to || bytes <= 0)
    return;
  unsigned level = cluster->levelOf(from, to);
  send(from, level, bytes, messages);
  receive(to, level, bytes, messages);
  notePair(level, bytes);
}

static void addTo(std::vector<double> &all, const std::vector<double> &more) {
  for (size_t i = 0; i < all.size(); ++i)
    all[i] += more[i];
}

Traffic &Traffic::operator+=(const Traffic &other) {
  addTo(sentBytes, other.sentBytes);
  addTo(receivedBytes, other.receivedBytes);
  addTo(pairBytes, other.pairBytes);
  addTo(sentMessages, other.sentMessages);
  addTo(receivedMessages, other.receivedMessages);
  return *this;
}

Traffic Traffic::reversed() const {
  Traffic other = *this;
  std::swap(other.sentBytes, other.receivedBytes);
  std::swap(other.sentMessages, other.receivedMessages);
  return other;
}

//===----------------------------------------------------------------------===//
// Phases of a collective
//===----------------------------------------------------------------------===//

static MaybeError check(const Cluster &cluster,
                        const CollectiveCall &exchange) {
  bool isAllToAll = exchange.kind == CollectiveKind::AllToAll;
  const auto &lists = isAllToAll ? exchange.sends : exchange.rows;
  if (exchange.rowBytes < 0)
    return Error{"E_SIZE", "rows have " + std::to_string(exchange.rowBytes) +
                               " bytes, expected at least 0"};
  if (exchange.kind != CollectiveKind::Slice &&
      lists.size() != exchange.groups.size())
    return Error{"E_COUNTS_LEN", toString(exchange.kind) + " of " +
                                     std::to_string(exchange.groups.size()) +
                                     " groups got counts of " +
                                     std::to_string(lists.size())};
  std::vector<uint8_t> seen(cluster.world());
  for (size_t g = 0; g < exchange.groups.size(); ++g) {
    const RankList &group = exchange.groups[g];
    for (Rank rank : group) {
      if (rank < 0 || rank >= cluster.world())
        return Error{"E_GROUP", "group " + std::to_string(g) + " has rank " +
                                    std::to_string(rank) + ", but cluster '" +
                                    cluster.name() + "' has " +
                                    std::to_string(cluster.world()) + " ranks"};
      if (seen[rank]++)
        return Error{"E_GROUP", "rank " + std::to_string(rank) +
                                    " is listed twice, the second time in "
                                    "group " +
                                    std::to_string(g)};
    }
    if (exchange.kind == CollectiveKind::Slice)
      continue;
    size_t want = isAllToAll ? group.size() * group.size() : group.size();
    if (lists[g].size() != want)
      return Error{"E_COUNTS_LEN", toString(exchange.kind) + ": group " +
                                       std::to_string(g) + " needs " +
                                       std::to_string(want) + " counts, got " +
                                       std::to_string(lists[g].size())};
    for (int64_t rows : lists[g]) {
      if (rows < 0)
        return Error{"E_COUNTS_NEG",
                     toString(exchange.kind) + ": group " + std::to_string(g) +
                         " has a count of " + std::to_string(rows)};
      if (exchange.kind == CollectiveKind::AllReduce &&
          rows != lists[g].front())
        return Error{"X_RAGGED_REDUCE",
                     "all_reduce: members of group " + std::to_string(g) +
                         " have " + std::to_string(lists[g].front()) + " and " +
                         std::to_string(rows) + " rows"};
    }
  }
  return std::nullopt;
}

/// Whether all pairs of all groups use one level, which can add.
static bool inOneSwitch(const Cluster &cluster,
                        const CollectiveCall &exchange) {
  for (const RankList &group : exchange.groups) {
    if (group.size() < 2)
      continue;
    unsigned level = cluster.levelOf(group);
    if (!cluster.level(level).inNetwork())
      return false;
    if (level == 0)
      continue;
    std::vector<int64_t> inner;
    for (Rank rank : group)
      inner.push_back(cluster.groupOf(rank, level - 1));
    std::sort(inner.begin(), inner.end());
    if (std::adjacent_find(inner.begin(), inner.end()) != inner.end())
      return false;
  }
  return true;
}

/// Whether some group has two runs of several members, so that going level by
/// level differs from going directly.
static bool spansLevels(const Cluster &cluster,
                        const CollectiveCall &exchange) {
  for (const RankList &group : exchange.groups)
    if (group.size() > 2 && cluster.levelOf(group) > 0)
      for (Rank rank : group)
        if (cluster.levelOf(group.front(), rank) != cluster.levelOf(group) &&
            rank != group.front())
          return true;
  return false;
}

bool CostModel::applies(const CollectiveCall &exchange,
                        CollectiveAlgorithm algorithm) const {
  CollectiveKind kind = exchange.kind;
  bool ragged = kind == CollectiveKind::AllGather ||
                kind == CollectiveKind::ReduceScatter;
  switch (algorithm) {
  case CollectiveAlgorithm::Direct:
    return true;
  case CollectiveAlgorithm::Padded:
    return ragged || kind == CollectiveKind::AllToAll;
  case CollectiveAlgorithm::Ring:
    return ragged || kind == CollectiveKind::AllReduce;
  case CollectiveAlgorithm::Rebalanced:
    return ragged;
  case CollectiveAlgorithm::Hierarchical:
    return kind != CollectiveKind::Slice && spansLevels(machine, exchange);
  case CollectiveAlgorithm::OneShot:
    return kind == CollectiveKind::AllReduce;
  case CollectiveAlgorithm::InNetwork:
    return (ragged || kind == CollectiveKind::AllReduce) &&
           inOneSwitch(machine, exchange);
  }
  return false;
}

/// Even parts of what each group holds in all, one part per member.
static std::vector<int64_t> evenParts(int64_t rows, size_t members) {
  return splitRows(rows, members, Split());
}

static GroupWeights toBytes(const std::vector<std::vector<int64_t>> &rows,
                            int64_t rowBytes) {
  GroupWeights bytes;
  for (const std::vector<int64_t> &list : rows) {
    bytes.emplace_back();
    for (int64_t n : list)
      bytes.back().push_back(static_cast<double>(n) * rowBytes);
  }
  return bytes;
}

/// Every count replaced by the largest of its group.
static std::vector<std::vector<int64_t>>
padded(std::vector<std::vector<int64_t>> rows) {
  for (std::vector<int64_t> &list : rows)
    if (!list.empty())
      std::fill(list.begin(), list.end(),
                *std::max_element(list.begin(), list.end()));
  return rows;
}

static int64_t sum(const std::vector<int64_t> &rows) {
  return std::accumulate(rows.begin(), rows.end(), int64_t(0));
}

/// An all-to-all from `rows` of a member to even parts, in the order of rows.
static Phase rebalance(const Cluster &cluster,
                       const std::vector<RankList> &groups,
                       const std::vector<std::vector<int64_t>> &rows,
                       const std::vector<std::vector<int64_t>> &even,
                       int64_t rowBytes) {
  GroupWeights sends;
  for (size_t g = 0; g < groups.size(); ++g) {
    size_t n = groups[g].size();
    sends.emplace_back(n * n, 0.0);
    int64_t start = 0;
    for (size_t i = 0; i < n; start += rows[g][i++]) {
      int64_t partStart = 0;
      for (size_t j = 0; j < n; partStart += even[g][j++]) {
        int64_t overlap = std::min(start + rows[g][i], partStart + even[g][j]) -
                          std::max(start, partStart);
        sends[g][i * n + j] =
            static_cast<double>(std::max<int64_t>(overlap, 0)) * rowBytes;
      }
    }
  }
  return directExchange(cluster, groups, sends);
}

/// A gather of rows[group][member] rows.
static std::vector<Phase> gather(const Cluster &cluster,
                                 const CollectiveCall &e,
                                 CollectiveAlgorithm algorithm) {
  GroupWeights bytes = toBytes(e.rows, e.rowBytes);
  switch (algorithm) {
  case CollectiveAlgorithm::Padded: {
    std::vector<Phase> phases = {
        directGather(cluster, e.groups, toBytes(padded(e.rows), e.rowBytes))};
    // Padding is taken out by one more pass, unless there is none.
    for (const std::vector<int64_t> &list : e.rows)
      if (padded({list}).front() != list)
        phases.front().localBytes =
            std::max(phases.front().localBytes,
                     2.0 * static_cast<double>(sum(list)) * e.rowBytes);
    return phases;
  }
  case CollectiveAlgorithm::Ring:
    return {ringGather(cluster, e.groups, bytes)};
  case CollectiveAlgorithm::Rebalanced: {
    std::vector<std::vector<int64_t>> even;
    for (const std::vector<int64_t> &list : e.rows)
      even.push_back(evenParts(sum(list), list.size()));
    return {rebalance(cluster, e.groups, e.rows, even, e.rowBytes),
            directGather(cluster, e.groups, toBytes(even, e.rowBytes))};
  }
  case CollectiveAlgorithm::Hierarchical:
    return hierarchicalGather(cluster, e.groups, bytes);
  case CollectiveAlgorithm::InNetwork:
    return {multicastGather(cluster, e.groups, bytes)};
  case CollectiveAlgorithm::Direct:
  case CollectiveAlgorithm::OneShot:
    break;
  }
  return {directGather(cluster, e.groups, bytes)};
}

static std::vector<Phase> allReduce(const Cluster &cluster,
                                    const CollectiveCall &e,
                                    CollectiveAlgorithm algorithm) {
  // Every member sends all it has, as if it were its part of a gather.
  if (algorithm == CollectiveAlgorithm::OneShot)
    return gather(cluster, e, CollectiveAlgorithm::Direct);
  CollectiveCall parts = e;
  for (std::vector<int64_t> &list : parts.rows)
    if (!list.empty())
      list = evenParts(list.front(), list.size());
  std::vector<Phase> phases = gather(cluster, parts, algorithm);
  std::vector<Phase> all = reversed(phases);
  // In the network both halves are one round.
  if (algorithm == CollectiveAlgorithm::InNetwork) {
    all.front().traffic += phases.front().traffic;
    return all;
  }
  all.insert(all.end(), phases.begin(), phases.end());
  return all;
}

Result<std::vector<Phase>>
CostModel::phases(const CollectiveCall &exchange,
                  CollectiveAlgorithm algorithm) const {
  if (MaybeError error = check(machine, exchange))
    return *error;
  if (!applies(exchange, algorithm))
    return Error{"E_MODE", toString(algorithm) + " is no way to do " +
                               toString(exchange.kind) +
                               " on these groups of cluster '" +
                               machine.name() + "'"};
  const std::vector<RankList> &groups = exchange.groups;
  switch (exchange.kind) {
  case CollectiveKind::Slice:
    return std::vector<Phase>();
  case CollectiveKind::AllGather:
    return gather(machine, exchange, algorithm);
  case CollectiveKind::ReduceScatter:
    return reversed(gather(machine, exchange, algorithm));
  case CollectiveKind::AllReduce:
    return allReduce(machine, exchange, algorithm);
  case CollectiveKind::AllToAll:
    break;
  }
  std::vector<std::vector<int64_t>> rows = exchange.sends;
  if (algorithm == CollectiveAlgorithm::Padded) {
    // What a member keeps needs no padding, and none of the others' either.
    for (size_t g = 0; g < groups.size(); ++g)
      for (size_t i = 0; i < groups[g].size(); ++i)
        rows[g][i * groups[g].size() + i] = 0;
    rows = padded(rows);
  }
  GroupWeights sends = toBytes(rows, exchange.rowBytes);
  if (algorithm == CollectiveAlgorithm::Hierarchical)
    return hierarchicalExchange(machine, groups, sends);
  return std::vector<Phase>{directExchange(machine, groups, sends)};
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

double CostModel::rate(unsigned level, bool inNetwork) const {
  const ClusterLevel &l = machine.level(level);
  double rate = inNetwork && l.inNetwork() ? l.reduceBandwidth : l.bandwidth;
  if (options.sms > 0 && l.bandwidthPerSm > 0)
    rate = std::min(rate, l.bandwidthPerSm * options.sms);
  return rate;
}

double CostModel::seconds(const Phase &phase) const {
  if (phase.level < 0)
    return 0;
  const Traffic &traffic = phase.traffic;
  double busiest = 0;
  for (Rank rank = 0; rank < machine.world(); ++rank) {
    double outerSent = 0, outerReceived = 0;
    for (unsigned level = phase.level + 1; level-- > 0;) {
      const ClusterLevel &l = machine.level(level);
      double sent = traffic.sent(rank, level);
      double received = traffic.received(rank, level);
      double load = std::max(sent + (l.carriesOuter ? outerSent : 0),
                             received + (l.carriesOuter ? outerReceived : 0));
      busiest =
          std::max(busiest, load / rate(level, phase.inNetwork) +
                                traffic.messages(rank, level) * l.messageCost);
      outerSent += sent;
      outerReceived += received;
    }
  }
  double time = machine.level(phase.level).latency;
  for (int level = 0; level <= phase.level; ++level) {
    const ClusterLevel &l = machine.level(level);
    if (!phase.hops.empty())
      time += phase.hops[level] * l.hop;
    if (l.pairBandwidth > 0)
      busiest = std::max(busiest, traffic.pair(level) / l.pairBandwidth);
  }
  if (machine.spec().memoryBandwidth > 0)
    time += phase.localBytes / machine.spec().memoryBandwidth;
  return time + busiest;
}

Cost CostModel::cost(const std::vector<Phase> &phases) const {
  Cost cost;
  unsigned levels = machine.numLevels();
  cost.levelBytes.assign(levels, 0);
  cost.cutBytes.assign(levels, 0);
  if (phases.empty())
    return cost;
  Traffic all(machine);
  for (const Phase &phase : phases) {
    if (phase.level < 0)
      continue;
    cost.seconds += seconds(phase);
    ++cost.rounds;
    cost.steps +=
        1 + std::accumulate(phase.hops.begin(), phase.hops.end(), int64_t(0));
    all += phase.traffic;
  }
  std::vector<std::vector<double>> into(levels), outOf(levels);
  for (unsigned level = 0; level < levels; ++level) {
    into[level].resize(machine.numGroups(level));
    outOf[level].resize(machine.numGroups(level));
  }
  for (Rank rank = 0; rank < machine.world(); ++rank) {
    double sent = 0, received = 0, messages = 0;
    for (unsigned level = levels; level-- > 0;) {
      outOf[level][machine.groupOf(rank, level)] += sent;
      into[level][machine.groupOf(rank, level)] += received;
      cost.levelBytes[level] =
          std::max({cost.levelBytes[level], all.sent(rank, level),
                    all.received(rank, level)});
      sent += all.sent(rank, level);
      received += all.received(rank, level);
      messages += all.messages(rank, level);
    }
    cost.sent = std::max(cost.sent, sent);
    cost.received = std::max(cost.received, received);
    cost.messages = std::max(cost.messages, messages);
  }
  cost.moved = std::max(cost.sent, cost.received);
  for (unsigned level = 0; level < levels; ++level)
    for (size_t group = 0; group < into[level].size(); ++group)
      cost.cutBytes[level] = std::max(
          {cost.cutBytes[level], into[level][group], outOf[level][group]});
  return cost;
}

Cost &Cost::operator+=(const Cost &next) {
  seconds += next.seconds;
  sent += next.sent;
  received += next.received;
  moved += next.moved;
  levelBytes.resize(std::max(levelBytes.size(), next.levelBytes.size()));
  cutBytes.resize(levelBytes.size());
  for (size_t i = 0; i < next.levelBytes.size(); ++i) {
    levelBytes[i] += next.levelBytes[i];
    cutBytes[i] += next.cutBytes[i];
  }
  rounds += next.rounds;
  steps += next.steps;
  messages += next.messages;
  return *this;
}

Result<Cost> CostModel::price(const CollectiveCall &exchange,
                              CollectiveAlgorithm algorithm) const {
  Result<std::vector<Phase>> all = phases(exchange, algorithm);
  if (!all)
    return all.error();
  return cost(*all);
}

Result<CostModel::Choice>
CostModel::best(const CollectiveCall &exchange) const {
  if (MaybeError error = check(machine, exchange))
    return *error;
  std::optional<Choice> choice;
  for (CollectiveAlgorithm algorithm : kAlgorithms) {
    if (!applies(exchange, algorithm))
      continue;
    Result<Cost> price = this->price(exchange, algorithm);
    if (!price)
      return price.error();
    if (!choice || std::tie(price->seconds, price->moved) <
                       std::tie(choice->cost.seconds, choice->cost.moved))
      choice = Choice{algorithm, *price};
  }
  return *choice;
}

} // namespace shunt
