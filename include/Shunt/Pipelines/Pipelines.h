//===- Pipelines.h - From logical programs to each lower level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_PIPELINES_PIPELINES_H
#define SHUNT_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class DialectRegistry;
}

namespace shunt {

/// Options of all pipelines: each runs the ones before it.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> mode{
      *this, "mode",
      llvm::cl::desc("How rows travel between blocks: `scatter`, `reduce` or "
                     "`auto`"),
      llvm::cl::init("auto")};
};

/// Logical to collective: verify, assign layouts, plan.
void buildPlanPipeline(mlir::OpPassManager &passes,
                       const PipelineOptions &options);
/// … to local: verify, localize.
void buildLocalPipeline(mlir::OpPassManager &passes,
                        const PipelineOptions &options);
/// … to buffers and calls of the runtime.
void buildRuntimePipeline(mlir::OpPassManager &passes,
                          const PipelineOptions &options);
/// … to the LLVM dialect.
void buildLLVMPipeline(mlir::OpPassManager &passes,
                       const PipelineOptions &options);

/// Registers `shunt-plan-pipeline`, `shunt-local-pipeline`,
/// `shunt-runtime-pipeline` and `shunt-llvm-pipeline`.
void registerPipelines();

/// Adds all dialects that programs and pipelines use, with the models of
/// upstream interfaces that they need: for tools that run a pipeline on their
/// own. Not to be mixed with mlir::registerAllDialects, which adds these too.
void registerPipelineDialects(mlir::DialectRegistry &registry);

} // namespace shunt

#endif // SHUNT_PIPELINES_PIPELINES_H
