//===- Calibration.cpp - see Calibration.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

namespace shunt {

using Json = nlohmann::json;

namespace {
struct FamilyKey {
  const char *source, *gpu, *net;
  bool isLowLatency;
  const char *name, *preset;
};
} // namespace

/// How the sources name what presets name. A source stands for all that begins
/// with it.
static const FamilyKey kKeys[] = {
    {"DeepEP docs/legacy.md", "H800", "", false, "DeepEP V1, H800 + CX7",
     "h800-nvl8-cx7"},
    {"DeepEP docs/legacy.md", "H800", "", true, "DeepEP LL, H800 + CX7",
     "h800-nvl8-cx7"},
    {"DeepEP README.md", "SM90", "", false, "DeepEP V2, H100 + CX7",
     "h100-nvl8-cx7"},
    {"NVIDIA/nccl contrib/nccl_ep", "H100", "", true, "NCCL EP LL, H100 + IB",
     "h100-nvl8-cx7"},
    {"DeepEP README.md", "SM100", "", false, "DeepEP V2, B200 + CX7",
     "b200-nvl8-cx7"},
    {"uccl-project", "MI300X", "CX7 IB", false, "UCCL, MI300X + CX7",
     "mi300x-xgmi8-cx7"},
    {"uccl-project", "MI300X", "CX7 IB", true, "UCCL LL, MI300X + CX7",
     "mi300x-xgmi8-cx7"},
    {"uccl-project", "MI300X", "Thor2", false, "UCCL, MI300X + Thor2",
     "mi300x-xgmi8-roce"},
    {"uccl-project", "H200 p5en", "", false, "UCCL, H200 + EFA",
     "h200-nvl8-efa"},
    {"uccl-project", "H200 p5en", "", true, "UCCL LL, H200 + EFA",
     "h200-nvl8-efa"},
    {"uccl-project", "B200 p6", "", false, "UCCL, B200 + EFA", "b200-nvl8-efa"},
    {"uccl-project", "B200 p6", "", true, "UCCL LL, B200 + EFA",
     "b200-nvl8-efa"},
};

static bool beginsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

template <typename T>
static T get(const Json &row, const char *key, T otherwise) {
  auto at = row.find(key);
  return at == row.end() || at->is_null() ? otherwise : at->get<T>();
}

static DispatchAlgorithm algorithmOf(const Family &family) {
  return family.kind == Family::LowLatency ? DispatchAlgorithm::AllToAll
                                           : DispatchAlgorithm::Hierarchical;
}

template <typename T> static T take(Result<T> result) {
  if (!result) {
    std::cerr << result.error().str() << "\n";
    std::abort();
  }
  return *result;
}

static MeasuredRow readRow(const Family &family, const Json &json,
                           size_t index) {
  MeasuredRow row;
  row.index = index;
  row.ranks = json.at("ranks");
  row.ranksPerNode = json.at("ranks_per_node");
  row.op = json.at("op");
  row.microseconds =
      get(json, "latency_us", get<double>(json, "latency_us_derived", 0));
  if (row.op == "alltoall") {
    row.rowBytes = json.at("bytes_per_pair");
    return row;
  }
  row.isCombine = row.op == "combine";
  row.wire = json.at("wire");
  row.tokens = json.at("tokens_per_rank");
  row.topK = json.at("topk");
  // The test programs round the experts down to what the ranks divide.
  row.experts = json.at("experts");
  row.experts -= row.experts % row.ranks;
  row.rowBytes = json.at("bytes_per_copy");
  row.sms = get<int64_t>(json, "sms", 0);
  int64_t nodes = row.ranks / row.ranksPerNode;
  int64_t chosen = get<int64_t>(json, "group_limit", 0);
  if (chosen > 0 && chosen < nodes)
    row.limit = {nodes, chosen};
  row.volumes = take(expectedDispatchRows(
      algorithmOf(family), take(Placement::even(row.experts, row.ranks)),
      std::vector<int64_t>(row.ranks, row.tokens), row.topK, row.ranksPerNode,
      row.limit));
  if (row.microseconds == 0) {
    // Published rates count the copies to the own rank, or node, as well.
    int64_t parts = nodes > 1 ? nodes : row.ranks;
    std::vector<int64_t> inGroup(row.limit.groups);
    inGroup[0] = row.experts / parts;
    double copies =
        parts * touchProbability(row.experts, inGroup, row.topK, row.limit);
    row.microseconds = row.tokens * copies * row.rowBytes /
                       json.at("bandwidth_GBps").get<double>() / 1e3;
  }
  return row;
}

/// FNV-1a of what a row is about.
static uint64_t hashOf(const Family &family, const MeasuredRow &row) {
  std::string text = family.name + "|" + std::to_string(row.ranks) + "|" +
                     row.op + "|" + row.wire + "|" + std::to_string(row.sms) +
                     "|" + std::to_string(row.rowBytes);
  uint64_t hash = 14695981039346656037u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 1099511628211u;
  return hash;
}

static void splitRows(Family &family) {
  // Low-latency kernels have a latency of each op.
  std::map<std::pair<bool, std::string>, std::vector<MeasuredRow *>> strata;
  for (MeasuredRow &row : family.rows)
    strata[{row.ranks > row.ranksPerNode,
            family.kind == Family::LowLatency ? row.op : ""}]
        .push_back(&row);
  for (auto &[key, rows] : strata) {
    std::sort(rows.begin(), rows.end(), [&](MeasuredRow *a, MeasuredRow *b) {
      return hashOf(family, *a) < hashOf(family, *b);
    });
    // The second, fifth, …: of two rows, one.
    for (size_t i = 1; i < rows.size(); i += 3)
      rows[i]->validates = true;
  }
}

std::vector<Family> readFamilies(const Json &file) {
  std::vector<Family> families;
  const Json &rows = file.at("rows");
  for (const FamilyKey &key : kKeys) {
    Family family;
    family.name = key.name;
    family.preset = key.preset;
    family.kind = key.isLowLatency ? Family::LowLatency : Family::Throughput;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Json &row = rows[i];
      if (beginsWith(row.at("source"), key.source) &&
          row.at("gpu") == key.gpu && beginsWith(row.at("net"), key.net) &&
          (get<std::string>(row, "mode", "") == "LL") == key.isLowLatency)
        family.rows.push_back(readRow(family, row, i));
    }
    families.push_back(std::move(family));
  }
  Family allToAll;
  allToAll.name = "ncclAlltoAll, GB200 NVL72";
  allToAll.preset = "gb200-nvl72-cx7";
  allToAll.kind = Family::Collective;
  for (size_t i = 0; i < rows.size(); ++i)
    if (get<std::string>(rows[i], "impl", "") == "nccl" &&
        rows[i].at("op") == "alltoall")
      allToAll.rows.push_back(readRow(allToAll, rows[i], i));
  families.push_back(std::move(allToAll));
  for (Family &family : families)
    splitRows(family);
  return families;
}

