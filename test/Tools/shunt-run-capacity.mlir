// RUN: shunt-run %s | FileCheck %s
// RUN: not shunt-run %s --check 2>&1 | FileCheck %s --check-prefix=CHECK-ONE

// Which rows a capacity drops depends on their source: nothing to compare with.
// CHECK: ran on 2 ranks
// CHECK-ONE: error: 'shunt.route' op drops rows over a capacity of each source rank, so one rank alone drops others; run it without --check [E_OPTION]
shunt.cluster @pod {ranks_per_node = 2}
shunt.mesh @moe on @pod <ep = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 2, top_k = 1>
#l = #shunt.layout<@moe, tokens = [ep]>
#rows = #shunt.routed<@moe, tokens = [ep], over = [ep]>
func.func @main(%x: tensor<?x4xf32, #l>, %ids: tensor<?x1xi32, #l> {shunt.experts = 2 : i64})
    -> tensor<?x4xf32, #l> {
  %b = shunt.batch [7, 5] : !b
  %r = shunt.route %ids in %b placement even {capacity = 2, overflow = #shunt<overflow drop_last>}
    : tensor<?x1xi32, #l>, !b -> !r
  %d = shunt.dispatch %x via %r : !r, tensor<?x4xf32, #l> -> tensor<?x4xf32, #rows>
  %y = shunt.combine %d via %r : !r, tensor<?x4xf32, #rows> -> tensor<?x4xf32, #l>
  return %y : tensor<?x4xf32, #l>
}
