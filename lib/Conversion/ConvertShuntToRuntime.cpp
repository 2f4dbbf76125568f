//===- ConvertShuntToRuntime.cpp - Local ops to calls of the C ABI ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertMoe.h"

#include "Shunt/Conversion/Passes.h"
#include "Shunt/IR/Resolve.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shunt {
#define GEN_PASS_DEF_CONVERTSHUNTTORUNTIME
#include "Shunt/Conversion/Passes.h.inc"

namespace {

struct ConvertShuntToRuntime
    : impl::ConvertShuntToRuntimeBase<ConvertShuntToRuntime> {
  void runOnOperation() override;

private:
  LogicalResult addCommunicators();
  void dropNotes();

  /// Where an op gets its communicator from.
  Value communicatorOf(Operation *op) {
    return op->getParentOfType<func::FuncOp>().getArgument(0);
  }
};

/// One shunt op, with the calls that take its place.
class OpConversion {
public:
  OpConversion(Operation *op, Value communicator, RuntimeCalls &calls,
               SymbolTableCollection &symbols)
      : op(op), communicator(communicator), calls(calls), symbols(symbols),
        i32(IntegerType::get(op->getContext(), 32)) {}

  LogicalResult convert();

private:
  void label();
  template <typename OpTy>
  LogicalResult convertCounted(OpTy op, StringRef callee);
  LogicalResult convert(LocalAllReduceOp op);
  LogicalResult convert(LocalPermuteOp op);
  template <typename OpTy>
  LogicalResult convertTable(OpTy op, StringRef callee);
  LogicalResult convert(LocalSumCellsOp op);
  void convert(RankOp op);
  void convert(GroupIndexOp op);

  /// Adds the type of the rows of `memref`, calls, and removes the op.
  LogicalResult finish(StringRef callee, Value memref);
  Value rank();
  /// The table of counts over the world that this rank passes.
  Value ownCounts(Value counts, DenseIntElementsAttr groups);

  Operation *op;
  Value communicator;
  RuntimeCalls &calls;
  SymbolTableCollection &symbols;
  Type i32;
};

/// A strided memref.copy would become a call of MLIR's own runtime library; as
/// a linalg op it becomes loops.
void expandStridedCopy(memref::CopyOp op) {
  for (Value buffer : {op.getSource(), op.getTarget()})
    if (auto type = dyn_cast<MemRefType>(buffer.getType());
        !type || !type.getLayout().isIdentity()) {
      if (!type)
        return;
      OpBuilder builder(op);
      linalg::CopyOp::create(builder, op.getLoc(), op.getSource(),
                             op.getTarget());
      op.erase();
      return;
    }
}

DenseIntElementsAttr dense(ElementsAttr attr) {
  return cast<DenseIntElementsAttr>(attr);
}

Value OpConversion::rank() {
  calls.begin(op, communicator);
  OpBuilder &builder = calls.getBuilder();
  Value rank = calls.call("shunt_rt_rank", builder.getI64Type());
  return arith::IndexCastOp::create(builder, op->getLoc(),
                                    builder.getIndexType(), rank);
}

void OpConversion::convert(RankOp) {
  op->getResult(0).replaceAllUsesWith(rank());
  op->erase();
}

void OpConversion::convert(GroupIndexOp index) {
  DenseIntElementsAttr groups = dense(index.getGroups());
  int64_t size = groups.getType().getDimSize(1);
  SmallVector<int64_t> positions(groups.getNumElements());
  for (auto [position, member] : llvm::enumerate(groups.getValues<int64_t>()))
    positions[member] = position % size;
  Value self = rank();
  OpBuilder &builder = calls.getBuilder();
  auto type =
      RankedTensorType::get({groups.getNumElements()}, builder.getI64Type());
  Value table = calls.constantBuffer(
      DenseIntElementsAttr::get(type, ArrayRef<int64_t>(positions)));
  Value position = memref::LoadOp::create(builder, op->getLoc(), table, self);
  op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(
      builder, op->getLoc(), builder.getIndexType(), position));
  op->erase();
}

Value OpConversion::ownCounts(Value counts, DenseIntElementsAttr groups) {
  auto type = cast<MemRefType>(counts.getType());
  if (type.getRank() == 1)
    return calls.contiguous(counts);

  // A row for each rank: what that rank passes.
  OpBuilder &builder = calls.getBuilder();
  Value lists = calls.contiguous(counts);
  Value table = calls.temporary(
      MemRefType::get({groups.getNumElements()}, builder.getI64Type()));
  calls.begin(op, communicator);
  calls.addGroups(groups);
  calls.addTable(lists);
  calls.addTable(table);
  calls.call("shunt_rt_own_counts", i32);
  return table;
}

