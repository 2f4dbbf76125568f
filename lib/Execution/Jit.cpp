//===- Jit.cpp - see Jit.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Execution/Jit.h"

#include "Descriptors.h"

#include "shunt/compiled.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace shunt {

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// The runtime is in this process, linked statically, where no dynamic linker
/// finds it.
static llvm::orc::SymbolMap
runtimeSymbols(llvm::orc::MangleAndInterner interner) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[interner(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                               llvm::JITSymbolFlags::Exported};
  };
#define SHUNT_ADD(name) add(#name, &name)
  SHUNT_ADD(shunt_rt_all_gather);
  SHUNT_ADD(shunt_rt_all_reduce);
  SHUNT_ADD(shunt_rt_all_to_all);
  SHUNT_ADD(shunt_rt_barrier);
  SHUNT_ADD(shunt_rt_cell_counts);
  SHUNT_ADD(shunt_rt_label);
  SHUNT_ADD(shunt_rt_moe_combine);
  SHUNT_ADD(shunt_rt_moe_dispatch);
  SHUNT_ADD(shunt_rt_moe_experts);
  SHUNT_ADD(shunt_rt_moe_release);
  SHUNT_ADD(shunt_rt_moe_route);
  SHUNT_ADD(shunt_rt_moe_rows);
  SHUNT_ADD(shunt_rt_own_counts);
  SHUNT_ADD(shunt_rt_part_counts);
  SHUNT_ADD(shunt_rt_permute);
  SHUNT_ADD(shunt_rt_rank);
  SHUNT_ADD(shunt_rt_reduce_scatter);
  SHUNT_ADD(shunt_rt_slice);
  SHUNT_ADD(shunt_rt_sum_cells);
#undef SHUNT_ADD
  return symbols;
}

Jit::Jit() = default;
Jit::~Jit() = default;

llvm::Error Jit::readSignature(ModuleOp module, StringRef entry) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(entry);
  auto signature = function
                       ? function->getAttrOfType<TypeAttr>("shunt.signature")
                       : TypeAttr();
  auto type =
      signature ? dyn_cast<FunctionType>(signature.getValue()) : FunctionType();
  if (!type)
    return makeError("the program has no public function @" + entry +
                     " that went through shunt-llvm-pipeline [X_NOT_LOCAL]");
  auto read = [&](TypeRange types,
                  std::vector<BufferType> &list) -> llvm::Error {
    for (Type part : types) {
      std::optional<BufferType> buffer = bufferTypeOf(part);
      if (!buffer)
        return makeError(llvm::formatv(
            "@{0} takes or returns a value of type {1}, which can not be "
            "passed from outside [X_DTYPE]",
            entry, part));
      list.push_back(std::move(*buffer));
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = read(type.getInputs(), inputTypes))
    return error;
  if (llvm::Error error = read(type.getResults(), outputTypes))
    return error;
  if (auto world = module->getAttrOfType<IntegerAttr>("shunt.world"))
    worldSize = world.getInt();
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Jit>>
Jit::compile(ModuleOp module, StringRef entry, const JitOptions &options) {
  std::unique_ptr<Jit> jit(new Jit());
  if (llvm::Error error = jit->readSignature(module, entry))
    return std::move(error);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  auto targetBuilder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!targetBuilder)
    return targetBuilder.takeError();
  auto target = targetBuilder->createTargetMachine();
  if (!target)
    return target.takeError();
  auto transformer =
      makeOptimizingTransformer(options.optLevel, 0, target->get());

  ExecutionEngineOptions engineOptions;
  engineOptions.transformer = transformer;
  engineOptions.jitCodeGenOptLevel =
      static_cast<llvm::CodeGenOptLevel>(options.optLevel);
  engineOptions.enableGDBNotificationListener = false;
  engineOptions.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, engineOptions);
  if (!engine)
    return engine.takeError();
  jit->engine = std::move(*engine);
  jit->engine->registerSymbols(runtimeSymbols);
  auto function = jit->engine->lookupPacked(("_mlir_ciface_" + entry).str());
  if (!function)
    return function.takeError();
  jit->function = *function;
  return std::move(jit);
}

llvm::Error Jit::invoke(shunt_comm *comm, llvm::ArrayRef<Buffer> inputs,
                        std::vector<Buffer> &outputs) const {
  outputs.clear();
  if (worldSize && shunt_comm_size(comm) != worldSize)
    return makeError(llvm::formatv(
        "the program is planned for {0} ranks and runs on {1}; plan it for "
        "this world [E_PRODUCT]",
        worldSize, shunt_comm_size(comm)));
  if (inputs.size() != inputTypes.size())
    return makeError(llvm::formatv("the program takes {0} inputs, got {1} "
                                   "[X_INPUT]",
                                   inputTypes.size(), inputs.size()));
  for (auto [index, input] : llvm::enumerate(inputs))
    if (std::string why = mismatch(input, inputTypes[index]); !why.empty())
      return makeError(llvm::formatv("input {0} {1} [X_INPUT]", index, why));

  CallFrame frame(comm, inputs, inputTypes, outputTypes);
  function(frame.arguments());
  frame.takeResults(outputs);
  if (shunt_comm_status(comm) != SHUNT_OK)
    return makeError(shunt_comm_error(comm));
  return llvm::Error::success();
}

} // namespace shunt
