//===- shunt-run.cpp - Runs a program on N ranks and checks it ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToolError.h"
#include "Steps.h"

#include "Shunt/Core/RoutingVolume.h"
#include "Shunt/Execution/Run.h"
#include "Shunt/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace shunt;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::OptionCategory category("Shunt run options");
static cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                                      cl::desc("<program.mlir>"),
                                      cl::cat(category));
static cl::opt<std::string> backend("backend", cl::init("host"),
                                    cl::desc("host, mpi or nccl"),
                                    cl::cat(category));
static cl::opt<std::string> mode("mode", cl::init("auto"),
                                 cl::desc("auto, scatter or reduce"),
                                 cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::init(0),
                              cl::desc("Seed of the inputs not given"),
                              cl::cat(category));
static cl::opt<std::string>
    dispatch("dispatch", cl::value_desc("auto|all_gather|all_to_all|…"),
             cl::desc("How routed rows travel, in place of what the program "
                      "says"),
             cl::cat(category));
static cl::opt<std::string>
    routing("routing", cl::init("uniform"),
            cl::value_desc("uniform|zipf:S|file"),
            cl::desc("Expert ids that are not given: drawn, or a line for "
                     "each token"),
            cl::cat(category));
static cl::list<std::string>
    inputs("input", cl::value_desc("INDEX=file.npy"),
           cl::desc("An argument's value as a whole: all tokens, all blocks"),
           cl::cat(category));
static cl::opt<std::string>
    outputDir("output", cl::value_desc("dir"),
              cl::desc("Writes each result there as resultN.npy"),
              cl::cat(category));
static cl::list<int64_t>
    tokens("tokens", cl::CommaSeparated, cl::value_desc("N,N,…"),
           cl::desc("Counts in place of the program's, one for each part of "
                    "its batch"),
           cl::cat(category));
static cl::opt<bool>
    check("check",
          cl::desc("Also run the program planned for one rank, and "
                   "compare; exit 1 on a difference"),
          cl::cat(category));
static cl::opt<double>
    tolerance("tolerance", cl::init(-1),
              cl::desc("Largest |a - b| / (1 + |b|) (default: by type)"),
              cl::cat(category));
static cl::opt<int64_t>
    timeoutMs("timeout-ms", cl::init(0),
              cl::desc("How long a rank waits for an absent one"),
              cl::cat(category));
static cl::opt<std::string>
    timeline("timeline", cl::value_desc("file.json"),
             cl::desc("Write every rank's collectives there, for a viewer of "
                      "Chrome traces (ui.perfetto.dev)"),
             cl::cat(category));
static cl::opt<bool> asJson("json", cl::desc("Print JSON"), cl::cat(category));

static int fail(const shunt::Error &error) {
  return reportError("shunt-run", error, asJson);
}

/// Reads `INDEX=file.npy`.
static llvm::Error readInput(StringRef text, ModuleOp module,
                             RunOptions &options) {
  auto [indexText, path] = text.split('=');
  unsigned index;
  FailureOr<Program> program = Program::read(module, options.counts);
  if (failed(program))
    return llvm::createStringError("the program cannot be run");
  func::FuncOp entry = program->function();
  if (path.empty() || indexText.getAsInteger(10, index) ||
      index >= entry.getNumArguments())
    return llvm::createStringError(llvm::formatv(
        "--input {0}: want INDEX=file.npy with an index below {1} [E_OPTION]",
        text, entry.getNumArguments()));
  Type type = entry.getArgumentTypes()[index];
  ElementType element =
      isa<BatchType>(type)
          ? ElementType::I64
          : *elementTypeOf(cast<RankedTensorType>(type).getElementType());
  llvm::Expected<Buffer> buffer = readNpy(path, element);
  if (!buffer)
    return buffer.takeError();
  options.inputs[index] = std::move(*buffer);
  return llvm::Error::success();
}

static llvm::Error writeOutputs(const RunReport &report) {
  if (std::error_code error = llvm::sys::fs::create_directories(outputDir))
    return llvm::createStringError(outputDir + ": " + error.message() +
                                   " [E_FILE]");
  for (auto [i, result] : llvm::enumerate(report.results)) {
    llvm::SmallString<128> path(outputDir);
    llvm::sys::path::append(path, "result" + llvm::Twine(i) + ".npy");
    if (llvm::Error error = writeNpy(path, result))
      return error;
  }
  return llvm::Error::success();
}

static llvm::Error writeTimeline(const RunReport &report) {
  std::error_code error;
  llvm::raw_fd_ostream file(timeline, error);
  if (!error) {
    file << toTimeline(report.events) << "\n";
    file.close();
    error = file.error();
    file.clear_error();
  }
  if (error)
    return llvm::createStringError(timeline + ": " + error.message() +
                                   " [E_FILE]");
  return llvm::Error::success();
}

