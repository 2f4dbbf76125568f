// RUN: shunt-opt %s --pass-pipeline='builtin.module(shunt-plan-pipeline)' | FileCheck %s --check-prefix=AUTO
// RUN: shunt-opt %s --pass-pipeline='builtin.module(shunt-plan-pipeline{mode=scatter})' | FileCheck %s --check-prefix=SCATTER
// RUN: not shunt-opt %s --pass-pipeline='builtin.module(shunt-plan-pipeline{mode=nothing})' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The mode reaches the pass that assigns layouts.
// AUTO-LABEL: func.func @same_ranks
// AUTO: shunt.all_reduce
// AUTO-NOT: shunt.redistribute

// SCATTER-LABEL: func.func @same_ranks
// SCATTER: shunt.reduce_scatter
// SCATTER: shunt.all_gather
// SCATTER-NOT: shunt.redistribute

// UNKNOWN: error: unknown mode 'nothing'; use auto, scatter or reduce [E_MODE]
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @dense on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#dense = #shunt.layout<@dense, tokens = [dp]>
func.func @same_ranks(%x: tensor<?x8xf32, #sums>) -> tensor<?x8xf32, #dense> {
  %b = shunt.batch [5, 3] : !b
  %a = shunt.redistribute %x in %b {step = "post_attention"} : tensor<?x8xf32, #sums>, !b -> tensor<?x8xf32, #shunt.auto>
  %e = math.exp %a : tensor<?x8xf32, #shunt.auto>
  %y = shunt.redistribute %e in %b {step = "pre_dense"} : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #dense>
  return %y : tensor<?x8xf32, #dense>
}
