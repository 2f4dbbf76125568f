//===- OwnershipCompute.cpp - Compute ops on all ranks ===//
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

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

bool Interpreter::isRows(Value value) {
  const Facts &known = factsOf(value);
  for (Rank rank = 0; rank < own.world(); ++rank)
    if (active[rank] && known.on(rank).kind == Fact::Rows)
      return true;
  return false;
}

bool Interpreter::isPlain(Value value) {
  const Facts &known = factsOf(value);
  for (Rank rank = 0; rank < own.world(); ++rank) {
    const Fact &fact = known.on(rank);
    if (active[rank] && fact.kind != Fact::Blank &&
        !isa_and_nonnull<SplatElementsAttr>(fact.value))
      return false;
  }
  return true;
}

HeldRows Interpreter::held(Value value, Rank rank) {
  const Fact &fact = factsOf(value).on(rank);
  if (fact.kind == Fact::Rows)
    return fact.held;
  // A rank without rows may have made an empty tensor.
  if (fact.kind == Fact::Blank && fact.numRows == 0)
    return noRows;
  return nullptr;
}

SmallVector<StringAttr> Interpreter::partialAxis(Value value) {
  const Facts &known = factsOf(value);
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank] || known.on(rank).kind != Fact::Rows)
      continue;
    int64_t row = 0;
    for (const OwnedRun &run : *known.on(rank).held) {
      if (run.sum != kComplete)
        return {StringAttr::get(value.getContext(),
                                "ranks " + ranksText(own.sum(run.sum).group) +
                                    " in " + rowText(run.token, row, rank))};
      row += run.rows;
    }
  }
  return {};
}

void Interpreter::setRows(Operation *op, const WorldRows &rows) {
  SmallVector<Fact> perRank(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank)
    if (rows[rank])
      perRank[rank] = Fact::rows(rows[rank]);
  for (Value result : op->getResults())
    facts[result] = isa<RankedTensorType>(result.getType())
                        ? Facts(perRank)
                        : Facts(Fact::unknown(false));
}

void Interpreter::setUnknown(Operation *op) {
  bool uniform = llvm::all_of(op->getOperands(), [&](Value operand) {
    return factsOf(operand).uniform();
  });
  for (Value result : op->getResults())
    facts[result] = Fact::unknown(uniform);
}

/// Folds `op`, which must be a clone since folding may change it, for constant
/// `operands`; `results` holds attributes only.
static bool foldClone(Operation *op, ArrayRef<Attribute> operands,
                      SmallVectorImpl<Attribute> &results) {
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) ||
      folded.size() != op->getNumResults())
    return false;
  for (OpFoldResult result : folded) {
    auto value = dyn_cast<Attribute>(result);
    if (!value) {
      Value operand = cast<Value>(result);
      for (auto [index, candidate] : llvm::enumerate(op->getOperands()))
        if (candidate == operand)
          value = operands[index];
    }
    if (!value)
      return false;
    results.push_back(value);
  }
  return true;
}

bool Interpreter::foldConstants(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      op->getNumOperands() == 0)
    return false;
  bool oneForAll = true;
  for (Value operand : op->getOperands())
    oneForAll &= factsOf(operand).oneForAll();
  int64_t count = oneForAll ? 1 : own.world();
  SmallVector<SmallVector<Fact>> results(op->getNumResults(),
                                         SmallVector<Fact>(count));
  for (Rank rank = 0; rank < count; ++rank) {
    if (!oneForAll && !active[rank])
      continue;
    SmallVector<Attribute> operands, values;
    for (Value operand : op->getOperands()) {
      const Fact &fact = factsOf(operand).on(rank);
      if (fact.kind != Fact::Constant)
        return false;
      operands.push_back(fact.value);
    }
    Operation *clone = op->cloneWithoutRegions();
    bool done = foldClone(clone, operands, values);
    clone->erase();
    if (!done)
      return false;
    for (auto [index, value] : llvm::enumerate(values))
      results[index][rank] = Fact::constant(value);
  }
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    facts[result] = Facts(std::move(results[index]));
  return true;
}

