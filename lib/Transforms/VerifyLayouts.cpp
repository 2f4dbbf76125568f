//===- VerifyLayouts.cpp - Checks compute ops against layouts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

#include "Shunt/Analysis/LayoutRules.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_VERIFYLAYOUTS
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct VerifyLayouts : impl::VerifyLayoutsBase<VerifyLayouts> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyLayouts(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace shunt
