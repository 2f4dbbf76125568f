//===- LocalizeCompute.cpp - Upstream ops as one rank runs them ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalizeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/TypeSwitch.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace shunt {

static bool touchesDistributed(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isDistributed) ||
         llvm::any_of(op->getResultTypes(), isDistributed);
}

static Attribute encodingOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getEncoding() : Attribute();
}

/// Do relabels alone lead from `op` back to it? Legal in a graph region; none
/// of them would leave a value.
static bool isCircle(RelabelOp op) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (auto at = op; at && seen.insert(at).second;)
    if ((at = at.getInput().getDefiningOp<RelabelOp>()) == op)
      return true;
  return false;
}

LogicalResult checkUnderstood(Operation *op) {
  if (auto relabel = dyn_cast<RelabelOp>(op); relabel && isCircle(relabel))
    return op->emitOpError("relabels its own result, which no rank ever holds; "
                           "give it the rows of another value [X_LAYOUT]");
  if (isa<RedistributeOp>(op))
    return op->emitOpError("is left to be planned; run shunt-plan first "
                           "[X_NOT_PLANNED]");
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (isa_and_nonnull<AutoAttr>(encodingOf(type)))
        return op->emitOpError()
               << "has a value of type " << type
               << " whose layout is not decided; run shunt-assign-layouts "
                  "first [X_NOT_PLANNED]";
  if (!touchesDistributed(op) ||
      isa<ShuntDialect, func::FuncDialect, cf::ControlFlowDialect>(
          op->getDialect()) ||
      isa<linalg::LinalgOp, scf::IfOp, scf::ForOp, scf::WhileOp, scf::YieldOp,
          scf::ConditionOp, arith::ConstantOp, tensor::EmptyOp, tensor::DimOp>(
          op) ||
      op->hasTrait<OpTrait::Elementwise>())
    return success();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    if (encodingOf(cast.getSource().getType()) == encodingOf(cast.getType()))
      return success();
  return op->emitOpError(
      "reads or makes a tensor that ranks share, and what that means for one "
      "rank is not known; use linalg, elementwise arith and math, scf, or "
      "tensor.empty, tensor.dim and tensor.cast to the same layout "
      "[X_NOT_LOCAL]");
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The rows of this rank under the layout of `value`, computed from the one
/// batch that is visible at `op`.
static FailureOr<Value> rowsFromBatch(Operation *op, LayoutAttr attr,
                                      const LocalizeContext &context) {
  auto function = op->getParentOfType<func::FuncOp>();
  SmallVector<Value> batches;
  if (function) {
    for (Value argument : function.getArguments())
      if (isa<BatchType>(argument.getType()))
        batches.push_back(argument);
    DominanceInfo dominance(function);
    function.walk([&](Operation *candidate) {
      if (isa<BatchOp, GatherBatchOp>(candidate) &&
          dominance.properlyDominates(candidate, op))
        batches.push_back(candidate->getResult(0));
    });
  }
  if (batches.size() != 1)
    return op->emitOpError()
           << "needs a number of rows under " << attr << ", and "
           << batches.size()
           << " batches are in scope; take the size from a tensor.dim of a "
              "tensor of this layout [X_NOT_LOCAL]";
  OpBuilder builder(op);
  FailureOr<Layout> layout = Resolver(op, context.symbols).layout(attr);
  FailureOr<LocalCounts> counts =
      LocalCounts::create(builder, op, batches.front(), context.symbols);
  if (failed(layout) || failed(counts))
    return failure();
  return counts->ofThisRank(counts->rows(*layout));
}

/// Is `type` of rows of which each rank has its own number?
static bool hasRows(Type type) { return getLayout(type) || getRouted(type); }

/// Is `size` the number of rows of a tensor with the rows of `attr`?
static bool isRowsOf(Value size, LayoutAttr attr, Operation *op,
                     const LocalizeContext &context) {
  auto dim = size.getDefiningOp<tensor::DimOp>();
  LayoutAttr source = dim ? getLayout(dim.getSource().getType()) : LayoutAttr();
  if (!source || dim.getConstantIndex() != 0)
    return false;
  Resolver resolver(op, context.symbols);
  FailureOr<Layout> a = resolver.layout(attr), b = resolver.layout(source);
  return succeeded(a) && succeeded(b) && sameRows(*a, *b);
}

/// How many rows a routing sends is known from other tensors of such rows only.
static LogicalResult checkRoutedEmpty(tensor::EmptyOp op, RoutedAttr attr) {
  auto dim = op.getDynamicSizes().front().getDefiningOp<tensor::DimOp>();
  RoutedAttr source = dim ? getRouted(dim.getSource().getType()) : RoutedAttr();
  if (source && dim.getConstantIndex() == 0 &&
      source.getRows() == attr.getRows())
    return success();
  return op->emitOpError()
         << "needs a number of rows under " << attr
         << ", which is known at run time; take the size from a tensor.dim of "
            "a tensor of the same rows [X_NOT_LOCAL]";
}

static LogicalResult localizeEmpty(tensor::EmptyOp op,
                                   const LocalizeContext &context) {
  if (RoutedAttr routed = getRouted(op.getType()))
    return checkRoutedEmpty(op, routed);
  LayoutAttr attr = getLayout(op.getType());
  if (!attr)
    return success();
  SmallVector<Value> sizes(op.getDynamicSizes());
  bool isDynamic = op.getType().isDynamicDim(0);
  if (isDynamic && isRowsOf(sizes.front(), attr, op, context))
    return success();
  FailureOr<Value> rows = rowsFromBatch(op, attr, context);
  if (failed(rows))
    return failure();
  if (isDynamic)
    sizes.front() = *rows;
  else
    sizes.insert(sizes.begin(), *rows);
  op->setOperands(sizes);
  return success();
}

/// What the program calls the size of a dimension is that of the whole tensor.
static LogicalResult localizeDim(tensor::DimOp op,
                                 const LocalizeContext &context) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  if (!type || !isDistributed(type))
    return success();
  std::optional<int64_t> index = op.getConstantIndex();
  if (!index || *index < 0 || *index >= type.getRank())
    return op->emitOpError("asks for a dimension of a tensor that ranks share "
                           "by an index that is not a constant in range "
                           "[X_NOT_LOCAL]");
  if (hasRows(type) && *index == 0) {
    for (Operation *user : op->getUsers())
      if (!isa<tensor::EmptyOp>(user)) {
        InFlightDiagnostic diag =
            op->emitOpError("takes the number of all tokens, of which one rank "
                            "knows its own part; only tensor.empty may use it "
                            "[X_NOT_LOCAL]");
        diag.attachNote(user->getLoc()) << "used here";
        return diag;
      }
    return success();
  }
  if (!type.isDynamicDim(*index)) {
    OpBuilder builder(op);
    Value size = arith::ConstantIndexOp::create(builder, op.getLoc(),
                                                type.getDimSize(*index));
    op.getResult().replaceAllUsesWith(size);
    op.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Constants and positions
//===----------------------------------------------------------------------===//

static LogicalResult localizeConstant(arith::ConstantOp op,
                                      const LocalizeContext &context) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || !isDistributed(type))
    return success();
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op->emitOpError("is a constant with different elements, of which "
                           "each rank would hold other ones; pass it as an "
                           "argument [X_NOT_LOCAL]");
  auto local = context.localType(op);
  if (local.hasStaticShape()) {
    op.setValueAttr(splat.resizeSplat(local));
    return success();
  }
  if (getRouted(type))
    return op->emitOpError("is a constant of routed rows, whose number is "
                           "known at run time; fill a tensor.empty with it "
                           "(linalg.fill) [X_NOT_LOCAL]");
  FailureOr<Value> rows = rowsFromBatch(op, getLayout(type), context);
  if (failed(rows))
    return failure();
  OpBuilder builder(op);
  Value element = arith::ConstantOp::create(
      builder, op.getLoc(), cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value init = emptyRows(builder, op.getLoc(), local, *rows, op);
  Value filled =
      linalg::FillOp::create(builder, op.getLoc(), element, init).getResult(0);
  op.getResult().replaceAllUsesWith(filled);
  op.erase();
  return success();
}

/// `linalg.index` counts in the whole tensor: adds where this rank's block
/// starts.
static LogicalResult localizeIndex(linalg::IndexOp op,
                                   const LocalizeContext &context) {
  auto parent = dyn_cast<linalg::LinalgOp>(op->getParentOp());
  if (!parent)
    return success();
  for (OpOperand &operand : parent->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !isDistributed(type))
      continue;
    AffineMap map = parent.getMatchingIndexingMap(&operand);
    auto dim =
        map.getResultPosition(getAffineDimExpr(op.getDim(), op.getContext()));
    if (!dim)
      continue;
    if (*dim == 0 && hasRows(type))
      return op->emitOpError("asks for the position of a token, which is not "
                             "its row on this rank [X_NOT_LOCAL]");
    SmallVector<StringAttr> names = blockAxes(type.getEncoding(), *dim);
    if (names.empty())
      continue;
    Resolver resolver(parent, context.symbols);
    FailureOr<Mesh> mesh = resolver.mesh(meshOf(type.getEncoding()));
    if (failed(mesh))
      return failure();
    FailureOr<AxisList> axes = resolver.axes(*mesh, names);
    if (failed(axes))
      return failure();
    if (mesh->groupSize(*axes) == 1)
      continue;
    OpBuilder builder(parent);
    Location loc = op.getLoc();
    Value block = GroupIndexOp::create(
        builder, loc, groupsAttr(op.getContext(), *mesh, *axes));
    Value size = arith::ConstantIndexOp::create(
        builder, loc, context.localType(operand.get()).getDimSize(*dim));
    Value offset = arith::MulIOp::create(builder, loc, block, size);
    builder.setInsertionPointAfter(op);
    auto sum = arith::AddIOp::create(builder, loc, op.getResult(), offset);
    op.getResult().replaceAllUsesExcept(sum, sum);
    return success();
  }
  return success();
}

