//===- Program.h - What a program takes and returns ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_EXECUTION_PROGRAM_H
#define SHUNT_EXECUTION_PROGRAM_H

#include "Shunt/Core/RoutingSample.h"
#include "Shunt/Execution/Elements.h"
#include "Shunt/IR/Resolve.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace shunt {

/// The part of a logical tensor that one rank holds: for each dimension, the
/// logical index of each local one.
struct LocalPart {
  std::vector<std::vector<int64_t>> indices;
  /// For a tensor of tokens: which local rows are no padding. Empty: all.
  std::vector<bool> valid;

  std::vector<int64_t> shape() const;
  /// Linear logical index of a linear local one.
  int64_t logicalIndex(int64_t local,
                       llvm::ArrayRef<int64_t> logicalShape) const;
  Buffer of(const Buffer &logical) const;
};

/// The entry function of a module of the logical or collective level. Refers to
/// the module, which must outlive it unchanged: run passes on a clone.
class Program {
public:
  /// Reports at the op what keeps the module from being run: no function with
  /// a body or several without a `main`, several batches, an undecided layout
  /// at the boundary. `counts`, if any, replace the literal batch or are the
  /// batch that is an argument: one per part.
  static mlir::FailureOr<Program>
  read(mlir::ModuleOp module,
       std::optional<std::vector<int64_t>> counts = std::nullopt);

  int64_t world() const { return worldSize; }
  mlir::func::FuncOp function() const { return entry; }
  const std::optional<Batch> &batch() const { return theBatch; }

  /// The shape of a value of `type` as a whole: all tokens, all blocks.
  std::vector<int64_t> logicalShape(mlir::Type type) const;
  /// What `rank` holds of it. Fails, with a diagnostic, for a split dimension
  /// that its axes do not divide.
  mlir::FailureOr<LocalPart> localPart(mlir::Type type, Rank rank) const;

  /// `part` of `whole`, as `rank` is given it: of partial sums the first rank
  /// of each group holds the value and the others zeros.
  mlir::FailureOr<Buffer> localInput(mlir::Type type, const LocalPart &part,
                                     const Buffer &whole, Rank rank) const;

  /// Seeded values for argument `index` as a whole: floats uniform in (-1, 1),
  /// weights scaled by 1/sqrt(fan in); integers uniform in [0, n) with n from
  /// the argument attribute `shunt.range` (default 1). Padding rows are zero.
  /// With the attribute `shunt.experts`, expert ids from `routing`, and -1 in
  /// padding rows. Errors: those of `readExpertIds`.
  Result<Buffer> makeInput(unsigned index, uint64_t seed,
                           const RoutingSource &routing = {}) const;

private:
  Result<Buffer> makeExpertIds(mlir::Type type, int64_t experts, uint64_t seed,
                               const RoutingSource &routing) const;

  mlir::func::FuncOp entry;
  std::optional<Batch> theBatch;
  int64_t worldSize = 1;
};

/// Makes a module of the logical or collective level its own reference: every
/// mesh axis has size 1, so that one rank holds the logical tensor. `counts`
/// as for `Program::read`.
void makeReference(mlir::ModuleOp module, const Program &program);

} // namespace shunt

#endif // SHUNT_EXECUTION_PROGRAM_H
