//===- OwnershipInterpreter.h - Runs a local program on ownership ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_LIB_ANALYSIS_OWNERSHIPINTERPRETER_H
#define SHUNT_LIB_ANALYSIS_OWNERSHIPINTERPRETER_H

#include "OwnershipFacts.h"

#include "Shunt/Analysis/Proof.h"
#include "Shunt/IR/Resolve.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace shunt {

/// Do the members of a group wait for each other in `op`?
bool isCollective(mlir::Operation *op);

/// `attr` as it is written.
std::string printed(mlir::Attribute attr);

/// Interprets the ops of one function. All ranks run in step; `active` says
/// which of them are at the current op.
class Interpreter {
public:
  Interpreter(int64_t world, std::optional<Batch> batch,
              mlir::SymbolTableCollection &symbols)
      : own(world), batch(std::move(batch)), symbols(symbols),
        active(world, true), leftAt(world, nullptr) {}

  /// Runs a body whose entry block has `arguments`; `results` are those of the
  /// terminators that return.
  mlir::LogicalResult runBody(mlir::Region &body,
                              llvm::ArrayRef<Facts> arguments,
                              llvm::SmallVectorImpl<Facts> &results);

  /// The rows of `layout` on each rank, made by `op`.
  mlir::FailureOr<WorldRows> rowsUnder(LayoutAttr layout, mlir::Operation *op);
  /// The stage of what comes from `op` itself.
  int64_t idOf(mlir::Operation *op);
  mlir::LogicalResult checkResult(mlir::Operation *returnOp, unsigned index,
                                  const Facts &facts, LayoutAttr layout);
  const Proof &statistics() const { return counted; }

private:
  using Block = mlir::Block;
  using LogicalResult = mlir::LogicalResult;
  using Operation = mlir::Operation;
  using Value = mlir::Value;

  //===--- Control flow (OwnershipInterpreter.cpp) ---===//
  LogicalResult runBlock(Block &block);
  LogicalResult runGraph(mlir::Region &body, llvm::ArrayRef<Facts> arguments,
                         llvm::SmallVectorImpl<Facts> &results);
  LogicalResult run(Operation *op);
  LogicalResult runIf(mlir::scf::IfOp op);
  LogicalResult runFor(mlir::scf::ForOp op);
  LogicalResult runUnknownFor(mlir::scf::ForOp op);
  LogicalResult runCall(mlir::func::CallOp op, mlir::func::FuncOp callee);
  /// Runs `region` for the ranks of `chosen`; the others leave at `where`.
  LogicalResult runRegion(mlir::Region &region, const std::vector<bool> &chosen,
                          Operation *where,
                          llvm::SmallVectorImpl<Facts> &yielded);
  /// What a value is that is one thing or the other.
  Facts join(Operation *op, const Facts &a, const Facts &b, bool uniform);
  LogicalResult mayLeave(Operation *where, mlir::Region &region);
  /// Calls of functions with a body count as what they call.
  bool communicates(mlir::Region &region);

  //===--- Collectives (OwnershipLocalOps.cpp) ---===//
  LogicalResult runLocal(Operation *op);
  template <typename OpTy> LogicalResult runCounted(OpTy op);
  LogicalResult runAllReduce(LocalAllReduceOp op);
  LogicalResult runAllToAll(LocalAllToAllOp op);
  LogicalResult runPermute(LocalPermuteOp op);
  LogicalResult runTable(Operation *op);
  mlir::FailureOr<Groups> groupsOf(Operation *op, mlir::Attribute groups);
  LogicalResult checkPresent(Operation *op, const Groups &groups);
  mlir::FailureOr<CountLists> listsOf(Operation *op, Value counts,
                                      const Groups &groups, bool matrix);
  mlir::FailureOr<WorldRows> rowsOfInput(Operation *op, Value input);
  /// Sets the result, which was written into `init`.
  LogicalResult finish(Operation *op, Value init, Result<WorldRows> rows,
                       llvm::StringRef code);
  bool isContinued(Operation *op, const Groups &groups);

