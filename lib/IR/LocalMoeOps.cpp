//===- LocalMoeOps.cpp - Routing at the local level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalChecks.h"
#include "MoeChecks.h"
#include "Shunt/IR/Moe.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

//===----------------------------------------------------------------------===//
// local.route
//===----------------------------------------------------------------------===//

/// Checks ids or scores: rows of `topK` entries of a type.
static LogicalResult verifySlots(LocalRouteOp op, StringRef name, Type type,
                                 int64_t topK, bool rightType) {
  auto shaped = cast<ShapedType>(type);
  if (!rightType)
    return op.emitOpError()
           << "has " << name << " of " << shaped.getElementType()
           << "; ids are i32, scores f32 [X_DTYPE]";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (bool(tensor) != isa<RankedTensorType>(op.getIds().getType()))
    return op.emitOpError("has a tensor and a memref; use tensors or memrefs "
                          "throughout [X_SHAPE]");
  if (tensor && tensor.getEncoding())
    return op.emitOpError() << "has " << name << " of type " << type
                            << "; what one rank holds has no encoding, see "
                               "shunt-localize [X_SHAPE]";
  if (shaped.getRank() == 2 && shaped.getDimSize(1) == topK && topK >= 1)
    return success();
  return op.emitOpError() << "has " << name << " of type " << type
                          << "; give each token the same static number of at "
                             "least one [X_SHAPE]";
}

LogicalResult LocalRouteOp::verify() {
  FailureOr<std::vector<RankList>> groups = verifyGroups(*this, getGroups());
  if (failed(groups))
    return failure();
  auto ids = cast<ShapedType>(getIds().getType());
  int64_t topK = ids.getRank() == 2 ? ids.getDimSize(1) : 0;
  if (failed(verifySlots(*this, "ids", ids, topK,
                         ids.getElementType().isInteger(32))))
    return failure();
  if (getScores()) {
    auto scores = cast<ShapedType>(getScores().getType());
    if (failed(verifySlots(*this, "scores", scores, topK,
                           scores.getElementType().isF32())))
      return failure();
  }
  if (bool(getScores()) == (getScore() == MoeScore::None))
    return emitOpError() << (getScores() ? "has scores" : "has no scores")
                         << " but multiplies rows by them: "
                         << stringifyMoeScore(getScore())
                         << "; say `none` exactly when there are none "
                            "[X_ROUTING]";
  if (int64_t(getNodeSize()) < 1)
    return emitOpError() << "expects node_size of at least 1, got "
                         << int64_t(getNodeSize()) << " [E_SIZE]";
  if (getRankMajor() && int64_t(getAlignment()) != 1)
    return emitOpError() << "is rank-major with alignment "
                         << int64_t(getAlignment())
                         << "; only expert-major rows are padded [E_ALIGN]";
  if (failed(verifyRouteRules(*this, getExperts(), getAlgorithm(),
                              bool(getScores()))))
    return failure();
  Result<Placement> placement = makePlacement(
      getPlacement(), getTableAttr(), getExperts(), groups->front().size());
  if (!placement)
    return emitOpError() << placement.error().str();
  return success();
}

//===----------------------------------------------------------------------===//
// Rows there and back
//===----------------------------------------------------------------------===//

LogicalResult LocalDispatchOp::verify() {
  if (failed(verifyOperands(*this, getInput(), getInit(), Value())))
    return failure();
  if (!getScored())
    return success();
  return verifySummable(*this, "scored rows",
                        getElementTypeOrSelf(getInput().getType()));
}

LogicalResult LocalCombineOp::verify() {
  if (failed(verifyOperands(*this, getInput(), getInit(), Value())) ||
      failed(verifySummable(*this, "rows",
                            getElementTypeOrSelf(getInput().getType()))))
    return failure();
  if (!getBias())
    return success();
  auto bias = cast<ShapedType>(getBias().getType());
  auto init = cast<ShapedType>(getInit().getType());
  if (isa<TensorType>(bias) == isa<TensorType>(init) &&
      bias.getElementType() == init.getElementType() &&
      succeeded(verifyCompatibleShape(bias, init)))
    return success();
  return emitOpError() << "has a bias of type " << bias
                       << " but an init of type " << init
                       << "; both are the same rows [X_SHAPE]";
}

LogicalResult LocalExpertMatmulOp::verify() {
  auto rows = cast<ShapedType>(getInput().getType());
  auto weights = cast<ShapedType>(getWeights().getType());
  auto init = cast<ShapedType>(getInit().getType());
  if (failed(verifySummable(*this, "rows", rows.getElementType())))
    return failure();
  bool tensors = isa<TensorType>(rows);
  for (ShapedType type : {weights, init})
    if (isa<TensorType>(type) != tensors)
      return emitOpError("has a tensor and a memref; use tensors or memrefs "
                         "throughout [X_SHAPE]");
  for (ShapedType type : {rows, weights, init})
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.getEncoding())
      return emitOpError() << "has an operand of type " << type
                           << "; what one rank holds has no encoding, see "
                              "shunt-localize [X_SHAPE]";
  if (rows.getRank() != 2 || weights.getRank() != 3 || init.getRank() != 2 ||
      !weights.hasStaticShape() ||
      rows.getDimSize(1) != weights.getDimSize(1) ||
      init.getDimSize(1) != weights.getDimSize(2) ||
      rows.getElementType() != weights.getElementType() ||
      rows.getElementType() != init.getElementType())
    return emitOpError() << "multiplies " << rows << " by " << weights << " to "
                         << init
                         << "; these are [?, k], [e, k, n] and [?, n] of one "
                            "type [X_SHAPE]";
  if (getNumResults() != (tensors ? 1 : 0) ||
      (tensors && getResult(0).getType() != init))
    return emitOpError("has a result that is not its init with new contents "
                       "[X_SHAPE]");
  return success();
}