const KernelRates *Family::rates(const ClusterSpec &spec) const {
  return kind == Collective   ? nullptr
         : kind == Throughput ? &spec.throughput
                              : &spec.lowLatency;
}

KernelRates *Family::rates(ClusterSpec &spec) const {
  return const_cast<KernelRates *>(rates(std::as_const(spec)));
}

ClusterSpec presetFor(const Family &family, const MeasuredRow &row) {
  return take(Cluster::fromPreset(family.preset, row.ranks / row.ranksPerNode,
                                  row.ranksPerNode))
      .spec();
}

double predict(const ClusterSpec &spec, const Family &family,
               const MeasuredRow &row) {
  ClusterSpec sized = spec;
  ClusterSpec sizes = presetFor(family, row);
  for (size_t level = 0; level < sized.levels.size(); ++level)
    sized.levels[level].size = sizes.levels[level].size;
  CostModel model(take(Cluster::create(sized)), {row.sms});
  RankList group;
  for (Rank rank = 0; rank < row.ranks; ++rank)
    group.push_back(rank);
  if (family.kind == Family::Collective) {
    CollectiveCall e;
    e.kind = CollectiveKind::AllToAll;
    e.groups = {group};
    e.sends = {std::vector<int64_t>(row.ranks * row.ranks, 1)};
    e.rowBytes = row.rowBytes;
    return take(model.price(e, CollectiveAlgorithm::Direct)).seconds * 1e6;
  }
  ExpertExchange e;
  e.isCombine = row.isCombine;
  e.groups = {group};
  e.tokens = {std::vector<int64_t>(row.ranks, row.tokens)};
  e.rowBytes = row.rowBytes;
  bool isLowLatency = family.kind == Family::LowLatency;
  return take(expertCost(model, e, {row.volumes}, algorithmOf(family),
                         isLowLatency ? DispatchKernel::LowLatency
                                      : DispatchKernel::Throughput))
             .seconds *
         1e6;
}

