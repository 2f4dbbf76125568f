//===- CalibrationTest.cpp - The presets against measured rows ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

using namespace shunt;

static std::vector<Family> families() {
  std::ifstream stream(SHUNT_TEST_DATA "/measured_dispatch.json");
  return readFamilies(nlohmann::json::parse(stream));
}

// The table of docs/CostModel.md: errors of the presets in percent, on the rows
// that the fit did not see.
static const std::map<std::string, std::pair<double, double>> kDocumented = {
    {"DeepEP V1, H800 + CX7", {3.7, 7.4}},
    {"DeepEP LL, H800 + CX7", {5.2, 10.8}},
    {"DeepEP V2, H100 + CX7", {3.4, 3.4}},
    {"NCCL EP LL, H100 + IB", {4.4, 5.6}},
    {"DeepEP V2, B200 + CX7", {1.7, 3.2}},
    {"UCCL, MI300X + CX7", {6.3, 12.5}},
    {"UCCL LL, MI300X + CX7", {1.0, 1.4}},
    {"UCCL, MI300X + Thor2", {7.1, 11.2}},
    {"UCCL, H200 + EFA", {57.7, 107.0}},
    {"UCCL LL, H200 + EFA", {26.6, 34.0}},
    {"UCCL, B200 + EFA", {30.3, 51.2}},
    {"UCCL LL, B200 + EFA", {16.4, 26.1}},
    {"ncclAlltoAll, GB200 NVL72", {9.1, 16.9}},
};

TEST(Calibration, PresetsPredictRowsThatNoFitSaw) {
  std::vector<Family> all = families();
  EXPECT_EQ(all.size(), kDocumented.size());
  for (const Family &family : all) {
    ASSERT_FALSE(family.rows.empty()) << family.name;
    ClusterSpec preset = presetFor(family, family.rows.front());
    Errors unseen = errors(preset, family, true);
    EXPECT_GT(unseen.rows, 0) << family.name;
    auto [mean, worst] = kDocumented.at(family.name);
    EXPECT_NEAR(unseen.mean * 100, mean, 0.1) << family.name;
    EXPECT_NEAR(unseen.worst * 100, worst, 0.1) << family.name;
  }
}

TEST(Calibration, PresetsAreTheFits) {
  for (const Family &family : families()) {
    ClusterSpec preset = presetFor(family, family.rows.front());
    ClusterSpec fitted = fit(preset, family);
    auto near = [&](double have, double want, const char *what) {
      // A fit that leaves a parameter out has nothing to compare.
      if (want > 0) {
        EXPECT_NEAR(have / want, 1, 0.01) << family.name << ": " << what;
      }
    };
    near(preset.levels[0].latency, fitted.levels[0].latency, "latency");
    near(preset.levels[0].messageCost, fitted.levels[0].messageCost,
         "message cost");
    const KernelRates *have = family.rates(preset);
    const KernelRates *want = family.rates(std::as_const(fitted));
    if (!have)
      continue;
    near(have->dispatchLatency, want->dispatchLatency, "dispatch latency");
    near(have->combineLatency, want->combineLatency, "combine latency");
    near(have->nearBandwidth, want->nearBandwidth, "near bandwidth");
    near(have->farBandwidth, want->farBandwidth, "far bandwidth");
    near(have->farMessageCost, want->farMessageCost, "far message cost");
    near(have->bandwidthPerSm, want->bandwidthPerSm, "bandwidth per SM");
  }
}

TEST(Calibration, EveryRowIsInOneFamilyAtMost) {
  std::set<size_t> seen;
  for (const Family &family : families())
    for (const MeasuredRow &row : family.rows) {
      EXPECT_TRUE(seen.insert(row.index).second) << row.index;
      EXPECT_GT(row.microseconds, 0) << row.index;
    }
  // All but those of a machine without a preset (MI355X) and of two all-to-alls
  // that are no library's.
  EXPECT_EQ(seen.size(), 126u - 12 - 16);
}
