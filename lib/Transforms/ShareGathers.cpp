//===- ShareGathers.cpp - Gathers each row once ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The residual stream and its norm are often both needed on all rows: the norm
// by the next block, the residual by the addition after it. Gathering the
// residual and computing the norm on all rows takes one gather instead of two.
//
//===----------------------------------------------------------------------===//

#include "AssignLayouts.h"

#include "Shunt/Analysis/LayoutRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shunt {

namespace {
class GatherSharing {
public:
  GatherSharing(FunctionOpInterface function, SymbolTableCollection &symbols)
      : function(function), symbols(symbols) {}

  LogicalResult run(bool hoist);

private:
  /// Does `op` bring rows to ranks that did not have them?
  FailureOr<bool> gathers(RedistributeOp op);
  FailureOr<bool> sameTarget(RedistributeOp a, RedistributeOp b);
  /// Another gather, of a value that alone `enter`'s operand is computed from,
  /// to the same rows; null if there is none.
  FailureOr<RedistributeOp> findPartner(RedistributeOp enter);
  /// The token-wise ops between `value` and `root`, in program order; empty
  /// unless they read no other tokens.
  SmallVector<Operation *> opsBetween(Value root, Value value);
  void runOnAllRows(RedistributeOp enter, Value root,
                    ArrayRef<Operation *> ops);
  /// Lets later gathers of one value to the same rows read the first.
  LogicalResult merge();

  FunctionOpInterface function;
  SymbolTableCollection &symbols;
  /// Answers of `gathers`; a stack of layers asks the same again and again.
  llvm::DenseMap<std::pair<LayoutAttr, LayoutAttr>, bool> gathersFromTo;
};
} // namespace

FailureOr<bool> GatherSharing::gathers(RedistributeOp op) {
  LayoutAttr from = getLayout(op.getInput().getType());
  LayoutAttr to = getLayout(op.getType());
  if (!from || !to || from.isPartial())
    return false;
  auto known = gathersFromTo.find({from, to});
  if (known != gathersFromTo.end())
    return known->second;
  Resolver resolver(op, symbols);
  FailureOr<Layout> source = resolver.layout(from);
  FailureOr<Layout> target = resolver.layout(to);
  if (failed(source) || failed(target))
    return failure();
  // The target has a row that the source lacks on some rank.
  bool result = false;
  for (Rank rank = 0; rank < source->mesh.world() && !result; ++rank) {
    RankList held = source->cells(rank);
    llvm::DenseSet<Rank> cells(held.begin(), held.end());
    result = llvm::any_of(target->cells(rank),
                          [&](Rank cell) { return !cells.contains(cell); });
  }
  return gathersFromTo[{from, to}] = result;
}

FailureOr<bool> GatherSharing::sameTarget(RedistributeOp a, RedistributeOp b) {
  LayoutAttr layoutA = getLayout(a.getType()), layoutB = getLayout(b.getType());
  if (layoutA == layoutB)
    return true;
  if (!layoutA || !layoutB)
    return false;
  Resolver resolver(a, symbols);
  FailureOr<Layout> first = resolver.layout(layoutA);
  FailureOr<Layout> second = resolver.layout(layoutB);
  if (failed(first) || failed(second))
    return failure();
  return layoutA.getInner() == layoutB.getInner() && sameRows(*first, *second);
}

SmallVector<Operation *> GatherSharing::opsBetween(Value root, Value value) {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (next == root)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || op->getBlock() != value.getParentBlock())
      return {};
    if (ops.contains(op))
      continue;
    // What a destination starts from has no tokens of its own.
    bool source = isa<tensor::EmptyOp>(op) || isa<linalg::FillOp>(op);
    if (!source && !isTokenWise(op))
      return {};
    ops.insert(op);
    for (Value operand : op->getOperands())
      if (isTokenTensor(operand.getType()))
        work.push_back(operand);
  }
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

