// RUN: %python -c "import struct; ids=[0,1,2,3,0,1,2,3]; d=struct.pack('<8i',*ids); h=b\"{'descr': '<i4', 'fortran_order': False, 'shape': (4, 2), }\"; h=h.ljust(117)+b'\\n'; open('%t.npy','wb').write(b'\\x93NUMPY\\x01\\x00'+struct.pack('<H',len(h))+h+d)"
// RUN: shunt-run %s --input 1=%t.npy --check | FileCheck %s
// RUN: not shunt-run %s --routing zipf:3 2>&1 | FileCheck %s --check-prefix=WRONG

// Every rank has two tokens that choose each of four experts once: no counts are
// exchanged, and ids that say otherwise are found.
// CHECK: ran on 2 ranks
// CHECK-NOT: route: all_gather{{ *}} 2
// CHECK: check: equal to the one-rank reference
// WRONG: static_counts says 1; leave static_counts out, and counts are exchanged [E_EXPERT_COUNTS]
shunt.cluster @pod {ranks_per_node = 2}
shunt.mesh @moe on @pod <ep = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 4, top_k = 2>
#l = #shunt.layout<@moe, tokens = [ep]>
#rows = #shunt.routed<@moe, tokens = [ep], over = [ep]>
func.func @main(%x: tensor<?x4xf32, #l>, %ids: tensor<?x2xi32, #l> {shunt.experts = 4 : i64})
    -> tensor<?x4xf32, #l> {
  %b = shunt.batch [2, 2] : !b
  %r = shunt.route %ids in %b placement even {static_counts = array<i64: 1, 1, 1, 1>}
    : tensor<?x2xi32, #l>, !b -> !r
  %d = shunt.dispatch %x via %r : !r, tensor<?x4xf32, #l> -> tensor<?x4xf32, #rows>
  %y = shunt.combine %d via %r : !r, tensor<?x4xf32, #rows> -> tensor<?x4xf32, #l>
  return %y : tensor<?x4xf32, #l>
}
