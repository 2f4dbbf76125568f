//===- Steps.h - What each step of a run moved, and how long it took ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TOOLS_RUN_STEPS_H
#define SHUNT_TOOLS_RUN_STEPS_H

#include "Shunt/Execution/Run.h"

#include "llvm/Support/JSON.h"

namespace shunt {

/// The collectives of one step and kind, over all ranks.
struct StepSummary {
  /// Of the program, `post_moe@1`; and the collective, with what it is part of.
  std::string step, op;
  /// By rank.
  std::vector<int64_t> calls, rowsIn, rowsOut, bytesSent, bytesReceived;
  std::vector<double> microseconds;
};

/// Steps in the order of their first call.
std::vector<StepSummary>
summarise(const std::vector<std::vector<shunt_event>> &events);

void printSteps(llvm::raw_ostream &os, const std::vector<StepSummary> &steps);
llvm::json::Array toJson(const std::vector<StepSummary> &steps);

/// Every rank's collectives on a time line, in Chrome's trace format.
llvm::json::Value
toTimeline(const std::vector<std::vector<shunt_event>> &events);

} // namespace shunt

#endif // SHUNT_TOOLS_RUN_STEPS_H
