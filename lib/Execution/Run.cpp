//===- Run.cpp - Plans, compiles and runs a program ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Execution/Run.h"

#include "ShareResults.h"
#include "Shunt/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using llvm::createStringError;
using llvm::Expected;

namespace shunt {

namespace {

/// What one rank is given and returns.
struct RankData : RankResult {
  std::vector<Buffer> inputs;
  std::string error;
};

struct Job {
  const Jit *jit;
  std::vector<RankData> ranks;
  /// The first rank of this process, if others have ranks, too: it takes in
  /// what these return.
  std::optional<int64_t> receiver = {};
  int64_t maxEvents = 0;
};

int32_t runRank(shunt_comm *comm, void *user) {
  Job &job = *static_cast<Job *>(user);
  RankData &rank = job.ranks[shunt_comm_rank(comm)];
  shunt_comm_trace(comm, job.maxEvents);
  if (llvm::Error error = job.jit->invoke(comm, rank.inputs, rank.outputs))
    rank.error = llvm::toString(std::move(error));
  shunt_comm_stats(comm, &rank.stats);
  rank.events.resize(shunt_comm_events(comm, nullptr, 0));
  shunt_comm_events(comm, rank.events.data(), rank.events.size());
  shunt_status status = shunt_comm_status(comm);
  if (status == SHUNT_OK && !rank.error.empty())
    return shunt_comm_abort(comm, SHUNT_INTERNAL, rank.error.c_str());
  if (status != SHUNT_OK || !job.receiver)
    return status;
  bool receives = *job.receiver == shunt_comm_rank(comm);
  return shareResults(comm, rank, [&](int64_t from, RankResult result) {
    if (receives)
      static_cast<RankResult &>(job.ranks[from]) = std::move(result);
  });
}

/// Lowers a clone of `module` and compiles it. Planning needs the meshes of
/// the real world, so the reference is made before, by `prepare`.
Expected<std::unique_ptr<Jit>> compile(ModuleOp module, const Program &program,
                                       const RunOptions &runOptions,
                                       function_ref<void(ModuleOp)> prepare) {
  OwningOpRef<ModuleOp> clone(cast<ModuleOp>(module->clone()));
  prepare(*clone);
  PassManager passes(module.getContext());
  PipelineOptions options;
  options.mode = runOptions.mode;
  buildLLVMPipeline(passes, options);
  if (failed(passes.run(*clone)))
    return createStringError("the program could not be lowered");
  func::FuncOp entry = program.function();
  return Jit::compile(*clone, entry.getName(), {runOptions.optLevel});
}

/// An error of the runtime, with a code if it has none of its own.
llvm::Error runtimeError(shunt_status status, std::string message) {
  if (message.empty())
    message = shunt_status_string(status);
  if (Error::parse(message).code == "E_IR")
    message += status == SHUNT_UNAVAILABLE        ? " [E_BACKEND]"
               : status == SHUNT_INVALID_ARGUMENT ? " [E_OPTION]"
                                                  : " [E_RUNTIME]";
  return createStringError(message);
}

llvm::Error runWorld(const Jit &jit, StringRef backend, int64_t timeoutMs,
                     Job &job, int64_t *firstRank = nullptr) {
  job.jit = &jit;
  shunt_options options = {};
  options.timeout_ms = timeoutMs;
  shunt_world *world = nullptr;
  char message[1024] = "";
  shunt_status status =
      shunt_world_create(backend.str().c_str(), job.ranks.size(), &options,
                         &world, message, sizeof message);
  if (status != SHUNT_OK)
    return runtimeError(status, message);
  bool all = true;
  int64_t first = -1;
  for (int64_t rank = job.ranks.size() - 1; rank >= 0; --rank) {
    bool here = shunt_world_comm(world, rank) != nullptr;
    all &= here;
    first = here ? rank : first;
  }
  if (!all)
    job.receiver = first;
  if (firstRank)
    *firstRank = first;
  status = shunt_world_run(world, runRank, &job);
  std::string error = shunt_world_error(world);
  shunt_world_destroy(world);
  if (status == SHUNT_OK)
    return llvm::Error::success();
  return runtimeError(status, std::move(error));
}

double toleranceOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::F32:
    return 1e-4;
  case ElementType::F16:
    return 2e-2;
  case ElementType::BF16:
    return 1e-1;
  default:
    return 0;
  }
}

