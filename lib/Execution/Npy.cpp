//===- Npy.cpp - Tensors in numpy's file format ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The format: numpy.lib.format, version 1.0 and 2.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

#include "Shunt/Execution/Elements.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;

namespace shunt {

static constexpr StringLiteral kMagic = "\x93NUMPY";

/// The text between `key` and the next `end` in the header.
static StringRef field(StringRef header, StringRef key, char end) {
  size_t at = header.find(key);
  if (at == StringRef::npos)
    return {};
  StringRef rest = header.drop_front(at + key.size()).ltrim(" :");
  return rest.take_front(rest.find(end));
}

/// Element `index` of a file of type `descr` as a double.
static std::optional<double> element(StringRef bytes, StringRef descr,
                                     int64_t index) {
  auto read = [&](auto value) {
    std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
    return double(value);
  };
  if (descr == "<f4")
    return read(float());
  if (descr == "<f8")
    return read(double());
  if (descr == "<i4")
    return read(int32_t());
  if (descr == "<i8")
    return read(int64_t());
  if (descr == "<f2") {
    Buffer half = makeZeros({1}, ElementType::F16);
    std::memcpy(half.data.data(), bytes.data() + index * 2, 2);
    return getElement(half, 0);
  }
  return std::nullopt;
}

Expected<Buffer> readNpy(StringRef path, ElementType type) {
  auto fail = [&](const Twine &what) {
    return createStringError(Twine(path) + ": " + what + " [E_FILE]");
  };
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  if (bytes.size() < 12 || !bytes.starts_with(kMagic))
    return fail("is no .npy file");
  bool version1 = bytes[6] == 1;
  size_t length = version1 ? support::endian::read16le(bytes.data() + 8)
                           : support::endian::read32le(bytes.data() + 8);
  size_t start = version1 ? 10 : 12;
  if (length > bytes.size() - start)
    return fail("has a header that is longer than the file");
  StringRef header = bytes.substr(start, length);
  bytes = bytes.drop_front(start + length);

  if (field(header, "'fortran_order'", ',') != "False")
    return fail("is in Fortran order; write it with numpy.ascontiguousarray");
  StringRef descr = field(header, "'descr'", ',').trim("'\" ");
  std::vector<int64_t> shape;
  SmallVector<StringRef> sizes;
  field(header, "'shape'", ')').ltrim("(").split(sizes, ',', -1, false);
  int64_t count = 1;
  for (StringRef text : sizes) {
    int64_t size;
    if (text.trim().empty())
      continue;
    if (text.trim().getAsInteger(10, size) || size < 0 ||
        __builtin_mul_overflow(count, size, &count))
      return fail("has a shape that cannot be read");
    shape.push_back(size);
  }
  int64_t width = StringSwitch<int64_t>(descr)
                      .Cases({"<f8", "<i8"}, 8)
                      .Cases({"<f4", "<i4"}, 4)
                      .Case("<f2", 2)
                      .Default(0);
  if (width == 0)
    return fail("has elements of type '" + descr +
                "'; f2, f4, f8, i4 and i8 (little endian) can be read");
  if (count > int64_t(bytes.size()) / width)
    return fail("ends before its last element");

  Buffer buffer = makeZeros(std::move(shape), type);
  for (int64_t i = 0; i < count; ++i)
    setElement(buffer, i, *element(bytes, descr, i));
  return buffer;
}

Error writeNpy(StringRef path, const Buffer &buffer) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (error)
    return createStringError(Twine(path) + ": " + error.message() +
                             " [E_FILE]");
  auto descrOf = [](ElementType type) -> StringRef {
    switch (type) {
    case ElementType::F64:
      return "<f8";
    case ElementType::F32:
    case ElementType::BF16:
      return "<f4";
    case ElementType::F16:
      return "<f2";
    case ElementType::I64:
      return "<i8";
    case ElementType::I32:
      return "<i4";
    case ElementType::I8:
    case ElementType::I1:
      return "|i1";
    }
    llvm_unreachable("all element types are covered");
  };
  StringRef descr = descrOf(buffer.type);
  std::string header =
      ("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (").str();
  for (int64_t size : buffer.shape)
    header += std::to_string(size) + ",";
  header += "), }";
  // Magic, version, length and header fill a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char length[2];
  support::endian::write16le(length, header.size());
  os << kMagic << '\x01' << '\0' << StringRef(length, 2) << header;
  if (buffer.type == ElementType::BF16) {
    Buffer wide = makeZeros(buffer.shape, ElementType::F32);
    for (int64_t i = 0, n = buffer.numElements(); i < n; ++i)
      setElement(wide, i, getElement(buffer, i));
    os.write(wide.data.data(), wide.data.size());
  } else {
    os.write(buffer.data.data(), buffer.data.size());
  }
  os.close();
  if (os.has_error())
    return createStringError(Twine(path) + ": " + os.error().message() +
                             " [E_FILE]");
  return Error::success();
}

} // namespace shunt
