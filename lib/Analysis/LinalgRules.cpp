//===- LinalgRules.cpp - Layouts through linalg ops ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linalg op is read like an einsum: each loop collects how the operands that
// it indexes are split. A split loop that is parallel splits the result; one
// that is summed makes it a partial sum.
//
//===----------------------------------------------------------------------===//

#include "Dims.h"
#include "Linearity.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace shunt {

namespace {
/// The dimension of an operand that first said how a loop is split.
struct LoopUse {
  OpOperand *operand = nullptr;
  unsigned dim = 0;
};
} // namespace

static std::string useText(const LoopUse &use) {
  return "dimension " + std::to_string(use.dim) + " of operand #" +
         std::to_string(use.operand->getOperandNumber());
}

/// Ranks that hold different tokens cannot share the work on one of them.
static LogicalResult reportSharedTokens(linalg::LinalgOp op, StringAttr axis) {
  return op->emitOpError()
         << "shares a dimension of its weights out over '" << axis.getValue()
         << "', which splits the tokens too: the parts belong to different "
            "tokens and can never be added or joined; gather the tokens over "
            "it first [X_ROW_MISMATCH]";
}

/// An axis of `blocks` that splits the tokens of an operand; null if none does.
static StringAttr axisOfTokens(linalg::LinalgOp op, const DimSplit &blocks) {
  for (Value operand : op->getOperands()) {
    DimSplit rows = dimSplit(operand.getType(), 0);
    if (rows.kind != DimSplit::Tokens || rows.mesh != blocks.mesh)
      continue;
    for (StringAttr axis : blocks.axes)
      if (llvm::is_contained(rows.axes, axis))
        return axis;
  }
  return {};
}

static LogicalResult reportLoop(linalg::LinalgOp op, const LoopUse &a,
                                const DimSplit &splitA, const LoopUse &b,
                                const DimSplit &splitB) {
  if (splitA.kind == DimSplit::Tokens && splitB.kind == DimSplit::Tokens)
    return reportRows(op, a.operand->get(), b.operand->get());
  for (const DimSplit *split : {&splitA, &splitB})
    if (split->kind == DimSplit::Blocks)
      if (StringAttr axis = axisOfTokens(op, *split))
        return reportSharedTokens(op, axis);
  InFlightDiagnostic diag = op->emitOpError()
                            << "loops over " << useText(a)
                            << ", of which a rank has " << splitText(splitA)
                            << ", together with " << useText(b)
                            << ", of which it has " << splitText(splitB)
                            << "; give both one layout [X_LAYOUT]";
  noteProducer(diag, a.operand->get(), "the first is made");
  noteProducer(diag, b.operand->get(), "the other is made");
  return diag;
}

/// All that is split is split over one mesh, and no axis splits two loops,
/// since then a rank would have only a diagonal of the iteration space.
static LogicalResult checkAxes(linalg::LinalgOp op, ArrayRef<DimSplit> loops) {
  FlatSymbolRefAttr mesh;
  for (const DimSplit &loop : loops) {
    if (!loop.mesh)
      continue;
    if (mesh && mesh != loop.mesh)
      return op->emitOpError()
             << "has operands on mesh " << mesh << " and on mesh " << loop.mesh
             << "; state all in terms of one (shunt.relabel) [X_LAYOUT]";
    mesh = loop.mesh;
  }
  for (size_t i = 0; i < loops.size(); ++i)
    for (size_t j = i + 1; j < loops.size(); ++j)
      for (StringAttr axis : loops[i].axes) {
        if (!llvm::is_contained(loops[j].axes, axis))
          continue;
        if (loops[i].kind == DimSplit::Tokens ||
            loops[j].kind == DimSplit::Tokens)
          return reportSharedTokens(op, axis);
        return op->emitOpError()
               << "has two dimensions split over '" << axis.getValue()
               << "', so a rank would have only a diagonal of the result; "
                  "gather one of them first [X_LAYOUT]";
      }
  return success();
}

/// Reports a split dimension that is not indexed by one loop alone.
static LogicalResult checkIndexing(linalg::LinalgOp op,
                                   ArrayRef<DimSplit> loops) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      if (isa<AffineDimExpr>(expr))
        continue;
      bool split =
          dimSplit(operand.get().getType(), dim).kind != DimSplit::Whole;
      for (auto [loop, loopSplit] : llvm::enumerate(loops))
        split |=
            loopSplit.kind != DimSplit::Whole && expr.isFunctionOfDim(loop);
      if (split)
        return op->emitOpError()
               << "indexes " << useText({&operand, unsigned(dim)})
               << ", which the ranks share, by more than a loop; gather it "
                  "first [X_LAYOUT]";
    }
  }
  return success();
}