static void printJson(const RunReport &report) {
  json::Array ranks;
  for (const shunt_stats &stats : report.stats)
    ranks.push_back(json::Object{{"bytes_sent", stats.bytes_sent},
                                 {"bytes_received", stats.bytes_received}});
  json::Object object{{"schema", 1},
                      {"world", report.world},
                      {"backend", backend.getValue()},
                      {"ranks", std::move(ranks)},
                      {"steps", toJson(summarise(report.events))}};
  // JSON has no infinity: null stands for one, or for what is no number.
  auto number = [](double value) {
    return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
  };
  if (const auto &c = report.comparison) {
    json::Object check{{"equal", c->equal()},
                       {"rows", c->rows},
                       {"max_error", number(c->maxError)},
                       {"tolerance", c->tolerance}};
    if (c->maxError > 0)
      check["worst"] =
          json::Object{{"result", c->result},   {"rank", c->rank},
                       {"row", c->row},         {"column", c->column},
                       {"got", number(c->got)}, {"reference", number(c->want)}};
    object["check"] = std::move(check);
  }
  llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(object)))
               << "\n";
}

static std::string text(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

static void printText(const RunReport &report) {
  int64_t bytes = 0;
  for (const shunt_stats &stats : report.stats)
    bytes += stats.bytes_received;
  llvm::outs() << llvm::formatv(
      "ran on {0} ranks ({1}); {2} bytes received by all together\n",
      report.world, backend, bytes);
  printSteps(llvm::outs(), summarise(report.events));
  if (const auto &c = report.comparison) {
    llvm::outs() << llvm::formatv(
        "check: {0}; {1} rows compared, largest error {2} (allowed {3})\n",
        c->equal() ? "equal to the one-rank reference" : "DIFFERENT", c->rows,
        text(c->maxError), text(c->tolerance));
    if (!c->equal())
      llvm::outs() << llvm::formatv(
          "  result {0}, rank {1}, its row {2}, column {3}: {4}, reference "
          "{5}\n",
          c->result, c->rank, c->row, c->column, text(c->got), text(c->want));
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (MaybeError error =
          parseCommandLine(argc, argv, category,
                           "Plans a program of the logical or collective "
                           "level, compiles it, and "
                           "runs it on all ranks\n\n  shunt-plan … --format "
                           "mlir --level logical | "
                           "shunt-run --check\n"))
    return fail(*error);

  if (!std::isfinite(double(tolerance)) || timeoutMs < 0)
    return fail({"E_OPTION", "--tolerance takes a number, and --timeout-ms a "
                             "number of at least 1"});
  DialectRegistry registry;
  registerPipelineDialects(registry);
  MLIRContext context(registry);
  // A whole module behind its error helps nobody.
  context.printOpOnDiagnostic(false);
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(inputFile);
  if (!file)
    return fail({"E_FILE", inputFile + ": " + file.getError().message()});
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  // Diagnostics are shown at their place; the first one is the answer.
  SourceMgrDiagnosticHandler show(sources, &context);
  std::optional<shunt::Error> first;
  ScopedDiagnosticHandler remember(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && !first)
      first = shunt::Error::parse(diagnostic.str());
    return failure();
  });

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return fail(first.value_or(shunt::Error{"E_IR", "no program"}));
  RunOptions options;
  options.backend = backend;
  options.mode = mode;
  options.seed = seed;
  options.timeoutMs = timeoutMs;
  options.check = check;
  options.tolerance = tolerance;
  Result<RoutingSource> source = parseRoutingSource(routing);
  if (!source)
    return fail(source.error());
  options.routing = *source;
  options.dispatch = dispatch;
  if (!dispatch.empty() && dispatch != "auto")
    if (auto known = parseDispatchAlgorithm(dispatch); !known)
      return fail(known.error());
  if (!tokens.empty())
    options.counts = std::vector<int64_t>(tokens.begin(), tokens.end());
  auto failWith = [&](llvm::Error error) {
    shunt::Error parsed = shunt::Error::parse(toString(std::move(error)));
    return fail(first.value_or(parsed));
  };
  for (const std::string &text : inputs)
    if (llvm::Error error = readInput(text, *module, options))
      return failWith(std::move(error));
  llvm::Expected<RunReport> report = runProgram(*module, options);
  if (!report)
    return failWith(report.takeError());
  // Of several processes, the one of rank 0 says it.
  bool speaks = report->firstRank == 0;
  if (speaks && !outputDir.empty())
    if (llvm::Error error = writeOutputs(*report))
      return failWith(std::move(error));
  if (speaks && !timeline.empty())
    if (llvm::Error error = writeTimeline(*report))
      return failWith(std::move(error));
  if (speaks)
    asJson ? printJson(*report) : printText(*report);
  return report->comparison && !report->comparison->equal();
}
