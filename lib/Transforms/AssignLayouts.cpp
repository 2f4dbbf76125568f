//===- AssignLayouts.cpp - Decides the layouts that are open ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignLayouts.h"
#include "LayoutSearch.h"

#include "Shunt/Analysis/CollectiveText.h"
#include "Shunt/Analysis/LayoutRules.h"
#include "Shunt/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "Shunt/Transforms/Passes.h.inc"

static bool isOpen(Type type) {
  return isTokenTensor(type) && !isLaidOutTensor(type);
}

/// Ops that make an open value out of none: they take the layout of whoever
/// reads it, and are made anew for each.
static bool isSource(Operation *op) {
  return isa<tensor::EmptyOp, arith::ConstantOp, linalg::LinalgOp>(op) ||
         OpTrait::hasElementwiseMappableTraits(op);
}

namespace {
class Assigner {
public:
  /// `choice` is what costs least, or null: rules decide then.
  Assigner(FunctionOpInterface function, RowMode mode,
           const LayoutChoice *choice, SymbolTableCollection &symbols)
      : function(function), mode(mode), choice(choice), symbols(symbols) {}

  LogicalResult run();

private:
  /// The first op, in program order, that takes what comes of `leave` to a
  /// decided layout; null if there is none.
  RedistributeOp nextEnter(RedistributeOp leave);
  FailureOr<LayoutAttr> decide(RedistributeOp leave);
  LayoutAttr decideByCost(RedistributeOp leave, LayoutAttr kept);
  LogicalResult leaveBlock(RedistributeOp leave);
  LogicalResult assignTokenWise(Operation *op);
  /// `value` in `layout`, made before `op`; batch and step are those of
  /// `leave`.
  Value convert(Value value, LayoutAttr layout, RedistributeOp leave,
                Operation *op);
  /// An open value made anew before `op` with the rows of `rows`.
  Value remake(Value value, Value rows, Operation *op);

  FunctionOpInterface function;
  RowMode mode;
  const LayoutChoice *choice;
  SymbolTableCollection &symbols;
  llvm::DenseMap<Operation *, unsigned> order;
  /// Of a value that was open: the redistribute by which its rows, or the last
  /// of the rows that it was made of, left a block.
  llvm::DenseMap<Value, RedistributeOp> decidedBy;
  /// Conversions that exist, by block, since a block's earlier ops dominate.
  llvm::DenseMap<std::pair<Value, Block *>, SmallVector<Value>> conversions;
};
} // namespace

RedistributeOp Assigner::nextEnter(RedistributeOp leave) {
  RedistributeOp first;
  SmallVector<Value> work = {leave.getResult()};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      auto enter = dyn_cast<RedistributeOp>(user);
      if (enter && !isOpen(enter.getType())) {
        if (!first || order[enter] < order[first])
          first = enter;
        continue;
      }
      llvm::copy_if(user->getResults(), std::back_inserter(work),
                    [](Value result) { return isOpen(result.getType()); });
    }
  }
  return first;
}

Layout scatteredOver(const Layout &layout) {
  Layout scattered{layout.mesh, layout.tokens, {}};
  scattered.tokens.insert(scattered.tokens.end(), layout.partial.begin(),
                          layout.partial.end());
  llvm::sort(scattered.tokens);
  return scattered;
}

static remark::detail::InFlightRemark
remarkAt(RedistributeOp leave, StringRef name, FunctionOpInterface function) {
  return remark::passed(leave.getLoc(), remark::RemarkOpts::name(name)
                                            .category("shunt-assign-layouts")
                                            .function(function.getName()));
}

LayoutAttr Assigner::decideByCost(RedistributeOp leave, LayoutAttr kept) {
  LayoutAttr layout = choice->layouts.lookup(leave);
  if (!layout)
    return kept;
  remarkAt(leave, "Chosen", function)
      << remark::add("{0}: rows of {1}",
                     leave.getStep().value_or("redistribute").str(),
                     llvm::formatv("{0}", layout).str())
      << remark::reason(
             "least time of the function, {0:F1} us; all sums completed in "
             "place {1:F1} us, all scattered {2:F1} us",
             choice->seconds * 1e6, choice->reduced * 1e6,
             choice->scattered * 1e6);
  return layout;
}

