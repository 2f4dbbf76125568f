//===- ConvertMoe.cpp - see ConvertMoe.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertMoe.h"

#include "Shunt/IR/Moe.h"
#include "shunt/compiled.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shunt {

static_assert(int32_t(MoePlacement::Table) == SHUNT_MOE_TABLE &&
                  int32_t(MoeAlgorithm::Hierarchical) ==
                      SHUNT_MOE_HIERARCHICAL &&
                  int32_t(MoeOrder::Tree) == SHUNT_MOE_ORDER_TREE &&
                  int32_t(MoeScore::None) == SHUNT_MOE_SCORE_NONE &&
                  int32_t(MoeOverflow::DropLowest) ==
                      SHUNT_MOE_OVERFLOW_DROP_LOWEST,
              "the dialect's enums are those of the C API");

namespace {
class MoeConversion {
public:
  MoeConversion(Operation *op, Value communicator, RuntimeCalls &calls)
      : op(op), communicator(communicator), calls(calls),
        i32(IntegerType::get(op->getContext(), 32)),
        i64(IntegerType::get(op->getContext(), 64)) {
    calls.begin(op, communicator);
  }

  LogicalResult convert(LocalRouteOp route);
  LogicalResult convert(LocalRoutedRowsOp rows);
  LogicalResult convert(LocalReleaseOp release);
  LogicalResult convert(LocalDispatchOp dispatch);
  LogicalResult convert(LocalCombineOp combine);
  LogicalResult convert(LocalExpertMatmulOp product);

private:
  LogicalResult finish(StringRef callee);
  void multiplyRows(LocalExpertMatmulOp product, Value rows, Value index,
                    Value experts);

  Operation *op;
  Value communicator;
  RuntimeCalls &calls;
  Type i32, i64;
};
} // namespace

LogicalResult MoeConversion::finish(StringRef callee) {
  calls.call(callee, i32);
  calls.finishCopies();
  op->erase();
  return success();
}

LogicalResult MoeConversion::convert(LocalRouteOp route) {
  Value ids = calls.contiguous(route.getIds());
  Value scores = route.getScores() ? calls.contiguous(route.getScores()) : ids;
  SmallVector<int64_t> fields(SHUNT_RT_MOE_FIELDS);
  fields[SHUNT_RT_MOE_EXPERTS] = route.getExperts();
  fields[SHUNT_RT_MOE_TOP_K] = cast<ShapedType>(ids.getType()).getDimSize(1);
  fields[SHUNT_RT_MOE_NODE_SIZE] = route.getNodeSize();
  fields[SHUNT_RT_MOE_ALIGNMENT] = route.getAlignment();
  fields[SHUNT_RT_MOE_BOUND] = route.getBound().value_or(0);
  fields[SHUNT_RT_MOE_CAPACITY] = route.getCapacity().value_or(0);
  fields[SHUNT_RT_MOE_PLACEMENT] = int64_t(route.getPlacement());
  // A group of one rank moves nothing, whatever the algorithm.
  MoeAlgorithm algorithm = route.getAlgorithm();
  fields[SHUNT_RT_MOE_ALGORITHM] = algorithm == MoeAlgorithm::Local
                                       ? int64_t(SHUNT_MOE_ALL_TO_ALL)
                                       : int64_t(algorithm);
  fields[SHUNT_RT_MOE_LAYOUT] =
      route.getRankMajor() ? SHUNT_MOE_RANK_MAJOR : SHUNT_MOE_EXPERT_MAJOR;
  fields[SHUNT_RT_MOE_SCORE] = int64_t(route.getScore());
  fields[SHUNT_RT_MOE_ORDER] = int64_t(route.getOrder());
  fields[SHUNT_RT_MOE_OVERFLOW] = int64_t(route.getOverflow());
  fields[SHUNT_RT_MOE_PAD_EMPTY] = route.getPadEmpty();

  if (auto counts = route.getStaticCounts())
    llvm::append_range(fields, *counts);
  calls.addGroups(cast<DenseIntElementsAttr>(route.getGroups()));
  calls.addI64Table(fields);
  calls.addI64(fields.size());
  if (ArrayAttr table = route.getTableAttr()) {
    SmallVector<int64_t> sizes, experts;
    for (Attribute list : table) {
      ArrayRef<int64_t> held = cast<DenseI64ArrayAttr>(list).asArrayRef();
      sizes.push_back(held.size());
      llvm::append_range(experts, held);
    }
    calls.addI64Table(sizes);
    calls.addI64Table(experts);
  } else {
    calls.addNull();
    calls.addNull();
  }
  calls.addRows(ids);
  if (route.getScores())
    calls.addPointer(scores);
  else
    calls.addNull();
  Value routing = calls.call("shunt_rt_moe_route",
                             LLVM::LLVMPointerType::get(op->getContext()));
  calls.finishCopies();
  route.getResult().replaceAllUsesWith(routing);
  op->erase();
  return success();
}

