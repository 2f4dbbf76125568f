//===- MoeCase.h - One batch of a MoE layer, and what must come out -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference follows the definitions, element by element, without regard to
// time: it shares no code with the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_TEST_MOE_MOECASE_H
#define SHUNT_RUNTIME_TEST_MOE_MOECASE_H

#include "../Ranks.h"
#include "../Reference.h"
#include "shunt/moe.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace shunt::rt::test {

using Ints = std::vector<int64_t>;

/// What a rank holds or gets.
struct MoeResult {
  Ints counts, padded, send, recv;
  /// The experts' buffer, and the combined rows.
  Bytes routed, out;
  shunt_moe_volume volume = {};
  int64_t workspace = 0;
  shunt_stats stats = {};
};

struct MoeCase {
  int64_t ranks = 1, elems = 1;
  shunt_dtype dtype = SHUNT_F32;
  shunt_moe_options options = {};
  /// `table[rank]`: the experts of its instances.
  std::vector<Ints> table;
  /// By rank: ids and scores of its slots, its tokens' rows, its bias.
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<float>> scores;
  std::vector<Bytes> x, bias;

  int64_t tokens(int64_t rank) const {
    return static_cast<int64_t>(ids[rank].size()) / options.top_k;
  }
  int64_t rowBytes() const { return elems * shunt_dtype_size(dtype); }
};

