//===- Elements.h - Elements of buffers as numbers ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_EXECUTION_ELEMENTS_H
#define SHUNT_EXECUTION_ELEMENTS_H

#include "Shunt/Execution/Jit.h"

namespace shunt {

/// A buffer of zeros.
Buffer makeZeros(std::vector<int64_t> shape, ElementType type);
bool isFloat(ElementType type);
/// Element at a linear index as a double: exact but for large i64.
double getElement(const Buffer &buffer, int64_t index);
/// Rounds to the element type, to the nearest even.
void setElement(Buffer &buffer, int64_t index, double value);
/// `[8, 64]`
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Reads a `.npy` file (little endian, C order: f2, f4, f8, i4, i8) and
/// converts its elements to `type`.
llvm::Expected<Buffer> readNpy(llvm::StringRef path, ElementType type);
/// Writes a `.npy` file; bf16, which numpy lacks, as f4.
llvm::Error writeNpy(llvm::StringRef path, const Buffer &buffer);

} // namespace shunt

#endif // SHUNT_EXECUTION_ELEMENTS_H
