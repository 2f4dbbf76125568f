//===- Pipelines.cpp - see Pipelines.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Pipelines/Pipelines.h"

#include "Shunt/Conversion/Passes.h"
#include "Shunt/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace shunt {

static void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void buildPlanPipeline(OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(createVerifyLayouts());
  passes.addPass(createAssignLayouts({options.mode}));
  passes.addPass(createPlanCollectives());
  addCleanup(passes);
}

void buildLocalPipeline(OpPassManager &passes, const PipelineOptions &options) {
  buildPlanPipeline(passes, options);
  // Once more: what comes after no longer tells rows of one layout from those
  // of another.
  passes.addPass(createVerifyLayouts());
  passes.addPass(createLocalize());
  addCleanup(passes);
}

void buildRuntimePipeline(OpPassManager &passes,
                          const PipelineOptions &options) {
  buildLocalPipeline(passes, options);
  passes.addPass(createConvertElementwiseToLinalgPass());

  // Without layout maps at function boundaries, callers pass plain buffers.
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  passes.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::buildBufferDeallocationPipeline(passes);
  // What the caller gets is its own: an argument that is returned is cloned.
  passes.addPass(createConvertBufferizationToMemRefPass());

  passes.addPass(createConvertShuntToRuntime());
  addCleanup(passes);
}

void buildLLVMPipeline(OpPassManager &passes, const PipelineOptions &options) {
  buildRuntimePipeline(passes, options);
  passes.addPass(createConvertLinalgToLoopsPass());

  // 16-bit floats are computed in f32, so that no helper function of a
  // compiler's runtime library is called.
  passes.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16"};
  emulate.targetTypeStr = "f32";
  passes.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  passes.addPass(arith::createArithExpandOpsPass(expand));

  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void registerPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "shunt-plan-pipeline", "Plan a logical program as collectives",
      buildPlanPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "shunt-local-pipeline", "Plan a program and rewrite it for one rank",
      buildLocalPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "shunt-runtime-pipeline",
      "Plan a program and lower it to buffers and calls of the runtime",
      buildRuntimePipeline);
  PassPipelineRegistration<PipelineOptions>(
      "shunt-llvm-pipeline", "Plan a program and lower it to the LLVM dialect",
      buildLLVMPipeline);
}

} // namespace shunt
