//===- Shunt.h - The shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_SHUNT_H
#define SHUNT_IR_SHUNT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Shunt/IR/ShuntDialect.h.inc"

#include "Shunt/IR/ShuntEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Shunt/IR/ShuntAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Shunt/IR/ShuntTypes.h.inc"

namespace shunt {
/// What the ops that communicate read and write.
struct CommunicatorResource
    : public mlir::SideEffects::Resource::Base<CommunicatorResource> {
  llvm::StringRef getName() final { return "Communicator"; }
};

/// A ranked tensor with encoding `#shunt.layout` or `#shunt.auto`.
bool isTokenTensor(mlir::Type type);
/// A ranked tensor with encoding `#shunt.layout`.
bool isLaidOutTensor(mlir::Type type);
/// A ranked tensor with encoding `#shunt.routed`.
bool isRoutedTensor(mlir::Type type);
/// The layout of a tensor type, or null.
LayoutAttr getLayout(mlir::Type type);
/// The encoding of routed rows of a tensor type, or null.
RoutedAttr getRouted(mlir::Type type);
/// Axes that split dimension `dim` (≥ 1) of a tensor whose encoding has this
/// `inner`, which may be null.
llvm::ArrayRef<mlir::Attribute> innerAxes(mlir::ArrayAttr inner, unsigned dim);
/// `type` with another encoding (null: none).
mlir::RankedTensorType withEncoding(mlir::RankedTensorType type,
                                    mlir::Attribute encoding);
/// Bytes of a row of the whole tensor, rounded up: the blocks of an inner
/// dimension travel over groups of their own. Unknown sizes count as 1; 0 where
/// elements have no size, or a row more bytes than can be counted.
int64_t rowBytes(mlir::RankedTensorType type);
} // namespace shunt

#define GET_OP_CLASSES
#include "Shunt/IR/ShuntOps.h.inc"

#endif // SHUNT_IR_SHUNT_H
