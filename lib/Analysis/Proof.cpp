//===- Proof.cpp - Proves one function ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnershipInterpreter.h"

#include "OwnershipRuns.h"

using namespace mlir;

namespace shunt {

//===----------------------------------------------------------------------===//
// What a proof starts from
//===----------------------------------------------------------------------===//

/// The batch of `{type, rows, valid}`.
static FailureOr<Batch> readBatch(func::FuncOp function, DictionaryAttr attr,
                                  SymbolTableCollection &symbols) {
  auto type = attr.getAs<TypeAttr>("type");
  auto batchType = type ? dyn_cast<BatchType>(type.getValue()) : BatchType();
  auto rows = attr.getAs<DenseI64ArrayAttr>("rows");
  auto valid = attr.getAs<DenseI64ArrayAttr>("valid");
  if (!batchType || !rows)
    return function.emitOpError()
           << "has a " << kBatchAttr
           << " that is not [{type = !shunt.batch<...>, rows = array<i64: "
              "...>}] [X_NOT_PROVED]";
  Resolver resolver(function, symbols);
  FailureOr<BatchSpec> spec = resolver.batchSpec(batchType);
  if (failed(spec))
    return failure();
  std::vector<int64_t> validRows;
  if (valid)
    validRows = valid.asArrayRef().vec();
  Result<Batch> batch =
      Batch::create(*spec, rows.asArrayRef().vec(), std::move(validRows));
  if (!batch)
    return resolver.fail(batch.error());
  return *batch;
}

/// The literal batch of `function`: of its attribute, or of an op in it.
static FailureOr<std::optional<Batch>>
findBatch(func::FuncOp function, SymbolTableCollection &symbols) {
  if (auto list = function->getAttrOfType<ArrayAttr>(kBatchAttr)) {
    if (list.size() > 1)
      return function.emitOpError()
             << "has " << list.size()
             << " batches; a proof is of one, so give each a function of its "
                "own [X_NOT_PROVED]";
    auto attr =
        list.empty() ? DictionaryAttr() : dyn_cast<DictionaryAttr>(list[0]);
    FailureOr<Batch> batch = readBatch(
        function, attr ? attr : DictionaryAttr::get(function.getContext()),
        symbols);
    if (failed(batch))
      return failure();
    return std::optional<Batch>(*batch);
  }
  std::optional<Batch> found;
  WalkResult walk = function.walk([&](BatchOp op) {
    FailureOr<std::optional<Batch>> batch =
        Resolver(op, symbols).batch(op.getResult());
    if (failed(batch))
      return WalkResult::interrupt();
    if (*batch && !found)
      found = **batch;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return found;
}

/// The ranks of the program: of the module, or of the groups met first.
static int64_t findWorld(func::FuncOp function,
                         const std::optional<Batch> &batch) {
  if (batch)
    return batch->spec().world();
  if (auto module = function->getParentOfType<ModuleOp>())
    if (auto world = module->getAttrOfType<IntegerAttr>(kWorldAttr))
      return world.getInt();
  int64_t world = 1;
  function.walk([&](Operation *op) {
    if (auto groups = op->getAttrOfType<DenseIntElementsAttr>("groups"))
      world = std::max(world, groups.getNumElements());
  });
  return world;
}

FailureOr<WorldRows> Interpreter::rowsUnder(LayoutAttr attr, Operation *op) {
  if (!batch)
    return notProved(op, "has rows under " + printed(attr) +
                             ", but how many there are is not known; a proof "
                             "needs a literal batch (shunt.batch [...] in the "
                             "function, or its attribute shunt.batch)");
  FailureOr<Layout> layout = Resolver(op, symbols).layout(attr);
  if (failed(layout))
    return failure();
  if (layout->mesh.world() != own.world())
    return notProved(op, "is on a mesh of " + Twine(layout->mesh.world()) +
                             " ranks in a program of " + Twine(own.world()));
  Stage stage = own.stage(idOf(op));
  WorldRows rows(own.world());
  for (Rank rank = 0; rank < own.world(); ++rank) {
    rows[rank] = own.complete(rowsOf(*batch, *layout, rank), stage);
    if (!layout->partial.empty())
      rows[rank] = own.contribution(
          *rows[rank], layout->mesh.group(rank, layout->partial), rank);
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// What a proof ends with
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::checkResult(Operation *function, unsigned index,
                                       const Facts &facts, LayoutAttr layout) {
  std::string name = "result " + std::to_string(index);
  std::optional<WorldRows> wanted;
  if (layout) {
    FailureOr<WorldRows> rows = rowsUnder(layout, function);
    if (failed(rows))
      return failure();
    wanted = *rows;
  }
  for (Rank rank = 0; rank < own.world(); ++rank) {
    const Fact &fact = facts.on(rank);
    if (fact.kind != Fact::Rows) {
      if (wanted && numRows(*(*wanted)[rank]) != 0)
        return notProved(function, name +
                                       " has rows that are not known on "
                                       "rank " +
                                       Twine(rank));
      continue;
    }
    int64_t row = 0;
    for (const OwnedRun &run : *fact.held) {
      if (run.sum != kComplete && !(layout && layout.isPartial())) {
        const PartialSum &sum = own.sum(run.sum);
        return failFrom(
            function, run.stage,
            {"X_INCOMPLETE", "returns partial sums as " + name + ": " +
                                 rowText(run.token, row, rank) +
                                 " is a summand over ranks " +
                                 ranksText(sum.group) +
                                 "; reduce it (shunt.local.all_reduce or "
                                 "shunt.local.reduce_scatter)"});
      }
      row += run.rows;
    }
    if (!wanted)
      continue;
    if (MaybeError error =
            own.checkTokens(rank, *fact.held, *(*wanted)[rank], "X_LAYOUT")) {
      error->message = "returns other rows than " + printed(layout) + " as " +
                       name + ": it " + error->message;
      return fail(function, *error);
    }
    if (layout.isPartial() && !sameSums(*fact.held, *(*wanted)[rank]))
      return fail(function,
                  {"X_WRONG_GROUP", "returns " + name + " on rank " +
                                        std::to_string(rank) +
                                        " in another state of summation than " +
                                        printed(layout)});
  }
  return success();
}

static FailureOr<Facts> argumentFacts(Interpreter &interpreter,
                                      func::FuncOp function, unsigned index) {
  Attribute layout = function.getArgAttr(index, kLayoutAttr);
  Type type = function.getArgument(index).getType();
  if (auto attr = dyn_cast_or_null<LayoutAttr>(layout)) {
    FailureOr<WorldRows> rows = interpreter.rowsUnder(attr, function);
    if (failed(rows))
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(type);
    SmallVector<Fact> perRank;
    for (auto [rank, held] : llvm::enumerate(*rows)) {
      int64_t has = numRows(*held);
      if (!tensor || tensor.getRank() == 0 ||
          (!tensor.isDynamicDim(0) && tensor.getDimSize(0) != has))
        return function.emitOpError()
               << "has argument " << index << " of type " << type
               << ", but rank " << rank << " holds " << has
               << " rows under its layout " << attr
               << "; make its first dimension dynamic [X_LAYOUT]";
      perRank.push_back(Fact::rows(held));
    }
    return Facts(std::move(perRank));
  }
  // A tensor without layout is the same everywhere; a shard, or a number that a
  // rank is given, is not.
  bool uniform = function.getArgAttr(index, kUniformAttr) ||
                 (!layout && isa<TensorType>(type));
  return Facts(Fact::unknown(uniform));
}

FailureOr<Proof> prove(func::FuncOp function, SymbolTableCollection &symbols) {
  FailureOr<std::optional<Batch>> batch = findBatch(function, symbols);
  if (failed(batch))
    return failure();
  int64_t world = findWorld(function, *batch);
  if (world < 1 || world > ClusterOp::kMaxWorld)
    return function.emitOpError() << "is for " << world << " ranks [E_SIZE]";
  Interpreter interpreter(world, *batch, symbols);
  SmallVector<Facts> arguments, results;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    FailureOr<Facts> known = argumentFacts(interpreter, function, i);
    if (failed(known))
      return failure();
    arguments.push_back(std::move(*known));
  }
  if (failed(interpreter.runBody(function.getBody(), arguments, results)))
    return failure();
  for (auto [index, known] : llvm::enumerate(results))
    if (failed(interpreter.checkResult(
            function, index, known,
            dyn_cast_or_null<LayoutAttr>(
                function.getResultAttr(index, kLayoutAttr)))))
      return failure();
  Proof proof = interpreter.statistics();
  proof.ranks = world;
  proof.tokens = *batch ? (*batch)->totalRows() : 0;
  return proof;
}

} // namespace shunt
