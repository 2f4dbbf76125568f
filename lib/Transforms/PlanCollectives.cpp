//===- PlanCollectives.cpp - From redistribute to collectives ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"

#include "Shunt/Transforms/Passes.h"

#include "Shunt/Analysis/CollectiveText.h"
#include "Shunt/Analysis/DispatchChoice.h"
#include "Shunt/Analysis/GivenCounts.h"
#include "Shunt/Analysis/LayoutRules.h"
#include "Shunt/Analysis/Transition.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_PLANCOLLECTIVES
#include "Shunt/Transforms/Passes.h.inc"

static bool isUndecided(Type type) {
  return isTokenTensor(type) && !isLaidOutTensor(type);
}

/// Reports the first value whose layout is still open.
static LogicalResult checkDecided(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    bool open = llvm::any_of(op->getResultTypes(), isUndecided);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        open |= llvm::any_of(block.getArgumentTypes(), isUndecided);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      open |= llvm::any_of(function.getArgumentTypes(), isUndecided) ||
              llvm::any_of(function.getResultTypes(), isUndecided);
    if (!open)
      return WalkResult::advance();
    op->emitOpError() << "has a value whose layout is still #shunt.auto; run "
                         "shunt-assign-layouts first [X_LAYOUT]";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// `reduce_scatter over tp (direct), relabel to @moe`
static std::string describe(const Transition &transition, const Mesh &source,
                            ArrayRef<std::string> algorithms) {
  std::string text;
  const Mesh *mesh = &source;
  for (auto [index, step] : llvm::enumerate(transition.steps)) {
    text += text.empty() ? "" : ", ";
    text += toString(step.move);
    if (step.move != Move::Relabel)
      text += " over " + mesh->axisNames(step.axes);
    if (index < algorithms.size() && !algorithms[index].empty())
      text += " (" + algorithms[index] + ")";
    if (step.move == Move::Relabel && mesh->name() != step.result.mesh.name())
      text += " to @" + step.result.mesh.name();
    mesh = &step.result.mesh;
  }
  return text.empty() ? "nothing" : text;
}

namespace {
/// Writes one chain of collectives.
class Emitter {
public:
  Emitter(RedistributeOp op, SymbolTableCollection &symbols)
      : op(op), builder(op), symbols(symbols), value(op.getInput()) {}

  LogicalResult emit(const Transition &transition, const Mesh &source);
  Value result() const { return value; }

private:
  template <typename OpTy>
  Operation *create(Type type, const Mesh &mesh, const AxisList &axes) {
    SmallVector<StringAttr> names = axisNames(op.getContext(), mesh, axes);
    return OpTy::create(builder, op.getLoc(), type, value, op.getBatch(),
                        builder.getArrayAttr(
                            SmallVector<Attribute>(names.begin(), names.end())),
                        /*counts=*/nullptr, /*given=*/nullptr,
                        op.getStepAttr());
  }
  Operation *createStep(const TransitionStep &step, const Mesh &mesh,
                        Type type);

  RedistributeOp op;
  OpBuilder builder;
  SymbolTableCollection &symbols;
  Value value;
};
} // namespace

Operation *Emitter::createStep(const TransitionStep &step, const Mesh &mesh,
                               Type type) {
  switch (step.move) {
  case Move::AllGather:
    return create<AllGatherOp>(type, mesh, step.axes);
  case Move::ReduceScatter:
    return create<ReduceScatterOp>(type, mesh, step.axes);
  case Move::AllReduce:
    return create<AllReduceOp>(type, mesh, step.axes);
  case Move::AllToAll:
    return create<AllToAllOp>(type, mesh, step.axes);
  case Move::Slice:
    return create<SliceOp>(type, mesh, step.axes);
  case Move::Relabel:
    break;
  }
  return RelabelOp::create(builder, op.getLoc(), type, value, op.getBatch());
}

LogicalResult Emitter::emit(const Transition &transition, const Mesh &source) {
  auto target = cast<RankedTensorType>(op.getType());
  LayoutAttr from = getLayout(op.getInput().getType());
  const Mesh *mesh = &source;
  for (const TransitionStep &step : transition.steps) {
    RankedTensorType type = target;
    if (&step != &transition.steps.back()) {
      // On the way the inner axes are named in terms of the mesh of the step.
      LayoutAttr like =
          step.result.mesh.name() == source.name() ? from : getLayout(target);
      type = withEncoding(
          target, layoutAttr(op.getContext(), step.result, like.getInner()));
    }
    Operation *created = createStep(step, *mesh, type);
    value = created->getResult(0);
    mesh = &step.result.mesh;
    CountedCollective collective(created);
    if (!collective)
      continue;
    FailureOr<std::optional<std::vector<int64_t>>> counts =
        derivedCounts(collective, symbols);
    if (failed(counts))
      return failure();
    if (*counts)
      annotateCounts(created, **counts);
  }
  return success();
}

namespace {
struct PlanCollectives : impl::PlanCollectivesBase<PlanCollectives> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkDecided(module)) || failed(verifyLayouts(module)))
      return signalPassFailure();
    SymbolTableCollection symbols;
    ReshardPrices prices(symbols);
    SmallVector<RedistributeOp> ops;
    module.walk([&](RedistributeOp op) { ops.push_back(op); });
    for (RedistributeOp op : ops)
      if (failed(plan(op, prices, symbols)))
        return signalPassFailure();
    WalkResult routes = module.walk([&](RouteOp op) {
      return failed(plan(op, symbols)) ? WalkResult::interrupt()
                                       : WalkResult::advance();
    });
    if (routes.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult emit(RedistributeOp op, const PricedTransition &priced,
                     const Mesh &source, ReshardPrices &prices,
                     SymbolTableCollection &symbols) {
    if (priced.digits && failed(prices.declare(*priced.digits, op)))
      return op.emitOpError()
             << "needs a mesh @" << priced.digits->name()
             << " for strided layouts, and the module has another symbol of "
                "that name; rename it [E_MESH]";
    remark::passed(op.getLoc(), remark::RemarkOpts::name("Planned")
                                    .category("shunt-plan")
                                    .function(functionName(op)))
        << remark::add("{0}: {1}; {2:F1} us, {3:F1} % above the bound",
                       op.getStep().value_or("redistribute").str(),
                       describe(priced.transition, source, priced.algorithms),
                       priced.cost.seconds * 1e6, priced.aboveBound * 100)
        << remark::reason("least time of all chains; by rules {0:F1} us",
                          priced.ruledSeconds * 1e6)
        << remark::metric("bytes_of_busiest_rank", int64_t(priced.cost.moved))
        << remark::metric("rounds", priced.cost.rounds);
    Emitter emitter(op, symbols);
    if (failed(emitter.emit(priced.transition, source)))
      return failure();
    op.replaceAllUsesWith(emitter.result());
    op.erase();
    return success();
  }

  /// Chooses how the rows of a routing travel, where that is not stated.
  LogicalResult plan(RouteOp op, SymbolTableCollection &symbols) {
    if (op.getAlgorithm())
      return success();
    if (op.getStaticCounts()) {
      op.setAlgorithm(MoeAlgorithm::AllToAll);
      return success();
    }
    FailureOr<std::vector<DispatchEstimate>> estimates =
        estimateDispatch(op, symbols);
    if (failed(estimates))
      return failure();
    if (estimates->empty()) {
      op.setAlgorithm(MoeAlgorithm::AllToAll);
      return success();
    }
    const DispatchEstimate &best = estimates->front();
    op.setAlgorithm(best.algorithm);
    std::string others;
    for (const DispatchEstimate &other : llvm::drop_begin(*estimates))
      others += llvm::formatv("{0}{1} {2:F1} us", others.empty() ? "" : ", ",
                              stringifyMoeAlgorithm(other.algorithm),
                              other.seconds * 1e6);
    remark::passed(op.getLoc(), remark::RemarkOpts::name("Routed")
                                    .category("shunt-plan")
                                    .function(functionName(op)))
        << remark::add("{0}: {1}, {2:F1} us expected",
                       op.getStep().value_or("route").str(),
                       stringifyMoeAlgorithm(best.algorithm).str(),
                       best.seconds * 1e6)
        << remark::reason("least time for uniform routing; others: {0}", others)
        << remark::metric("bytes", int64_t(best.bytes))
        << remark::metric("far_bytes", int64_t(best.farBytes));
    return success();
  }

  LogicalResult plan(RedistributeOp op, ReshardPrices &prices,
                     SymbolTableCollection &symbols) {
    // Legal in a graph region, where values may come in circles.
    if (op.getInput() == op.getResult())
      return op.emitOpError() << "reads its own result, which no rank ever "
                                 "holds; give it the rows of another value "
                                 "[X_LAYOUT]";
    FailureOr<const Reshard *> reshard = prices.plan(
        op, getLayout(op.getInput().getType()), getLayout(op.getType()),
        op.getBatch(), rowBytes(cast<RankedTensorType>(op.getType())));
    if (failed(reshard))
      return failure();
    const Mesh &source = (*reshard)->from.layout.mesh;
    if ((*reshard)->priced)
      return emit(op, *(*reshard)->priced, source, prices, symbols);
    const Transition &transition = (*reshard)->ruled;
    remark::passed(op.getLoc(), remark::RemarkOpts::name("Planned")
                                    .category("shunt-plan")
                                    .function(functionName(op)))
        << remark::add("{0}: {1}", op.getStep().value_or("redistribute").str(),
                       describe(transition, source, {}))
        << remark::reason("receives the fewest rows of all chains")
        << remark::metric("collectives", transition.collectives)
        << remark::metric("received_cells", transition.received)
        << remark::metric("world_cells", source.world());
    Emitter emitter(op, symbols);
    if (failed(emitter.emit(transition, source)))
      return failure();
    op.replaceAllUsesWith(emitter.result());
    op.erase();
    return success();
  }
};
} // namespace
} // namespace shunt