//===----------------------------------------------------------------------===//
// Rows to rows
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::combine(Operation *op, ArrayRef<Value> operands,
                                   Reads reads, WorldRows &result) {
  result.assign(own.world(), nullptr);
  std::map<std::vector<const void *>, HeldRows> known;
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    std::vector<HeldRows> rows;
    std::vector<const void *> key;
    for (Value operand : operands) {
      rows.push_back(held(operand, rank));
      key.push_back(rows.back().get());
      if (!rows.back())
        return notProved(op, "combines rows with a tensor of which it is not "
                             "known on rank " +
                                 Twine(rank) +
                                 " what rows it has; give the argument that "
                                 "it comes from a shunt.layout");
    }
    HeldRows &made = known[key];
    if (!made) {
      Result<HeldRows> combined = own.combine(idOf(op), rank, rows, reads);
      if (!combined)
        return fail(op, combined.error());
      made = *combined;
    }
    result[rank] = made;
  }
  return success();
}

LogicalResult Interpreter::makePartial(Operation *op, Attribute attr,
                                       WorldRows &rows) {
  FailureOr<Groups> groups = groupsOf(op, attr);
  if (failed(groups))
    return failure();
  for (const RankList &group : *groups)
    for (Rank rank : group)
      if (rows[rank])
        rows[rank] = own.contribution(*rows[rank], group, rank);
  return success();
}

LogicalResult Interpreter::runMarked(Operation *op, Operation *marks) {
  auto mark = [&](StringRef name) {
    Attribute own = op->getAttr(name);
    return own ? own : marks->getAttr(name);
  };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    if (isRows(operand))
      operands.push_back(operand);
  Attribute partial = mark(kPartialAttr), attention = mark(kAttentionAttr);
  if (!partial && !attention && !mark("shunt.token_wise"))
    return runOther(op);
  if (operands.empty())
    return notProved(op, "has no operand whose rows are known; give the "
                         "argument that it comes from a shunt.layout");
  WorldRows rows;
  if (failed(combine(op, operands, Reads::Complete, rows)))
    return failure();
  if (attention) {
    auto layout = dyn_cast<LayoutAttr>(attention);
    if (!layout)
      return notProved(op, "needs the layout of what it attends over: "
                           "shunt.attention = #shunt.layout<...>");
    FailureOr<WorldRows> wanted = rowsUnder(layout, op);
    if (failed(wanted))
      return failure();
    for (Rank rank = 0; rank < own.world(); ++rank)
      if (rows[rank])
        if (MaybeError error =
                own.checkTokens(rank, *held(operands.front(), rank),
                                *(*wanted)[rank], "X_ATTN_ROWS")) {
          error->message =
              "attends over other rows than its own: " + error->message +
              "; gather them first";
          return fail(op, *error);
        }
  }
  if (partial && failed(makePartial(op, partial, rows)))
    return failure();
  setRows(op, rows);
  return success();
}

LogicalResult Interpreter::runElementwise(Operation *op) {
  SmallVector<Value> operands;
  SmallVector<Summand> summands;
  bool partial = false;
  for (Value operand : op->getOperands()) {
    Summand summand{{}, operand};
    if (isa<ShapedType>(operand.getType()) && !isPlain(operand))
      operands.push_back(operand);
    summand.axes = partialAxis(operand);
    partial |= !summand.complete();
    summands.push_back(summand);
  }
  bool adds =
      isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(op);
  // Of an addition the engine knows more to say.
  if (partial && !(adds && operands.size() == 2))
    if (failed(applyOp(op, summands, op)))
      return failure();
  Reads reads = !partial ? Reads::Complete
                : adds   ? Reads::Added
                         : Reads::Linear;
  WorldRows rows;
  if (failed(combine(op, operands, reads, rows)))
    return failure();
  setRows(op, rows);
  return success();
}