FailureOr<LayoutAttr> Assigner::decide(RedistributeOp leave) {
  Resolver resolver(leave, symbols);
  LayoutAttr attr = getLayout(leave.getInput().getType());
  if (attr.getInner()) {
    leave.emitOpError() << "leaves a block with split inner dimensions, "
                        << attr
                        << "; state the layout of the result [X_LAYOUT]";
    return failure();
  }
  FailureOr<Layout> from = resolver.layout(attr);
  if (failed(from))
    return failure();
  LayoutAttr kept = attr.withAxes(attr.getTokens(), {});
  const Mesh &mesh = from->mesh;
  if (mesh.groupSize(from->partial) == 1)
    return kept;
  if (choice)
    return decideByCost(leave, kept);

  LayoutAttr scattered = layoutAttr(attr.getContext(), scatteredOver(*from));
  if (mode == RowMode::Scatter) {
    remarkAt(leave, "Scattered", function) << remark::reason("mode 'scatter'");
    return scattered;
  }
  RedistributeOp enter = nextEnter(leave);
  if (!enter)
    return kept;
  FailureOr<Layout> to = resolver.layout(getLayout(enter.getType()));
  if (failed(to))
    return failure();
  Layout rows{mesh, from->tokens, {}};
  if (sameRows(rows, *to)) {
    remarkAt(leave, "Reduced", function)
        << remark::reason("the next block works on the same rows");
    return kept;
  }
  Rank rank = 0;
  while (rank + 1 < mesh.world() && rank + 1 < to->mesh.world() &&
         rows.cells(rank) == to->cells(rank))
    ++rank;
  std::string here = groupText(rows.cells(rank));
  std::string there = groupText(to->cells(rank));
  if (mode == RowMode::Auto) {
    remarkAt(leave, "Scattered", function) << remark::reason(
        "rows are with ranks {0}, the next block reads those of {1}", here,
        there);
    return scattered;
  }
  InFlightDiagnostic diag =
      leave.emitOpError()
      << "mode 'reduce' needs a next block on the same ranks, but the partial "
         "sums are on ranks "
      << here << " and the next block reads on ranks " << there
      << "; use scatter or auto [E_MODE]";
  diag.attachNote(enter.getLoc()) << "the next block reads here";
  return failure();
}

LogicalResult Assigner::leaveBlock(RedistributeOp leave) {
  FailureOr<LayoutAttr> layout = decide(leave);
  if (failed(layout))
    return failure();
  Value result = leave.getResult();
  result.setType(withEncoding(leave.getType(), *layout));
  decidedBy[result] = leave;
  return success();
}

Value Assigner::convert(Value value, LayoutAttr layout, RedistributeOp leave,
                        Operation *op) {
  auto wanted = withEncoding(cast<RankedTensorType>(value.getType()), layout);
  if (value.getType() == wanted)
    return value;
  SmallVector<Value> &existing = conversions[{value, op->getBlock()}];
  for (Value candidate : existing)
    if (candidate.getType() == wanted)
      return candidate;
  OpBuilder builder(op);
  auto conversion =
      RedistributeOp::create(builder, op->getLoc(), wanted, value,
                             leave.getBatch(), leave.getStepAttr());
  existing.push_back(conversion.getResult());
  return conversion.getResult();
}

Value Assigner::remake(Value value, Value rows, Operation *op) {
  Operation *source = value.getDefiningOp();
  SmallVector<Value> operands(source->getOperands());
  for (Value &operand : operands)
    if (isOpen(operand.getType()))
      operand = remake(operand, rows, op);
  OpBuilder builder(op);
  if (auto empty = dyn_cast<tensor::EmptyOp>(source);
      empty && empty.getType().isDynamicDim(0))
    operands[0] = builder.createOrFold<tensor::DimOp>(op->getLoc(), rows, 0);
  Operation *copy = builder.clone(*source);
  copy->setOperands(operands);
  for (Value result : copy->getResults())
    if (isOpen(result.getType()))
      result.setType(withEncoding(cast<RankedTensorType>(result.getType()),
                                  getLayout(rows.getType())));
  if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(
        elements.reshape(cast<ShapedType>(copy->getResult(0).getType())));
  }
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

LogicalResult Assigner::assignTokenWise(Operation *op) {
  if (!isTokenWise(op))
    return op->emitOpError() << "is not token-wise, so it cannot run in any "
                                "layout; redistribute its operands to the "
                                "layout that it needs [X_LAYOUT]";
  // It runs where the last block left its rows.
  Value rows;
  for (Value operand : op->getOperands())
    if (RedistributeOp leave = decidedBy.lookup(operand))
      if (!rows || order[decidedBy[rows]] < order[leave])
        rows = operand;
  RedistributeOp leave = decidedBy[rows];
  LayoutAttr layout = choice ? choice->layouts.lookup(op) : nullptr;
  if (!layout)
    layout = getLayout(leave.getType());
  Value there = convert(rows, layout, leave, op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (decidedBy.contains(operand.get()))
      operand.set(convert(operand.get(), layout, leave, op));
    else if (isOpen(operand.get().getType()))
      operand.set(remake(operand.get(), there, op));
  }
  for (Value result : op->getResults()) {
    if (!isOpen(result.getType()))
      continue;
    result.setType(
        withEncoding(cast<RankedTensorType>(result.getType()), layout));
    decidedBy[result] = leave;
  }
  return success();
}