LogicalResult OpConversion::finish(StringRef callee, Value memref) {
  if (failed(calls.addRowType(memref)))
    return failure();
  calls.call(callee, i32);
  calls.finishCopies();
  op->erase();
  return success();
}

template <typename OpTy>
LogicalResult OpConversion::convertCounted(OpTy counted, StringRef callee) {
  DenseIntElementsAttr groups = dense(counted.getGroups());
  calls.begin(op, communicator);
  Value counts = std::is_same_v<OpTy, LocalAllToAllOp>
                     ? calls.contiguous(counted.getCounts())
                     : ownCounts(counted.getCounts(), groups);
  Value input = calls.contiguous(counted.getInput());
  Value init = calls.contiguousOut(counted.getInit());
  calls.begin(op, communicator);
  calls.addGroups(groups);
  calls.addTable(counts);
  calls.addRows(input);
  calls.addRows(init);
  return finish(callee, init);
}

LogicalResult OpConversion::convert(LocalAllReduceOp reduce) {
  calls.begin(op, communicator);
  Value input = calls.contiguous(reduce.getInput());
  Value init = calls.contiguousOut(reduce.getInit());
  calls.addGroups(dense(reduce.getGroups()));
  calls.addPointer(input);
  calls.addRows(init);
  return finish("shunt_rt_all_reduce", init);
}

LogicalResult OpConversion::convert(LocalPermuteOp permute) {
  calls.begin(op, communicator);
  Value counts = calls.contiguous(permute.getCounts());
  Value input = calls.contiguous(permute.getInput());
  Value init = calls.contiguousOut(permute.getInit());
  for (ElementsAttr cells : {permute.getFrom(), permute.getTo()}) {
    calls.addConstant(dense(cells));
    calls.addI64(cells.getShapedType().getDimSize(1));
  }
  calls.addTable(counts);
  calls.addRows(input);
  calls.addRows(init);
  return finish("shunt_rt_permute", init);
}

template <typename OpTy>
LogicalResult OpConversion::convertTable(OpTy table, StringRef callee) {
  FailureOr<BatchSpec> spec =
      Resolver(op, symbols).batchSpec(cast<BatchType>(table.getBatch()));
  if (failed(spec))
    return failure();
  calls.begin(op, communicator);
  Value input = calls.contiguous(table.getInput());
  Value init = calls.contiguousOut(table.getInit());
  calls.addText(toString(*spec));
  calls.addTable(input);
  calls.addTable(init);
  calls.call(callee, i32);
  calls.finishCopies();
  op->erase();
  return success();
}

LogicalResult OpConversion::convert(LocalSumCellsOp sum) {
  calls.begin(op, communicator);
  Value input = calls.contiguous(sum.getInput());
  Value init = calls.contiguousOut(sum.getInit());
  calls.addConstant(dense(sum.getCells()));
  calls.addI64(sum.getCells().getShapedType().getDimSize(1));
  calls.addTable(input);
  calls.addTable(init);
  calls.call("shunt_rt_sum_cells", i32);
  calls.finishCopies();
  op->erase();
  return success();
}

/// Tells the runtime's trace which step of the model a collective is.
void OpConversion::label() {
  auto step = op->getAttrOfType<StringAttr>("step");
  if (!step || isa<LocalSliceOp>(op))
    return;
  calls.begin(op, communicator);
  calls.addText(step.getValue());
  calls.call("shunt_rt_label", Type());
}

LogicalResult OpConversion::convert() {
  label();
  if (llvm::any_of(op->getOperandTypes(),
                   [](Type type) { return isa<TensorType>(type); }))
    return op->emitOpError("is on tensors; bufferize first "
                           "(one-shot-bufferize) [X_NOT_LOCAL]");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](RankOp rank) { return convert(rank), success(); })
      .Case([&](GroupIndexOp index) { return convert(index), success(); })
      .Case([&](LocalAllGatherOp gather) {
        return convertCounted(gather, "shunt_rt_all_gather");
      })
      .Case([&](LocalReduceScatterOp scatter) {
        return convertCounted(scatter, "shunt_rt_reduce_scatter");
      })
      .Case([&](LocalSliceOp slice) {
        return convertCounted(slice, "shunt_rt_slice");
      })
      .Case([&](LocalAllToAllOp exchange) {
        return convertCounted(exchange, "shunt_rt_all_to_all");
      })
      .Case([&](LocalAllReduceOp reduce) { return convert(reduce); })
      .Case([&](LocalPermuteOp permute) { return convert(permute); })
      .Case([&](LocalPartCountsOp counts) {
        return convertTable(counts, "shunt_rt_part_counts");
      })
      .Case([&](LocalCellCountsOp counts) {
        return convertTable(counts, "shunt_rt_cell_counts");
      })
      .Case([&](LocalSumCellsOp sum) { return convert(sum); })
      .Case<LocalRouteOp, LocalRoutedRowsOp, LocalReleaseOp, LocalDispatchOp,
            LocalExpertMatmulOp, LocalCombineOp>(
          [&](Operation *op) { return convertMoeOp(op, communicator, calls); })
      .Default([](Operation *op) {
        return op->emitOpError("is not of the local level; run shunt-localize "
                               "first [X_NOT_LOCAL]");
      });
}

