// Embeds dialect and passes: plans one redistribution and prints it.

#include "Shunt/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

static const char *source = R"(
  shunt.cluster @pod {ranks_per_node = 4 : i64}
  shunt.mesh @attn on @pod <dp = 2, tp = 2>
  shunt.mesh @moe on @pod <dp = 1, tp = 4>
  func.func @f(%x: tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>)
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp]>> {
    %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp]>
    %y = shunt.redistribute %x in %b
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>,
        !shunt.batch<@attn, owners = [dp]>
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp]>>
    return %y : tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp]>>
  }
)";

int main() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  shunt::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context);
  passes.addPass(shunt::createPlanCollectives());
  if (mlir::failed(passes.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
