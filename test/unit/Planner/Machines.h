//===- Machines.h - Clusters of the planner's tests ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TEST_UNIT_PLANNER_MACHINES_H
#define SHUNT_TEST_UNIT_PLANNER_MACHINES_H

#include "Shunt/Planner/CostModel.h"

#include <numeric>

/// Latency 5 us and 10 us, 450 and 50 GB/s, no other terms.
inline shunt::ClusterSpec plainSpec(int64_t nodes, int64_t ranksPerNode) {
  shunt::ClusterLevel inner, outer;
  inner.name = "node";
  inner.size = ranksPerNode;
  inner.bandwidth = 450e9;
  inner.latency = 5e-6;
  outer.name = "fabric";
  outer.size = nodes;
  outer.bandwidth = 50e9;
  outer.latency = 10e-6;
  outer.carriesOuter = true;
  shunt::ClusterSpec spec;
  spec.name = "plain";
  spec.levels = {inner, outer};
  return spec;
}

inline shunt::Cluster plainCluster(int64_t nodes, int64_t ranksPerNode) {
  return *shunt::Cluster::create(plainSpec(nodes, ranksPerNode));
}

/// count ranks from `first` on, `stride` apart.
inline shunt::RankList ranks(int64_t count, int64_t first = 0,
                             int64_t stride = 1) {
  shunt::RankList list(count);
  for (int64_t i = 0; i < count; ++i)
    list[i] = first + i * stride;
  return list;
}

#endif // SHUNT_TEST_UNIT_PLANNER_MACHINES_H
