//===- RoutingSample.h - Expert ids to plan and run with ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_ROUTINGSAMPLE_H
#define SHUNT_CORE_ROUTINGSAMPLE_H

#include "Shunt/Core/Error.h"

#include <cstdint>
#include <vector>

namespace shunt {

/// How tokens choose their experts.
struct RoutingSource {
  enum Kind {
    Uniform, ///< every expert with equal chance
    Zipf,    ///< the r-th favourite with a weight of 1 / r^exponent
    File,    ///< listed
  };
  Kind kind = Uniform;
  double exponent = 0;
  std::string path;
};

/// `uniform`, `zipf:1.2`, or the name of a file. Errors: E_ROUTING (an exponent
/// that is no number, or beyond 0 … 10).
Result<RoutingSource> parseRoutingSource(const std::string &text);

/// Ids [tokens, topK] drawn at random, the same for equal arguments on every
/// machine: different experts for each token as long as there are any. Which
/// experts are the favourites depends on the seed. Not for files.
/// Errors: E_SIZE (a size below 1, tokens below 0, more than 2^31 ids).
Result<std::vector<int32_t>> sampleExpertIds(const RoutingSource &source,
                                             int64_t tokens, int64_t experts,
                                             int64_t topK, uint64_t seed);

/// Ids from text: for each token a line of `topK` whole numbers, -1 for a slot
/// that is dropped, separated by blanks or commas; `#` starts a comment.
/// Errors: E_ROUTING (line and what is wrong there: a number of entries, an
/// entry that is no expert; a number of tokens).
Result<std::vector<int32_t>> parseExpertIds(const std::string &text,
                                            int64_t tokens, int64_t experts,
                                            int64_t topK);

/// One of the two. Errors: E_FILE as well.
Result<std::vector<int32_t>> readExpertIds(const RoutingSource &source,
                                           int64_t tokens, int64_t experts,
                                           int64_t topK, uint64_t seed);

} // namespace shunt

#endif // SHUNT_CORE_ROUTINGSAMPLE_H