FailureOr<RedistributeOp> GatherSharing::findPartner(RedistributeOp enter) {
  RedistributeOp found;
  WalkResult result = function.walk([&](RedistributeOp other) {
    if (other == enter || other.getInput() == enter.getInput() ||
        other.getInput().getType() != enter.getInput().getType())
      return WalkResult::advance();
    if (opsBetween(other.getInput(), enter.getInput()).empty())
      return WalkResult::advance();
    FailureOr<bool> gather = gathers(other);
    FailureOr<bool> same = sameTarget(enter, other);
    if (failed(gather) || failed(same))
      return WalkResult::interrupt();
    if (*gather && *same)
      found = other;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return found;
}

void GatherSharing::runOnAllRows(RedistributeOp enter, Value root,
                                 ArrayRef<Operation *> ops) {
  // Sources may be made before the root is.
  OpBuilder builder(*llvm::find_if(ops, isTokenWise));
  LayoutAttr layout = getLayout(enter.getType());
  auto relaid = [&](Value value) {
    return withEncoding(cast<RankedTensorType>(value.getType()), layout);
  };
  auto gathered =
      RedistributeOp::create(builder, enter.getLoc(), relaid(root), root,
                             enter.getBatch(), enter.getStepAttr());
  IRMapping mapping;
  mapping.map(root, gathered.getResult());
  builder.setInsertionPoint(enter);
  for (Operation *op : ops) {
    Operation *copy = builder.clone(*op, mapping);
    if (auto empty = dyn_cast<tensor::EmptyOp>(copy);
        empty && empty.getType().isDynamicDim(0)) {
      builder.setInsertionPoint(copy);
      copy->setOperand(0, builder.createOrFold<tensor::DimOp>(
                              op->getLoc(), gathered.getResult(), 0));
      builder.setInsertionPoint(enter);
    }
    for (Value result : copy->getResults())
      if (isTokenTensor(result.getType()))
        result.setType(relaid(result));
  }
  enter.replaceAllUsesWith(mapping.lookup(enter.getInput()));
  enter.erase();
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

LogicalResult GatherSharing::merge() {
  SmallVector<RedistributeOp> ops;
  function.walk([&](RedistributeOp op) { ops.push_back(op); });
  DominanceInfo dominance(function);
  for (size_t i = 0; i < ops.size(); ++i) {
    FailureOr<bool> gather = gathers(ops[i]);
    if (failed(gather))
      return failure();
    if (!*gather)
      continue;
    for (size_t j = i + 1; j < ops.size(); ++j) {
      if (ops[j].getInput() != ops[i].getInput())
        continue;
      FailureOr<bool> same = sameTarget(ops[i], ops[j]);
      if (failed(same))
        return failure();
      if (*same && dominance.properlyDominates(ops[i].getOperation(),
                                               ops[j].getOperation()))
        ops[j].getInputMutable().assign(ops[i].getResult());
    }
  }
  // A redistribute to the same layout is none.
  for (RedistributeOp op : ops)
    if (op.getInput().getType() == op.getType()) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    }
  return success();
}

LogicalResult GatherSharing::run(bool hoist) {
  SmallVector<RedistributeOp> enters;
  if (hoist)
    function.walk([&](RedistributeOp op) { enters.push_back(op); });
  for (RedistributeOp enter : enters) {
    FailureOr<bool> gather = gathers(enter);
    if (failed(gather))
      return failure();
    if (!*gather)
      continue;
    FailureOr<RedistributeOp> partner = findPartner(enter);
    if (failed(partner))
      return failure();
    if (*partner) {
      Value root = partner->getInput();
      runOnAllRows(enter, root, opsBetween(root, enter.getInput()));
    }
  }
  return merge();
}

LogicalResult shareGathers(FunctionOpInterface function, bool hoist,
                           SymbolTableCollection &symbols) {
  return GatherSharing(function, symbols).run(hoist);
}

} // namespace shunt
