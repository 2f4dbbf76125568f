//===- Dialect.cpp - The shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Shunt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace shunt;

#include "Shunt/IR/ShuntDialect.cpp.inc"

void ShuntDialect::initialize() {
  registerAttrsAndTypes();
  addOperations<
#define GET_OP_LIST
#include "Shunt/IR/ShuntOps.cpp.inc"
      >();
}

Operation *ShuntDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

bool shunt::isTokenTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr, AutoAttr>(tensor.getEncoding());
}

bool shunt::isLaidOutTensor(Type type) { return bool(getLayout(type)); }

LayoutAttr shunt::getLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

bool shunt::isRoutedTensor(Type type) { return bool(getRouted(type)); }

RoutedAttr shunt::getRouted(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<RoutedAttr>(tensor.getEncoding())
                : RoutedAttr();
}

ArrayRef<Attribute> shunt::innerAxes(ArrayAttr inner, unsigned dim) {
  if (!inner || dim == 0 || dim > inner.size())
    return {};
  return cast<ArrayAttr>(inner[dim - 1]).getValue();
}

int64_t shunt::rowBytes(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIndex()        ? 64
                 : element.isIntOrFloat() ? element.getIntOrFloatBitWidth()
                                          : 0;
  for (int64_t size : type.getShape().drop_front())
    if (!ShapedType::isDynamic(size) && llvm::MulOverflow(bits, size, bits))
      return 0;
  return bits / 8 + (bits % 8 != 0);
}

RankedTensorType shunt::withEncoding(RankedTensorType type,
                                     Attribute encoding) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               encoding);
}
