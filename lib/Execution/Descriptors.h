//===- Descriptors.h - Arguments and results as compiled code has them ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_EXECUTION_DESCRIPTORS_H
#define SHUNT_LIB_EXECUTION_DESCRIPTORS_H

#include "Shunt/Execution/Jit.h"

namespace shunt {

/// The type of a memref or scalar, if it can be passed from outside.
std::optional<BufferType> bufferTypeOf(mlir::Type type);

/// Why `buffer` is no `type`; empty if it is one.
std::string mismatch(const Buffer &buffer, const BufferType &type);

/// The arguments of one call through MLIR's packed C interface: pointers to the
/// arguments, of which a tensor is a pointer to a memref descriptor. Results
/// are in one struct, to which the first argument points if there is a tensor
/// among them or more than one.
class CallFrame {
public:
  CallFrame(shunt_comm *comm, llvm::ArrayRef<Buffer> inputs,
            const std::vector<BufferType> &inputTypes,
            const std::vector<BufferType> &outputTypes);

  void **arguments() { return pointers.data(); }
  /// Copies the results out and frees what the program allocated for them.
  void takeResults(std::vector<Buffer> &outputs);

private:
  shunt_comm *comm;
  const std::vector<BufferType> &outputTypes;
  std::vector<std::vector<int64_t>> descriptors;
  std::vector<void *> addresses;
  std::vector<void *> pointers;
  /// The struct of results, and where each is in it.
  std::vector<int64_t> results;
  std::vector<size_t> offsets;
  void *resultAddress = nullptr;
};

} // namespace shunt

#endif // SHUNT_LIB_EXECUTION_DESCRIPTORS_H
