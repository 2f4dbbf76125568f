//===- LocalCountOps.cpp - Checks of the ops that compute count tables ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Shunt.h"

using namespace mlir;
using namespace shunt;

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// On buffers: reads the first operand, writes the second.
static void addEffects(OpOperand &input, OpOperand &init, Effects &effects) {
  if (isa<MemRefType>(input.get().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &input,
                         SideEffects::DefaultResource::get());
  if (isa<MemRefType>(init.get().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &init,
                         SideEffects::DefaultResource::get());
}

static LogicalResult verifyResult(Operation *op, Type init) {
  unsigned expected = isa<RankedTensorType>(init) ? 1 : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError()
           << "has " << op->getNumResults() << " results, expected " << expected
           << " with an init of type " << init << " [X_COUNTS_LENGTH]";
  if (expected && op->getResult(0).getType() != init)
    return op->emitOpError()
           << "has a result of type " << op->getResult(0).getType()
           << " but an init of type " << init
           << ", which it becomes [X_COUNTS_LENGTH]";
  return success();
}

static LogicalResult verifyTables(Operation *op, Type input, Type init) {
  for (Type type : {input, init})
    if (int64_t rank = cast<ShapedType>(type).getRank(); rank != 1)
      return op->emitOpError() << "has a table of " << rank
                               << " dimensions, expected 1 [X_COUNTS_LENGTH]";
  return verifyResult(op, init);
}

LogicalResult LocalPartCountsOp::verify() {
  return verifyTables(*this, getInput().getType(), getInit().getType());
}
void LocalPartCountsOp::getEffects(Effects &effects) {
  addEffects(getInputMutable(), getOperation()->getOpOperand(1), effects);
}

LogicalResult LocalCellCountsOp::verify() {
  return verifyTables(*this, getInput().getType(), getInit().getType());
}
void LocalCellCountsOp::getEffects(Effects &effects) {
  addEffects(getInputMutable(), getOperation()->getOpOperand(1), effects);
}

LogicalResult LocalSumCellsOp::verify() {
  auto input = cast<ShapedType>(getInput().getType());
  auto init = cast<ShapedType>(getInit().getType());
  ArrayRef<int64_t> cells = getCells().getShapedType().getShape();
  if (cells.size() != 2 || input.getRank() != 1)
    return emitOpError()
           << "takes a table of one dimension and `cells` of two, got "
           << input.getRank() << " and " << cells.size()
           << " [X_COUNTS_LENGTH]";
  if (init.hasStaticShape() && init.getNumElements() != cells[0])
    return emitOpError() << "has " << cells[0] << " lists of cells for "
                         << init.getNumElements() << " sums [X_COUNTS_LENGTH]";
  // A splat may have more elements than can be counted, all of one value.
  SmallVector<int64_t> values;
  if (getCells().isSplat())
    values.push_back(getCells().getSplatValue<int64_t>());
  else
    values = llvm::to_vector(getCells().getValues<int64_t>());
  if (input.hasStaticShape())
    for (int64_t cell : values)
      if (cell < -1 || cell >= input.getDimSize(0))
        return emitOpError()
               << "names cell " << cell << ", expected one of "
               << input.getDimSize(0) << " or -1 for none [X_COUNTS_LENGTH]";
  return verifyResult(*this, init);
}
void LocalSumCellsOp::getEffects(Effects &effects) {
  addEffects(getInputMutable(), getOperation()->getOpOperand(1), effects);
}