/// Is a routing, which becomes a pointer, a value of an op that is not ours or
/// of a block?
bool passesRoutingOn(Operation *op) {
  auto isRouting = [](Type type) { return isa<LocalRoutingType>(type); };
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (llvm::any_of(block.getArgumentTypes(), isRouting))
        return true;
  return !isa<ShuntDialect>(op->getDialect()) &&
         (llvm::any_of(op->getOperandTypes(), isRouting) ||
          llvm::any_of(op->getResultTypes(), isRouting));
}

LogicalResult ConvertShuntToRuntime::addCommunicators() {
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SymbolTable symbols(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (function.isPublic())
      function->setAttr("shunt.signature",
                        TypeAttr::get(function.getFunctionType()));
    if (failed(function.insertArgument(0, pointer, {}, function.getLoc())))
      return function.emitOpError("cannot take a communicator [X_NOT_LOCAL]");
    if (function.isPublic())
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        UnitAttr::get(&getContext()));
  }
  WalkResult walk = getOperation().walk([&](Operation *op) {
    if (auto reference = dyn_cast<func::ConstantOp>(op)) {
      reference.emitOpError("takes a function as a value, which then cannot be "
                            "given the communicator; call it directly "
                            "[X_NOT_LOCAL]");
      return WalkResult::interrupt();
    }
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (callee && !callee.isExternal())
        call->insertOperands(0, communicatorOf(call));
    }
    if (passesRoutingOn(op)) {
      op->emitOpError("passes a routing on; use it in the function of its "
                      "shunt.local.route [X_ROUTING]");
      return WalkResult::interrupt();
    }
    if (isa<ShuntDialect>(op->getDialect()) && !isa<ClusterOp, MeshOp>(op) &&
        !op->getParentOfType<func::FuncOp>()) {
      op->emitOpError("is outside of a func.func, and only these have a "
                      "communicator [X_NOT_LOCAL]");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Removes what shunt-localize wrote down for the proof, and the meshes, which
/// nothing names any more.
void ConvertShuntToRuntime::dropNotes() {
  SmallVector<Operation *> meshes;
  getOperation().walk([&](Operation *op) {
    if (isa<ClusterOp, MeshOp>(op))
      meshes.push_back(op);
    if (op == getOperation())
      return; // Keeps `shunt.world`: what runs the program asks for it.
    // The signature is for what runs the program.
    auto isNote = [](NamedAttribute attr) {
      StringRef name = attr.getName().strref();
      return name.starts_with("shunt.") && name != "shunt.signature";
    };
    for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
      if (isNote(attr))
        op->removeDiscardableAttr(attr.getName());
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
        for (NamedAttribute attr :
             llvm::to_vector(function_interface_impl::getArgAttrs(function, i)))
          if (isNote(attr))
            function.removeArgAttr(i, attr.getName());
      for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
        for (NamedAttribute attr : llvm::to_vector(
                 function_interface_impl::getResultAttrs(function, i)))
          if (isNote(attr))
            function.removeResultAttr(i, attr.getName());
    }
  });
  for (Operation *op : meshes)
    op->erase();
}

void ConvertShuntToRuntime::runOnOperation() {
  if (failed(addCommunicators()))
    return signalPassFailure();
  SymbolTable symbols(getOperation());
  SymbolTableCollection resolved;
  RuntimeCalls calls(getOperation(), symbols);
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (isa<memref::CopyOp>(op) ||
        (isa<ShuntDialect>(op->getDialect()) && !isa<ClusterOp, MeshOp>(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      expandStridedCopy(copy);
      continue;
    }
    OpConversion conversion(op, communicatorOf(op), calls, resolved);
    if (failed(conversion.convert()))
      return signalPassFailure();
  }
  dropNotes();
}

} // namespace
} // namespace shunt