/// The value of element `i`, and its bits from a value: f32 arithmetic.
inline float readElem(const Bytes &bytes, int64_t i, shunt_dtype dtype) {
  if (dtype == SHUNT_F32) {
    float value;
    std::memcpy(&value, &bytes[i * 4], 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, &bytes[i * 2], 2);
  return static_cast<float>(
      decode(bits, dtype == SHUNT_BF16 ? bf16Format : f16Format));
}
inline void writeElem(Bytes &bytes, int64_t i, float value, shunt_dtype dtype) {
  if (dtype == SHUNT_F32) {
    std::memcpy(&bytes[i * 4], &value, 4);
    return;
  }
  uint16_t bits = encode(value, dtype == SHUNT_BF16 ? bf16Format : f16Format);
  std::memcpy(&bytes[i * 2], &bits, 2);
}
inline float rounded(float value, shunt_dtype dtype) {
  Bytes bytes(4);
  writeElem(bytes, 0, value, dtype);
  return readElem(bytes, 0, dtype);
}

/// The experts' work on the rows of one buffer, in place: no two experts do the
/// same, and none is linear. Padding rows stay.
inline void runExperts(const MoeCase &moe, int64_t rank,
                       const Ints &expertOfRow, Bytes &rows) {
  for (size_t row = 0; row < expertOfRow.size(); ++row)
    for (int64_t i = 0; i < moe.elems; ++i) {
      if (expertOfRow[row] < 0)
        continue;
      int64_t at = static_cast<int64_t>(row) * moe.elems + i;
      float value = readElem(rows, at, moe.dtype);
      writeElem(rows, at,
                value * (0.5f + 0.25f * expertOfRow[row]) + 0.125f * (i % 3),
                moe.dtype);
    }
}

class MoeReference {
public:
  explicit MoeReference(const MoeCase &moe) : moe(moe), o(moe.options) {
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      for (int64_t expert : moe.table[rank]) {
        instancesOf[expert].push_back(rankOf.size());
        rankOf.push_back(rank);
        expertOf.push_back(expert);
      }
    for (int64_t source = 0; source < moe.ranks; ++source)
      choose(source);
    results.resize(moe.ranks);
    expertOfRow.resize(moe.ranks);
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      arrange(rank);
    for (int64_t rank = 0; rank < moe.ranks; ++rank)
      combine(rank);
  }

  std::vector<MoeResult> results;
  /// Of each buffer row of each rank, its expert; -1 for padding.
  std::vector<Ints> expertOfRow;
  /// Slots that travel.
  struct Row {
    int64_t source, slot, instance;
  };
  std::vector<Row> rows;
  /// Of each instance, who holds it.
  Ints rankOf;

private:
  struct Term {
    int64_t k, instance, rank, node;
    float value;
  };

  int64_t nodeOf(int64_t rank) const {
    return rank / std::max<int64_t>(o.node_size, 1);
  }

  void choose(int64_t source) {
    std::map<int64_t, std::vector<Row>> perInstance;
    for (size_t slot = 0; slot < moe.ids[source].size(); ++slot) {
      int32_t id = moe.ids[source][slot];
      if (id < 0)
        continue;
      const Ints &all = instancesOf[id];
      int64_t instance = all[source % all.size()];
      if (o.active && (!o.active[source] || !o.active[rankOf[instance]]))
        continue;
      perInstance[instance].push_back({source, int64_t(slot), instance});
    }
    for (auto &[instance, mine] : perInstance) {
      if (o.capacity && o.overflow == SHUNT_MOE_OVERFLOW_DROP_LOWEST)
        std::sort(mine.begin(), mine.end(), [&](const Row &a, const Row &b) {
          auto key = [&](const Row &row) {
            return std::make_tuple(-moe.scores[source][row.slot], row.slot);
          };
          return key(a) < key(b);
        });
      if (o.capacity && int64_t(mine.size()) > o.capacity)
        mine.resize(o.capacity);
      rows.insert(rows.end(), mine.begin(), mine.end());
    }
  }

  void arrange(int64_t rank) {
    MoeResult &result = results[rank];
    result.send.resize(moe.ranks);
    result.recv.resize(moe.ranks);
    for (const Row &row : rows) {
      if (row.source == rank)
        ++result.send[rankOf[row.instance]];
      if (rankOf[row.instance] == rank)
        ++result.recv[row.source];
    }
    bool expertMajor = o.layout == SHUNT_MOE_EXPERT_MAJOR;
    std::vector<Row> mine;
    for (const Row &row : rows)
      if (rankOf[row.instance] == rank)
        mine.push_back(row);
    std::sort(mine.begin(), mine.end(), [&](const Row &a, const Row &b) {
      auto key = [&](const Row &r) {
        return expertMajor ? std::make_tuple(r.instance, r.source, r.slot)
                           : std::make_tuple(r.source, r.instance, r.slot);
      };
      return key(a) < key(b);
    });
    int64_t unit = std::max<int64_t>(o.alignment, 1);
    Bytes zeros(moe.rowBytes());
    auto pad = [&](int64_t count) {
      int64_t want = (count + unit - 1) / unit * unit;
      if (count == 0 && o.pad_empty)
        want = unit;
      for (int64_t i = count; i < want; ++i) {
        result.routed.insert(result.routed.end(), zeros.begin(), zeros.end());
        expertOfRow[rank].push_back(-1);
      }
      return want;
    };
    for (size_t instance = 0; instance < rankOf.size(); ++instance) {
      if (rankOf[instance] != rank)
        continue;
      result.counts.push_back(0);
      for (const Row &row : mine) {
        if (row.instance != int64_t(instance))
          continue;
        ++result.counts.back();
        if (expertMajor)
          place(rank, row);
      }
      result.padded.push_back(expertMajor ? pad(result.counts.back())
                                          : result.counts.back());
    }
    if (!expertMajor)
      for (const Row &row : mine)
        place(rank, row);
  }

  void place(int64_t rank, const Row &row) {
    Bytes &routed = results[rank].routed;
    positions[{row.source, row.slot}] = {rank, expertOfRow[rank].size()};
    expertOfRow[rank].push_back(expertOf[row.instance]);
    int64_t token = row.slot / o.top_k, bytes = moe.rowBytes();
    Bytes copy(moe.x[row.source].begin() + token * bytes,
               moe.x[row.source].begin() + (token + 1) * bytes);
    if (o.score == SHUNT_MOE_SCORE_BEFORE)
      for (int64_t i = 0; i < moe.elems; ++i)
        writeElem(copy, i,
                  readElem(copy, i, moe.dtype) *
                      moe.scores[row.source][row.slot],
                  moe.dtype);
    routed.insert(routed.end(), copy.begin(), copy.end());
  }

  void combine(int64_t source) {
    if (source == 0) {
      for (int64_t rank = 0; rank < moe.ranks; ++rank) {
        done.push_back(results[rank].routed);
        runExperts(moe, rank, expertOfRow[rank], done.back());
      }
      for (const Row &row : rows)
        instanceOf[{row.source, row.slot}] = row.instance;
    }
    Bytes &out = results[source].out;
    out.resize(moe.tokens(source) * moe.rowBytes());
    for (int64_t token = 0; token < moe.tokens(source); ++token)
      for (int64_t i = 0; i < moe.elems; ++i) {
        std::vector<Term> terms;
        for (int64_t k = 0; k < o.top_k; ++k) {
          int64_t slot = token * o.top_k + k;
          auto found = positions.find({source, slot});
          if (found == positions.end())
            continue;
          auto [rank, row] = found->second;
          float value = readElem(done[rank], row * moe.elems + i, moe.dtype);
          if (o.score == SHUNT_MOE_SCORE_AFTER) {
            value = value * moe.scores[source][slot];
            value = o.round_products ? rounded(value, moe.dtype) : value;
          }
          terms.push_back(
              {k, instanceOf[{source, slot}], rank, nodeOf(rank), value});
        }
        float sum = sumTerms(terms);
        int64_t at = token * moe.elems + i;
        if (!moe.bias.empty())
          sum = sum + readElem(moe.bias[source], at, moe.dtype);
        writeElem(out, at, sum, moe.dtype);
      }
  }

  float add(float a, float b) const {
    volatile float sum = a + b;
    return o.round_sums ? rounded(sum, moe.dtype) : float(sum);
  }
  float part(float value) const {
    return o.round_partials ? rounded(value, moe.dtype) : value;
  }
  float sumBySlot(const std::vector<Term> &terms) const {
    float sum = 0;
    for (const Term &term : terms)
      sum = add(sum, term.value);
    return sum;
  }

  float sumTerms(std::vector<Term> terms) const {
    std::map<int64_t, std::vector<Term>> byRank, byNode;
    for (const Term &term : terms) {
      byRank[term.rank].push_back(term);
      byNode[term.node].push_back(term);
    }
    float sum = 0;
    switch (o.order) {
    case SHUNT_MOE_ORDER_EXPERT:
      std::sort(terms.begin(), terms.end(), [](const Term &a, const Term &b) {
        return std::tie(a.instance, a.k) < std::tie(b.instance, b.k);
      });
      return sumBySlot(terms);
    case SHUNT_MOE_ORDER_RANK_SLOT:
      for (auto &[rank, mine] : byRank)
        sum = add(sum, part(sumBySlot(mine)));
      return sum;
    case SHUNT_MOE_ORDER_NODE_RANK_SLOT:
      for (auto &[node, inNode] : byNode) {
        std::map<int64_t, std::vector<Term>> ranks;
        for (const Term &term : inNode)
          ranks[term.rank].push_back(term);
        float partial = 0;
        for (auto &[rank, mine] : ranks)
          partial = add(partial, sumBySlot(mine));
        sum = add(sum, part(partial));
      }
      return sum;
    case SHUNT_MOE_ORDER_TREE: {
      std::vector<float> level(o.top_k, 0.0f);
      for (const Term &term : terms)
        level[term.k] = term.value;
      while (level.size() > 1) {
        std::vector<float> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2)
          next.push_back(add(level[i], level[i + 1]));
        if (level.size() % 2)
          next.push_back(level.back());
        level = next;
      }
      return level[0];
    }
    default:
      return sumBySlot(terms);
    }
  }

  const MoeCase &moe;
  const shunt_moe_options &o;
  std::map<int64_t, Ints> instancesOf;
  Ints expertOf;
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> positions;
  std::map<std::pair<int64_t, int64_t>, int64_t> instanceOf;
  std::vector<Bytes> done;
};

