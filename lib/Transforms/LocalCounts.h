//===- LocalCounts.h - Count tables as values of the local level ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_LOCALCOUNTS_H
#define SHUNT_LIB_TRANSFORMS_LOCALCOUNTS_H

#include "LocalTypes.h"

#include "mlir/IR/Builders.h"

namespace shunt {

/// Lists of cells, one a rank, as an attribute; short rows filled with -1.
mlir::DenseIntElementsAttr cellsAttr(mlir::MLIRContext *context,
                                     llvm::ArrayRef<RankList> lists);

/// Makes the count tables of one batch: constants when it is a literal, else
/// ops that call the core at run time.
class LocalCounts {
public:
  /// Fails, with a diagnostic at `op`, when the batch does not resolve.
  static mlir::FailureOr<LocalCounts> create(mlir::OpBuilder &builder,
                                             mlir::Operation *op,
                                             mlir::Value batch,
                                             mlir::SymbolTableCollection &);

  /// The rows of each rank's cell.
  mlir::Value cellTable() const;
  /// The rows that each rank holds under `layout`.
  mlir::Value rows(const Layout &layout) const;
  /// The rows that each rank sends to each.
  mlir::Value matrix(const Exchange &exchange) const;
  /// The sum of each list of cells, as a tensor of `shape`.
  mlir::Value sums(llvm::ArrayRef<RankList> lists,
                   llvm::ArrayRef<int64_t> shape) const;

  /// The entry of the rank that executes, as an index.
  mlir::Value ofThisRank(mlir::Value table) const;

  /// The numbers, where the batch is a literal.
  const std::optional<Batch> &literal() const { return batch; }

private:
  LocalCounts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
              BatchSpec spec, std::optional<Batch> batch)
      : builder(builder), loc(loc), value(value), spec(std::move(spec)),
        batch(std::move(batch)) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value value;
  BatchSpec spec;
  std::optional<Batch> batch;
};

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_LOCALCOUNTS_H
