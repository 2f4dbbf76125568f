//===- ShareResults.h - Results of ranks of other processes ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_EXECUTION_SHARERESULTS_H
#define SHUNT_LIB_EXECUTION_SHARERESULTS_H

#include "Shunt/Execution/Elements.h"

#include "shunt/runtime.h"

#include <functional>

namespace shunt {

/// What one rank returned, and what it did for that.
struct RankResult {
  std::vector<Buffer> outputs;
  shunt_stats stats = {};
  std::vector<shunt_event> events;
};

/// Collective over the world: gives `mine` to all ranks and calls `take` for
/// each rank with what that one gave.
shunt_status
shareResults(shunt_comm *comm, const RankResult &mine,
             const std::function<void(int64_t rank, RankResult)> &take);

} // namespace shunt

#endif // SHUNT_LIB_EXECUTION_SHARERESULTS_H
