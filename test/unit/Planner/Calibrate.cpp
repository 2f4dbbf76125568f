//===- Calibrate.cpp - Prints the fits of the cost model ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `ShuntCalibrate ROWS.json [--rows]` fits the kernel rates of every family of
// rows and prints them, with the errors on the rows of the fit and on those
// kept out of it, as docs/CostModel.md has them; `--rows` adds every row.
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include <cstdio>
#include <cstring>
#include <fstream>

using namespace shunt;

static void printErrors(const Errors &errors) {
  std::printf(" %d: %.1f %%, %.1f %% |", errors.rows, errors.mean * 100,
              errors.worst * 100);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: ShuntCalibrate ROWS.json [--rows]\n");
    return 2;
  }
  std::ifstream stream(argv[1]);
  nlohmann::json file = nlohmann::json::parse(stream, nullptr, false);
  if (file.is_discarded()) {
    std::fprintf(stderr, "error: %s is no JSON\n", argv[1]);
    return 1;
  }
  bool wantRows = argc > 2 && std::strcmp(argv[2], "--rows") == 0;
  std::printf("| rows of | preset | latency d/c, us | near, GB/s | far, GB/s | "
              "far message, us | per SM, GB/s | fit: mean, worst | validation: "
              "mean, worst | preset on all |\n"
              "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Family &family : readFamilies(file)) {
    if (family.rows.empty()) {
      std::fprintf(stderr, "error: no rows of '%s'\n", family.name.c_str());
      return 1;
    }
    ClusterSpec preset = presetFor(family, family.rows.front());
    ClusterSpec fitted = fit(preset, family);
    std::printf("| %s | `%s` |", family.name.c_str(), family.preset.c_str());
    if (const KernelRates *rates = family.rates(std::as_const(fitted)))
      std::printf(" %.4g / %.4g | %.4g | %.4g | %.3g | %.4g |",
                  rates->dispatchLatency * 1e6, rates->combineLatency * 1e6,
                  rates->nearBandwidth / 1e9, rates->farBandwidth / 1e9,
                  rates->farMessageCost * 1e6, rates->bandwidthPerSm / 1e9);
    else
      std::printf(" %.4g | – | – | %.3g (each) | – |",
                  fitted.levels[0].latency * 1e6,
                  fitted.levels[0].messageCost * 1e6);
    printErrors(errors(fitted, family, false));
    printErrors(errors(fitted, family, true));
    Errors a = errors(preset, family, false), b = errors(preset, family, true);
    std::printf(" %.1f %% |\n",
                (a.mean * a.rows + b.mean * b.rows) / (a.rows + b.rows) * 100);
    if (!wantRows)
      continue;
    for (const MeasuredRow &row : family.rows)
      std::printf("    row %zu, %lld ranks, %s %s, %lld SMs: measured %.1f us, "
                  "model %.1f%s\n",
                  row.index, static_cast<long long>(row.ranks), row.op.c_str(),
                  row.wire.c_str(), static_cast<long long>(row.sms),
                  row.microseconds, predict(fitted, family, row),
                  row.validates ? " (validation)" : "");
  }
  return 0;
}
