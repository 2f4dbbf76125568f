// RUN: shunt-opt %s --shunt-local-pipeline | FileCheck %s --check-prefix=LOCAL
// RUN: shunt-opt %s --shunt-runtime-pipeline | FileCheck %s --check-prefix=RUNTIME
// RUN: shunt-opt %s --pass-pipeline='builtin.module(shunt-llvm-pipeline{mode=scatter})' | FileCheck %s --check-prefix=LLVM

// One attention block (column- then row-parallel matmul) and one MoE block in
// its gathered form, at the collective level, to each lower level.

// LOCAL-LABEL: func.func @main
// LOCAL: linalg.matmul {shunt.partial = dense<{{\[\[}}0, 1], [2, 3]]>
// LOCAL: shunt.local.reduce_scatter {{.*}} {step = "post_attention"}
// LOCAL: shunt.local.slice
// LOCAL: shunt.local.all_gather {{.*}} {step = "pre_moe"}
// LOCAL: linalg.matmul {shunt.partial = dense<{{\[\[}}0, 1, 2, 3]]>
// LOCAL: shunt.local.reduce_scatter {{.*}} {step = "post_moe"}
// LOCAL: shunt.local.all_gather {{.*}} {step = "final"}

// RUNTIME-LABEL: func.func @main
// RUNTIME-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: memref<?x8xf32>, %{{.*}}: memref<8x8xf32>
// RUNTIME: linalg.matmul
// RUNTIME: call @shunt_rt_reduce_scatter
// RUNTIME: call @shunt_rt_slice
// RUNTIME: call @shunt_rt_all_gather
// RUNTIME: call @shunt_rt_reduce_scatter
// RUNTIME: call @shunt_rt_all_gather
// RUNTIME: memref.dealloc

// LLVM: module attributes {shunt.world = 4 : i64}
// LLVM-NOT: {{func\.func|memref\.|scf\.|unrealized_conversion_cast}}
// LLVM: llvm.func @main
// LLVM: llvm.intr.exp
// LLVM: llvm.call @shunt_rt_reduce_scatter
// LLVM: llvm.func @_mlir_ciface_main
// LLVM-NOT: {{func\.func @|memref\.|scf\.|unrealized_conversion_cast}}
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <ep = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#rows = #shunt.layout<@attn, tokens = [dp]>
#heads = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#own = #shunt.layout<@attn, tokens = [dp, tp]>
#moeown = #shunt.layout<@moe, tokens = [ep, tp]>
#moeall = #shunt.layout<@moe, tokens = []>
#moesums = #shunt.layout<@moe, tokens = [], partial = [ep, tp]>
func.func @main(%x: tensor<?x8xf32, #rows>,
                %wq: tensor<8x16xf32, #shunt.shard<@attn, [[], [tp]]>>,
                %wo: tensor<16x8xf32, #shunt.shard<@attn, [[tp], []]>>,
                %w1: tensor<8x32xf32, #shunt.shard<@moe, [[], [ep, tp]]>>,
                %w2: tensor<32x8xf32, #shunt.shard<@moe, [[ep, tp], []]>>)
    -> tensor<?x8xf32, #rows> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %b = shunt.batch [5, 3] : !b
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #rows>
  %e0 = tensor.empty(%n) : tensor<?x16xf32, #heads>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x16xf32, #heads>) -> tensor<?x16xf32, #heads>
  %q = linalg.matmul ins(%x, %wq : tensor<?x8xf32, #rows>, tensor<8x16xf32, #shunt.shard<@attn, [[], [tp]]>>)
    outs(%f0 : tensor<?x16xf32, #heads>) -> tensor<?x16xf32, #heads>
  %qe = math.exp %q : tensor<?x16xf32, #heads>
  %e1 = tensor.empty(%n) : tensor<?x8xf32, #sums>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #sums>
  %o = linalg.matmul ins(%qe, %wo : tensor<?x16xf32, #heads>, tensor<16x8xf32, #shunt.shard<@attn, [[tp], []]>>)
    outs(%f1 : tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #sums>
  %s = shunt.reduce_scatter %o in %b over [tp] {step = "post_attention"} : tensor<?x8xf32, #sums>, !b -> tensor<?x8xf32, #own>
  %xs = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #own>
  %r = arith.addf %s, %xs : tensor<?x8xf32, #own>
  %rl = shunt.relabel %r in %b : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #moeown>
  %g = shunt.all_gather %rl in %b over [ep, tp] {step = "pre_moe"} : tensor<?x8xf32, #moeown>, !b -> tensor<?x8xf32, #moeall>
  %ng = tensor.dim %g, %c0 : tensor<?x8xf32, #moeall>
  %e2 = tensor.empty(%ng) : tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>) -> tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>
  %h = linalg.matmul ins(%g, %w1 : tensor<?x8xf32, #moeall>, tensor<8x32xf32, #shunt.shard<@moe, [[], [ep, tp]]>>)
    outs(%f2 : tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>) -> tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>
  %e3 = tensor.empty(%ng) : tensor<?x8xf32, #moesums>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x8xf32, #moesums>) -> tensor<?x8xf32, #moesums>
  %m = linalg.matmul ins(%h, %w2 : tensor<?x32xf32, #shunt.layout<@moe, tokens = [], inner = [[ep, tp]]>>, tensor<32x8xf32, #shunt.shard<@moe, [[ep, tp], []]>>)
    outs(%f3 : tensor<?x8xf32, #moesums>) -> tensor<?x8xf32, #moesums>
  %ms = shunt.reduce_scatter %m in %b over [ep, tp] {step = "post_moe"} : tensor<?x8xf32, #moesums>, !b -> tensor<?x8xf32, #moeown>
  %back = shunt.relabel %ms in %b : tensor<?x8xf32, #moeown>, !b -> tensor<?x8xf32, #own>
  %sum = arith.addf %back, %r : tensor<?x8xf32, #own>
  %y = shunt.all_gather %sum in %b over [tp] {step = "final"} : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}
