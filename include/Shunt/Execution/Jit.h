//===- Jit.h - Compiles a lowered program and runs it for one rank ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_EXECUTION_JIT_H
#define SHUNT_EXECUTION_JIT_H

#include "shunt/runtime.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ExecutionEngine;
}

namespace shunt {

/// What elements of arguments and results are, in memory.
enum class ElementType { F64, F32, BF16, F16, I64, I32, I8, I1 };

/// Bytes of one element (`I1` takes one).
int64_t elementBytes(ElementType type);
/// `f32`, as MLIR writes it.
llvm::StringRef elementName(ElementType type);
/// The element type of an MLIR scalar type; `index` counts as I64.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// A dense tensor, last dimension fastest; a scalar has an empty shape.
struct Buffer {
  std::vector<int64_t> shape;
  ElementType type = ElementType::F32;
  std::vector<char> data;

  /// Product of the shape.
  int64_t numElements() const;
};

/// What the program takes, or returns, at one position.
struct BufferType {
  /// -1 where any size will do.
  std::vector<int64_t> shape;
  ElementType type = ElementType::F32;
  /// Passed by value, not as a tensor.
  bool isScalar = false;
};

struct JitOptions {
  /// 0 to 3, as a compiler's -O.
  unsigned optLevel = 2;
};

/// Machine code of one program, the same for all ranks.
class Jit {
public:
  /// Compiles `module`, which went through `shunt-llvm-pipeline`; `entry` is
  /// the function that `invoke` calls. The module is not needed afterwards.
  static llvm::Expected<std::unique_ptr<Jit>>
  compile(mlir::ModuleOp module, llvm::StringRef entry = "main",
          const JitOptions &options = {});
  ~Jit();

  const std::vector<BufferType> &inputs() const { return inputTypes; }
  const std::vector<BufferType> &outputs() const { return outputTypes; }
  /// Ranks that the program is planned for; 0 if it does not say.
  int64_t world() const { return worldSize; }

  /// Runs the program as the rank of `comm` and sets `outputs` to what it
  /// returns. Blocks in the program's collectives, so all ranks call it, each
  /// on a thread of its own. Errors: inputs that do not fit, another number of
  /// ranks, or the comm's sticky error.
  llvm::Error invoke(shunt_comm *comm, llvm::ArrayRef<Buffer> inputs,
                     std::vector<Buffer> &outputs) const;

private:
  Jit();
  llvm::Error readSignature(mlir::ModuleOp module, llvm::StringRef entry);

  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*function)(void **) = nullptr;
  std::vector<BufferType> inputTypes, outputTypes;
  int64_t worldSize = 0;
};

} // namespace shunt

#endif // SHUNT_EXECUTION_JIT_H
