//===- LayoutRules.cpp - Layouts through compute ops ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Analysis/LayoutRules.h"

#include "Dims.h"
#include "Linearity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace shunt {

//===----------------------------------------------------------------------===//
// Ops by kind
//===----------------------------------------------------------------------===//

/// The number of tokens at the logical level is the number of its own rows on
/// each rank later: it may size tensors of the same layout and nothing else.
static LogicalResult verifyDim(tensor::DimOp op) {
  std::optional<int64_t> index = op.getConstantIndex();
  DimSplit rows = dimSplit(op.getSource().getType(), 0);
  if (index && *index != 0)
    return success();
  if (!index && isTokenTensor(op.getSource().getType()))
    return op.emitOpError() << "takes a size of a tensor of tokens by an index "
                               "that is not constant [X_LAYOUT]";
  if (rows.kind != DimSplit::Tokens)
    return success();
  for (OpOperand &use : op->getUses()) {
    auto empty = dyn_cast<tensor::EmptyOp>(use.getOwner());
    DimSplit sized;
    if (empty && empty.getType().isDynamicDim(0) && use.getOperandNumber() == 0)
      sized = dimSplit(empty.getType(), 0);
    if (sized == rows || use.getOwner()->hasAttr(kTokenWise))
      continue;
    InFlightDiagnostic diag =
        op.emitOpError() << "is the number of tokens, of which a rank has "
                         << splitText(rows)
                         << "; it may only size a tensor.empty of the same "
                            "rows";
    if (empty)
      diag << ", not one with " << splitText(sized);
    diag << " [X_LAYOUT]";
    diag.attachNote(use.getOwner()->getLoc()) << "used here";
    return diag;
  }
  return success();
}

static LogicalResult verifyConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !elements.isSplat())
    return op.emitOpError() << "has a layout, so each rank has another part of "
                               "it; only splat constants may [X_LAYOUT]";
  if (matchPattern(op.getResult(), m_AnyZeroFloat()) ||
      matchPattern(op.getResult(), m_Zero()))
    return success();
  return checkPartial(op, op.getResult(), {});
}

/// All tensors of the op have one encoding; returns it through `encoding`.
static LogicalResult sameEncoding(Operation *op) {
  Value first;
  auto check = [&](Value value) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor)
      return success();
    if (!first)
      first = value;
    auto firstType = cast<RankedTensorType>(first.getType());
    if (tensor.getEncoding() == firstType.getEncoding())
      return success();
    if (isTokenTensor(tensor) && isTokenTensor(firstType) &&
        dimSplit(tensor, 0) != dimSplit(firstType, 0))
      return reportRows(op, first, value);
    return op->emitOpError()
           << "has values of different layouts, " << firstType << " and "
           << tensor << "; give all one layout [X_LAYOUT]";
  };
  for (Value operand : op->getOperands())
    if (failed(check(operand)))
      return failure();
  for (Value result : op->getResults())
    if (failed(check(result)))
      return failure();
  return success();
}

static LogicalResult verifyElementwise(Operation *op) {
  if (failed(sameEncoding(op)))
    return failure();
  SmallVector<Summand> operands;
  for (Value operand : op->getOperands())
    operands.push_back({partialAxes(operand.getType()), operand});
  FailureOr<Summand> result = applyOp(op, operands, op);
  if (failed(result))
    return failure();
  for (Value value : op->getResults())
    if (failed(checkPartial(op, value, result->axes)))
      return failure();
  return success();
}

/// An op of which we only know that its author says it treats each token by
/// itself.
static LogicalResult verifyDeclaredTokenWise(Operation *op) {
  Value first;
  auto check = [&](Value value) -> LogicalResult {
    if (!isEncoded(value.getType()))
      return success();
    AxisNames partial = partialAxes(value.getType());
    if (!partial.empty()) {
      InFlightDiagnostic diag =
          op->emitOpError()
          << "is token-wise and has a partial sum over " << axesText(partial)
          << "; reduce it first (shunt.all_reduce or shunt.reduce_scatter) "
             "[X_PARTIAL_INPUT]";
      noteProducer(diag, value, "the partial sum is made");
      return diag;
    }
    auto tensor = cast<RankedTensorType>(value.getType());
    bool tokens = isTokenTensor(tensor);
    for (unsigned dim = tokens; dim < unsigned(tensor.getRank()); ++dim)
      if (dimSplit(tensor, dim).kind != DimSplit::Whole)
        return op->emitOpError()
               << "is token-wise and needs whole rows, but dimension " << dim
               << " of " << tensor << " is split [X_LAYOUT]";
    if (!tokens)
      return success();
    if (!first)
      first = value;
    return dimSplit(tensor, 0) == dimSplit(first.getType(), 0)
               ? success()
               : reportRows(op, first, value);
  };
  for (Value operand : op->getOperands())
    if (failed(check(operand)))
      return failure();
  for (Value result : op->getResults())
    if (failed(check(result)))
      return failure();
  return success();
}