LogicalResult MoeConversion::convert(LocalRoutedRowsOp) {
  calls.add(op->getOperand(0));
  Value rows = calls.call("shunt_rt_moe_rows", i64);
  OpBuilder &builder = calls.getBuilder();
  op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(
      builder, op->getLoc(), builder.getIndexType(), rows));
  op->erase();
  return success();
}

LogicalResult MoeConversion::convert(LocalReleaseOp) {
  calls.add(op->getOperand(0));
  calls.call("shunt_rt_moe_release", Type());
  op->erase();
  return success();
}

LogicalResult MoeConversion::convert(LocalDispatchOp dispatch) {
  Value input = calls.contiguous(dispatch.getInput());
  Value init = calls.contiguousOut(dispatch.getInit());
  calls.add(dispatch.getRouting());
  calls.addRows(input);
  calls.addRows(init);
  if (failed(calls.addRowType(init)))
    return failure();
  calls.addI32(dispatch.getScored());
  return finish("shunt_rt_moe_dispatch");
}

LogicalResult MoeConversion::convert(LocalCombineOp combine) {
  Value input = calls.contiguous(combine.getInput());
  Value init = calls.contiguousOut(combine.getInit());
  Value bias = combine.getBias() ? calls.contiguous(combine.getBias()) : init;
  calls.add(combine.getRouting());
  calls.addRows(input);
  if (combine.getBias())
    calls.addPointer(bias);
  else
    calls.addNull();
  calls.addRows(init);
  if (failed(calls.addRowType(init)))
    return failure();
  return finish("shunt_rt_moe_combine");
}

/// A loop over this rank's experts, whose rows lie one after the other.
void MoeConversion::multiplyRows(LocalExpertMatmulOp product, Value rows,
                                 Value index, Value experts) {
  OpBuilder &builder = calls.getBuilder();
  Location loc = op->getLoc();
  auto weightsType = cast<MemRefType>(product.getWeights().getType());
  int64_t k = weightsType.getDimSize(1), n = weightsType.getDimSize(2);
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(weightsType.getElementType()));
  auto toIndex = [&](OpBuilder &b, Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  };
  scf::ForOp::create(
      builder, loc, calls.index(0), toIndex(builder, experts), calls.index(1),
      ValueRange(calls.index(0)),
      [&](OpBuilder &b, Location loc, Value expert, ValueRange carried) {
        Value start = carried.front();
        Value count = toIndex(
            b, memref::LoadOp::create(b, loc, rows, expert).getResult());
        Value which = toIndex(
            b, memref::LoadOp::create(b, loc, index, expert).getResult());
        auto rowsOf = [&](Value buffer, int64_t width) {
          return memref::SubViewOp::create(
              b, loc, buffer, ArrayRef<OpFoldResult>{start, b.getIndexAttr(0)},
              ArrayRef<OpFoldResult>{count, b.getIndexAttr(width)},
              ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
        };
        Value in = rowsOf(product.getInput(), k);
        Value out = rowsOf(product.getInit(), n);
        SmallVector<OpFoldResult> offsets = {which, b.getIndexAttr(0),
                                             b.getIndexAttr(0)};
        SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1), b.getIndexAttr(k),
                                           b.getIndexAttr(n)};
        SmallVector<OpFoldResult> strides(3, b.getIndexAttr(1));
        auto type =
            cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
                {k, n}, weightsType, offsets, sizes, strides));
        Value weights = memref::SubViewOp::create(
            b, loc, type, product.getWeights(), offsets, sizes, strides);
        linalg::FillOp::create(b, loc, zero, out);
        linalg::MatmulOp::create(b, loc, ValueRange{in, weights},
                                 ValueRange(out));
        Value next = arith::AddIOp::create(b, loc, start, count);
        scf::YieldOp::create(b, loc, next);
      });
}

LogicalResult MoeConversion::convert(LocalExpertMatmulOp product) {
  auto weights = cast<MemRefType>(product.getWeights().getType());
  int64_t given = weights.getDimSize(0);
  // A rank that holds more experts than there are weights is an error of the
  // call.
  auto table = MemRefType::get({given}, i64);
  Value rows = calls.temporary(table), index = calls.temporary(table);
  calls.add(product.getRouting());
  calls.addI64(given);
  calls.addPointer(rows);
  calls.addPointer(index);
  calls.addI64(given);
  Value experts = calls.call("shunt_rt_moe_experts", i64);
  multiplyRows(product, rows, index, experts);
  calls.finishCopies();
  op->erase();
  return success();
}

LogicalResult convertMoeOp(Operation *op, Value communicator,
                           RuntimeCalls &calls) {
  MoeConversion conversion(op, communicator, calls);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LocalRouteOp, LocalRoutedRowsOp, LocalReleaseOp, LocalDispatchOp,
            LocalCombineOp, LocalExpertMatmulOp>(
          [&](auto local) { return conversion.convert(local); });
}

} // namespace shunt
