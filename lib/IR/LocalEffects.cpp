//===- LocalEffects.cpp - What local ops read and write ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Shunt.h"

using namespace mlir;
using namespace shunt;

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

/// Inits are written, other operands read, in so far as they are buffers.
static void addBufferEffects(DestinationStyleOpInterface op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    MemoryEffects::Effect *effect = MemoryEffects::Read::get();
    if (op.isDpsInit(&operand))
      effect = MemoryEffects::Write::get();
    effects.emplace_back(effect, &operand, SideEffects::DefaultResource::get());
  }
}

/// Communication happens once for each op, in program order, on tensors too.
static void addCommunication(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), CommunicatorResource::get());
  effects.emplace_back(MemoryEffects::Write::get(),
                       CommunicatorResource::get());
}

void LocalAllGatherOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
void LocalReduceScatterOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
void LocalAllReduceOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
void LocalAllToAllOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
void LocalSliceOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
}
void LocalPermuteOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
}

void LocalDispatchOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
void LocalCombineOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  addCommunication(effects);
}
/// Asks the routing how many rows each expert has.
void LocalExpertMatmulOp::getEffects(Effects &effects) {
  addBufferEffects(*this, effects);
  effects.emplace_back(MemoryEffects::Read::get(), CommunicatorResource::get());
}
void LocalRouteOp::getEffects(Effects &effects) {
  for (OpOperand &operand : (*this)->getOpOperands())
    if (isa<BaseMemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  addCommunication(effects);
}
