//===- RuntimeCalls.cpp - see RuntimeCalls.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "shunt/runtime.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace shunt {

std::optional<int32_t> runtimeDtype(Type elementType) {
  if (elementType.isF32())
    return SHUNT_F32;
  if (elementType.isBF16())
    return SHUNT_BF16;
  if (elementType.isF16())
    return SHUNT_F16;
  if (elementType.isSignlessInteger(32))
    return SHUNT_I32;
  if (elementType.isSignlessInteger(64))
    return SHUNT_I64;
  if (isa<Float8E4M3FNType>(elementType))
    return SHUNT_F8E4M3;
  return std::nullopt;
}

void RuntimeCalls::begin(Operation *op, Value communicator) {
  at = op;
  builder.setInsertionPoint(op);
  loc = op->getLoc();
  arguments.assign({communicator});
}

void RuntimeCalls::addI64(int64_t value) {
  add(arith::ConstantOp::create(builder, loc,
                                builder.getI64IntegerAttr(value)));
}

void RuntimeCalls::addI32(int32_t value) {
  add(arith::ConstantOp::create(builder, loc,
                                builder.getI32IntegerAttr(value)));
}

Value RuntimeCalls::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value RuntimeCalls::constantBuffer(DenseElementsAttr elements) {
  auto type =
      MemRefType::get(elements.getType().getShape(), elements.getElementType());
  memref::GlobalOp &global = globals[elements];
  if (!global) {
    OpBuilder top(module.getBodyRegion());
    global = memref::GlobalOp::create(
        top, module.getLoc(), "shunt_table", top.getStringAttr("private"), type,
        elements, /*constant=*/true, /*alignment=*/IntegerAttr());
    symbols.insert(global);
  }
  return memref::GetGlobalOp::create(builder, loc, type, global.getSymName());
}

void RuntimeCalls::addConstant(DenseElementsAttr elements) {
  addPointer(constantBuffer(elements));
}

void RuntimeCalls::addText(StringRef text) {
  SmallVector<int8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  auto type =
      RankedTensorType::get({int64_t(bytes.size())}, builder.getI8Type());
  addConstant(DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
}

void RuntimeCalls::addGroups(DenseIntElementsAttr groups) {
  addConstant(groups);
  addI64(groups.getNumElements());
  addI64(groups.getType().getDimSize(1));
}

void RuntimeCalls::addPointer(Value memref) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  add(LLVM::IntToPtrOp::create(builder, loc,
                               LLVM::LLVMPointerType::get(builder.getContext()),
                               toI64(address)));
}

Value RuntimeCalls::toI64(Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
}

Value RuntimeCalls::size(Value memref, unsigned dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return memref::DimOp::create(builder, loc, memref, dim);
}

void RuntimeCalls::addTable(Value memref) {
  addPointer(memref);
  auto type = cast<MemRefType>(memref.getType());
  Value elements = size(memref, 0);
  for (unsigned dim = 1; dim < type.getRank(); ++dim)
    elements = arith::MulIOp::create(builder, loc, elements, size(memref, dim));
  add(toI64(elements));
}

void RuntimeCalls::addRows(Value memref) {
  addPointer(memref);
  add(toI64(size(memref, 0)));
}

LogicalResult RuntimeCalls::addRowType(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  std::optional<int32_t> dtype = runtimeDtype(type.getElementType());
  if (!dtype)
    return at->emitOpError()
           << "moves rows of " << type.getElementType()
           << ", and the runtime has f32, bf16, f16, i32, i64 and f8E4M3FN "
              "only [X_DTYPE]";
  int64_t fixed = 1;
  Value elements;
  for (unsigned dim = 1; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim)) {
      fixed *= type.getDimSize(dim);
      continue;
    }
    Value factor = size(memref, dim);
    elements = elements ? arith::MulIOp::create(builder, loc, elements, factor)
                        : factor;
  }
  if (!elements)
    elements = index(fixed);
  else if (fixed != 1)
    elements = arith::MulIOp::create(builder, loc, elements, index(fixed));
  add(toI64(elements));
  addI32(*dtype);
  return success();
}

Value RuntimeCalls::call(StringRef name, Type result) {
  SmallVector<Type> types = llvm::map_to_vector(
      arguments, [](Value value) { return value.getType(); });
  TypeRange results = result ? TypeRange(result) : TypeRange();
  if (!symbols.lookup(name)) {
    OpBuilder top(module.getBodyRegion());
    auto declaration = func::FuncOp::create(
        top, module.getLoc(), name, top.getFunctionType(types, results));
    declaration.setPrivate();
    symbols.insert(declaration);
  }
  auto call = func::CallOp::create(builder, loc, name, results, arguments);
  return result ? call.getResult(0) : Value();
}

Value RuntimeCalls::allocateLike(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto plain = MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<Value> sizes;
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(size(memref, dim));
  return memref::AllocOp::create(builder, loc, plain, sizes);
}

void RuntimeCalls::addNull() {
  add(LLVM::ZeroOp::create(builder, loc,
                           LLVM::LLVMPointerType::get(builder.getContext())));
}

void RuntimeCalls::addI64Table(ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  addConstant(DenseElementsAttr::get(type, values));
}

static bool isContiguous(Value memref) {
  return cast<MemRefType>(memref.getType()).getLayout().isIdentity();
}

Value RuntimeCalls::contiguous(Value memref) {
  if (isContiguous(memref))
    return memref;
  Value copy = allocateLike(memref);
  linalg::CopyOp::create(builder, loc, memref, copy);
  copies.emplace_back(copy, Value());
  return copy;
}

Value RuntimeCalls::contiguousOut(Value memref) {
  if (isContiguous(memref))
    return memref;
  Value copy = allocateLike(memref);
  copies.emplace_back(copy, memref);
  return copy;
}

Value RuntimeCalls::temporary(MemRefType type) {
  Value buffer = memref::AllocOp::create(builder, loc, type);
  copies.emplace_back(buffer, Value());
  return buffer;
}

void RuntimeCalls::finishCopies() {
  for (auto [copy, target] : copies) {
    if (target)
      linalg::CopyOp::create(builder, loc, copy, target);
    memref::DeallocOp::create(builder, loc, copy);
  }
  copies.clear();
}

} // namespace shunt
