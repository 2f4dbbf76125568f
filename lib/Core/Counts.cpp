//===- Counts.cpp - Lists of counts from outside ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counts.h"
#include "Text.h"

#include <algorithm>

namespace shunt {

//===----------------------------------------------------------------------===//
// Checks of counts
//===----------------------------------------------------------------------===//

MaybeError checkNotNegative(const std::vector<int64_t> &counts) {
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0)
      return Error{"E_COUNTS_NEG", "count " + std::to_string(i) + " is " +
                                       std::to_string(counts[i]) +
                                       "; a count is at least 0"};
  return std::nullopt;
}

/// Names the axes of `among` on which two ranks differ: `tp`, or `cp·tp`.
static std::string differingAxes(const Mesh &mesh, const AxisList &among,
                                 Rank a, Rank b) {
  AxisList differing;
  for (unsigned axis : among)
    if (mesh.coordinate(a, axis) != mesh.coordinate(b, axis))
      differing.push_back(axis);
  return mesh.axisNames(differing);
}

static std::string peersDisagree(Rank a, int64_t tokensA, Rank b,
                                 int64_t tokensB, const std::string &axes) {
  return "rank " + std::to_string(a) + " reports " + plural(tokensA, "token") +
         " but rank " + std::to_string(b) + ", its " + axes +
         " peer, reports " + std::to_string(tokensB);
}

MaybeError checkReplicas(const BatchSpec &spec,
                         const std::vector<int64_t> &counts) {
  if (spec.replicas.empty())
    return std::nullopt;
  for (int64_t part = 0, e = counts.size(); part < e; ++part) {
    int64_t first = spec.firstCopy(part);
    if (counts[part] == counts[first])
      continue;
    Rank a = spec.firstRank(first), b = spec.firstRank(part);
    std::string axes = differingAxes(spec.mesh, spec.replicas, a, b);
    return Error{"E_CP_PEER_COUNTS",
                 peersDisagree(a, counts[first], b, counts[part], axes) +
                     "; in replicate mode they hold the same rows, use " +
                     axes + " shard if each has rows of its own"};
  }
  return std::nullopt;
}

std::string perAxes(const Mesh &mesh, const AxisList &axes) {
  return axes.empty() ? "for all ranks" : "per " + mesh.axisNames(axes);
}

/// The owner axes that tell tokens apart: all but the replicas.
static AxisList distinctOwners(const BatchSpec &spec) {
  AxisList axes;
  for (unsigned axis : spec.owners)
    if (!contains(spec.replicas, axis))
      axes.push_back(axis);
  return axes;
}

//===----------------------------------------------------------------------===//
// Expanding and padding counts
//===----------------------------------------------------------------------===//

/// The lengths that `per` allows, with what each means, for E_COUNTS_LEN.
static std::string wantedLengths(const BatchSpec &spec, CountsPer per) {
  AxisList distinct = distinctOwners(spec);
  std::vector<std::pair<int64_t, std::string>> wanted;
  auto want = [&](int64_t length, std::string what) {
    if (wanted.empty() || wanted.back().first != length)
      wanted.emplace_back(length, std::move(what));
  };
  if (per == CountsPer::Auto || per == CountsPer::MajorOwner)
    want(spec.mesh.groupSize(distinct), perAxes(spec.mesh, distinct));
  if (per == CountsPer::Auto || per == CountsPer::Part)
    want(spec.numParts(), perAxes(spec.mesh, spec.owners));
  if (per == CountsPer::Auto || per == CountsPer::Rank)
    want(spec.world(), "per rank");

  std::string text;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0)
      text += i + 1 == wanted.size() ? " or " : ", ";
    text += std::to_string(wanted[i].first) + " (one " + wanted[i].second + ")";
  }
  return text;
}

static Error wrongLength(const BatchSpec &spec, int64_t got, CountsPer per) {
  Error error{"E_COUNTS_LEN", "got " + plural(got, "count") + "; want " +
                                  wantedLengths(spec, per)};
  // One count per dp is a common mistake of context parallelism in shard mode.
  if (spec.replicas.empty() && spec.owners.size() > 1) {
    unsigned major = spec.owners.front();
    if (got == spec.mesh.axes()[major].size) {
      AxisList minor(spec.owners.begin() + 1, spec.owners.end());
      error.message += "; one " + perAxes(spec.mesh, {major}) +
                       " is enough only if " + spec.mesh.axisNames(minor) +
                       " replicates";
    }
  }
  return error;
}