LogicalResult Assigner::run() {
  SmallVector<Operation *> ops, sources;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    order[op] = ops.size();
    ops.push_back(op);
  });
  for (Operation *op : ops) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (llvm::any_of(block.getArgumentTypes(), isOpen))
          return op->emitOpError() << "has a block argument of layout "
                                      "#shunt.auto; state its layout and "
                                      "redistribute it inside [X_LAYOUT]";
    bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
      return decidedBy.contains(operand);
    });
    bool open = llvm::any_of(op->getResultTypes(), isOpen);
    auto redistribute = dyn_cast<RedistributeOp>(op);
    if (redistribute && open) {
      if (isOpen(redistribute.getInput().getType()))
        return redistribute.emitOpError()
               << "has an operand without tokens to take a layout from; state "
                  "its layout [X_LAYOUT]";
      if (!reads) {
        if (failed(leaveBlock(redistribute)))
          return failure();
        continue;
      }
      // From open to open: the same value.
      redistribute.replaceAllUsesWith(redistribute.getInput());
      redistribute.erase();
      continue;
    }
    if (isa<tensor::DimOp, RedistributeOp>(op))
      continue;
    if (open && !reads) {
      if (!isSource(op))
        return op->emitOpError() << "has a result of layout #shunt.auto but is "
                                    "not token-wise; state the layout of the "
                                    "result [X_LAYOUT]";
      sources.push_back(op);
      continue;
    }
    if ((open || reads) && failed(assignTokenWise(op)))
      return failure();
  }

  // What readers made anew is dead now, and with it the sizes it read.
  auto eraseDeadDims = [](ValueRange values) {
    for (Value value : values)
      if (auto dim = value.getDefiningOp<tensor::DimOp>();
          dim && dim->use_empty())
        dim->erase();
  };
  for (Operation *op : llvm::reverse(sources)) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<tensor::DimOp>(user))
        eraseDeadDims(user->getResults());
    if (!op->use_empty())
      return op->emitOpError() << "has a result of layout #shunt.auto that no "
                                  "token-wise op of decided rows reads; state "
                                  "its layout [X_LAYOUT]";
    llvm::SmallSetVector<Value, 4> operands(op->operand_begin(),
                                            op->operand_end());
    op->erase();
    eraseDeadDims(operands.getArrayRef());
  }
  return success();
}

/// Gives each `#shunt.auto` value of `function` a layout.
static LogicalResult assignLayouts(FunctionOpInterface function, RowMode mode,
                                   ReshardPrices &prices,
                                   SymbolTableCollection &symbols) {
  if (llvm::any_of(function.getArgumentTypes(), isOpen) ||
      llvm::any_of(function.getResultTypes(), isOpen))
    return function->emitOpError()
           << "has an argument or a result of layout #shunt.auto; state its "
              "layout and redistribute inside the function [X_LAYOUT]";
  std::optional<LayoutChoice> choice;
  if (mode == RowMode::Auto) {
    FailureOr<std::optional<LayoutChoice>> found =
        searchLayouts(function, prices, symbols);
    if (failed(found))
      return failure();
    choice = std::move(*found);
  }
  if (failed(
          Assigner(function, mode, choice ? &*choice : nullptr, symbols).run()))
    return failure();
  // The search weighed where token-wise ops run; rules do not.
  return shareGathers(function, /*hoist=*/!choice, symbols);
}

namespace {
struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<RowMode> rowMode =
        llvm::StringSwitch<std::optional<RowMode>>(mode)
            .Case("auto", RowMode::Auto)
            .Case("scatter", RowMode::Scatter)
            .Case("reduce", RowMode::Reduce)
            .Default(std::nullopt);
    if (!rowMode) {
      module.emitError() << "unknown mode '" << mode
                         << "'; use auto, scatter or reduce [E_MODE]";
      return signalPassFailure();
    }
    if (failed(verifyLayouts(module)))
      return signalPassFailure();
    SymbolTableCollection symbols;
    ReshardPrices prices(symbols);
    SmallVector<FunctionOpInterface> functions;
    module.walk([&](FunctionOpInterface op) { functions.push_back(op); });
    for (FunctionOpInterface function : functions)
      if (failed(assignLayouts(function, *rowMode, prices, symbols)))
        return signalPassFailure();
    if (failed(verifyLayouts(module)))
      return signalPassFailure();
  }
};
} // namespace
} // namespace shunt
