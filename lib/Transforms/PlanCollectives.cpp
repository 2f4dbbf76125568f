//===- PlanCollectives.cpp - under construction ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

namespace shunt {
#define GEN_PASS_DEF_PLANCOLLECTIVES
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct PlanCollectives : impl::PlanCollectivesBase<PlanCollectives> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
} // namespace shunt
