// RUN: mlir-opt %s --load-dialect-plugin=%shunt_libs/ShuntPlugin.so | FileCheck %s --check-prefix=DIALECT
// RUN: mlir-opt %s --load-dialect-plugin=%shunt_libs/ShuntPlugin.so --load-pass-plugin=%shunt_libs/ShuntPlugin.so --pass-pipeline='builtin.module(shunt-localize)' | FileCheck %s --check-prefix=PASS
// RUN: mlir-opt %s --load-dialect-plugin=%shunt_libs/ShuntPlugin.so --pass-pipeline='builtin.module(shunt-runtime-pipeline)' | FileCheck %s --check-prefix=PIPELINE
// RUN: mlir-opt %s --load-dialect-plugin=%shunt_libs/ShuntPlugin.so --pass-pipeline='builtin.module(shunt-llvm-pipeline{mode=auto})' | FileCheck %s --check-prefix=LLVM

// Debian's own mlir-opt has the dialect, the passes and the pipelines, with the
// interfaces that bufferization asks for.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">

// DIALECT-LABEL: func.func @gather
// DIALECT: shunt.all_gather %{{.*}} in %{{.*}} over [tp]
// PASS-LABEL: func.func @gather
// PASS: shunt.local.all_gather
// PIPELINE-LABEL: func.func @gather
// PIPELINE: call @shunt_rt_all_gather
// LLVM-LABEL: llvm.func @gather
// LLVM: llvm.call @shunt_rt_all_gather
func.func @gather(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}
