//===- Localize.cpp - From all ranks' view to one rank's ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalizeOps.h"

#include "Shunt/Analysis/GivenCounts.h"
#include "Shunt/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_LOCALIZE
#include "Shunt/Transforms/Passes.h.inc"

namespace {

struct Localize : impl::LocalizeBase<Localize> {
  using Base::Base;
  void runOnOperation() override;

private:
  LogicalResult check(SymbolTableCollection &symbols);
  LogicalResult learnTypes(LocalTypes &types);
  void recordLayouts(FunctionOpInterface function);
  void removeBatch(BatchOp op, const LocalTypes &types);
  void changeTypes(const LocalTypes &types);
  void protectArguments(FunctionOpInterface function);
};

LogicalResult Localize::check(SymbolTableCollection &symbols) {
  bool ok = true;
  getOperation().walk([&](Operation *op) {
    ok &= succeeded(checkUnderstood(op)) && succeeded(checkGiven(op, symbols));
  });
  return success(ok);
}

LogicalResult Localize::learnTypes(LocalTypes &types) {
  WalkResult walk = getOperation().walk([&](Operation *op) {
    SmallVector<Type> met(op->getOperandTypes());
    llvm::append_range(met, op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(met, block.getArgumentTypes());
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      met.push_back(function.getFunctionType());
    for (Type type : met)
      if (failed(types.add(type, op)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The layouts that arguments and results had, and the literal batches: what a
/// proof of the local program starts from.
void Localize::recordLayouts(FunctionOpInterface function) {
  auto encoding = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isDistributed(tensor) ? tensor.getEncoding() : Attribute();
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (Attribute layout = encoding(type))
      function.setArgAttr(index, "shunt.layout", layout);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (Attribute layout = encoding(type))
      function.setResultAttr(index, "shunt.layout", layout);

  Builder builder(&getContext());
  SmallVector<Attribute> batches;
  function->walk([&](BatchOp op) {
    if (!op.getRows())
      return;
    NamedAttrList batch;
    batch.append("type", TypeAttr::get(op.getType()));
    batch.append("rows", op.getRowsAttr());
    if (op.getValid())
      batch.append("valid", op.getValidAttr());
    Attribute attr = batch.getDictionary(&getContext());
    if (!llvm::is_contained(batches, attr))
      batches.push_back(attr);
  });
  if (!batches.empty())
    function->setAttr("shunt.batch", builder.getArrayAttr(batches));
}

/// Where a batch is still used as a value, its counts take its place.
void Localize::removeBatch(BatchOp op, const LocalTypes &types) {
  OpBuilder builder(op);
  if (!op->use_empty()) {
    auto type = cast<RankedTensorType>(types(op.getType()));
    Value counts = op.getFrom();
    if (!counts)
      counts = arith::ConstantOp::create(
          builder, op.getLoc(), DenseIntElementsAttr::get(type, *op.getRows()));
    else if (counts.getType() != type)
      counts = tensor::CastOp::create(builder, op.getLoc(), type, counts);
    op.getResult().replaceAllUsesWith(counts);
  }
  op.erase();
}

void Localize::changeTypes(const LocalTypes &types) {
  getOperation().walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(types(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(types(argument.getType()));
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      function.setFunctionTypeAttr(
          TypeAttr::get(types(function.getFunctionType())));
  });
}

/// The buffers that callers from outside pass, weights among them, are read by
/// all ranks that share memory: bufferization is not to write to them.
void Localize::protectArguments(FunctionOpInterface function) {
  if (!function.isPublic() || function.isExternal())
    return;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<TensorType>(type))
      function.setArgAttr(
          index, bufferization::BufferizationDialect::kWritableAttrName,
          BoolAttr::get(&getContext(), false));
}

void Localize::runOnOperation() {
  SymbolTableCollection symbols;
  LocalTypes types(symbols);
  if (failed(check(symbols)) || failed(learnTypes(types)))
    return signalPassFailure();
  getOperation().walk(
      [&](FunctionOpInterface function) { recordLayouts(function); });

  // Users first, so that each op still sees the layouts of its operands.
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) { ops.push_back(op); });
  LocalizeContext context(symbols, types);
  if (failed(learnRoutes(getOperation(), context)))
    return signalPassFailure();
  for (Operation *op : llvm::reverse(ops)) {
    if (auto batch = dyn_cast<BatchOp>(op)) {
      removeBatch(batch, types);
      continue;
    }
    bool isShunt = isa<ShuntDialect>(op->getDialect());
    if (failed(isShunt ? localizeShuntOp(op, context)
                       : localizeComputeOp(op, context)))
      return signalPassFailure();
  }
  changeTypes(types);
  getOperation().walk(
      [&](FunctionOpInterface function) { protectArguments(function); });
  if (types.world())
    getOperation()->setAttr(
        "shunt.world", Builder(&getContext()).getI64IntegerAttr(types.world()));
}

} // namespace
} // namespace shunt
