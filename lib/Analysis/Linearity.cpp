//===- Linearity.cpp - see Linearity.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linearity.h"

#include "Dims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shunt {

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

static LogicalResult reportPartial(Operation *reportAt, const Summand &partial,
                                   const Twine &what) {
  InFlightDiagnostic diag =
      reportAt->emitOpError()
      << what << " over " << axesText(partial.axes)
      << "; reduce first (shunt.all_reduce or shunt.reduce_scatter) "
         "[X_PARTIAL_INPUT]";
  noteProducer(diag, partial.origin, "the partial sum is made");
  return diag;
}

static FailureOr<Summand> sum(const Summand &a, const Summand &b,
                              Operation *reportAt) {
  if (a.axes == b.axes)
    return a;
  if (a.complete() || b.complete())
    return reportPartial(reportAt, a.complete() ? b : a,
                         "adds a partial sum to a complete value, which every "
                         "rank would add; the sum is");
  return reportPartial(reportAt, a,
                       "adds partial sums over " + axesText(b.axes) +
                           " to partial sums");
}

static FailureOr<Summand> product(const Summand &a, const Summand &b,
                                  Operation *reportAt) {
  if (!a.complete() && !b.complete())
    return reportPartial(reportAt, a, "multiplies two partial sums");
  return a.complete() ? b : a;
}

FailureOr<Summand> applyOp(Operation *op, ArrayRef<Summand> operands,
                           Operation *reportAt) {
  const auto *partial = llvm::find_if(
      operands, [](const Summand &operand) { return !operand.complete(); });
  if (partial == operands.end())
    return Summand();
  if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(op))
    return sum(operands[0], operands[1], reportAt);
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return product(operands[0], operands[1], reportAt);
  if (isa<arith::DivFOp>(op) && operands[1].complete())
    return operands[0];
  // Rounding is not linear, but summing in a narrower type is what everybody
  // who reduces bf16 does.
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
          arith::TruncIOp, arith::SIToFPOp>(op))
    return operands[0];
  if (isa<arith::SelectOp>(op) && operands[0].complete())
    return sum(operands[1], operands[2], reportAt);
  if (isa<math::FmaOp>(op)) {
    FailureOr<Summand> scaled = product(operands[0], operands[1], reportAt);
    if (failed(scaled))
      return failure();
    return sum(*scaled, operands[2], reportAt);
  }
  return reportPartial(reportAt, *partial,
                       Twine("applies '") + op->getName().getStringRef() +
                           "', which is not linear, to a partial sum");
}

//===----------------------------------------------------------------------===//
// The body of a linalg op
//===----------------------------------------------------------------------===//

FailureOr<Summand> BodySums::evaluate(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Summand result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == op.getBlock() &&
        argument.getArgNumber() < op->getNumOperands()) {
      result.origin = op->getOperand(argument.getArgNumber());
      result.axes = partialOf(result.origin);
    }
    known[value] = result;
    return result;
  }
  Operation *producer = value.getDefiningOp();
  if (!op->isProperAncestor(producer))
    return result;
  // Everything that the op reads, also inside its regions.
  SmallVector<Summand> operands;
  LogicalResult status = success();
  auto read = [&](Value operand) {
    if (failed(status))
      return;
    FailureOr<Summand> summand = evaluate(operand);
    if (failed(summand))
      status = failure();
    else
      operands.push_back(*summand);
  };
  llvm::for_each(producer->getOperands(), read);
  for (Region &region : producer->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          read(operand);
    });
  if (failed(status))
    return failure();
  FailureOr<Summand> applied = applyOp(producer, operands, op);
  if (succeeded(applied))
    known[value] = *applied;
  return applied;
}

bool BodySums::dependsOn(Value value, Value on) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (next == on)
      return true;
    Operation *producer = next.getDefiningOp();
    if (!seen.insert(next).second || !producer ||
        !op->isProperAncestor(producer))
      continue;
    producer->walk([&](Operation *inner) {
      work.append(inner->operand_begin(), inner->operand_end());
    });
  }
  return false;
}

LogicalResult BodySums::addedTo(Value value, Value init, Summand &added,
                                bool &found) {
  found = false;
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return success();
  SmallVector<Value> rest;
  if (isa<arith::AddFOp, arith::AddIOp>(producer)) {
    for (Value operand : producer->getOperands())
      if (operand != init)
        rest.push_back(operand);
    if (rest.size() != 1)
      return success();
  } else if (isa<math::FmaOp>(producer) && producer->getOperand(2) == init) {
    rest.assign({producer->getOperand(0), producer->getOperand(1)});
  } else {
    return success();
  }
  for (Value operand : rest)
    if (dependsOn(operand, init))
      return success();
  found = true;
  FailureOr<Summand> summand = evaluate(rest.front());
  if (succeeded(summand) && rest.size() == 2) {
    FailureOr<Summand> other = evaluate(rest.back());
    if (failed(other))
      return failure();
    summand = product(*summand, *other, op);
  }
  if (failed(summand))
    return failure();
  added = *summand;
  return success();
}

FailureOr<AxisNames> BodySums::resultAxes(unsigned index,
                                          const AxisNames &summed) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(index);
  Value init = op.getMatchingBlockArgument(op.getDpsInitOperand(index));
  Summand added;
  bool found;
  if (failed(addedTo(yielded, init, added, found)))
    return failure();
  if (found) {
    AxisNames axes = added.axes;
    addAxes(axes, summed);
    return axes;
  }
  if (!summed.empty()) {
    InFlightDiagnostic diag =
        op->emitOpError() << "reduces a dimension that is split over "
                          << axesText(summed)
                          << " by something other than adding to its init; "
                             "only sums can be completed by a collective, so "
                             "gather the dimension first [X_PARTIAL_INPUT]";
    return diag;
  }
  FailureOr<Summand> value = evaluate(yielded);
  if (failed(value))
    return failure();
  return value->axes;
}

} // namespace shunt
