//===- Calibration.h - Fits of the cost model to measured rows ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TEST_UNIT_PLANNER_CALIBRATION_H
#define SHUNT_TEST_UNIT_PLANNER_CALIBRATION_H

#include "Shunt/Planner/DispatchCost.h"

#include <nlohmann/json.hpp>

namespace shunt {

/// A published measurement that the model can predict.
struct MeasuredRow {
  /// Position in the file.
  size_t index = 0;
  int64_t ranks = 0, ranksPerNode = 0, tokens = 0, topK = 0, experts = 0;
  GroupLimit limit;
  int64_t rowBytes = 0, sms = 0;
  bool isCombine = false;
  std::string op, wire;
  double microseconds = 0;
  /// Rows that each rank moves, which no parameter changes.
  std::vector<Volume<double>> volumes;
  /// Kept out of the fit, to judge it.
  bool validates = false;
};

/// Rows of one machine and one kind of kernel, which share their parameters.
struct Family {
  std::string name, preset;
  /// Null for an all-to-all of NCCL's.
  const KernelRates *rates(const ClusterSpec &spec) const;
  KernelRates *rates(ClusterSpec &spec) const;

  enum Kind { Throughput, LowLatency, Collective } kind;
  std::vector<MeasuredRow> rows;
};

/// The families of `measured_dispatch.json`. Of each family, and of its rows on
/// one node and on several, every third one by a hash of the row validates.
std::vector<Family> readFamilies(const nlohmann::json &file);

/// What the model says, in microseconds.
double predict(const ClusterSpec &spec, const Family &family,
               const MeasuredRow &row);

/// Fits the family's parameters of `spec` to the rows that do not validate,
/// for the least sum of Huber's loss of log(predicted / measured).
ClusterSpec fit(const ClusterSpec &spec, const Family &family);

struct Errors {
  int rows = 0;
  /// Of |predicted / measured - 1|.
  double mean = 0, worst = 0;
};
Errors errors(const ClusterSpec &spec, const Family &family, bool validation);

/// The preset that the family's machine has, of as many nodes as `row` ran on.
ClusterSpec presetFor(const Family &family, const MeasuredRow &row);

} // namespace shunt

#endif // SHUNT_TEST_UNIT_PLANNER_CALIBRATION_H