/// Compares what `rank` returned with the reference's logical result.
void compare(Comparison &comparison, int64_t result, int64_t rank,
             const Buffer &got, const LocalPart &part, const Buffer &want) {
  int64_t rowElements =
      got.shape.empty() || got.shape[0] == 0
          ? 1
          : std::max<int64_t>(got.numElements() / got.shape[0], 1);
  if (!got.shape.empty())
    comparison.rows +=
        part.valid.empty() ? got.shape[0] : llvm::count(part.valid, true);
  for (int64_t i = 0, n = got.numElements(); i < n; ++i) {
    int64_t row = i / rowElements;
    if (!part.valid.empty() && !part.valid[row])
      continue;
    double a = getElement(got, i);
    double b = getElement(want, part.logicalIndex(i, want.shape));
    double error = a == b ? 0 : std::abs(a - b) / (1 + std::abs(b));
    // A NaN is worse than any number.
    if (std::isnan(error))
      error = std::isnan(a) && std::isnan(b) ? 0 : INFINITY;
    if (error <= comparison.maxError)
      continue;
    comparison.maxError = error;
    comparison.result = result;
    comparison.rank = rank;
    comparison.row = row;
    comparison.column = i % rowElements;
    comparison.got = a;
    comparison.want = b;
  }
}

/// Writes the valid rows of `part` into the logical result.
void collect(Buffer &whole, const Buffer &piece, const LocalPart &part) {
  int64_t bytes = elementBytes(whole.type);
  for (int64_t i = 0, n = piece.numElements(); i < n; ++i)
    std::copy_n(piece.data.data() + i * bytes, bytes,
                whole.data.data() + part.logicalIndex(i, whole.shape) * bytes);
}

/// Which rows a capacity drops depends on the ranks that they come from.
llvm::Error checkComparable(ModuleOp module) {
  llvm::Error result = llvm::Error::success();
  module.walk([&](RouteOp op) {
    if (op.getOverflow() == MoeOverflow::Error)
      return WalkResult::advance();
    InFlightDiagnostic diag =
        op.emitOpError() << "drops rows over a capacity of each source rank, "
                            "so one rank alone drops others; run it without "
                            "--check [E_OPTION]";
    result = joinErrors(std::move(result),
                        createStringError("the program cannot be compared"));
    return WalkResult::interrupt();
  });
  return result;
}

} // namespace

