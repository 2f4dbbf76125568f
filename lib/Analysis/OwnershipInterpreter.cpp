//===- OwnershipInterpreter.cpp - Control flow on all ranks ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipInterpreter.h"

#include "OwnershipRuns.h"

#include "mlir/IR/RegionGraphTraits.h"
#include "llvm/ADT/PostOrderIterator.h"

using namespace mlir;

namespace shunt {

/// Loops of more iterations are judged by one iteration that stands for all.
static constexpr int64_t kMaxIterations = 256;

//===----------------------------------------------------------------------===//
// Common
//===----------------------------------------------------------------------===//

int64_t Interpreter::idOf(Operation *op) {
  auto [found, isNew] = ids.try_emplace(op, int64_t(ops.size()));
  if (isNew)
    ops.push_back(op);
  return found->second;
}

LogicalResult Interpreter::fail(Operation *op, const Error &error) {
  InFlightDiagnostic diag = op->emitOpError() << error.str();
  llvm::SmallDenseSet<Operation *> noted;
  for (Stage stage : own.culprits()) {
    Operation *origin = ops[own.opOf(stage)];
    if (origin == op || !noted.insert(origin).second)
      continue;
    if (isa<func::FuncOp>(origin))
      diag.attachNote(origin->getLoc()) << "the rows are an argument here";
    else
      diag.attachNote(origin->getLoc())
          << "the rows are made by '" << origin->getName() << "' here";
  }
  for (Operation *call : llvm::reverse(calls))
    diag.attachNote(call->getLoc()) << "in the function called here";
  return diag;
}

LogicalResult Interpreter::failFrom(Operation *op, Stage stage,
                                    const Error &error) {
  own.blameOn({stage});
  return fail(op, error);
}

std::string printed(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

LogicalResult Interpreter::notProved(Operation *op, const Twine &why) {
  own.blameOn({});
  return fail(op, {"X_NOT_PROVED", why.str()});
}

std::optional<int64_t> Interpreter::intOn(Value value, Rank rank) {
  const Fact &fact = factsOf(value).on(rank);
  auto number = dyn_cast_or_null<IntegerAttr>(fact.value);
  if (fact.kind != Fact::Constant || !number ||
      number.getValue().getSignificantBits() > 64)
    return std::nullopt;
  // Conditions are 0 and 1, not 0 and -1.
  if (number.getType().isInteger(1))
    return number.getValue().getZExtValue();
  return number.getValue().getSExtValue();
}

Facts Interpreter::join(Operation *op, const Facts &a, const Facts &b,
                        bool uniform) {
  SmallVector<Fact> joined(own.world());
  bool oneForAll = uniform && a.oneForAll() && b.oneForAll();
  for (Rank rank = 0; rank < own.world(); ++rank) {
    const Fact &x = a.on(rank), &y = b.on(rank);
    Fact &fact = joined[rank];
    fact.uniform = uniform && a.uniform() && b.uniform();
    if (x == y) {
      fact = x;
      continue;
    }
    if (x.kind == Fact::Blank && y.kind == Fact::Blank) {
      fact = Fact::blank(x.numRows == y.numRows ? x.numRows : -1,
                         x.zero && y.zero);
    } else if (x.kind == Fact::Rows && y.kind == Fact::Rows &&
               sameTokens(*x.held, *y.held)) {
      auto rows = std::make_shared<OwnedRows>();
      bool alike = true;
      Zip zip({x.held.get(), y.held.get()});
      while (zip.next()) {
        const OwnedRun &p = zip.step()[0], &q = zip.step()[1];
        alike &= p.sum == q.sum;
        // Where ranks choose differently they hold different numbers.
        std::vector<Stage> inputs = {p.stage, q.stage};
        if (!uniform)
          inputs.push_back(-1 - rank);
        appendRun(*rows, {p.token, p.rows, own.stage(idOf(op), inputs), p.sum});
      }
      if (alike)
        fact = Fact::rows(rows);
    }
  }
  return oneForAll ? Facts(joined.front()) : Facts(std::move(joined));
}

bool isCollective(Operation *op) {
  return isa<LocalAllGatherOp, LocalReduceScatterOp, LocalAllReduceOp,
             LocalAllToAllOp, LocalRouteOp, LocalDispatchOp, LocalCombineOp>(
      op);
}

bool Interpreter::communicates(Region &region) {
  return region
      .walk([&](Operation *op) {
        if (isCollective(op))
          return WalkResult::interrupt();
        if (auto call = dyn_cast<func::CallOp>(op))
          if (auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
                  op, call.getCalleeAttr());
              callee && !callee.isExternal() &&
              !llvm::is_contained(calls, callee) && calls.size() < 64) {
            calls.push_back(callee);
            bool found = communicates(callee.getBody());
            calls.pop_back();
            if (found)
              return WalkResult::interrupt();
          }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Reports that ranks may go different ways at `where`, of which `region` has a
/// collective.
LogicalResult Interpreter::mayLeave(Operation *where, Region &region) {
  Operation *collective = where;
  region.walk([&](Operation *op) {
    if (!isCollective(op) && !isa<func::CallOp>(op))
      return WalkResult::advance();
    collective = op;
    return WalkResult::interrupt();
  });
  InFlightDiagnostic diag =
      collective->emitOpError()
      << "may not be entered by all ranks: they may leave where a condition "
         "that differs from rank to rank chooses; let every rank come, with 0 "
         "rows if it has none [X_MISSING_RANK]";
  diag.attachNote(where->getLoc()) << "they may leave here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(run(&op)))
      return failure();
  return success();
}

LogicalResult Interpreter::runBody(Region &body, ArrayRef<Facts> arguments,
                                   SmallVectorImpl<Facts> &results) {
  if (!body.hasOneBlock())
    return runGraph(body, arguments, results);
  for (auto [argument, fact] : llvm::zip_equal(body.getArguments(), arguments))
    facts[argument] = fact;
  if (failed(runBlock(body.front())))
    return failure();
  for (Value operand : body.front().getTerminator()->getOperands())
    results.push_back(factsOf(operand));
  return success();
}

/// Copies the facts of the `chosen` ranks.
static void assign(Facts &to, const Facts &from,
                   const std::vector<bool> &chosen) {
  SmallVector<Fact> merged(chosen.size());
  for (Rank rank = 0; rank < Rank(chosen.size()); ++rank)
    merged[rank] = chosen[rank] ? from.on(rank) : to.on(rank);
  to = Facts(std::move(merged));
}

/// Branches between blocks, as of an early return. Ranks that part meet again
/// where their blocks do; loops of blocks are not followed.
LogicalResult Interpreter::runGraph(Region &body, ArrayRef<Facts> arguments,
                                    SmallVectorImpl<Facts> &results) {
  std::vector<bool> entered = active;
  std::vector<Operation *> entryLeft = leftAt, lastBranch(own.world(), nullptr);
  llvm::DenseMap<Block *, std::vector<bool>> arrived;
  arrived[&body.front()] = active;
  for (auto [argument, fact] : llvm::zip_equal(body.getArguments(), arguments))
    facts[argument] = fact;

  llvm::SmallPtrSet<Block *, 8> done;
  llvm::ReversePostOrderTraversal<Region *> order(&body);
  for (Block *block : order) {
    done.insert(block);
    auto found = arrived.find(block);
    if (found == arrived.end())
      continue;
    active = found->second;
    for (Rank rank = 0; rank < own.world(); ++rank)
      leftAt[rank] = entered[rank] ? lastBranch[rank] : entryLeft[rank];
    if (failed(runBlock(*block)))
      return failure();

    Operation *end = block->getTerminator();
    auto go = [&](Block *to, ValueRange operands,
                  const std::vector<bool> &chosen) {
      std::vector<bool> &there = arrived[to];
      bool first = there.empty();
      there.resize(own.world());
      for (auto [argument, operand] :
           llvm::zip_equal(to->getArguments(), operands)) {
        Facts merged = factsOf(operand);
        if (!first) {
          merged = factsOf(argument);
          assign(merged, factsOf(operand), chosen);
        }
        facts[argument] = std::move(merged);
      }
      for (Rank rank = 0; rank < own.world(); ++rank)
        if (chosen[rank])
          there[rank] = true;
    };
    for (Block *successor : end->getSuccessors())
      if (done.contains(successor))
        return notProved(end, "goes back to a block that was run; loops of "
                              "blocks are not followed, use scf.for");
    if (auto branch = dyn_cast<cf::BranchOp>(end)) {
      go(branch.getDest(), branch.getDestOperands(), active);
    } else if (auto branch = dyn_cast<cf::CondBranchOp>(end)) {
      std::vector<bool> yes(own.world()), no(own.world());
      for (Rank rank = 0; rank < own.world(); ++rank) {
        if (!active[rank])
          continue;
        std::optional<int64_t> chosen = intOn(branch.getCondition(), rank);
        if (!chosen && !factsOf(branch.getCondition()).uniform() &&
            communicates(body))
          return mayLeave(branch, body);
        if (!chosen)
          return notProved(end, "goes one way or the other by a condition "
                                "that is not known");
        (*chosen ? yes : no)[rank] = true;
        lastBranch[rank] = end;
      }
      go(branch.getTrueDest(), branch.getTrueDestOperands(), yes);
      go(branch.getFalseDest(), branch.getFalseDestOperands(), no);
    } else if (isa<func::ReturnOp>(end)) {
      if (results.empty())
        results.resize(end->getNumOperands());
      for (auto [result, operand] :
           llvm::zip_equal(results, end->getOperands()))
        assign(result, factsOf(operand), active);
    } else {
      return notProved(end, "ends a block in a way that is not followed; use "
                            "cf.br, cf.cond_br or scf");
    }
  }
  active = entered;
  leftAt = entryLeft;
  return success();
}

LogicalResult Interpreter::runRegion(Region &region,
                                     const std::vector<bool> &chosen,
                                     Operation *where,
                                     SmallVectorImpl<Facts> &yielded) {
  std::vector<bool> before = active;
  std::vector<Operation *> leftBefore = leftAt;
  for (Rank rank = 0; rank < own.world(); ++rank)
    if (active[rank] && !chosen[rank])
      leftAt[rank] = where;
  active = chosen;
  LogicalResult result = success();
  if (!region.empty()) {
    result = runBlock(region.front());
    if (succeeded(result))
      for (Value operand : region.front().getTerminator()->getOperands())
        yielded.push_back(factsOf(operand));
  }
  active = std::move(before);
  leftAt = std::move(leftBefore);
  return result;
}

//===----------------------------------------------------------------------===//
// scf and calls
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::runIf(scf::IfOp op) {
  std::vector<bool> yes(own.world()), no(own.world());
  bool known = true;
  for (Rank rank = 0; rank < own.world(); ++rank) {
    if (!active[rank])
      continue;
    std::optional<int64_t> chosen = intOn(op.getCondition(), rank);
    known &= chosen.has_value();
    if (chosen)
      (*chosen ? yes : no)[rank] = true;
  }
  SmallVector<Facts> onYes, onNo;
  if (!known) {
    bool uniform = factsOf(op.getCondition()).uniform();
    for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
      if (!uniform && communicates(*region))
        return mayLeave(op, *region);
    if (failed(runRegion(op.getThenRegion(), active, op, onYes)) ||
        failed(runRegion(op.getElseRegion(), active, op, onNo)))
      return failure();
    for (auto [result, a, b] : llvm::zip(op.getResults(), onYes, onNo))
      facts[result] = join(op, a, b, uniform);
    return success();
  }
  if (llvm::is_contained(yes, true) &&
      failed(runRegion(op.getThenRegion(), yes, op, onYes)))
    return failure();
  if (llvm::is_contained(no, true) &&
      failed(runRegion(op.getElseRegion(), no, op, onNo)))
    return failure();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (onYes.empty() || onNo.empty()) {
      facts[result] = onYes.empty() ? onNo[index] : onYes[index];
      continue;
    }
    Facts merged = onNo[index];
    assign(merged, onYes[index], yes);
    facts[result] = std::move(merged);
  }
  return success();
}

LogicalResult Interpreter::runFor(scf::ForOp op) {
  int64_t world = own.world(), most = 0;
  std::vector<int64_t> first(world), trips(world), step(world);
  for (Rank rank = 0; rank < world; ++rank) {
    if (!active[rank])
      continue;
    auto lower = intOn(op.getLowerBound(), rank);
    auto upper = intOn(op.getUpperBound(), rank);
    auto by = intOn(op.getStep(), rank);
    int64_t length;
    if (!lower || !upper || !by || *by < 1 ||
        llvm::SubOverflow(*upper, *lower, length))
      return runUnknownFor(op);
    first[rank] = *lower;
    step[rank] = *by;
    trips[rank] = length <= 0 ? 0 : (length - 1) / *by + 1;
    most = std::max(most, trips[rank]);
  }
  if (most > kMaxIterations)
    return runUnknownFor(op);
  SmallVector<Facts> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(factsOf(init));
  Type type = op.getInductionVar().getType();
  for (int64_t i = 0; i < most; ++i) {
    std::vector<bool> running(world);
    SmallVector<Fact> index(world);
    for (Rank rank = 0; rank < world; ++rank) {
      running[rank] = active[rank] && i < trips[rank];
      index[rank] =
          Fact::constant(IntegerAttr::get(type, first[rank] + i * step[rank]));
    }
    facts[op.getInductionVar()] = Facts(std::move(index));
    for (auto [argument, fact] : llvm::zip(op.getRegionIterArgs(), carried))
      facts[argument] = fact;
    SmallVector<Facts> yielded;
    if (failed(runRegion(op.getRegion(), running, op, yielded)))
      return failure();
    for (auto [to, from] : llvm::zip(carried, yielded)) {
      if (running == active)
        to = from;
      else
        assign(to, from, running);
    }
  }
  for (auto [result, fact] : llvm::zip(op.getResults(), carried))
    facts[result] = fact;
  return success();
}

/// One iteration stands for all: what it carries over must be of the same rows.
LogicalResult Interpreter::runUnknownFor(scf::ForOp op) {
  bool uniform = factsOf(op.getLowerBound()).uniform() &&
                 factsOf(op.getUpperBound()).uniform() &&
                 factsOf(op.getStep()).uniform();
  if (!uniform && communicates(op.getRegion()))
    return mayLeave(op, op.getRegion());
  SmallVector<Facts> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(factsOf(init));
  // The first time widens, the second time finds nothing new.
  for (int round = 0; round < 2; ++round) {
    facts[op.getInductionVar()] = Fact::unknown(uniform);
    for (auto [argument, fact] : llvm::zip(op.getRegionIterArgs(), carried))
      facts[argument] = fact;
    SmallVector<Facts> yielded;
    if (failed(runRegion(op.getRegion(), active, op, yielded)))
      return failure();
    for (auto [index, fact] : llvm::enumerate(carried)) {
      Facts joined = join(op, fact, yielded[index], uniform);
      for (Rank rank = 0; rank < own.world(); ++rank) {
        if (!active[rank])
          continue;
        Fact::Kind was = fact.on(rank).kind, is = joined.on(rank).kind;
        if (was != is && (was == Fact::Rows || round > 0))
          return notProved(op, "carries other rows from one iteration to the "
                               "next on rank " +
                                   Twine(rank) +
                                   ", and its bounds are not known");
      }
      fact = std::move(joined);
    }
  }
  for (auto [result, fact] : llvm::zip(op.getResults(), carried))
    facts[result] = fact;
  return success();
}

LogicalResult Interpreter::runCall(func::CallOp op, func::FuncOp callee) {
  bool recursive = llvm::any_of(calls, [&](Operation *call) {
    return cast<func::CallOp>(call).getCallee() == op.getCallee();
  });
  if (recursive || callee == op->getParentOfType<func::FuncOp>())
    return notProved(op, "calls a function that is running; recursion is not "
                         "followed");
  if (op.getNumOperands() != callee.getNumArguments() ||
      op.getNumResults() != callee.getNumResults())
    return notProved(op, "does not match the function it calls");
  SmallVector<Facts> arguments, results;
  for (Value operand : op.getOperands())
    arguments.push_back(factsOf(operand));
  calls.push_back(op);
  LogicalResult result = runBody(callee.getBody(), arguments, results);
  calls.pop_back();
  if (failed(result))
    return failure();
  if (results.size() != op.getNumResults())
    return notProved(op, "calls a function that does not return");
  for (auto [value, fact] : llvm::zip(op.getResults(), results))
    facts[value] = fact;
  return success();
}

LogicalResult Interpreter::run(Operation *op) {
  ++counted.ops;
  if (auto ifOp = dyn_cast<scf::IfOp>(op))
    return runIf(ifOp);
  if (auto forOp = dyn_cast<scf::ForOp>(op))
    return runFor(forOp);
  if (auto call = dyn_cast<func::CallOp>(op))
    if (auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
            op, call.getCalleeAttr()))
      return callee.isExternal() ? runMarked(op, callee)
                                 : runCall(call, callee);
  if (isa<ShuntDialect>(op->getDialect()))
    return runLocal(op);
  return runCompute(op);
}

} // namespace shunt