namespace {
/// A parameter of the fit and what is believed of it before any row.
struct Parameter {
  double *value;
  double prior;
};
} // namespace

static double loss(const ClusterSpec &spec, const Family &family,
                   const std::vector<Parameter> &parameters) {
  // Huber's: square up to 10 %, linear beyond, since some published rows are
  // outliers of their own series.
  auto huber = [](double error) {
    error = std::abs(error) / 0.1;
    return error <= 1 ? error * error : 2 * error - 1;
  };
  double sum = 0;
  for (const MeasuredRow &row : family.rows)
    if (!row.validates)
      sum += huber(std::log(predict(spec, family, row) / row.microseconds));
  // Weak, for parameters that the rows cannot tell apart.
  for (const Parameter &p : parameters)
    sum += 0.001 * huber(std::log(*p.value / p.prior));
  return sum;
}

/// The parameters on which a family's rows depend. Latencies of throughput
/// kernels are lost in their milliseconds; rows of their own message costs show
/// on EFA only.
static std::vector<Parameter> parametersOf(ClusterSpec &spec,
                                           const Family &family) {
  bool isNear = false, isFar = false;
  std::set<int64_t> sms;
  for (const MeasuredRow &row : family.rows) {
    isNear |= row.ranks == row.ranksPerNode;
    isFar |= row.ranks > row.ranksPerNode;
    sms.insert(row.sms);
  }
  std::vector<Parameter> all;
  auto add = [&](double &parameter, double prior) {
    parameter = prior;
    all.push_back({&parameter, prior});
  };
  if (family.kind == Family::Collective) {
    add(spec.levels[0].latency, 5e-6);
    add(spec.levels[0].messageCost, 1e-6);
    return all;
  }
  KernelRates *rates = family.rates(spec);
  if (isNear)
    add(rates->nearBandwidth, spec.levels[0].bandwidth);
  if (isFar)
    add(rates->farBandwidth, spec.levels[1].bandwidth);
  if (family.kind == Family::LowLatency) {
    add(rates->dispatchLatency, 40e-6);
    add(rates->combineLatency, 40e-6);
    if (family.preset.find("-efa") != std::string::npos)
      add(rates->farMessageCost, 0.2e-6);
  } else if (sms.size() > 1) {
    add(rates->bandwidthPerSm, 20e9);
  }
  return all;
}

ClusterSpec fit(const ClusterSpec &spec, const Family &family) {
  ClusterSpec best = spec;
  std::vector<Parameter> all = parametersOf(best, family);
  double least = loss(best, family, all);
  // Pattern search on the logarithms: few parameters, a loss with kinks, so
  // pairs of them move together too.
  auto tryFactors = [&](const Parameter &a, double onA, const Parameter *b,
                        double onB) {
    double beforeA = *a.value, beforeB = b ? *b->value : 0;
    *a.value *= onA;
    if (b)
      *b->value *= onB;
    double now = loss(best, family, all);
    if (now < least * (1 - 1e-9)) {
      least = now;
      return true;
    }
    *a.value = beforeA;
    if (b)
      *b->value = beforeB;
    return false;
  };
  for (double step = 2; step > 1.001; step = std::sqrt(step)) {
    bool improved = true;
    for (int sweep = 0; improved && sweep < 100; ++sweep) {
      improved = false;
      for (size_t i = 0; i < all.size(); ++i)
        for (double onA : {step, 1 / step}) {
          improved |= tryFactors(all[i], onA, nullptr, 1);
          for (size_t j = 0; j < i; ++j)
            for (double onB : {step, 1 / step})
              improved |= tryFactors(all[i], onA, &all[j], onB);
        }
    }
  }
  return best;
}

Errors errors(const ClusterSpec &spec, const Family &family, bool validation) {
  Errors errors;
  for (const MeasuredRow &row : family.rows) {
    if (row.validates != validation)
      continue;
    double error = std::abs(predict(spec, family, row) / row.microseconds - 1);
    ++errors.rows;
    errors.mean += error;
    errors.worst = std::max(errors.worst, error);
  }
  if (errors.rows > 0)
    errors.mean /= errors.rows;
  return errors;
}

} // namespace shunt
