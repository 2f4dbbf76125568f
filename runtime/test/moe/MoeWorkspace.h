//===- MoeWorkspace.h - The formulas of docs/performance.md ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_MOE_MOEWORKSPACE_H
#define SHUNT_RUNTIME_TEST_MOE_MOEWORKSPACE_H

#include "MoeCase.h"

#include <set>

namespace shunt::rt::test {

/// Bytes that a dispatcher holds at most in one dispatch and combine.
class MoeWorkspace {
public:
  MoeWorkspace(const MoeCase &moe, const MoeReference &reference)
      : moe(moe), o(moe.options) {
    for (const auto &row : reference.rows) {
      int64_t owner = reference.rankOf[row.instance];
      int64_t token = row.slot / o.top_k;
      ++rows[{row.source, owner}];
      rankCopies.insert({row.source, token, owner});
      nodeCopies.insert({row.source, token, nodeOf(owner)});
    }
  }

  int64_t expect(const Way &way, int64_t rank) const {
    if (moe.ranks == 1 && !way.noDirect)
      return 0;
    int64_t b = moe.rowBytes(), f = moe.elems * 4;
    int64_t p = o.round_partials ? b : f, tokens = moe.tokens(rank), all = 0;
    for (int64_t source = 0; source < moe.ranks; ++source)
      all += moe.tokens(source);
    auto [sent, received] = count(
        [&](int64_t from, int64_t to) {
          return rows.count({from, to}) ? rows.at({from, to}) : 0;
        },
        rank);
    Copies toRank = copiesBetweenRanks(rank);
    bool exact = !o.round_sums && !o.round_products;
    switch (way.algorithm) {
    case SHUNT_MOE_ALL_GATHER:
      if (exact && o.order == SHUNT_MOE_ORDER_RANK_SLOT &&
          (!o.round_partials || moe.dtype == SHUNT_F32))
        return all * f + std::max(all * b, tokens * f);
      return received * b + std::max(all, sent) * b;
    case SHUNT_MOE_ALL_TO_ALL_DEDUP:
      if (exact && o.order == SHUNT_MOE_ORDER_RANK_SLOT)
        return std::max(toRank.sent * b, toRank.received * p) +
               std::max(toRank.received * b, toRank.sent * p);
      return std::max(toRank.sent, received) * b +
             std::max(toRank.received, sent) * b;
    case SHUNT_MOE_HIERARCHICAL: {
      Copies in = copiesToForwarders(rank), on = copiesFromForwarders(rank);
      int64_t sends = std::max(in.sent, on.sent) * b;
      int64_t receives = std::max(in.received, on.received) * b;
      if (exact && o.order == SHUNT_MOE_ORDER_NODE_RANK_SLOT)
        return std::max({sends, on.received * f, in.received * p}) +
               std::max({receives, on.sent * f, in.sent * p});
      return std::max(sends, received * b) + std::max(receives, sent * b);
    }
    default:
      return way.noDirect ? 2 * std::max(sent, received) * b : 0;
    }
  }

private:
  struct Copies {
    int64_t sent, received;
  };
  using Copy = std::array<int64_t, 3>; // source, token, rank or node

  int64_t nodeSize() const { return std::max<int64_t>(o.node_size, 1); }
  int64_t nodeOf(int64_t rank) const { return rank / nodeSize(); }
  /// Where a source's copies enter a node: its own place in that node.
  int64_t forwarder(int64_t source, int64_t node) const {
    if (node == nodeOf(source))
      return source;
    int64_t first = node * nodeSize();
    return first +
           source % nodeSize() % std::min(nodeSize(), moe.ranks - first);
  }

  template <typename Between>
  Copies count(Between between, int64_t rank) const {
    Copies copies = {0, 0};
    for (int64_t peer = 0; peer < moe.ranks; ++peer) {
      copies.sent += between(rank, peer);
      copies.received += between(peer, rank);
    }
    return copies;
  }
  Copies copiesBetweenRanks(int64_t rank) const {
    Copies copies = {0, 0};
    for (auto [source, token, owner] : rankCopies) {
      copies.sent += source == rank;
      copies.received += owner == rank;
    }
    return copies;
  }
  Copies copiesToForwarders(int64_t rank) const {
    Copies copies = {0, 0};
    for (auto [source, token, node] : nodeCopies) {
      copies.sent += source == rank;
      copies.received += forwarder(source, node) == rank;
    }
    return copies;
  }
  Copies copiesFromForwarders(int64_t rank) const {
    Copies copies = {0, 0};
    for (auto [source, token, owner] : rankCopies) {
      copies.sent += forwarder(source, nodeOf(owner)) == rank;
      copies.received += owner == rank;
    }
    return copies;
  }

  const MoeCase &moe;
  const shunt_moe_options &o;
  std::map<std::pair<int64_t, int64_t>, int64_t> rows;
  std::set<Copy> rankCopies, nodeCopies;
};

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_MOE_MOEWORKSPACE_H
