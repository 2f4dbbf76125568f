//===- DispatchChoice.h - The algorithm of a routing ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_ANALYSIS_DISPATCHCHOICE_H
#define SHUNT_ANALYSIS_DISPATCHCHOICE_H

#include "Shunt/Core/RoutingVolume.h"
#include "Shunt/IR/Moe.h"

namespace shunt {

constexpr int64_t kAssumedTokens = 256;

/// What one algorithm is expected to cost, dispatches and combines of a routing
/// together, when every token chooses its experts uniformly.
struct DispatchEstimate {
  MoeAlgorithm algorithm = MoeAlgorithm::AllToAll;
  double seconds = 0;
  /// Most bytes that one rank sends or receives; of these, those that cross the
  /// innermost level.
  double bytes = 0, farBytes = 0;
};

/// Estimates for every algorithm, the cheapest first; none where tokens choose
/// more experts than there are. Every rank is taken to have `kAssumedTokens`
/// where the batch is not a literal. Reports what does not resolve at `op`.
mlir::FailureOr<std::vector<DispatchEstimate>>
estimateDispatch(RouteOp op, mlir::SymbolTableCollection &symbols);

/// The algorithm by which rows come back: only orders that add up at the
/// experts let `algorithm` save rows there.
DispatchAlgorithm combineAlgorithm(DispatchAlgorithm algorithm, MoeOrder order);

} // namespace shunt

#endif // SHUNT_ANALYSIS_DISPATCHCHOICE_H
