//===- AssignLayouts.cpp - under construction ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Transforms/Passes.h"

namespace shunt {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "Shunt/Transforms/Passes.h.inc"

namespace {
struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
} // namespace shunt
