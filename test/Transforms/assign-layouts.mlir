// RUN: shunt-opt %s --shunt-assign-layouts | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 2, tp = 2>
shunt.mesh @dense on @pod <dp = 2, tp = 2>
shunt.mesh @whole on @pod <dp = 4, tp = 1>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#experts = #shunt.layout<@moe, tokens = [dp]>
#experts_partial = #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>
#dense = #shunt.layout<@dense, tokens = [dp]>
#alone = #shunt.layout<@whole, tokens = [dp], partial = [tp]>
!auto = tensor<?x8xf32, #shunt.auto>

// CHECK-LABEL: @keeps_rows_for_a_block_on_the_same_ranks
func.func @keeps_rows_for_a_block_on_the_same_ranks(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #dense> {
  // CHECK: shunt.redistribute {{.*}} {step = "post"} : {{.*}}partial = [tp]>>, {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  %0 = shunt.redistribute %x in %b {step = "post"} : tensor<?x8xf32, #partial>, !b -> !auto
  // CHECK: math.exp %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  %1 = math.exp %0 : !auto
  // CHECK: shunt.redistribute {{.*}} {step = "pre"} : {{.*}}@attn, tokens = [dp]>>, {{.*}} -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
  %2 = shunt.redistribute %1 in %b {step = "pre"} : !auto, !b -> tensor<?x8xf32, #dense>
  return %2 : tensor<?x8xf32, #dense>
}

// CHECK-LABEL: @scatters_for_a_block_on_other_ranks
func.func @scatters_for_a_block_on_other_ranks(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #experts> {
  // CHECK: shunt.redistribute {{.*}}partial = [tp]>>, {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #partial>, !b -> !auto
  // CHECK: math.exp %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  %1 = math.exp %0 : !auto
  // CHECK: shunt.redistribute {{.*}}@attn, tokens = [dp, tp]>>, {{.*}} -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  %2 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %2 : tensor<?x8xf32, #experts>
}

// CHECK-LABEL: @complete_rows_stay
func.func @complete_rows_stay(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #experts> {
  // CHECK: math.exp %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> !auto
  %1 = math.exp %0 : !auto
  %2 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %2 : tensor<?x8xf32, #experts>
}

// One rank has all summands, so there is nothing to scatter.
// CHECK-LABEL: @partial_over_one_rank_stays
func.func @partial_over_one_rank_stays(%x: tensor<?x8xf32, #alone>, %b: !b) -> tensor<?x8xf32, #experts> {
  // CHECK: math.exp %{{.*}} : tensor<?x8xf32, #shunt.layout<@whole, tokens = [dp]>>
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #alone>, !b -> !auto
  %1 = math.exp %0 : !auto
  %2 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %2 : tensor<?x8xf32, #experts>
}

// The residual is sliced to where the block's output lives, once for both ops.
// CHECK-LABEL: @residual_follows_the_block
func.func @residual_follows_the_block(%r: tensor<?x8xf32, #rows>, %x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #experts> {
  %0 = shunt.redistribute %r in %b {step = "input"} : tensor<?x8xf32, #rows>, !b -> !auto
  %1 = shunt.redistribute %x in %b {step = "post"} : tensor<?x8xf32, #partial>, !b -> !auto
  // CHECK: %[[R:.*]] = shunt.redistribute %arg0 {{.*}} {step = "post"} : {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[R]], %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK-NEXT: arith.mulf %[[S]], %[[R]] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  %2 = arith.addf %0, %1 : !auto
  %3 = arith.mulf %2, %0 : !auto
  %4 = shunt.redistribute %3 in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %4 : tensor<?x8xf32, #experts>
}

// CHECK-LABEL: @runs_where_the_last_block_left_its_rows
func.func @runs_where_the_last_block_left_its_rows(%x: tensor<?x8xf32, #partial>, %y: tensor<?x8xf32, #experts_partial>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #partial>, !b -> !auto
  %1 = shunt.redistribute %y in %b : tensor<?x8xf32, #experts_partial>, !b -> !auto
  // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
  %2 = arith.addf %1, %0 : !auto
  %3 = shunt.redistribute %2 in %b : !auto, !b -> tensor<?x8xf32, #rows>
  return %3 : tensor<?x8xf32, #rows>
}

// What has no tokens of its own is made for each reader, with its rows.
// CHECK-LABEL: @destinations_take_the_readers_layout
func.func @destinations_take_the_readers_layout(%r: tensor<?x8xf32, #rows>, %x: tensor<?x8xf32, #partial>, %b: !b) -> (tensor<?x8xf32, #rows>, tensor<?x8xf32, #experts>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = shunt.redistribute %r in %b : tensor<?x8xf32, #rows>, !b -> !auto
  %n = tensor.dim %0, %c0 : !auto
  %e = tensor.empty(%n) : !auto
  %f = linalg.fill ins(%zero : f32) outs(%e : !auto) -> !auto
  // CHECK: %[[N:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK: tensor.empty(%[[N]]) : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK: linalg.fill {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK: linalg.exp {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  %1 = linalg.exp ins(%0 : !auto) outs(%f : !auto) -> !auto
  // CHECK: %[[Y:.*]] = shunt.redistribute %arg1
  %2 = shunt.redistribute %x in %b : tensor<?x8xf32, #partial>, !b -> !auto
  // CHECK: %[[M:.*]] = tensor.dim %[[Y]], %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK: tensor.empty(%[[M]]) : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK: linalg.fill {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK: linalg.exp {{.*}} -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  %3 = linalg.exp ins(%2 : !auto) outs(%f : !auto) -> !auto
  %4 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #rows>
  %5 = shunt.redistribute %3 in %b : !auto, !b -> tensor<?x8xf32, #experts>
  return %4, %5 : tensor<?x8xf32, #rows>, tensor<?x8xf32, #experts>
}

// CHECK-LABEL: @open_to_open_is_nothing
func.func @open_to_open_is_nothing(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #rows> {
  // CHECK-NOT: shunt.redistribute
  // CHECK: return %arg0
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> !auto
  %1 = shunt.redistribute %0 in %b : !auto, !b -> !auto
  %2 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #rows>
  return %2 : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @inside_of_a_loop
func.func @inside_of_a_loop(%x: tensor<?x8xf32, #rows>, %b: !b, %n: index) -> tensor<?x8xf32, #rows> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<?x8xf32, #rows> {
    %0 = shunt.redistribute %v in %b : tensor<?x8xf32, #rows>, !b -> !auto
    // CHECK: math.exp %{{.*}} : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
    %1 = math.exp %0 : !auto
    %2 = shunt.redistribute %1 in %b : !auto, !b -> tensor<?x8xf32, #rows>
    scf.yield %2 : tensor<?x8xf32, #rows>
  }
  return %y : tensor<?x8xf32, #rows>
}
