//===- RewriteTokenCounts.cpp - Replaces hand-written count tables ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

#include "Shunt/Analysis/CollectiveText.h"
#include "Shunt/Analysis/GivenCounts.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_REWRITETOKENCOUNTS
#include "Shunt/Transforms/Passes.h.inc"

/// Says what was wrong with the table, as diagnostics that are always shown
/// and as one optimization remark for tools.
static void explain(Operation *op, const GivenReport &report) {
  if (!report.unknown.empty()) {
    emitRemark(op->getLoc())
        << "hand-written counts replaced by derived ones without "
           "a comparison: "
        << report.unknown;
    return;
  }
  for (const GivenReport::Disagreement &item : report.disagreements) {
    InFlightDiagnostic diag = emitRemark(op->getLoc())
                              << "group " << groupText(item.ranks)
                              << " would pass different "
                                 "counts:";
    for (auto [rank, list] : llvm::zip(item.ranks, item.lists))
      diag << (rank == item.ranks.front() ? " " : ", ") << "rank " << rank
           << " " << listText(list);
    diag << "; replaced by " << listText(countsOf(report.derived, item.ranks));
  }
  for (const GivenReport::WrongCount &wrong : report.wrong)
    emitRemark(op->getLoc()) << "rank " << wrong.rank << ": hand-written count "
                             << wrong.given << " replaced by " << wrong.derived
                             << " (table " << listText(report.given)
                             << ", derived " << listText(report.derived) << ")";
  remark::passed(op->getLoc(), remark::RemarkOpts::name("ReplacedCounts")
                                   .category("shunt-rewrite-token-counts")
                                   .function(functionName(op)))
      << remark::metric("wrong_ranks", report.wrong.size())
      << remark::metric("disagreeing_groups", report.disagreements.size());
}

namespace {
struct RewriteTokenCounts : impl::RewriteTokenCountsBase<RewriteTokenCounts> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    SmallVector<CountedCollective> collectives;
    getOperation().walk([&](Operation *op) {
      CountedCollective collective(op);
      if (collective && collective.given)
        collectives.push_back(collective);
    });
    for (const CountedCollective &collective : collectives)
      if (failed(rewrite(collective, symbols)))
        return signalPassFailure();
  }

  LogicalResult rewrite(const CountedCollective &collective,
                        SymbolTableCollection &symbols) {
    FailureOr<GivenReport> report = compareGiven(collective, symbols);
    if (failed(report))
      return failure();
    if (!report->right())
      explain(collective.op, *report);
    Operation *table = collective.given.getDefiningOp();
    // The table is the last operand; what remains derives its counts.
    collective.op->eraseOperand(collective.op->getNumOperands() - 1);
    annotateCounts(collective.op, report->derived);
    if (table && isOpTriviallyDead(table))
      table->erase();
    return success();
  }
};
} // namespace
} // namespace shunt
