//===- Descriptors.cpp - see Descriptors.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"

#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>
#include <set>

using namespace mlir;

namespace shunt {

namespace {
struct ElementInfo {
  ElementType type;
  int64_t bytes;
  const char *name;
};
} // namespace

static const ElementInfo kElements[] = {
    {ElementType::F64, 8, "f64"},   {ElementType::F32, 4, "f32"},
    {ElementType::BF16, 2, "bf16"}, {ElementType::F16, 2, "f16"},
    {ElementType::I64, 8, "i64"},   {ElementType::I32, 4, "i32"},
    {ElementType::I8, 1, "i8"},     {ElementType::I1, 1, "i1"}};

static const ElementInfo &infoOf(ElementType type) {
  return kElements[static_cast<int>(type)];
}

int64_t elementBytes(ElementType type) { return infoOf(type).bytes; }
llvm::StringRef elementName(ElementType type) { return infoOf(type).name; }

std::optional<ElementType> elementTypeOf(Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isIndex() || type.isSignlessInteger(64))
    return ElementType::I64;
  if (type.isSignlessInteger(32))
    return ElementType::I32;
  if (type.isSignlessInteger(8))
    return ElementType::I8;
  if (type.isSignlessInteger(1))
    return ElementType::I1;
  return std::nullopt;
}

int64_t Buffer::numElements() const {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

std::optional<BufferType> bufferTypeOf(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (memref && !memref.getLayout().isIdentity())
    return std::nullopt;
  std::optional<ElementType> element =
      elementTypeOf(memref ? memref.getElementType() : type);
  if (!element)
    return std::nullopt;
  BufferType result;
  result.type = *element;
  result.isScalar = !memref;
  if (memref)
    for (int64_t size : memref.getShape())
      result.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return result;
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text;
}

std::string mismatch(const Buffer &buffer, const BufferType &type) {
  std::string has = shapeText(buffer.shape) + elementName(buffer.type).str();
  bool fits =
      buffer.type == type.type && buffer.shape.size() == type.shape.size();
  for (size_t i = 0; fits && i < type.shape.size(); ++i)
    fits = buffer.shape[i] >= 0 &&
           (type.shape[i] < 0 || type.shape[i] == buffer.shape[i]);
  if (!fits)
    return "is " + has + ", expected " + shapeText(type.shape) +
           elementName(type.type).str();
  int64_t bytes = buffer.numElements() * elementBytes(buffer.type);
  if (bytes != static_cast<int64_t>(buffer.data.size()))
    return "is " + has + " but has " + std::to_string(buffer.data.size()) +
           " bytes, expected " + std::to_string(bytes);
  return "";
}

/// Words of a memref descriptor: two pointers, offset, sizes, strides.
static size_t descriptorWords(size_t rank) { return 3 + 2 * rank; }

static std::vector<int64_t> describe(const Buffer &buffer) {
  size_t rank = buffer.shape.size();
  std::vector<int64_t> words(descriptorWords(rank));
  // Inputs are only read: one-shot bufferization copies what it writes to.
  words[0] = words[1] = reinterpret_cast<int64_t>(buffer.data.data());
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    words[3 + i] = buffer.shape[i];
    words[3 + rank + i] = stride;
    stride *= buffer.shape[i];
  }
  return words;
}

CallFrame::CallFrame(shunt_comm *comm, llvm::ArrayRef<Buffer> inputs,
                     const std::vector<BufferType> &inputTypes,
                     const std::vector<BufferType> &outputTypes)
    : comm(comm), outputTypes(outputTypes) {
  size_t bytes = 0;
  for (const BufferType &type : outputTypes) {
    size_t size = type.isScalar ? elementBytes(type.type)
                                : 8 * descriptorWords(type.shape.size());
    bytes = llvm::alignTo(bytes, type.isScalar ? size : 8);
    offsets.push_back(bytes);
    bytes += size;
  }
  results.resize(llvm::divideCeil(bytes, size_t(8)));
  bool byValue = outputTypes.size() == 1 && outputTypes.front().isScalar;

  // Addresses are taken of elements: nothing may move them after.
  descriptors.reserve(inputs.size());
  addresses.reserve(inputs.size());
  if (!outputTypes.empty() && !byValue) {
    resultAddress = results.data();
    pointers.push_back(&resultAddress);
  }
  pointers.push_back(&this->comm);
  for (auto [input, type] : llvm::zip(inputs, inputTypes)) {
    if (type.isScalar) {
      pointers.push_back(const_cast<char *>(input.data.data()));
      continue;
    }
    descriptors.push_back(describe(input));
    addresses.push_back(descriptors.back().data());
    pointers.push_back(&addresses.back());
  }
  if (byValue)
    pointers.push_back(results.data());
}

/// Copies the elements of a strided tensor, dimension by dimension.
static void copyElements(const char *from, const int64_t *sizes,
                         const int64_t *strides, size_t rank, int64_t bytes,
                         char *&to) {
  if (rank == 0) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copyElements(from + i * strides[0] * bytes, sizes + 1, strides + 1,
                 rank - 1, bytes, to);
}

void CallFrame::takeResults(std::vector<Buffer> &outputs) {
  // Results may share a buffer, or be an input.
  std::set<void *> toFree;
  for (auto [offset, type] : llvm::zip(offsets, outputTypes)) {
    const char *at = reinterpret_cast<const char *>(results.data()) + offset;
    Buffer buffer;
    buffer.type = type.type;
    int64_t bytes = elementBytes(type.type);
    if (type.isScalar) {
      buffer.data.assign(at, at + bytes);
    } else {
      auto *words = reinterpret_cast<const int64_t *>(at);
      size_t rank = type.shape.size();
      buffer.shape.assign(words + 3, words + 3 + rank);
      buffer.data.resize(buffer.numElements() * bytes);
      char *to = buffer.data.data();
      if (!buffer.data.empty())
        copyElements(reinterpret_cast<const char *>(words[1]) +
                         words[2] * bytes,
                     words + 3, words + 3 + rank, rank, bytes, to);
      toFree.insert(reinterpret_cast<void *>(words[0]));
    }
    outputs.push_back(std::move(buffer));
  }
  for (const std::vector<int64_t> &input : descriptors)
    toFree.erase(reinterpret_cast<void *>(input[0]));
  for (void *memory : toFree)
    std::free(memory);
}

} // namespace shunt
