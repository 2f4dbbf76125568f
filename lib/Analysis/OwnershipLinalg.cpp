//===- OwnershipLinalg.cpp - linalg ops on all ranks ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipInterpreter.h"

#include "Dims.h"
#include "Linearity.h"
#include "OwnershipRuns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace shunt {

/// The loop that runs over the rows of `operand`, if that is what its first
/// dimension is indexed by.
static std::optional<unsigned> rowLoop(linalg::LinalgOp op,
                                       OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto loop = dyn_cast<AffineDimExpr>(map.getResult(0));
  if (!loop)
    return std::nullopt;
  return loop.getPosition();
}

static bool isZero(Attribute value) {
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return number.getValue().isZero();
  auto number = dyn_cast_or_null<IntegerAttr>(value);
  return number && number.getValue().isZero();
}

LogicalResult Interpreter::runLinalg(linalg::LinalgOp op) {
  std::optional<unsigned> tokenLoop;
  bool hasRows = false, byRow = true;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isRows(operand.get()) ||
        (op.isDpsInit(&operand) && !op.payloadUsesValueFromOperand(&operand)))
      continue;
    std::optional<unsigned> loop = rowLoop(op, operand);
    byRow &= loop && (!hasRows || tokenLoop == loop) &&
             op.getIteratorTypesArray()[*loop] == utils::IteratorType::parallel;
    hasRows = true;
    tokenLoop = loop;
  }
  if (hasRows && byRow)
    return runLinalgRows(op, *tokenLoop);
  if (hasRows) {
    // Rows meet each other: what comes out is not rows of tokens.
    if (op->hasAttr(kPartialAttr))
      return runMarked(op, op);
    return runOther(op);
  }

  bool isFill = isa<linalg::FillOp>(op.getOperation());
  SmallVector<Facts> made;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    SmallVector<Fact> perRank(own.world());
    const Facts &known = factsOf(init.get());
    for (Rank rank = 0; rank < own.world(); ++rank) {
      const Fact &fact = known.on(rank);
      int64_t rows = fact.kind == Fact::Rows    ? numRows(*fact.held)
                     : fact.kind == Fact::Blank ? fact.numRows
                                                : -1;
      const Fact &with = factsOf(op->getOperand(0)).on(rank);
      perRank[rank] = Fact::blank(rows, isFill && isZero(with.value));
    }
    made.push_back(known.oneForAll() && factsOf(op->getOperand(0)).uniform()
                       ? Facts(perRank.front())
                       : Facts(std::move(perRank)));
  }
  if (!isFill && !llvm::all_of(op.getDpsInputs(), [&](Value input) {
        return !isa<ShapedType>(input.getType()) || isPlain(input);
      })) {
    // Weights and the like: no tokens, but their numbers matter.
    setUnknown(op);
    return success();
  }
  for (auto [result, fact] : llvm::zip(op->getResults(), made))
    facts[result] = std::move(fact);
  return success();
}

/// Checks what the op indexes by row and what is no rows of tokens.
LogicalResult Interpreter::checkLinalgSizes(linalg::LinalgOp op,
                                            unsigned tokenLoop,
                                            const WorldRows &rows) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool indexed = map.isFunctionOfDim(tokenLoop);
    bool isInit = op.isDpsInit(&operand);
    if (!indexed)
      continue;
    for (Rank rank = 0; rank < own.world(); ++rank) {
      if (!active[rank])
        continue;
      const Fact &fact = factsOf(operand.get()).on(rank);
      bool first = rowLoop(op, operand) == tokenLoop;
      int64_t has = fact.kind == Fact::Rows    ? numRows(*fact.held)
                    : fact.kind == Fact::Blank ? fact.numRows
                                               : -1;
      int64_t wants = numRows(*rows[rank]);
      if (first && has != -1 && has != wants)
        return fail(op, {"X_RESIDUAL_ROWS",
                         "has " + std::to_string(wants) + " rows and " +
                             (isInit ? "an init" : "an operand") + " of " +
                             std::to_string(has) + " on rank " +
                             std::to_string(rank) +
                             "; size it by the rows that it is used with"});
      bool plain = fact.kind == Fact::Blank ||
                   isa_and_nonnull<SplatElementsAttr>(fact.value);
      if (!isInit && fact.kind != Fact::Rows && !plain)
        return notProved(op, "combines rows with operand " +
                                 Twine(operand.getOperandNumber()) +
                                 ", of which it is not known what rows it has "
                                 "on rank " +
                                 Twine(rank) +
                                 "; give the argument that it comes from a "
                                 "shunt.layout");
    }
  }
  return success();
}

