//===- RoutingVolume.h - What dispatch and combine send ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_ROUTINGVOLUME_H
#define SHUNT_CORE_ROUTINGVOLUME_H

#include "Shunt/Core/Routing.h"

#include <string>

namespace shunt {

enum class DispatchAlgorithm {
  AllToAll,
  AllGather,
  AllToAllDedup,
  Hierarchical
};

/// "all_to_all", "all_gather", "all_to_all_dedup", "hierarchical".
std::string toString(DispatchAlgorithm algorithm);
/// Errors: E_MODE.
Result<DispatchAlgorithm> parseDispatchAlgorithm(const std::string &text);

/// Rows of one rank that go to, or come from, other ranks; of these, those that
/// cross nodes. Combine with partial sums at the owners moves the same rows the
/// other way; combine by slots moves those of AllToAll the other way.
template <typename Number> struct Volume {
  Number sent = 0, received = 0;
  Number sentFar = 0, receivedFar = 0;

  bool operator==(const Volume &o) const {
    return sent == o.sent && received == o.received && sentFar == o.sentFar &&
           receivedFar == o.receivedFar;
  }
};

/// What every algorithm's volume follows from, for each source.
template <typename Number> struct Demand {
  std::vector<Number> tokens;
  /// Rows, and copies of tokens, for each rank: [source][rank].
  std::vector<Number> rows, rankCopies;
  /// Copies of tokens for each node: [source][node].
  std::vector<Number> nodeCopies;
};
using RouteDemand = Demand<int64_t>;

/// The rows of dispatch for a known routing, one entry per rank: exact.
std::vector<Volume<int64_t>> dispatchRows(DispatchAlgorithm algorithm,
                                          const RouteDemand &demand,
                                          Nodes nodes);
/// The same from the routings of all source ranks, in order.
/// Errors: E_SIZE (a node size < 1, a number of routings), E_OVERFLOW.
Result<std::vector<Volume<int64_t>>>
dispatchRows(DispatchAlgorithm algorithm, const Placement &placement,
             const std::vector<Routing> &routings, int64_t nodeSize = 1);

/// Group-limited routing: the experts are `groups` blocks of equal size, in
/// order, and all choices of a token lie in `chosen` of them, any with equal
/// chance.
struct GroupLimit {
  int64_t groups = 1, chosen = 1;
};

/// The same as an expectation, in closed form, when every token chooses `topK`
/// different experts uniformly among those that `limit` leaves it.
/// Errors: E_SIZE (topK beyond the experts it may choose from, groups that do
/// not divide the experts, …).
Result<std::vector<Volume<double>>>
expectedDispatchRows(DispatchAlgorithm algorithm, const Placement &placement,
                     const std::vector<int64_t> &tokens, int64_t topK,
                     int64_t nodeSize = 1, GroupLimit limit = {});

/// The chance that a token touches at least one of `some` of `experts` experts:
/// 1 - C(experts - some, topK) / C(experts, topK).
double touchProbability(int64_t experts, int64_t some, int64_t topK);
/// The same for some experts of which inGroup[g] are in group g.
/// Preconditions: as many entries as groups; what `expectedDispatchRows`
/// checks.
double touchProbability(int64_t experts, const std::vector<int64_t> &inGroup,
                        int64_t topK, GroupLimit limit);

/// Bytes of `rows` rows. Errors: E_OVERFLOW.
Result<int64_t> rowBytes(int64_t rows, int64_t bytesPerRow);

} // namespace shunt

#endif // SHUNT_CORE_ROUTINGVOLUME_H
