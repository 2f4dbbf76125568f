// RUN: shunt-opt %s --shunt-assign-layouts --shunt-plan | FileCheck %s

// The residual leaves a block scattered and the next one reduces in full: both
// the residual and its norm are needed on all rows.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 2, tp = 2>
shunt.mesh @dense on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#experts = #shunt.layout<@moe, tokens = [dp]>
#experts_partial = #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>
!auto = tensor<?x8xf32, #shunt.auto>
func.func private @attention(tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #partial>

// CHECK-LABEL: @gathers_residual_and_norm_once
func.func @gathers_residual_and_norm_once(%x: tensor<?x8xf32, #experts_partial>) -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter {{.*}} {step = "post_moe"}
  %r = shunt.redistribute %x in %b {step = "post_moe"} : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: %[[ALL:.*]] = shunt.all_gather {{.*}} over [tp] counts [3, 2, 2, 1] {step = "pre_attention"}
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[ALL]], %[[ALL]] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK-NEXT: %[[NORM:.*]] = math.rsqrt %[[SQUARE]]
  %s = arith.mulf %r, %r : !auto
  %n = math.rsqrt %s : !auto
  // CHECK-NEXT: call @attention(%[[NORM]])
  %i = shunt.redistribute %n in %b {step = "pre_attention"} : !auto, !b -> tensor<?x8xf32, #rows>
  %a = call @attention(%i) : (tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #partial>
  // CHECK-NEXT: %[[OUT:.*]] = shunt.all_reduce {{.*}} {step = "post_attention"}
  %o = shunt.redistribute %a in %b {step = "post_attention"} : tensor<?x8xf32, #partial>, !b -> !auto
  // CHECK-NEXT: arith.addf %[[OUT]], %[[ALL]]
  %sum = arith.addf %o, %r : !auto
  // CHECK-NOT: shunt.all_gather
  %y = shunt.redistribute %sum in %b {step = "pre_dense"} : !auto, !b -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
}

// The norm alone is needed in full: it runs on scattered rows.
// CHECK-LABEL: @norm_alone_runs_scattered
func.func @norm_alone_runs_scattered(%x: tensor<?x8xf32, #experts_partial>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %r = shunt.redistribute %x in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: math.rsqrt %{{.*}} : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
  // CHECK: shunt.all_gather
  // CHECK-NOT: shunt.all_gather
  %n = math.rsqrt %r : !auto
  %y = shunt.redistribute %n in %b : !auto, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// Both are gathered, but to different rows: nothing to share.
// CHECK-LABEL: @gathers_to_other_rows_are_not_shared
func.func @gathers_to_other_rows_are_not_shared(%x: tensor<?x8xf32, #experts_partial>) -> (tensor<?x8xf32, #rows>, tensor<?x8xf32, #experts>) {
  %b = shunt.batch [5, 3] : !b
  %r = shunt.redistribute %x in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: math.rsqrt %{{.*}} : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
  // CHECK: shunt.all_gather {{.*}} over [tp]
  // CHECK: shunt.all_gather {{.*}} over [ep, tp]
  %n = math.rsqrt %r : !auto
  %y = shunt.redistribute %n in %b : !auto, !b -> tensor<?x8xf32, #rows>
  %z = shunt.redistribute %r in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %y, %z : tensor<?x8xf32, #rows>, tensor<?x8xf32, #experts>
}

// One value, gathered to the same rows under two names.
// CHECK-LABEL: @one_value_is_gathered_once
func.func @one_value_is_gathered_once(%x: tensor<?x8xf32, #experts_partial>) -> (tensor<?x8xf32, #rows>, tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>) {
  %b = shunt.batch [5, 3] : !b
  %r = shunt.redistribute %x in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: %[[ALL:.*]] = shunt.all_gather
  // CHECK: shunt.relabel %[[ALL]]
  // CHECK-NOT: shunt.all_gather
  %y = shunt.redistribute %r in %b : !auto, !b -> tensor<?x8xf32, #rows>
  %z = shunt.redistribute %r in %b : !auto, !b -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
  return %y, %z : tensor<?x8xf32, #rows>, tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
}

// The op reads other tokens besides, which are not gathered.
// CHECK-LABEL: @op_of_two_values_is_not_moved
func.func @op_of_two_values_is_not_moved(%x: tensor<?x8xf32, #experts_partial>, %y: tensor<?x8xf32, #experts_partial>) -> (tensor<?x8xf32, #rows>, tensor<?x8xf32, #rows>) {
  %b = shunt.batch [5, 3] : !b
  %r = shunt.redistribute %x in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  %q = shunt.redistribute %y in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
  %n = arith.mulf %r, %q : !auto
  %u = shunt.redistribute %n in %b : !auto, !b -> tensor<?x8xf32, #rows>
  %v = shunt.redistribute %r in %b : !auto, !b -> tensor<?x8xf32, #rows>
  return %u, %v : tensor<?x8xf32, #rows>, tensor<?x8xf32, #rows>
}
