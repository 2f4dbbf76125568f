//===- OwnershipFacts.h - What is known of a value, rank by rank ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_ANALYSIS_OWNERSHIPFACTS_H
#define SHUNT_LIB_ANALYSIS_OWNERSHIPFACTS_H

#include "Shunt/Analysis/Ownership.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

namespace shunt {

/// What is known of a value on one rank.
struct Fact {
  enum Kind {
    Unknown,  ///< nothing, or `uniform`
    Constant, ///< a number or a table
    Blank,    ///< a tensor without tokens of its own: `rows` rows or -1
    Rows,     ///< rows of tokens
    Routing,  ///< a routing, by its number
  };

  static Fact unknown(bool uniform) {
    Fact fact;
    fact.uniform = uniform;
    return fact;
  }
  static Fact constant(mlir::Attribute value) {
    Fact fact;
    fact.kind = Constant;
    fact.value = value;
    return fact;
  }
  static Fact blank(int64_t rows, bool zero) {
    Fact fact;
    fact.kind = Blank;
    fact.numRows = rows;
    fact.zero = zero;
    return fact;
  }
  static Fact rows(HeldRows held) {
    Fact fact;
    fact.kind = Rows;
    fact.held = std::move(held);
    return fact;
  }

  static Fact routing(int64_t number) {
    Fact fact;
    fact.kind = Routing;
    fact.numRows = number;
    return fact;
  }

  bool operator==(const Fact &o) const {
    return kind == o.kind && uniform == o.uniform && value == o.value &&
           numRows == o.numRows && zero == o.zero &&
           (held == o.held || (held && o.held && *held == *o.held));
  }

  Kind kind = Unknown;
  /// Of `Unknown`: whatever it is, it is the same on all ranks.
  bool uniform = false;
  mlir::Attribute value;
  int64_t numRows = -1;
  /// Of `Blank`: adding it changes nothing.
  bool zero = false;
  HeldRows held;
};

/// A routing of one group of ranks.
struct Routed {
  /// The same for groups whose ids are the same.
  int64_t number;
  RankList group;
  /// Of each member: the tokens that it routes.
  std::vector<HeldRows> ids;
};

/// What is known of a value on all ranks: one fact for all, or one for each.
class Facts {
public:
  Facts() : facts(1) {}
  Facts(Fact same) : facts(1, std::move(same)) {}
  explicit Facts(llvm::SmallVector<Fact> perRank) : facts(std::move(perRank)) {}

  const Fact &on(Rank rank) const {
    return facts.size() == 1 ? facts.front() : facts[rank];
  }
  bool oneForAll() const { return facts.size() == 1; }
  /// Is the value the same number on all ranks?
  bool uniform() const {
    return oneForAll() &&
           (facts.front().kind == Fact::Constant ||
            facts.front().kind == Fact::Blank || facts.front().uniform);
  }

private:
  llvm::SmallVector<Fact> facts;
};

} // namespace shunt

#endif // SHUNT_LIB_ANALYSIS_OWNERSHIPFACTS_H