LogicalResult Interpreter::runSlice(tensor::ExtractSliceOp op) {
  Value source = op.getSource();
  auto type = op.getSourceType();
  if (op.getType().getRank() != type.getRank() || !op.hasUnitStride())
    return runOther(op);
  auto numberOn = [&](OpFoldResult number, Rank rank) {
    if (auto value = dyn_cast<Value>(number))
      return intOn(value, rank);
    return getConstantIntValue(number);
  };
  WorldRows rows(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    HeldRows all = held(source, rank);
    auto first = numberOn(op.getMixedOffsets()[0], rank);
    auto count = numberOn(op.getMixedSizes()[0], rank);
    if (!all || !first || !count)
      return runOther(op);
    if (*first < 0 || *count < 0 || *count > numRows(*all) - *first)
      return fail(op, {"X_RESIDUAL_ROWS",
                       "takes " + std::to_string(*count) + " rows from row " +
                           std::to_string(*first) + " on rank " +
                           std::to_string(rank) + ", which holds " +
                           std::to_string(numRows(*all))});
    rows[rank] = Ownership::part(*all, *first, *count);
  }
  setRows(op, rows);
  return success();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::runDim(tensor::DimOp op) {
  std::optional<int64_t> index = op.getConstantIndex();
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  Type result = op.getType();
  if (!index || !type || *index < 0 || *index >= type.getRank()) {
    facts[op.getResult()] = Fact::unknown(false);
    return success();
  }
  if (!type.isDynamicDim(*index)) {
    facts[op.getResult()] =
        Fact::constant(IntegerAttr::get(result, type.getDimSize(*index)));
    return success();
  }
  const Facts &source = factsOf(op.getSource());
  auto sizeOf = [&](const Fact &fact) {
    if (*index == 0 && fact.kind == Fact::Rows && !fact.held->empty() &&
        isRoutedToken(fact.held->front().token))
      return Fact::unknown(false);
    if (*index == 0 && fact.kind == Fact::Rows)
      return Fact::constant(IntegerAttr::get(result, numRows(*fact.held)));
    if (*index == 0 && fact.kind == Fact::Blank && fact.numRows >= 0)
      return Fact::constant(IntegerAttr::get(result, fact.numRows));
    // Further dimensions of rows are the same on all ranks, or split equally.
    return Fact::unknown(fact.kind == Fact::Rows ||
                         (fact.kind == Fact::Unknown && fact.uniform));
  };
  if (source.oneForAll()) {
    facts[op.getResult()] = sizeOf(source.on(0));
    return success();
  }
  SmallVector<Fact> sizes;
  bool known = true;
  for (Rank rank = 0; rank < own.world(); ++rank) {
    sizes.push_back(sizeOf(source.on(rank)));
    known &= !active[rank] || sizes.back().kind == Fact::Constant;
  }
  facts[op.getResult()] =
      known ? Facts(std::move(sizes)) : Facts(Fact::unknown(*index != 0));
  return success();
}

LogicalResult Interpreter::runOther(Operation *op) {
  // What is not known is not known to be linear.
  LogicalResult result = success();
  auto read = [&](Value value) {
    for (Rank rank = 0; rank < own.world() && succeeded(result); ++rank)
      if (active[rank] && facts.contains(value))
        if (const Fact &fact = factsOf(value).on(rank); fact.kind == Fact::Rows)
          if (MaybeError error = own.checkComplete(rank, *fact.held))
            result = fail(op, *error);
  };
  llvm::for_each(op->getOperands(), read);
  for (Region &region : op->getRegions()) {
    if (communicates(region))
      return notProved(op, "has collectives in a region that is not followed; "
                           "use scf.if and scf.for");
    region.walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), read); });
  }
  setUnknown(op);
  if (op->getNumRegions() != 0)
    for (Value value : op->getResults())
      facts[value] = Fact::unknown(false);
  return result;
}

LogicalResult Interpreter::runCompute(Operation *op) {
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    facts[op->getResult(0)] = Fact::constant(constant);
    return success();
  }
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    auto type = empty.getType();
    bool dynamic = type.getRank() > 0 && type.isDynamicDim(0);
    SmallVector<Fact> blanks(own.world());
    for (Rank rank = 0; rank < own.world(); ++rank) {
      int64_t rows = type.getRank() > 0 && !dynamic ? type.getDimSize(0) : -1;
      if (dynamic)
        rows = intOn(empty.getDynamicSizes().front(), rank).value_or(-1);
      blanks[rank] = Fact::blank(rows, /*zero=*/true);
    }
    bool same = !dynamic || factsOf(empty.getDynamicSizes().front()).uniform();
    facts[empty.getResult()] =
        same ? Facts(blanks.front()) : Facts(std::move(blanks));
    return success();
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return runDim(dim);
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    facts[cast.getDest()] = Facts(factsOf(cast.getSource()));
    return success();
  }
  if (foldConstants(op))
    return success();
  if (op->hasAttr(kAttentionAttr) || op->hasAttr("shunt.token_wise"))
    return runMarked(op, op);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return runLinalg(linalgOp);
  if (op->hasAttr(kPartialAttr))
    return runMarked(op, op);
  bool hasRows = llvm::any_of(op->getOperands(),
                              [&](Value operand) { return isRows(operand); });
  if (hasRows && OpTrait::hasElementwiseMappableTraits(op))
    return runElementwise(op);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    if (hasRows)
      return runSlice(slice);
  return runOther(op);
}

} // namespace shunt
