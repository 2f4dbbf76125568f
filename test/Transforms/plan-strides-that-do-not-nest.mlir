// RUN: shunt-opt %s --shunt-plan | FileCheck %s

// tp = 3 against groups of 4 on 12 ranks: the meshes meet at scattered rows only.

shunt.cluster @pod {ranks_per_node = 12}
shunt.mesh @attn on @pod <dp = 4, tp = 3>
shunt.mesh @moe on @pod <dp = 1, ep = 3, tp = 4>
shunt.mesh @small on @pod <dp = 3, ep = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>

// CHECK-LABEL: @tp3_to_all_experts
func.func @tp3_to_all_experts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  %b = shunt.batch [7, 2, 0, 4] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@attn, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@moe, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// CHECK-LABEL: @tp3_to_groups_of_four
func.func @tp3_to_groups_of_four(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>> {
  %b = shunt.batch [7, 2, 0, 4] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@attn, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@small, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@small, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>>
}

// CHECK-LABEL: @replicated_tp3_to_groups_of_four
func.func @replicated_tp3_to_groups_of_four(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>) -> tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>> {
  %b = shunt.batch [7, 2, 0, 4] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@attn, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@small, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@small, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@small, tokens = [dp]>>
}

// CHECK-LABEL: @groups_of_four_to_tp3
func.func @groups_of_four_to_tp3(%x: tensor<?x8xf32, #shunt.layout<@small, tokens = [dp], partial = [ep, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  %b = shunt.batch [7, 2, 0, 4] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@small, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@attn, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1, 1, 0, 0, 0, 0, 2, 1, 1]{{.*}} -> {{.*}}<@attn, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@small, tokens = [dp], partial = [ep, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}
