//===- BufferizableOpInterfaceImpl.cpp - see the header ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Bufferization/BufferizableOpInterfaceImpl.h"

#include "Shunt/IR/Shunt.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace shunt {
namespace {

/// The result is the buffer of `init`. Operands other than `init` are only
/// read, and since rows arrive while others are still to be sent, they are in
/// other buffers than `init`: what the analysis assumes of any op that reads
/// one operand and writes another.
template <typename OpTy>
struct LocalOpModel
    : DstBufferizableOpInterfaceExternalModel<LocalOpModel<OpTy>, OpTy> {
  /// All rows of `init` are overwritten, so what it holds is never read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto local = cast<DestinationStyleOpInterface>(op);
    if (local.hasPureBufferSemantics())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        buffers.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    unsigned init = local.getDpsInitOperand(0)->getOperandNumber();
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(),
                             op->getAttrs());
    rewriter.setInsertionPoint(op);
    rewriter.create(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op, buffers[init]);
    return success();
  }
};

/// Reads its operands; the routing is no buffer.
struct RouteOpModel
    : BufferizableOpInterface::ExternalModel<RouteOpModel, LocalRouteOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()))
        continue;
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      rewriter.modifyOpInPlace(op, [&] { operand.set(*buffer); });
    }
    return success();
  }
};

template <typename... Ops> void attachModels(MLIRContext *context) {
  (Ops::template attachInterface<LocalOpModel<Ops>>(*context), ...);
}

} // namespace

void registerBufferizableOpInterfaceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShuntDialect *) {
    attachModels<LocalAllGatherOp, LocalAllReduceOp, LocalAllToAllOp,
                 LocalCellCountsOp, LocalCombineOp, LocalDispatchOp,
                 LocalExpertMatmulOp, LocalPartCountsOp, LocalPermuteOp,
                 LocalReduceScatterOp, LocalSliceOp, LocalSumCellsOp>(context);
    LocalRouteOp::attachInterface<RouteOpModel>(*context);
  });
}

} // namespace shunt
