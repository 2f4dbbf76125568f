//===- TokenWise.cpp - Ops that treat each token by itself ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/LayoutRules.h"

using namespace mlir;

namespace shunt {

static bool isTokenWiseLinalg(linalg::LinalgOp op) {
  std::optional<unsigned> tokenLoop;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTokenTensor(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() == 0)
      return false;
    auto loop = dyn_cast<AffineDimExpr>(map.getResult(0));
    if (!loop || (tokenLoop && *tokenLoop != loop.getPosition()))
      return false;
    tokenLoop = loop.getPosition();
  }
  if (!tokenLoop ||
      op.getIteratorTypesArray()[*tokenLoop] != utils::IteratorType::parallel)
    return false;
  // Anything else that the token loop indexes would need the number of the
  // token.
  for (OpOperand &operand : op->getOpOperands()) {
    bool tokens = isTokenTensor(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr expr : map.getResults().drop_front(tokens ? 1 : 0))
      if (expr.isFunctionOfDim(*tokenLoop))
        return false;
  }
  return true;
}

bool isTokenWise(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return isTokenWiseLinalg(linalgOp);
  if (!llvm::any_of(op->getOperandTypes(), isTokenTensor))
    return false;
  return OpTrait::hasElementwiseMappableTraits(op) || op->hasAttr(kTokenWise);
}

} // namespace shunt
