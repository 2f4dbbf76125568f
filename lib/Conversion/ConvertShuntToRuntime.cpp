//===- ConvertShuntToRuntime.cpp - under construction ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Conversion/Passes.h"

namespace shunt {
#define GEN_PASS_DEF_CONVERTSHUNTTORUNTIME
#include "Shunt/Conversion/Passes.h.inc"

namespace {
struct ConvertShuntToRuntime
    : impl::ConvertShuntToRuntimeBase<ConvertShuntToRuntime> {
  void runOnOperation() override {}
};
} // namespace
} // namespace shunt