/// Runs a case on one rank of a world, with the experts of `reference`.
/// `group` is the members' world ranks; the caller's member number is `me`.
inline shunt_status runMoe(shunt_comm *comm, shunt_group *group, int64_t me,
                           const MoeCase &moe, const Ints &expertOfRow,
                           MoeResult &result) {
  shunt_moe_options options = moe.options;
  Ints sizes, table;
  for (const Ints &mine : moe.table) {
    sizes.push_back(mine.size());
    table.insert(table.end(), mine.begin(), mine.end());
  }
  if (options.placement == SHUNT_MOE_TABLE) {
    options.table_sizes = sizes.data();
    options.table = table.data();
  }
  shunt_moe *layer = nullptr;
  if (shunt_status status = shunt_moe_create(comm, group, &options, &layer))
    return status;
  // Destroyed at the end, whatever happens.
  std::unique_ptr<shunt_moe, void (*)(shunt_moe *)> ownLayer(layer,
                                                             shunt_moe_destroy);
  shunt_moe_routing *routing = nullptr;
  Ints counts(options.experts);
  for (int32_t id : moe.ids[me])
    if (id >= 0)
      ++counts[id];
  if (shunt_status status = shunt_moe_route(
          layer, moe.ids[me].data(), moe.tokens(me),
          options.score == SHUNT_MOE_SCORE_NONE ? nullptr
                                                : moe.scores[me].data(),
          counts.data(), &routing))
    return status;
  std::unique_ptr<shunt_moe_routing, void (*)(shunt_moe_routing *)> own(
      routing, shunt_moe_routing_destroy);
  result.counts.resize(shunt_moe_local_experts(layer));
  result.padded.resize(shunt_moe_local_experts(layer));
  result.send.resize(moe.ranks);
  result.recv.resize(moe.ranks);
  shunt_moe_counts(routing, result.counts.data(), result.padded.data());
  shunt_moe_splits(routing, result.send.data(), result.recv.data());
  shunt_moe_dispatch_volume(routing, &result.volume);

  // Garbage, so that rows nobody writes show.
  result.routed.assign(shunt_moe_rows(routing) * moe.rowBytes(), 0xa5);
  result.out.assign(moe.tokens(me) * moe.rowBytes(), 0xa5);
  shunt_moe_payload payload = {moe.x[me].data(), result.routed.data(),
                               moe.elems, moe.dtype, 1};
  shunt_stats before = {};
  shunt_comm_stats(comm, &before);
  if (shunt_status status = shunt_moe_dispatch(routing, &payload, 1))
    return status;
  shunt_comm_stats(comm, &result.stats);
  result.stats.bytes_sent -= before.bytes_sent;
  result.stats.bytes_received -= before.bytes_received;
  Bytes rows = result.routed;
  if (rows.size() == expertOfRow.size() * moe.rowBytes())
    runExperts(moe, me, expertOfRow, rows);
  shunt_status status = shunt_moe_combine(
      routing, rows.data(), result.out.data(), moe.elems, moe.dtype,
      moe.bias.empty() ? nullptr : moe.bias[me].data());
  result.workspace = shunt_moe_workspace(layer);
  return status;
}

