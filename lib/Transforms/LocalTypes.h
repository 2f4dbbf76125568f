//===- LocalTypes.h - What one rank holds of a value ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_TRANSFORMS_LOCALTYPES_H
#define SHUNT_LIB_TRANSFORMS_LOCALTYPES_H

#include "Shunt/IR/Resolve.h"

#include "llvm/ADT/MapVector.h"

namespace shunt {

/// The axes that split dimension `dim` of a tensor with `encoding` into equal
/// blocks, major to minor. Empty for the token dimension.
mlir::SmallVector<mlir::StringAttr> blockAxes(mlir::Attribute encoding,
                                              unsigned dim);
/// The mesh of a `#shunt.layout` or `#shunt.shard`.
mlir::FlatSymbolRefAttr meshOf(mlir::Attribute encoding);

/// The groups over `axes`, members numbered by their coordinates on `axes` in
/// the order given, as an attribute with a group in each row.
mlir::DenseIntElementsAttr groupsAttr(mlir::MLIRContext *context,
                                      const Mesh &mesh, const AxisList &axes);

/// Does `type` say how ranks share a value: an encoded tensor, a batch, or a
/// function type with one?
bool isDistributed(mlir::Type type);

/// From the types of the collective level to those of the local one. An encoded
/// tensor loses its encoding, its token dimension becomes dynamic and split
/// dimensions are divided; a batch becomes its counts, one for each part.
class LocalTypes {
public:
  explicit LocalTypes(mlir::SymbolTableCollection &symbols)
      : symbols(symbols) {}

  /// Makes `type` known. Reports at `op` what cannot be divided.
  mlir::LogicalResult add(mlir::Type type, mlir::Operation *op);

  /// The local type of a type that was added; any other type is its own.
  mlir::Type operator()(mlir::Type type) const;

  /// The number of ranks, 0 if no mesh was met.
  int64_t world() const { return worldSize; }

private:
  mlir::FailureOr<mlir::Type> convertTensor(mlir::RankedTensorType type,
                                            mlir::Operation *op);
  mlir::FailureOr<mlir::Type> convertBatch(BatchType type, mlir::Operation *op);
  mlir::LogicalResult noteWorld(const Mesh &mesh, mlir::Operation *op);

  mlir::SymbolTableCollection &symbols;
  llvm::DenseMap<mlir::Type, mlir::Type> types;
  int64_t worldSize = 0;
};

} // namespace shunt

#endif // SHUNT_LIB_TRANSFORMS_LOCALTYPES_H