FailureOr<SmallVector<DimSplit>> loopSplits(linalg::LinalgOp op) {
  SmallVector<DimSplit> loops(op.getNumLoops());
  SmallVector<LoopUse> firstUse(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      DimSplit split = dimSplit(operand.get().getType(), dim);
      LoopUse use{&operand, unsigned(dim)};
      LoopUse &first = firstUse[loop.getPosition()];
      if (!first.operand) {
        first = use;
        loops[loop.getPosition()] = split;
      } else if (loops[loop.getPosition()] != split) {
        return reportLoop(op, first, loops[loop.getPosition()], use, split);
      }
    }
  }
  if (failed(checkAxes(op, loops)) || failed(checkIndexing(op, loops)))
    return failure();
  return loops;
}

/// A rank has a part of the loop only, so a loop index means another element
/// on each rank. For equal blocks `shunt-localize` adds the offset; tokens have
/// no static one.
static LogicalResult checkIndices(linalg::LinalgOp op,
                                  ArrayRef<DimSplit> loops) {
  WalkResult result = op->walk([&](linalg::IndexOp index) {
    if (index->getParentOp() != op ||
        loops[index.getDim()].kind != DimSplit::Tokens)
      return WalkResult::advance();
    index.emitOpError() << "reads the index of a token, which depends on the "
                           "rank; pass positions as a tensor of tokens "
                           "[X_LAYOUT]";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// A partial operand whose axes also split a loop: each rank would multiply
/// its summand by other numbers.
static LogicalResult checkPartialOperands(linalg::LinalgOp op,
                                          ArrayRef<DimSplit> loops) {
  for (OpOperand *operand : op.getDpsInputOperands())
    for (StringAttr axis : partialAxes(operand->get().getType()))
      for (const DimSplit &loop : loops) {
        if (!llvm::is_contained(loop.axes, axis))
          continue;
        InFlightDiagnostic diag =
            op->emitOpError()
            << "combines operand #" << operand->getOperandNumber()
            << ", a partial sum over '" << axis.getValue()
            << "', with values that differ along it; reduce it first "
               "(shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]";
        noteProducer(diag, operand->get(), "the partial sum is made");
        return diag;
      }
  return success();
}

/// Axes that split the loops which result `index` is summed over.
static FailureOr<AxisNames> summedAxes(linalg::LinalgOp op, unsigned index,
                                       ArrayRef<DimSplit> loops) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(index));
  AxisNames axes;
  for (auto [position, loop] : llvm::enumerate(loops)) {
    if (map.isFunctionOfDim(position))
      continue;
    if (loop.kind == DimSplit::Tokens && (!loop.mesh || !loop.axes.empty())) {
      op->emitOpError() << "sums over the tokens, of which a rank has "
                        << splitText(loop)
                        << "; gather all tokens first [X_ROW_MISMATCH]";
      return failure();
    }
    addAxes(axes, loop.axes);
  }
  return axes;
}

static bool isZeroFill(linalg::LinalgOp op, unsigned index) {
  Value value = op.getBlock()->getTerminator()->getOperand(index);
  // linalg.fill yields its scalar operand.
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getOwner() == op.getBlock() &&
        argument.getArgNumber() < op->getNumOperands() &&
        !isa<RankedTensorType>(
            op->getOperand(argument.getArgNumber()).getType()))
      value = op->getOperand(argument.getArgNumber());
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

LogicalResult verifyLinalg(linalg::LinalgOp op) {
  FailureOr<SmallVector<DimSplit>> loops = loopSplits(op);
  if (failed(loops) || failed(checkIndices(op, *loops)) ||
      failed(checkPartialOperands(op, *loops)))
    return failure();
  BodySums sums(op);
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    FailureOr<AxisNames> summed = summedAxes(op, index, *loops);
    if (failed(summed))
      return failure();
    // Zero is a partial sum over any axes.
    if (isZeroFill(op, index))
      continue;
    FailureOr<AxisNames> axes = sums.resultAxes(index, *summed);
    if (failed(axes) || failed(checkPartial(op, op->getResult(index), *axes)))
      return failure();
  }
  return success();
}

} // namespace shunt
