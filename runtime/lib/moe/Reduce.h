//===- Reduce.h - The sum of a token's slots ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_REDUCE_H
#define SHUNT_RUNTIME_MOE_REDUCE_H

#include "Moe.h"

#include <functional>

namespace shunt::rt {

/// One slot's row with what orders of summation ask about it.
struct Term {
  const char *row;
  float weight;
  int64_t choice, instance, rank, node;
};

/// How terms are added: shunt_moe_options says it.
struct SumRule {
  explicit SumRule(const shunt_moe_options &options);
  /// By k, in f32, rounded once.
  bool isPlain() const {
    return order == SHUNT_MOE_ORDER_SLOT && !roundSums && !roundProducts;
  }

  shunt_moe_order order;
  bool weighted, roundSums, roundProducts, roundPartials;
  int64_t topK;
};

/// out = the sum of the terms, which come by k, + bias, rounded to `dtype`.
void sumTerms(char *out, std::vector<Term> &terms, const SumRule &rule,
              const char *bias, int64_t elems, shunt_dtype dtype);

/// Adds up the slots of all tokens into `call.out`, on the threads of the
/// dispatcher. `rowOfSlot` gives a slot's row, and is not asked for slots that
/// were dropped.
void sumSlots(shunt_moe_routing &routing, const CombineCall &call,
              const std::function<const char *(int64_t)> &rowOfSlot);

/// How a result of so many bytes is best written.
Write writeFor(int64_t bytes);

/// Rows in one piece of work, so that pieces are large and threads even.
int64_t grainFor(int64_t rowBytes);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_REDUCE_H
