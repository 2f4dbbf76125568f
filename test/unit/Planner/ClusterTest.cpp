//===- ClusterTest.cpp - Levels, groups, presets ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Cluster.h"

#include <gtest/gtest.h>

#include <limits>

using namespace shunt;

static ClusterSpec threeLevels() {
  ClusterSpec spec;
  spec.name = "pod";
  for (auto [name, size] : {std::pair<const char *, int64_t>{"nvlink", 4},
                            {"rail", 2},
                            {"fabric", 3}}) {
    ClusterLevel level;
    level.name = name;
    level.size = size;
    level.bandwidth = 1e9;
    spec.levels.push_back(level);
  }
  return spec;
}

TEST(Cluster, GroupsAreConsecutiveRanks) {
  Result<Cluster> cluster = Cluster::create(threeLevels());
  ASSERT_TRUE(cluster) << cluster.error().str();
  EXPECT_EQ(cluster->world(), 24);
  EXPECT_EQ(cluster->groupSize(0), 4);
  EXPECT_EQ(cluster->groupSize(1), 8);
  EXPECT_EQ(cluster->numGroups(0), 6);
  EXPECT_EQ(cluster->numGroups(2), 1);
  EXPECT_EQ(cluster->groupOf(9, 1), 1);
  EXPECT_EQ(cluster->levelOf(0, 3), 0u);
  EXPECT_EQ(cluster->levelOf(3, 4), 1u);
  EXPECT_EQ(cluster->levelOf(7, 8), 2u);
  EXPECT_EQ(cluster->levelOf(RankList{1, 2, 6}), 1u);
  EXPECT_EQ(cluster->levelOf(RankList{5}), 0u);
}

static void expectError(ClusterSpec spec, const std::string &words) {
  Result<Cluster> cluster = Cluster::create(std::move(spec));
  ASSERT_FALSE(cluster) << "expected: " << words;
  EXPECT_EQ(cluster.error().code, "E_CLUSTER");
  EXPECT_NE(cluster.error().message.find(words), std::string::npos)
      << cluster.error().str();
}

TEST(Cluster, RefusesWhatIsNoCluster) {
  expectError({}, "has no levels");
  ClusterSpec spec = threeLevels();
  spec.levels[1].name = "nvlink";
  expectError(spec, "two levels are named 'nvlink'");
  spec = threeLevels();
  spec.levels[1].size = 0;
  expectError(spec, "level 'rail' has size 0");
  spec = threeLevels();
  spec.levels[2].size = int64_t(1) << 40;
  expectError(spec, "level 'fabric' takes it beyond 1048576 ranks");
  spec = threeLevels();
  spec.levels[0].bandwidth = 0;
  expectError(spec, "bandwidth of level 'nvlink' is 0.0");
  spec = threeLevels();
  spec.levels[0].latency = std::numeric_limits<double>::quiet_NaN();
  expectError(spec, "latency of level 'nvlink' is nan");
  spec = threeLevels();
  spec.lowLatency.farBandwidth = -1;
  expectError(spec, "far bandwidth of the low-latency kernel is -1");
}

TEST(ClusterPresets, NamesOfTheDocs) {
  for (const char *name :
       {"h100-nvl8-cx7", "h200-nvl8-cx7", "b200-nvl8-cx8", "gb200-nvl72-cx7",
        "h800-nvl8-roce", "mi300x-xgmi8-cx7", "h200-nvl8-efa", "h100",
        "h200-nvl4", "generic"}) {
    Result<Cluster> cluster = Cluster::fromPreset(name, 2, 4);
    ASSERT_TRUE(cluster) << cluster.error().str();
    EXPECT_EQ(cluster->world(), 8);
    EXPECT_EQ(cluster->numLevels(), 2u);
    EXPECT_EQ(cluster->name(), name);
    // A node's links are faster than the network.
    EXPECT_GT(cluster->level(0).bandwidth, cluster->level(1).bandwidth);
  }
}

TEST(ClusterPresets, RackScaleDomainsSpanNodes) {
  Result<Cluster> rack = Cluster::fromPreset("gb200-nvl72-cx7", 18, 4);
  ASSERT_TRUE(rack);
  EXPECT_EQ(rack->groupSize(0), 72);
  EXPECT_EQ(rack->numGroups(0), 1);
  Result<Cluster> two = Cluster::fromPreset("gb200-nvl72-cx7", 36, 4);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->groupSize(0), 72);
  EXPECT_EQ(two->numGroups(0), 2);
  Result<Cluster> odd = Cluster::fromPreset("gb200-nvl72-cx7", 20, 4);
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().message.find("do not divide 20 nodes"),
            std::string::npos);
}

TEST(ClusterPresets, RefusesUnknownNames) {
  for (auto [name, words] :
       {std::pair<const char *, const char *>{"", "no GPU ''"},
        {"h300-nvl8-cx7", "no GPU 'h300'"},
        {"h200-xgmi8-cx7", "'xgmi8' is no domain of h200s"},
        {"h200-nvl-cx7", "'nvl' is no domain"},
        {"h200-n", "'n' is no domain"},
        {"h200-nvl8-cx9", "no NIC 'cx9'"},
        {"h200-nvl8-cx7-x", "4 parts"}}) {
    Result<Cluster> cluster = Cluster::fromPreset(name, 1, 8);
    ASSERT_FALSE(cluster) << name;
    EXPECT_EQ(cluster.error().code, "E_CLUSTER");
    EXPECT_NE(cluster.error().message.find(words), std::string::npos)
        << cluster.error().str();
    EXPECT_NE(cluster.error().message.find("h200-nvl8"), std::string::npos);
  }
  EXPECT_FALSE(Cluster::fromPreset("h200-nvl8-cx7", 1, 16));
  EXPECT_FALSE(Cluster::fromPreset("h200-nvl8-cx7", 1, 0));
  EXPECT_FALSE(Cluster::fromPreset("gb200", 0, 4));
  EXPECT_FALSE(Cluster::fromPreset("generic", 0, 4));
}
