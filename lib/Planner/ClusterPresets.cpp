//===- ClusterPresets.cpp - Clusters by name ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rates are what collectives reach, not line rates, where a source says so.
// Sources:
//  [topo]    https://github.com/NVIDIA/nccl/blob/v2.28.9-1/src/graph/topo.h
//            NVLink rates a link as NCCL plans with them: SM90 20.6 GB/s,
//            SM100 40.1 GB/s, 18 links each.
//  [tuning]  https://github.com/NVIDIA/nccl/blob/v2.28.9-1/src/graph/tuning.cc
//            Ring, LL: base 6.6 us, a step over NVLink 0.6 us, over a network
//            2.7 us; a network message costs the host 1 us.
//  [sym]     NCCL 2.28.9's model of its symmetric kernels: start 4.5 us on
//            Hopper, 8.5 us on Blackwell; 44 and 55 GiB/s a multiprocessor.
//  [a2a]     https://github.com/NVIDIA/nccl contrib/custom_algos/alltoall:
//            ncclAlltoAll of 16 bytes takes 11.75 us on 8 and 28.20 us on 32
//            GPUs of one NVL72; fitted, 7.37 us and 0.685 us a message.
//  [212]     https://github.com/NVIDIA/nccl-tests/issues/212: 8 H100, 370 GB/s
//            by rings, bus bandwidth about 480 GB/s with NVLS.
//  [267]     https://github.com/NVIDIA/nccl-tests/issues/267: 48-49 GB/s of a
//            400 Gb/s port.
//  [deepep]  https://github.com/deepseek-ai/DeepEP docs/legacy.md: H800, NVLink
//            "~160 GB/s maximum".
//  [mnnvl]   https://lixueduan.com 13-gb200-mnnvl-nccl-test: bus bandwidth 811
//            GB/s of an all-reduce over 8 GPUs of 2 trays.
// Bus bandwidth counts 2(n-1)/n bytes for each that a rank contributes to an
// all-reduce, so n/(2(n-1)) of it is `reduceBandwidth`.
//
//===----------------------------------------------------------------------===//

#include "Shunt/Planner/Cluster.h"

#include <algorithm>
#include <cstdlib>

