//===- RoutingSample.cpp - see RoutingSample.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/RoutingSample.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <locale>
#include <numeric>
#include <random>
#include <sstream>

namespace shunt {

Result<RoutingSource> parseRoutingSource(const std::string &text) {
  RoutingSource source;
  if (text == "uniform")
    return source;
  const std::string prefix = "zipf:";
  if (text.compare(0, prefix.size(), prefix) != 0) {
    if (text.empty())
      return Error{"E_ROUTING", "the routing is empty; want uniform, zipf:S or "
                                "a file of expert ids"};
    source.kind = RoutingSource::File;
    source.path = text;
    return source;
  }
  source.kind = RoutingSource::Zipf;
  std::istringstream number(text.substr(prefix.size()));
  number.imbue(std::locale::classic());
  if (!(number >> source.exponent) || !number.eof() ||
      !(source.exponent >= 0 && source.exponent <= 10))
    return Error{"E_ROUTING", "the routing is '" + text +
                                  "'; want zipf: and an exponent from 0 to "
                                  "10, as in zipf:1.2"};
  return source;
}

Result<std::vector<int32_t>> sampleExpertIds(const RoutingSource &source,
                                             int64_t tokens, int64_t experts,
                                             int64_t topK, uint64_t seed) {
  int64_t slots;
  if (tokens < 0 || experts < 1 || topK < 1 ||
      __builtin_mul_overflow(tokens, topK, &slots) ||
      slots > int64_t(1) << 31 || experts > int64_t(1) << 31)
    return Error{"E_SIZE", "cannot draw top_k = " + std::to_string(topK) +
                               " of " + std::to_string(experts) +
                               " experts for " + std::to_string(tokens) +
                               " tokens; want sizes of at least 1 and at most "
                               "2^31 ids"};
  // Not std::uniform_*_distribution: its values are the library's choice.
  std::mt19937_64 bits(seed);
  auto unit = [&] { return (double(bits() >> 11) + 0.5) * 0x1p-53; };
  std::vector<int32_t> favourites(experts);
  std::iota(favourites.begin(), favourites.end(), 0);
  for (int64_t i = experts - 1; i > 0; --i)
    std::swap(favourites[i], favourites[int64_t(unit() * double(i + 1))]);
  std::vector<double> inverse(experts, 1);
  if (source.kind == RoutingSource::Zipf)
    for (int64_t i = 0; i < experts; ++i)
      inverse[i] = std::pow(double(i + 1), source.exponent);

  // Draws without replacement by weight: the least of exponential times, each
  // expert's own rate (Efraimidis and Spirakis, 2006).
  std::vector<int32_t> ids;
  ids.reserve(slots);
  std::vector<std::pair<double, int32_t>> times(experts);
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t k = 0; k < topK;) {
      for (int64_t i = 0; i < experts; ++i)
        times[i] = {-std::log(unit()) * inverse[i], favourites[i]};
      int64_t round = std::min(experts, topK - k);
      std::partial_sort(times.begin(), times.begin() + round, times.end());
      for (int64_t i = 0; i < round; ++i)
        ids.push_back(times[i].second);
      k += round;
    }
  return ids;
}

Result<std::vector<int32_t>> parseExpertIds(const std::string &text,
                                            int64_t tokens, int64_t experts,
                                            int64_t topK) {
  std::vector<int32_t> ids;
  std::istringstream lines(text);
  std::string line;
  int64_t number = 0, listed = 0;
  auto fail = [&](const std::string &what) {
    return Error{"E_ROUTING",
                 "line " + std::to_string(number) + " of the ids " + what};
  };
  while (std::getline(lines, line)) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == ',' || c == '\r'; },
        ' ');
    std::istringstream entries(line);
    std::string entry;
    int64_t count = 0;
    while (entries >> entry) {
      std::istringstream digits(entry);
      int64_t id;
      if (!(digits >> id) || !digits.eof())
        return fail("has '" + entry + "'; ids are whole numbers");
      if (id < -1 || id >= experts)
        return fail("has expert " + std::to_string(id) +
                    "; ids are -1 (dropped) or 0 to " +
                    std::to_string(experts - 1));
      ids.push_back(static_cast<int32_t>(id));
      ++count;
    }
    if (count == 0)
      continue;
    if (count != topK)
      return fail("has " + std::to_string(count) +
                  " ids; each token has top_k = " + std::to_string(topK));
    ++listed;
  }
  if (listed != tokens)
    return Error{"E_ROUTING", "the ids are of " + std::to_string(listed) +
                                  " tokens, but the batch has " +
                                  std::to_string(tokens) +
                                  "; give each a line"};
  return ids;
}

Result<std::vector<int32_t>> readExpertIds(const RoutingSource &source,
                                           int64_t tokens, int64_t experts,
                                           int64_t topK, uint64_t seed) {
  if (source.kind != RoutingSource::File)
    return sampleExpertIds(source, tokens, experts, topK, seed);
  std::ifstream file(source.path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()) || file.bad())
    return Error{"E_FILE", "cannot read expert ids from '" + source.path + "'"};
  Result<std::vector<int32_t>> ids =
      parseExpertIds(text.str(), tokens, experts, topK);
  if (!ids)
    return Error{ids.error().code, source.path + ": " + ids.error().message};
  return ids;
}

} // namespace shunt