/// Compares what a rank got with the reference.
inline void expectResult(const MoeResult &got, const MoeResult &want) {
  EXPECT_EQ(got.counts, want.counts);
  EXPECT_EQ(got.padded, want.padded);
  EXPECT_EQ(got.send, want.send);
  EXPECT_EQ(got.recv, want.recv);
  EXPECT_TRUE(got.routed == want.routed) << "expert rows differ";
  EXPECT_TRUE(got.out == want.out) << "combined rows differ";
}

/// The ways a result may come about: each algorithm, and all_to_all without
/// direct placement.
struct Way {
  shunt_moe_algorithm algorithm;
  int32_t noDirect;
  const char *name;
};
constexpr Way ways[] = {
    {SHUNT_MOE_ALL_TO_ALL, 0, "all_to_all, direct"},
    {SHUNT_MOE_ALL_TO_ALL, 1, "all_to_all"},
    {SHUNT_MOE_ALL_GATHER, 1, "all_gather"},
    {SHUNT_MOE_ALL_TO_ALL_DEDUP, 1, "all_to_all_dedup"},
    {SHUNT_MOE_HIERARCHICAL, 1, "hierarchical"},
};

} // namespace shunt::rt::test

#endif // SHUNT_RUNTIME_TEST_MOE_MOECASE_H