namespace shunt {

namespace {
constexpr double kGB = 1e9, kGiB = 1073741824.0, kUs = 1e-6;

struct GpuPreset {
  const char *name;
  /// The scale-up domain: kind and usual size.
  const char *domain;
  int64_t domainRanks;
  /// Whether a domain spans machines.
  bool rackScale;
  double bandwidth, pairBandwidth, reduceBandwidth, latency, perSm, memory;
  const char *nic;
};

/// Bytes a rank contributes per second, from the bus bandwidth of an all-reduce
/// over `ranks`.
constexpr double fromBus(double bus, double ranks) {
  return bus * ranks / (2 * (ranks - 1));
}

const GpuPreset kGpus[] = {
    // [topo] [212] [sym]
    {"h100", "nvl", 8, false, 18 * 20.6 * kGB, 0, fromBus(480 * kGB, 8),
     4.5 * kUs, 44 * kGiB, 3350 * kGB, "cx7"},
    {"h200", "nvl", 8, false, 18 * 20.6 * kGB, 0, fromBus(480 * kGB, 8),
     4.5 * kUs, 44 * kGiB, 4800 * kGB, "cx7"},
    // [deepep]; what its switches add at is not known.
    {"h800", "nvl", 8, false, 160 * kGB, 0, 0, 4.5 * kUs, 44 * kGiB, 3350 * kGB,
     "cx7"},
    // [topo] [mnnvl] [sym]
    {"b200", "nvl", 8, false, 18 * 40.1 * kGB, 0, fromBus(811 * kGB, 8),
     8.5 * kUs, 55 * kGiB, 8000 * kGB, "cx7"},
    {"gb200", "nvl", 72, true, 18 * 40.1 * kGB, 0, fromBus(811 * kGB, 8),
     7.37 * kUs, 55 * kGiB, 8000 * kGB, "cx7"},
    // 7 links of 64 GB/s, line rate, one to each peer; start as [sym].
    {"mi300x", "xgmi", 8, false, 7 * 64 * kGB, 64 * kGB, 0, 4.5 * kUs, 0,
     5300 * kGB, "cx7"},
};

struct NicPreset {
  const char *name;
  double bandwidth;
};

const NicPreset kNics[] = {
    {"cx7", 48 * kGB},  // 400 Gb/s, one a GPU [267]
    {"cx8", 96 * kGB},  // 800 Gb/s at the share of the line that cx7 reaches
    {"roce", 48 * kGB}, // 400 Gb/s RoCE, taken as cx7
    {"efa", 48 * kGB},  // 400 Gb/s a GPU, as in p5en and p6, taken as cx7
};

/// Fits to test/data/measured_dispatch.json by ShuntCalibrate, whose output and
/// errors are in docs/CostModel.md. Times in us, rates in GB/s; 0: not fitted.
struct KernelPreset {
  const char *gpu, *nic;
  bool isLowLatency;
  double dispatchLatency, combineLatency, near, far, farMessage, perSm;
};

const KernelPreset kKernels[] = {
    {"h800", "cx7", false, 0, 0, 129, 43.9, 0, 0},
    {"h800", "cx7", true, 38.93, 42.05, 176.9, 47.94, 0, 0},
    {"h100", "cx7", false, 0, 0, 0, 48, 0, 24.64},
    {"h100", "cx7", true, 26.36, 40.93, 331.4, 44.08, 0, 0},
    {"h200", "cx7", false, 0, 0, 0, 48, 0, 24.64},           // as h100
    {"h200", "cx7", true, 26.36, 40.93, 331.4, 44.08, 0, 0}, // as h100
    {"h200", "efa", false, 0, 0, 280.9, 19.67, 0, 0},
    {"h200", "efa", true, 11.19, 1.501, 0, 43.84, 0.401, 0},
    {"b200", "cx7", false, 0, 0, 651.2, 48, 0, 24.77},
    {"b200", "efa", false, 0, 0, 249.4, 39.39, 0, 0},
    {"b200", "efa", true, 0.8732, 1.54, 0, 26.31, 0.202, 0},
    {"gb200", "cx7", false, 0, 0, 651.2, 48, 0, 24.77}, // as b200
    {"mi300x", "cx7", false, 0, 0, 237.4, 45.84, 0, 0},
    {"mi300x", "cx7", true, 21.34, 0.8362, 144.5, 32.55, 0, 0},
    {"mi300x", "roce", false, 0, 0, 0, 37.21, 0, 0}, // Broadcom Thor2
};
} // namespace

static KernelRates toRates(const KernelPreset &k) {
  KernelRates rates;
  rates.dispatchLatency = k.dispatchLatency * kUs;
  rates.combineLatency = k.combineLatency * kUs;
  rates.nearBandwidth = k.near * kGB;
  rates.farBandwidth = k.far * kGB;
  rates.farMessageCost = k.farMessage * kUs;
  rates.bandwidthPerSm = k.perSm * kGB;
  return rates;
}

/// Fitted rates where there are any. Without rows of a low-latency kernel it
/// gets the latencies of H100's, which two other implementations come near to,
/// and the throughput kernel's rates: a kernel must not look faster for not
/// having been measured.
static void setKernels(ClusterSpec &spec, const std::string &gpu,
                       const std::string &nic) {
  bool hasLowLatency = false;
  for (const KernelPreset &k : kKernels)
    if (gpu == k.gpu && nic == k.nic) {
      (k.isLowLatency ? spec.lowLatency : spec.throughput) = toRates(k);
      hasLowLatency |= k.isLowLatency;
    }
  if (hasLowLatency)
    return;
  spec.lowLatency = spec.throughput;
  for (const KernelPreset &k : kKernels)
    if (k.gpu == std::string("h100") && k.isLowLatency) {
      spec.lowLatency.dispatchLatency = k.dispatchLatency * kUs;
      spec.lowLatency.combineLatency = k.combineLatency * kUs;
    }
}

std::string Cluster::presetHelp() {
  std::string help = "generic, or GPU-DOMAIN-NIC with GPU-DOMAIN one of ";
  const char *separator = "";
  for (const GpuPreset &gpu : kGpus) {
    help += std::string(separator) + gpu.name + "-" + gpu.domain +
            std::to_string(gpu.domainRanks);
    separator = ", ";
  }
  help += " and NIC one of ";
  separator = "";
  for (const NicPreset &nic : kNics) {
    help += std::string(separator) + nic.name;
    separator = ", ";
  }
  return help;
}

static Error unknown(const std::string &preset, const std::string &part) {
  return Error{"E_CLUSTER", "unknown cluster preset '" + preset + "': " + part +
                                "; want " + Cluster::presetHelp()};
}

static std::vector<std::string> splitAtDashes(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == '-')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// `nodes` machines in domains of `domainRanks`, or one domain a machine.
static MaybeError setSizes(ClusterSpec &spec, int64_t nodes,
                           int64_t ranksPerNode, int64_t domainRanks,
                           bool rackScale) {
  int64_t inner = ranksPerNode, outer = nodes;
  if (ranksPerNode > domainRanks)
    return Error{"E_CLUSTER", "cluster preset '" + spec.name + "' has " +
                                  std::to_string(domainRanks) +
                                  " ranks in a domain, fewer than the " +
                                  std::to_string(ranksPerNode) +
                                  " ranks per node; make them more nodes"};
  if (rackScale) {
    int64_t nodesInDomain =
        std::min(nodes, domainRanks / std::max<int64_t>(ranksPerNode, 1));
    if (nodesInDomain > 0 && nodes % nodesInDomain != 0)
      return Error{"E_CLUSTER",
                   "cluster preset '" + spec.name + "' has " +
                       std::to_string(nodesInDomain) + " nodes of " +
                       std::to_string(ranksPerNode) +
                       " ranks in a domain, which do not divide " +
                       std::to_string(nodes) +
                       " nodes; change the nodes, or describe the cluster"};
    inner = ranksPerNode * std::max<int64_t>(nodesInDomain, 1);
    outer = nodes / std::max<int64_t>(nodesInDomain, 1);
  }
  spec.levels[0].size = inner;
  spec.levels[1].size = outer;
  return std::nullopt;
}

static ClusterLevel fabric(double bandwidth) {
  ClusterLevel level;
  level.name = "fabric";
  level.bandwidth = bandwidth;
  level.latency = (6.6 + 2.7) * kUs; // [tuning]
  level.hop = 2.7 * kUs;
  level.messageCost = 1 * kUs;
  level.carriesOuter = true;
  return level;
}

/// Round numbers in the midst of the others, for plans of no machine in
/// particular.
static ClusterSpec genericSpec() {
  ClusterSpec spec;
  spec.name = "generic";
  ClusterLevel node;
  node.name = "node";
  node.bandwidth = 450 * kGB;
  node.latency = 5 * kUs;
  node.hop = 1 * kUs;
  spec.levels = {node, fabric(50 * kGB)};
  setKernels(spec, spec.name, "");
  return spec;
}

Result<Cluster> Cluster::fromPreset(const std::string &preset, int64_t nodes,
                                    int64_t ranksPerNode) {
  if (preset == "generic") {
    ClusterSpec spec = genericSpec();
    spec.levels[0].size = ranksPerNode;
    spec.levels[1].size = nodes;
    return create(std::move(spec));
  }
  std::vector<std::string> parts = splitAtDashes(preset);
  const GpuPreset *gpu = nullptr;
  for (const GpuPreset &candidate : kGpus)
    if (parts[0] == candidate.name)
      gpu = &candidate;
  if (!gpu)
    return unknown(preset, "there is no GPU '" + parts[0] + "'");
  if (parts.size() > 3)
    return unknown(preset, "it has " + std::to_string(parts.size()) + " parts");
  int64_t domainRanks = gpu->domainRanks;
  if (parts.size() > 1) {
    std::string kind = gpu->domain;
    std::string digits =
        parts[1].substr(std::min(kind.size(), parts[1].size()));
    if (parts[1].compare(0, kind.size(), kind) != 0 || digits.empty() ||
        digits.size() > 4 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      return unknown(preset,
                     "'" + parts[1] + "' is no domain of " + gpu->name + "s");
    domainRanks = std::strtoll(digits.c_str(), nullptr, 10);
  }
  std::string nicName = parts.size() > 2 ? parts[2] : gpu->nic;
  const NicPreset *nic = nullptr;
  for (const NicPreset &candidate : kNics)
    if (nicName == candidate.name)
      nic = &candidate;
  if (!nic)
    return unknown(preset, "there is no NIC '" + nicName + "'");

  ClusterSpec spec;
  spec.name = preset;
  spec.memoryBandwidth = gpu->memory;
  ClusterLevel inner;
  inner.name = gpu->domain == std::string("nvl") ? "nvlink" : gpu->domain;
  inner.bandwidth = gpu->bandwidth;
  inner.pairBandwidth = gpu->pairBandwidth;
  inner.reduceBandwidth = gpu->reduceBandwidth;
  inner.latency = gpu->latency;
  inner.hop = 0.6 * kUs;           // [tuning]
  inner.messageCost = 0.685 * kUs; // [a2a]
  inner.bandwidthPerSm = gpu->perSm;
  spec.levels = {inner, fabric(nic->bandwidth)};
  setKernels(spec, gpu->name, nic->name);
  if (MaybeError error =
          setSizes(spec, nodes, ranksPerNode, domainRanks, gpu->rackScale))
    return *error;
  return create(std::move(spec));
}

} // namespace shunt