Expected<RunReport> runProgram(ModuleOp module, const RunOptions &options) {
  OwningOpRef<ModuleOp> own(cast<ModuleOp>(module->clone()));
  if (!options.dispatch.empty())
    own->walk([&](RouteOp op) {
      op.removeAlgorithmAttr();
      if (options.dispatch != "auto")
        op.setAlgorithm(symbolizeMoeAlgorithm(options.dispatch));
    });
  FailureOr<Program> program = Program::read(*own, options.counts);
  if (failed(program))
    return createStringError("the program cannot be run");
  func::FuncOp entry = program->function();
  FunctionType type = entry.getFunctionType();

  if (options.check)
    if (llvm::Error error = checkComparable(*own))
      return std::move(error);
  std::vector<Buffer> inputs;
  for (unsigned i = 0; i < type.getNumInputs(); ++i) {
    auto given = options.inputs.find(i);
    if (given == options.inputs.end()) {
      Result<Buffer> made =
          program->makeInput(i, options.seed, options.routing);
      if (!made)
        return createStringError(made.error().str());
      inputs.push_back(std::move(*made));
      continue;
    }
    std::vector<int64_t> want = isa<BatchType>(type.getInput(i))
                                    ? program->makeInput(i, 0)->shape
                                    : program->logicalShape(type.getInput(i));
    if (given->second.shape != want)
      return createStringError(
          llvm::formatv("input {0} has shape {1} but the program takes {2} "
                        "[E_OPTION]",
                        i, shapeText(given->second.shape), shapeText(want)));
    inputs.push_back(given->second);
  }
  for (const auto &[index, buffer] : options.inputs)
    if (index >= type.getNumInputs())
      return createStringError(
          llvm::formatv("input {0} is given but the program takes {1} inputs "
                        "[E_OPTION]",
                        index, type.getNumInputs()));

  Expected<std::unique_ptr<Jit>> jit =
      compile(*own, *program, options, [](ModuleOp) {});
  if (!jit)
    return jit.takeError();
  RunReport report;
  report.world = program->world();
  Job job{nullptr, std::vector<RankData>(report.world)};
  job.maxEvents = options.maxEvents;
  for (int64_t rank = 0; rank < report.world; ++rank)
    for (auto [i, input] : llvm::enumerate(type.getInputs())) {
      if (isa<BatchType>(input)) {
        job.ranks[rank].inputs.push_back(inputs[i]);
        continue;
      }
      FailureOr<LocalPart> part = program->localPart(input, rank);
      if (failed(part))
        return createStringError("the program cannot be run");
      FailureOr<Buffer> local =
          program->localInput(input, *part, inputs[i], rank);
      if (failed(local))
        return createStringError("the program cannot be run");
      job.ranks[rank].inputs.push_back(std::move(*local));
    }
  if (llvm::Error error = runWorld(**jit, options.backend, options.timeoutMs,
                                   job, &report.firstRank))
    return std::move(error);

  // The reference runs on threads of this process, whatever the backend.
  Job reference{nullptr, std::vector<RankData>(1)};
  if (options.check) {
    Expected<std::unique_ptr<Jit>> one =
        compile(*own, *program, options,
                [&](ModuleOp clone) { makeReference(clone, *program); });
    if (!one)
      return one.takeError();
    reference.ranks[0].inputs = inputs;
    for (auto [i, input] : llvm::enumerate(type.getInputs()))
      if (isa<BatchType>(input)) {
        Buffer &counts = reference.ranks[0].inputs[i];
        counts = makeZeros({1}, ElementType::I64);
        setElement(counts, 0, double(program->batch()->totalRows()));
      }
    if (llvm::Error error =
            runWorld(**one, "host", options.timeoutMs, reference))
      return std::move(error);
    report.comparison.emplace();
  }

  for (auto [i, result] : llvm::enumerate(type.getResults())) {
    ElementType element = job.ranks[0].outputs[i].type;
    Buffer whole = makeZeros(program->logicalShape(result), element);
    for (int64_t rank = 0; rank < report.world; ++rank) {
      FailureOr<LocalPart> part = program->localPart(result, rank);
      if (failed(part))
        return createStringError("the program cannot be run");
      const Buffer &piece = job.ranks[rank].outputs[i];
      if (piece.shape != part->shape())
        return createStringError(llvm::formatv(
            "result {0} of rank {1} has shape {2} but its layout says {3}", i,
            rank, shapeText(piece.shape), shapeText(part->shape())));
      collect(whole, piece, *part);
      if (report.comparison) {
        report.comparison->tolerance = std::max(
            report.comparison->tolerance,
            options.tolerance >= 0 ? options.tolerance : toleranceOf(element));
        compare(*report.comparison, i, rank, piece, *part,
                reference.ranks[0].outputs[i]);
      }
    }
    report.results.push_back(std::move(whole));
  }
  for (RankData &rank : job.ranks) {
    report.stats.push_back(rank.stats);
    report.events.push_back(std::move(rank.events));
  }
  return report;
}

} // namespace shunt