static ArrayRef<StringAttr> partialNames(Type type) {
  if (LayoutAttr layout = getLayout(type))
    return layout.getPartial();
  RoutedAttr routed = getRouted(type);
  return routed ? routed.getPartial() : ArrayRef<StringAttr>();
}

LogicalResult markPartial(Operation *op, FlatSymbolRefAttr meshName,
                          ArrayRef<StringAttr> made,
                          const LocalizeContext &context) {
  if (made.empty())
    return success();
  Resolver resolver(op, context.symbols);
  FailureOr<Mesh> mesh = resolver.mesh(meshName);
  if (failed(mesh))
    return failure();
  FailureOr<AxisList> axes = resolver.axes(*mesh, made);
  if (failed(axes))
    return failure();
  op->setAttr("shunt.partial", groupsAttr(op->getContext(), *mesh, *axes));
  return success();
}

/// Marks a linalg op whose result is partial sums while its operands are not.
static LogicalResult markLinalg(linalg::LinalgOp op,
                                const LocalizeContext &context) {
  if (op->getNumResults() == 0 || op.getNumReductionLoops() == 0)
    return success();
  Type result = op->getResult(0).getType();
  SmallVector<StringAttr> made(partialNames(result));
  if (made.empty())
    return success();
  for (OpOperand *operand : op.getDpsInputOperands())
    llvm::erase_if(made, [&](StringAttr axis) {
      return llvm::is_contained(partialNames(operand->get().getType()), axis);
    });
  return markPartial(op, meshOf(encodingOf(result)), made, context);
}

LogicalResult localizeComputeOp(Operation *op, const LocalizeContext &context) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case(
          [&](tensor::EmptyOp empty) { return localizeEmpty(empty, context); })
      .Case([&](tensor::DimOp dim) { return localizeDim(dim, context); })
      .Case([&](arith::ConstantOp constant) {
        return localizeConstant(constant, context);
      })
      .Case(
          [&](linalg::IndexOp index) { return localizeIndex(index, context); })
      .Case([&](linalg::LinalgOp compute) {
        return markLinalg(compute, context);
      })
      .Default([](Operation *) { return success(); });
}

} // namespace shunt
