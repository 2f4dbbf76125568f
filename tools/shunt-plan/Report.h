//===- Report.h - A plan as read from the IR ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TOOLS_PLAN_REPORT_H
#define SHUNT_TOOLS_PLAN_REPORT_H

#include "Options.h"

#include "Shunt/Core/Layout.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace shunt::plan {

/// One collective of the planned program.
struct Collective {
  std::string step;
  int64_t block = 0;
  std::string op;
  std::string mesh;
  std::vector<std::string> axes;
  struct Group {
    RankList ranks;
    /// Rows that each member gives (all_gather), keeps (reduce_scatter) or
    /// holds (all_reduce); of an all_to_all, rows that it sends.
    std::vector<int64_t> counts;
  };
  std::vector<Group> groups;
  int64_t rowBytes = 0;
  /// Bytes that all ranks together receive from others.
  int64_t bytes = 0;
};

/// A dispatch or a combine.
struct RoutedStep {
  std::string step;
  int64_t block = 0;
  /// The algorithm by which the rows travel: a combine in slot order brings
  /// them back by all_to_all.
  std::string op, algorithm;
  std::string mesh;
  std::vector<std::string> axes;
  std::string placement;
  int64_t experts = 0, topK = 0;
  struct Group {
    RankList ranks;
    /// Rows that each member exchanges with others: of known ids, or expected.
    std::vector<double> sent, received;
  };
  std::vector<Group> groups;
  int64_t rowBytes = 0;
  /// Bytes that all ranks together receive from others.
  double bytes = 0;
};

struct Warning {
  std::string code, message;
};

struct Report {
  /// Of hidden states; those of routing inputs are in `companions`.
  std::vector<Collective> collectives, companions;
  std::vector<RoutedStep> routed;
  /// Whether routed rows are those of known ids.
  bool exactRouting = false;
  std::vector<Warning> warnings;
  /// What `shunt-verify-plan` said of the local program: `proved`, `failed`
  /// with its message, or `skipped` (a large world).
  std::string proof = "skipped", proofMessage;
};

/// Reads the collectives of a module of the collective level.
mlir::FailureOr<Report> readPlan(mlir::ModuleOp module,
                                 const LayerStack &stack);

/// Adds the dispatches and combines of the module.
mlir::LogicalResult readRouted(mlir::ModuleOp module, const LayerStack &stack,
                               const Options &options, Report &report);

/// What capacity and backend do not allow.
MaybeError checkLimits(const Report &report, const LayerStack &stack,
                       const Options &options);

void printTable(llvm::raw_ostream &os, const Report &report,
                const LayerStack &stack);
llvm::json::Value toJson(const Report &report, const LayerStack &stack);

/// The layout whose rows a block computes on.
Layout blockLayout(const LayerStack &stack, BlockKind kind);
/// Everything scattered: each rank its own cell.
Layout scatteredLayout(const LayerStack &stack);
llvm::StringRef blockName(BlockKind kind);

} // namespace shunt::plan

#endif // SHUNT_TOOLS_PLAN_REPORT_H
