//===- Elements.cpp - Elements of buffers as numbers ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Execution/Elements.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;

namespace shunt {

Buffer makeZeros(std::vector<int64_t> shape, ElementType type) {
  Buffer buffer{std::move(shape), type, {}};
  buffer.data.resize(buffer.numElements() * elementBytes(type));
  return buffer;
}

bool isFloat(ElementType type) {
  return type == ElementType::F64 || type == ElementType::F32 ||
         type == ElementType::BF16 || type == ElementType::F16;
}

template <typename T> static T load(const Buffer &buffer, int64_t index) {
  T value;
  std::memcpy(&value, buffer.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
static void store(Buffer &buffer, int64_t index, T value) {
  std::memcpy(buffer.data.data() + index * sizeof(T), &value, sizeof(T));
}

static const fltSemantics &semantics(ElementType type) {
  return type == ElementType::BF16 ? APFloat::BFloat() : APFloat::IEEEhalf();
}

double getElement(const Buffer &buffer, int64_t index) {
  switch (buffer.type) {
  case ElementType::F64:
    return load<double>(buffer, index);
  case ElementType::F32:
    return load<float>(buffer, index);
  case ElementType::I64:
    return double(load<int64_t>(buffer, index));
  case ElementType::I32:
    return load<int32_t>(buffer, index);
  case ElementType::I8:
  case ElementType::I1:
    return load<int8_t>(buffer, index);
  case ElementType::BF16:
  case ElementType::F16:
    break;
  }
  APFloat value(semantics(buffer.type),
                APInt(16, load<uint16_t>(buffer, index)));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

void setElement(Buffer &buffer, int64_t index, double value) {
  switch (buffer.type) {
  case ElementType::F64:
    return store(buffer, index, value);
  case ElementType::F32:
    return store(buffer, index, float(value));
  case ElementType::I64:
    return store(buffer, index, int64_t(value));
  case ElementType::I32:
    return store(buffer, index, int32_t(value));
  case ElementType::I8:
  case ElementType::I1:
    return store(buffer, index, int8_t(value));
  case ElementType::BF16:
  case ElementType::F16:
    break;
  }
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(semantics(buffer.type), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  store(buffer, index, uint16_t(rounded.bitcastToAPInt().getZExtValue()));
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << '[';
  interleaveComma(shape, os);
  os << ']';
  return text;
}

} // namespace shunt