/// The reading of a list of `length` counts; Auto if there is none.
static CountsPer resolve(const BatchSpec &spec, int64_t length) {
  if (length == spec.world())
    return CountsPer::Rank;
  if (length == spec.numParts())
    return CountsPer::Part;
  if (length == spec.mesh.groupSize(distinctOwners(spec)))
    return CountsPer::MajorOwner;
  return CountsPer::Auto;
}

static Result<std::vector<int64_t>>
partsFromRanks(const BatchSpec &spec, const std::vector<int64_t> &counts) {
  AxisList sharing = spec.mesh.complement(spec.owners);
  std::vector<int64_t> parts(spec.numParts());
  std::vector<Rank> reporter(spec.numParts(), -1);
  for (Rank rank = 0; rank < spec.world(); ++rank) {
    int64_t part = spec.partOf(rank);
    if (reporter[part] < 0) {
      reporter[part] = rank;
      parts[part] = counts[rank];
    } else if (parts[part] != counts[rank]) {
      std::string axes =
          differingAxes(spec.mesh, sharing, reporter[part], rank);
      return Error{
          "E_TP_PEER_COUNTS",
          peersDisagree(reporter[part], parts[part], rank, counts[rank], axes) +
              "; ranks of one attention group work on the same rows"};
    }
  }
  return parts;
}

static std::vector<int64_t>
partsFromDistinct(const BatchSpec &spec, const std::vector<int64_t> &counts) {
  // First copies appear in the order of the distinct owners.
  std::vector<int64_t> parts(spec.numParts());
  size_t next = 0;
  for (int64_t part = 0, e = parts.size(); part < e; ++part) {
    int64_t first = spec.firstCopy(part);
    parts[part] = first == part ? counts[next++] : parts[first];
  }
  return parts;
}

Result<std::vector<int64_t>> expandCounts(const BatchSpec &spec,
                                          const std::vector<int64_t> &counts,
                                          CountsPer per) {
  int64_t length = counts.size();
  if (length == 0 && spec.numParts() > 1)
    return Error{"E_COUNTS_MISSING",
                 "no counts for the " + plural(spec.numParts(), "part") +
                     " of mesh @" + spec.mesh.name() + "; want " +
                     wantedLengths(spec, per) + ", or the count exchange"};
  // A number that is no count is wrong however many there should be.
  if (MaybeError error = checkNotNegative(counts))
    return *error;
  CountsPer reading = resolve(spec, length);
  int64_t want = per == CountsPer::Rank   ? spec.world()
                 : per == CountsPer::Part ? spec.numParts()
                 : per == CountsPer::MajorOwner
                     ? spec.mesh.groupSize(distinctOwners(spec))
                     : length;
  if (length != want || (per == CountsPer::Auto && reading == per))
    return wrongLength(spec, length, per);
  if (per != CountsPer::Auto)
    reading = per;

  if (reading == CountsPer::MajorOwner)
    return partsFromDistinct(spec, counts);
  Result<std::vector<int64_t>> parts =
      reading == CountsPer::Rank ? partsFromRanks(spec, counts)
                                 : Result<std::vector<int64_t>>(counts);
  if (!parts)
    return parts;
  if (MaybeError error = checkReplicas(spec, *parts))
    return *error;
  return parts;
}

Result<std::vector<int64_t>> padCounts(const std::vector<int64_t> &counts,
                                       PadPolicy policy, int64_t bucket) {
  if (MaybeError error = checkNotNegative(counts))
    return *error;
  if (policy == PadPolicy::None || counts.empty())
    return counts;
  if (policy == PadPolicy::MaxPart)
    bucket = *std::max_element(counts.begin(), counts.end());
  for (size_t part = 0; part < counts.size(); ++part)
    if (counts[part] > bucket)
      return Error{"E_BUCKET", "part " + std::to_string(part) + " has " +
                                   plural(counts[part], "token") +
                                   " but the bucket holds " +
                                   std::to_string(bucket) +
                                   "; use a larger bucket"};
  return std::vector<int64_t>(counts.size(), bucket);
}

} // namespace shunt
