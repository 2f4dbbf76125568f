//===- Aliases.h - Short names for layouts in printed IR ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_ALIASES_H
#define SHUNT_IR_ALIASES_H

namespace mlir {
class DialectRegistry;
}

namespace shunt {

/// Prints layouts, shards and batch types once, at the top, under names that
/// say what they are: `#attn_dp_cp_partial_tp`, `#moe_shard_ep`, `!batch`. For
/// tools whose IR is read by people; shunt-opt prints them in place.
void registerAliases(mlir::DialectRegistry &registry);

} // namespace shunt

#endif // SHUNT_IR_ALIASES_H