/// Ops that pass values on between blocks and functions, whose verifiers ask
/// for equal types.
static bool isStructural(Operation *op) {
  return isa<RegionBranchOpInterface, BranchOpInterface,
             RegionBranchTerminatorOpInterface, CallOpInterface>(op) ||
         op->hasTrait<OpTrait::ReturnLike>();
}

LogicalResult verifyLayouts(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), isEncoded) &&
      llvm::none_of(op->getResultTypes(), isEncoded))
    return success();
  if (isa_and_nonnull<ShuntDialect>(op->getDialect()) ||
      isa<tensor::EmptyOp>(op))
    return success();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return verifyLinalg(linalgOp);
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return verifyDim(dim);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return verifyConstant(constant);
  if (isa<tensor::CastOp>(op))
    return sameEncoding(op);
  if (OpTrait::hasElementwiseMappableTraits(op))
    return verifyElementwise(op);
  if (isStructural(op))
    return success();
  if (op->hasAttr(kTokenWise))
    return verifyDeclaredTokenWise(op);
  return op->emitOpError() << "is not known to work on a tensor with a layout; "
                              "write it as linalg, or mark it shunt.token_wise "
                              "if it treats each token by itself [X_LAYOUT]";
}

//===----------------------------------------------------------------------===//
// The whole module
//===----------------------------------------------------------------------===//

/// Split dimensions are cut into equal blocks.
static LogicalResult verifySizes(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isEncoded(tensor))
    return success();
  for (unsigned dim = 0; dim < unsigned(tensor.getRank()); ++dim) {
    DimSplit split = dimSplit(tensor, dim);
    if (split.kind != DimSplit::Blocks)
      continue;
    int64_t parts = groupSizeOf(op, split.mesh, split.axes);
    if (parts == 0)
      return failure();
    if (tensor.isDynamicDim(dim) || tensor.getDimSize(dim) % parts != 0) {
      InFlightDiagnostic diag = op->emitOpError()
                                << "has dimension " << dim << " of size ";
      if (tensor.isDynamicDim(dim))
        diag << "?";
      else
        diag << tensor.getDimSize(dim);
      return diag << " split over " << axesText(split.axes) << " of @"
                  << split.mesh.getValue() << ", which needs a multiple of "
                  << parts << " [E_SIZE]";
    }
  }
  return success();
}

/// A function that others call from outside returns complete sums.
static LogicalResult verifyReturned(Operation *op) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(op->getParentOp());
  if (!function || !op->hasTrait<OpTrait::ReturnLike>() ||
      SymbolTable::getSymbolVisibility(function) ==
          SymbolTable::Visibility::Private)
    return success();
  for (auto [index, value] : llvm::enumerate(op->getOperands())) {
    AxisNames axes = partialAxes(value.getType());
    if (axes.empty())
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "returns result #" << index
                              << " as a partial sum over " << axesText(axes)
                              << "; reduce it first (shunt.all_reduce or "
                                 "shunt.reduce_scatter) [X_INCOMPLETE]";
    noteProducer(diag, value, "the partial sum is made");
    return diag;
  }
  return success();
}

LogicalResult verifyLayouts(ModuleOp module) {
  LogicalResult status = success();
  llvm::DenseSet<Type> sized;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Each op is judged by its own types, so one error causes no other.
    auto check = [&](LogicalResult result) {
      if (failed(result))
        status = failure();
    };
    auto checkType = [&](Type type) {
      if (sized.insert(type).second)
        check(verifySizes(op, type));
    };
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), checkType);
    llvm::for_each(op->getResultTypes(), checkType);
    check(verifyLayouts(op));
    check(verifyReturned(op));
  });
  return status;
}

} // namespace shunt