  //===--- Routing (OwnershipMoe.cpp) ---===//
  LogicalResult runRoute(LocalRouteOp op);
  LogicalResult runDispatch(LocalDispatchOp op);
  LogicalResult runExpertMatmul(LocalExpertMatmulOp op);
  LogicalResult runCombine(LocalCombineOp op);
  /// The rows that a rank of `routing` receives, as made by `stage`.
  HeldRows routedRows(const Routed &routing, Stage stage);
  /// Null when it is not known.
  const Routed *routingOf(Value routing, Rank rank);
  LogicalResult checkRouting(Operation *op, Value routing);
  LogicalResult checkRouted(Operation *op, Rank rank, const OwnedRows &rows,
                            const Routed &routing);
  std::optional<RankList> combinedGroup(Value routing, Rank rank,
                                        const std::vector<RankList> &groups);

  //===--- Compute (OwnershipCompute.cpp) ---===//
  LogicalResult runCompute(Operation *op);
  LogicalResult runLinalg(mlir::linalg::LinalgOp op);
  LogicalResult runLinalgRows(mlir::linalg::LinalgOp op, unsigned tokenLoop);
  LogicalResult checkLinalgSizes(mlir::linalg::LinalgOp op, unsigned tokenLoop,
                                 const WorldRows &rows);
  LogicalResult runMarked(Operation *op, Operation *marks);
  LogicalResult runElementwise(Operation *op);
  LogicalResult runSlice(mlir::tensor::ExtractSliceOp op);
  LogicalResult runDim(mlir::tensor::DimOp op);
  LogicalResult runOther(Operation *op);
  bool foldConstants(Operation *op);
  /// Is `value` rows of tokens on a rank that is active?
  bool isRows(Value value);
  /// Is it the same in every row: numbers of one kind, and no tokens?
  bool isPlain(Value value);
  /// If partial on some rank: the axis that stands for its ranks.
  llvm::SmallVector<mlir::StringAttr> partialAxis(Value value);
  /// The rows of `value` on an active rank; null when they are not known.
  HeldRows held(Value value, Rank rank);
  /// What `op` makes of the same rows of `operands` on all active ranks.
  LogicalResult combine(Operation *op, llvm::ArrayRef<Value> operands,
                        Reads reads, WorldRows &result);
  LogicalResult makePartial(Operation *op, mlir::Attribute groups,
                            WorldRows &rows);
  void setRows(Operation *op, const WorldRows &rows);
  void setUnknown(Operation *op);

  //===--- Common ---===//
  const Facts &factsOf(Value value) const {
    auto found = facts.find(value);
    return found == facts.end() ? nothing : found->second;
  }
  /// The value of an integer on `rank`, where it is known.
  std::optional<int64_t> intOn(Value value, Rank rank);
  LogicalResult fail(Operation *op, const Error &error);
  /// With a note at what made `stage`.
  LogicalResult failFrom(Operation *op, Stage stage, const Error &error);
  LogicalResult notProved(Operation *op, const llvm::Twine &why);

  Ownership own;
  std::optional<Batch> batch;
  mlir::SymbolTableCollection &symbols;
  /// Assign copies: a reference to one fact does not outlive a new one.
  llvm::DenseMap<Value, Facts> facts;
  const Facts nothing;
  const HeldRows noRows = std::make_shared<OwnedRows>();
  std::vector<bool> active;
  /// Where a rank that is not active went another way.
  std::vector<Operation *> leftAt;
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> ids;
  llvm::SmallVector<Operation *> calls;
  std::vector<Routed> routings;
  std::map<std::vector<int64_t>, int64_t> routingNumbers;
  Proof counted;
};

} // namespace shunt

#endif // SHUNT_LIB_ANALYSIS_OWNERSHIPINTERPRETER_H
