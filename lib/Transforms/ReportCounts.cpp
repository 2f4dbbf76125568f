//===- ReportCounts.cpp - Says which counts each collective takes ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The smallest pass of Shunt, and the one that docs/AddingAPass.md copies.
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

#include "Shunt/Analysis/CollectiveText.h"
#include "Shunt/Analysis/GivenCounts.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_REPORTCOUNTS
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct ReportCounts : impl::ReportCountsBase<ReportCounts> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    WalkResult result = getOperation().walk([&](Operation *op) {
      CountedCollective collective(op);
      if (!collective)
        return WalkResult::advance();
      auto counts = derivedCounts(collective, symbols);
      if (failed(counts))
        return WalkResult::interrupt();
      if (*counts)
        op->emitRemark() << "ranks pass " << listText(**counts) << " rows";
      else
        op->emitRemark() << "counts are known at run time only";
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace shunt
