//===- Localize.cpp - under construction ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

namespace shunt {
#define GEN_PASS_DEF_LOCALIZE
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct Localize : impl::LocalizeBase<Localize> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
} // namespace shunt
