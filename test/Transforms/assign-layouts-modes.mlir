// RUN: shunt-opt %s --shunt-assign-layouts=mode=scatter | FileCheck %s --check-prefix=SCATTER
// RUN: shunt-opt %s --shunt-assign-layouts=mode=reduce | FileCheck %s --check-prefix=REDUCE
// RUN: shunt-opt %s --shunt-assign-layouts --remarks-filter='shunt-assign-layouts' 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not shunt-opt %s --shunt-assign-layouts=mode=fast 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown mode 'fast'; use auto, scatter or reduce [E_MODE]

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @dense on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#dense = #shunt.layout<@dense, tokens = [dp]>

// REMARK: remark: [Passed] Reduced | Category:shunt-assign-layouts | Function=same_ranks | Reason="the next block works on the same rows"
// SCATTER-LABEL: @same_ranks
// REDUCE-LABEL: @same_ranks
func.func @same_ranks(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #dense> {
  // SCATTER: shunt.redistribute {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // REDUCE: shunt.redistribute {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #shunt.auto>
  %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #dense>
  return %1 : tensor<?x8xf32, #dense>
}
