// RUN: shunt-opt %s --shunt-plan | FileCheck %s

// Context-parallel peers hold rows of one sequence each.

shunt.cluster @pod {ranks_per_node = 8}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@attn, owners = [dp, cp]>

// CHECK-LABEL: @cp_peers_with_their_own_rows
func.func @cp_peers_with_their_own_rows(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  %b = shunt.batch [5, 4, 1, 0] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 2, 1, 0, 0, 0]{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 2, 1, 0, 0, 0]{{.*}} -> {{.*}}<@moe, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// CHECK-LABEL: @gather_the_sequence
func.func @gather_the_sequence(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  %b = shunt.batch [5, 4, 1, 0] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [cp] counts [5, 5, 4, 4, 1, 1, 0, 0]{{.*}} -> {{.*}}<@attn, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// CHECK-LABEL: @back_to_cp_peers
func.func @back_to_cp_peers(%x: tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  %b = shunt.batch [5, 4, 1, 0] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 2, 1, 0, 0, 0]{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 2, 1, 0, 0, 0]{{.*}} -> {{.*}}<@attn, tokens = [dp, cp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}
