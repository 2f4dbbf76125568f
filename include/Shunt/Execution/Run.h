//===- Run.h - Plans, compiles and runs a program ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_EXECUTION_RUN_H
#define SHUNT_EXECUTION_RUN_H

#include "Shunt/Execution/Program.h"

#include <map>

namespace shunt {

struct RunOptions {
  std::string backend = "host";
  /// How rows travel between blocks: see `shunt-assign-layouts`.
  std::string mode = "auto";
  /// Seeds the inputs that are not given.
  uint64_t seed = 0;
  /// Replaces the algorithm of every routing; `auto`: the planner chooses.
  std::string dispatch = {};
  /// Expert ids that are not given: those of arguments with `shunt.experts`.
  RoutingSource routing;
  /// Inputs as a whole, by argument.
  std::map<unsigned, Buffer> inputs;
  /// Counts in place of the program's: see `Program::read`.
  std::optional<std::vector<int64_t>> counts;
  /// 0: the runtime's default.
  int64_t timeoutMs = 0;
  /// Also run the program planned for one rank, and compare.
  bool check = false;
  /// Largest |a - b| / (1 + |b|); negative: by element type (f32 1e-4, f16
  /// 2e-2, bf16 1e-1; integers must be equal).
  double tolerance = -1;
  /// Collectives of each rank that are timed.
  int64_t maxEvents = 1 << 16;
  /// Of the machine code, 0 to 3: 0 compiles fastest.
  unsigned optLevel = 2;
};

/// Every rank's valid rows against those of the reference.
struct Comparison {
  int64_t rows = 0;
  double maxError = 0, tolerance = 0;
  /// Where the largest error is.
  int64_t result = 0, rank = 0, row = 0, column = 0;
  double got = 0, want = 0;

  bool equal() const { return maxError <= tolerance; }
};

struct RunReport {
  int64_t world = 0;
  /// The first rank of this process; all processes have the same report.
  int64_t firstRank = 0;
  /// Results as a whole: all valid rows in logical order.
  std::vector<Buffer> results;
  /// By rank.
  std::vector<shunt_stats> stats;
  /// By rank: its collectives in order, as many as were asked for.
  std::vector<std::vector<shunt_event>> events;
  std::optional<Comparison> comparison;
};

/// Plans `module` (logical or collective level; it is not changed), compiles it
/// and runs it on all ranks. What is wrong with the program is reported through
/// MLIR's diagnostics, and an error is returned; so is one of the runtime.
llvm::Expected<RunReport> runProgram(mlir::ModuleOp module,
                                     const RunOptions &options);

} // namespace shunt

#endif // SHUNT_EXECUTION_RUN_H