LogicalResult Interpreter::runLinalgRows(linalg::LinalgOp op,
                                         unsigned tokenLoop) {
  SmallVector<Value> inputs, accumulated;
  // Does the op add to an init that is complete: not blank, not partial?
  Value complete;
  bool anyPartial = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!op.payloadUsesValueFromOperand(&operand))
      continue;
    Value value = operand.get();
    bool partial = !partialAxis(value).empty();
    anyPartial |= partial;
    bool rows = isRows(value);
    if (!op.isDpsInit(&operand)) {
      if (rows)
        inputs.push_back(value);
      continue;
    }
    if (rows)
      accumulated.push_back(value);
    for (Rank rank = 0; rank < own.world(); ++rank) {
      const Fact &fact = factsOf(value).on(rank);
      if (active[rank] && !partial &&
          !(fact.kind == Fact::Blank && fact.zero) && !isZero(fact.value) &&
          fact.kind != Fact::Unknown)
        complete = value;
    }
  }
  SmallVector<Value> all(inputs);
  llvm::append_range(all, accumulated);
  Attribute made = op->getAttr(kPartialAttr);

  bool sums = false;
  if (anyPartial) {
    BodySums body(op, [&](Value value) { return partialAxis(value); });
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      FailureOr<AxisNames> axes = body.resultAxes(i, {});
      if (failed(axes))
        return failure();
      sums |= !axes->empty();
    }
  }
  bool summand = sums || made;
  if (summand && complete)
    return fail(op, {"X_PARTIAL_INPUT",
                     "adds a partial sum to a complete init, which every rank "
                     "would add; start from zeros and add it once after the "
                     "reduction"});

  WorldRows rows;
  if (made) {
    // The op's own sums may be added to those of the same op before.
    if (failed(combine(op, inputs.empty() ? all : inputs, Reads::Complete,
                       rows)) ||
        failed(makePartial(op, made, rows)))
      return failure();
    if (!accumulated.empty() && !inputs.empty()) {
      for (Rank rank = 0; rank < own.world(); ++rank) {
        if (!active[rank])
          continue;
        std::vector<HeldRows> parts = {rows[rank]};
        for (Value init : accumulated)
          if (HeldRows before = held(init, rank))
            parts.push_back(before);
        Result<HeldRows> sum = own.combine(idOf(op), rank, parts, Reads::Added);
        if (!sum)
          return fail(op, sum.error());
        rows[rank] = *sum;
      }
    }
  } else if (failed(combine(op, all,
                            anyPartial ? Reads::Linear : Reads::Complete,
                            rows))) {
    return failure();
  }
  if (failed(checkLinalgSizes(op, tokenLoop, rows)))
    return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (rowLoop(op, *op.getDpsInitOperand(index)) != tokenLoop) {
      facts[result] = Fact::unknown(false);
      continue;
    }
    SmallVector<Fact> perRank(own.world());
    for (Rank rank = 0; rank < own.world(); ++rank)
      if (rows[rank])
        perRank[rank] = Fact::rows(rows[rank]);
    facts[result] = Facts(std::move(perRank));
  }
  return success();
}

} // namespace shunt
