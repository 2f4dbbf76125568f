//===- Options.h - The command line of shunt-plan ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TOOLS_PLAN_OPTIONS_H
#define SHUNT_TOOLS_PLAN_OPTIONS_H

#include "Shunt/Core/RoutingSample.h"
#include "Shunt/Frontend/LayerStack.h"

namespace llvm::cl {
class OptionCategory;
}

namespace shunt::plan {

enum class Format { Table, Json, Mlir };
enum class Level { Logical, Collective, Local, Runtime };

/// What the backend that is planned for lacks.
enum class BackendCaps { All, EvenOnly, NonEmpty };

struct Options {
  Format format = Format::Table;
  Level level = Level::Collective;
  std::string mode = "auto";
  BackendCaps caps = BackendCaps::All;
  /// Rows a buffer holds; negative: not limited.
  int64_t capacity = -1;
  /// Expert ids to count rows by; without, rows are expected ones.
  std::optional<RoutingSource> routing;
  uint64_t seed = 0;
};

llvm::cl::OptionCategory &optionCategory();

/// The format asked for, also when the rest of the command line is wrong.
Format requestedFormat();

/// Reads the options (parsed by llvm::cl before).
Result<Options> readOptions();
/// Reads parallel sizes and counts.
Result<LayerStack> readStack();

} // namespace shunt::plan

#endif // SHUNT_TOOLS_PLAN_OPTIONS_H
