//===- shunt-plan.cpp - From parallel sizes to collectives and counts ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToolError.h"
#include "Report.h"

#include "Shunt/IR/Aliases.h"
#include "Shunt/Pipelines/Pipelines.h"
#include "Shunt/Transforms/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::plan;

static int fail(const Error &error) {
  return reportError("shunt-plan", error, requestedFormat() == Format::Json);
}

/// Runs the pipeline that leads from the logical level to `level`; on what is
/// planned already the first part of it changes nothing.
static LogicalResult runTo(Level level, StringRef mode, ModuleOp module) {
  PipelineOptions options;
  options.mode = mode.str();
  PassManager passes(module.getContext());
  (level == Level::Local     ? buildLocalPipeline
   : level == Level::Runtime ? buildRuntimePipeline
                             : buildPlanPipeline)(passes, options);
  return passes.run(module);
}

/// Larger worlds are planned but not proved: one rank's program lists groups
/// and cells of all ranks.
constexpr int64_t kMostProved = 1024;

/// Lowers a clone of the planned module and interprets it for all ranks.
static LogicalResult proveLocal(ModuleOp module, StringRef mode) {
  OwningOpRef<ModuleOp> local(module.clone());
  if (failed(runTo(Level::Local, mode, *local)))
    return failure();
  PassManager passes(module.getContext());
  passes.addPass(createVerifyPlan());
  return passes.run(*local);
}

static int run() {
  Result<Options> options = readOptions();
  if (!options)
    return fail(options.error());
  Result<LayerStack> stack = readStack();
  if (!stack)
    return fail(stack.error());
  Result<std::string> text = layerStackProgram(*stack);
  if (!text)
    return fail(text.error());

  DialectRegistry registry;
  registerPipelineDialects(registry);
  registerAliases(registry);
  MLIRContext context(registry);
  // A diagnostic of a pass is the answer; its code is at its end.
  std::optional<Error> diagnosed;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && !diagnosed)
      diagnosed = Error::parse(diagnostic.str());
    return success();
  });
  auto failed = [&] {
    return fail(diagnosed.value_or(
        Error{"E_INTERNAL", "the passes failed without a diagnostic"}));
  };

  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(*text, &context, "layer-stack");
  if (!module)
    return failed();
  // A program that cannot be planned is refused at every level.
  OwningOpRef<ModuleOp> logical(module->clone());
  if (mlir::failed(runTo(Level::Collective, options->mode, *module)))
    return failed();
  FailureOr<Report> report = readPlan(*module, *stack);
  if (mlir::failed(report) ||
      mlir::failed(readRouted(*module, *stack, *options, *report)))
    return failed();
  if (MaybeError error = checkLimits(*report, *stack, *options))
    return fail(*error);

  if (options->format != Format::Mlir && stack->attn().world() <= kMostProved) {
    diagnosed.reset();
    bool proved = succeeded(proveLocal(*module, options->mode));
    report->proof = proved ? "proved" : "failed";
    if (!proved && diagnosed)
      report->proofMessage = diagnosed->str();
  }

  switch (options->format) {
  case Format::Table:
    printTable(llvm::outs(), *report, *stack);
    return 0;
  case Format::Json:
    llvm::outs() << llvm::formatv("{0:2}", toJson(*report, *stack)) << "\n";
    return 0;
  case Format::Mlir:
    break;
  }
  if (options->level == Level::Logical)
    module = std::move(logical);
  else if (options->level != Level::Collective &&
           mlir::failed(runTo(options->level, options->mode, *module)))
    return failed();
  module->print(llvm::outs());
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (MaybeError error = parseCommandLine(
          argc, argv, optionCategory(),
          "Plans the communication of attention, MoE and dense blocks that are "
          "parallelised differently\n\n"
          "  shunt-plan --world 4 --attn dp=2,tp=2 --moe tp=4 --tokens 5,3\n"))
    return fail(*error);
  return run();
}
