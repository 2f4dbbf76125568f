//===- VerifyPlan.cpp - Proves local programs right ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

#include "Shunt/Analysis/Proof.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_VERIFYPLAN
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct VerifyPlan : impl::VerifyPlanBase<VerifyPlan> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    // A function that another one calls is judged there, by what it is given.
    llvm::DenseSet<StringRef> called;
    getOperation().walk(
        [&](func::CallOp call) { called.insert(call.getCallee()); });
    bool ok = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || called.contains(function.getName()))
        continue;
      FailureOr<Proof> proof = prove(function, symbols);
      ok &= succeeded(proof);
      if (succeeded(proof))
        explain(function, *proof);
    }
    if (!ok)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  static void explain(func::FuncOp function, const Proof &proof) {
    remark::analysis(function.getLoc(), remark::RemarkOpts::name("Proved")
                                            .category("shunt-verify-plan")
                                            .function(function.getName()))
        << remark::add("proved right: every rank enters its collectives with "
                       "the rows that they expect, and each row of the result "
                       "is summed once")
        << remark::metric("Ranks", proof.ranks)
        << remark::metric("Tokens", proof.tokens)
        << remark::metric("Ops", proof.ops)
        << remark::metric("Collectives", proof.collectives);
  }
};
} // namespace
} // namespace shunt
