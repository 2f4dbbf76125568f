//===- RuntimeCalls.h - Builds calls of the runtime's C ABI ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_CONVERSION_RUNTIMECALLS_H
#define SHUNT_LIB_CONVERSION_RUNTIMECALLS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace shunt {

/// The `shunt_dtype` of an element type, or nothing if the runtime has none.
std::optional<int32_t> runtimeDtype(mlir::Type elementType);

/// Builds, at one op, the arguments of a call: the communicator first, buffers
/// as pointer and sizes, tables as pointer to a constant global.
class RuntimeCalls {
public:
  RuntimeCalls(mlir::ModuleOp module, mlir::SymbolTable &symbols)
      : module(module), symbols(symbols), builder(module.getContext()) {}

  /// Starts the arguments of a call before `op`.
  void begin(mlir::Operation *op, mlir::Value communicator);

  void addI64(int64_t value);
  void addI32(int32_t value);
  void add(mlir::Value value) { arguments.push_back(value); }
  /// A null pointer.
  void addNull();
  /// A pointer to constant integers.
  void addI64Table(llvm::ArrayRef<int64_t> values);
  /// A pointer to a constant, shared by all users in the module.
  void addConstant(mlir::DenseElementsAttr elements);
  /// A pointer to `text`, terminated by a zero byte.
  void addText(llvm::StringRef text);
  /// Partition: pointer, number of ranks, ranks in a group.
  void addGroups(mlir::DenseIntElementsAttr groups);
  /// Buffer: pointer and number of elements.
  void addTable(mlir::Value memref);
  /// Rows: pointer and number of rows.
  void addRows(mlir::Value memref);
  /// Rows: pointer only.
  void addPointer(mlir::Value memref);
  /// Elements in a row of `memref`, and its dtype. Reports, at the op, one that
  /// the runtime does not have (X_DTYPE).
  mlir::LogicalResult addRowType(mlir::Value memref);

  /// Calls `name`, declaring it if need be; the result, if `result` is a type.
  mlir::Value call(llvm::StringRef name, mlir::Type result);

  /// `memref` itself if its elements are contiguous, else a contiguous copy,
  /// which `finishCopies` frees after the call.
  mlir::Value contiguous(mlir::Value memref);
  /// Like `contiguous` for a buffer that the call writes.
  mlir::Value contiguousOut(mlir::Value memref);
  /// A buffer that `finishCopies` frees after the call.
  mlir::Value temporary(mlir::MemRefType type);
  void finishCopies();

  /// The buffer of a constant.
  mlir::Value constantBuffer(mlir::DenseElementsAttr elements);
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  mlir::Value index(int64_t value);

private:
  mlir::Value size(mlir::Value memref, unsigned dim);
  mlir::Value toI64(mlir::Value index);
  mlir::Value allocateLike(mlir::Value memref);

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  mlir::OpBuilder builder;
  mlir::Operation *at = nullptr;
  mlir::Location loc = mlir::UnknownLoc::get(module.getContext());
  llvm::SmallVector<mlir::Value> arguments;
  /// Temporary buffers; the second is where the contents go after the call.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> copies;
  llvm::DenseMap<mlir::Attribute, mlir::memref::GlobalOp> globals;
};

} // namespace shunt

#endif // SHUNT_LIB_CONVERSION_RUNTIMECALLS_H
