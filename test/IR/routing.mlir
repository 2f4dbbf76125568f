// RUN: shunt-opt %s | shunt-opt | FileCheck %s
// RUN: shunt-opt %s --mlir-print-op-generic | shunt-opt | FileCheck %s

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>

!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
#partial = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]>
#major = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], rank_major, scored>

// CHECK-LABEL: func.func @layer
func.func @layer(%b: !b, %x: tensor<?x16xf32, #l>, %ids: tensor<?x2xi32, #l>,
                 %s: tensor<?x2xf32, #l>,
                 %up: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>,
                 %down: tensor<8x32x16xf32, #shunt.shard<@moe, [[ep], [tp], []]>>)
    -> tensor<?x16xf32, #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>> {
  // CHECK: %[[R:.*]] = shunt.route %{{.*}} scores(%{{.*}} : tensor<?x2xf32, {{.*}}>) in %{{.*}} algorithm hierarchical placement even {step = "experts"} :
  // CHECK-SAME: -> !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
  %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b
    algorithm hierarchical placement even {step = "experts"}
    : tensor<?x2xi32, #l>, !b -> !r
  // CHECK: %[[X:.*]] = shunt.dispatch %{{.*}} via %[[R]] :
  // CHECK-SAME: -> tensor<?x16xf32, #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>>
  %rows = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #rows>
  // CHECK: %[[H:.*]] = shunt.expert_matmul %[[X]], %{{.*}} via %[[R]] :
  // CHECK-SAME: inner = {{\[\[}}tp]]>>
  %h = shunt.expert_matmul %rows, %up via %r
    : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>
    -> tensor<?x32xf32, #split>
  // CHECK: %[[Y:.*]] = shunt.expert_matmul %[[H]], %{{.*}} via %[[R]] :
  // CHECK-SAME: partial = [tp]>>
  %y = shunt.expert_matmul %h, %down via %r
    : !r, tensor<?x32xf32, #split>, tensor<8x32x16xf32, #shunt.shard<@moe, [[ep], [tp], []]>>
    -> tensor<?x16xf32, #partial>
  // CHECK: shunt.combine %[[Y]] via %[[R]] order rank_slot :
  %o = shunt.combine %y via %r order rank_slot
    : !r, tensor<?x16xf32, #partial>
    -> tensor<?x16xf32, #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>>
  return %o : tensor<?x16xf32, #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>>
}

// Two payloads, replicated experts, dropped rows, and what a shared expert made.
// CHECK-LABEL: func.func @all_options
func.func @all_options(%b: !b, %x: tensor<?x16xf8E4M3FN, #l>, %scale: tensor<?x1xf32, #l>,
                       %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>,
                       %y: tensor<?x16xf32, #rows>, %shared: tensor<?x16xf32, #l>)
    -> tensor<?x16xf32, #l> {
  // CHECK: shunt.route %{{.*}} placement {{\[\[}}0, 1, 7], [2, 3], [4, 5], [6, 7]]
  // CHECK-SAME: {alignment = 16 : i64, bound = 64 : i64, capacity = 8 : i64, overflow = #shunt<overflow drop_lowest>, pad_empty}
  %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b
    placement [[0, 1, 7], [2, 3], [4, 5], [6, 7]]
    {alignment = 16, bound = 64, capacity = 8, overflow = #shunt<overflow drop_lowest>, pad_empty}
    : tensor<?x2xi32, #l>, !b -> !r
  // CHECK: %{{.*}}:2 = shunt.dispatch %{{.*}}, %{{.*}} via
  %d:2 = shunt.dispatch %x, %scale via %r
    : !r, tensor<?x16xf8E4M3FN, #l>, tensor<?x1xf32, #l>
    -> tensor<?x16xf8E4M3FN, #rows>, tensor<?x1xf32, #rows>
  // CHECK: shunt.combine %{{.*}} via %{{.*}} bias(%{{.*}} : tensor<?x16xf32, {{.*}}>) :
  %o = shunt.combine %y via %r bias(%shared : tensor<?x16xf32, #l>)
    : !r, tensor<?x16xf32, #rows> -> tensor<?x16xf32, #l>
  return %o : tensor<?x16xf32, #l>
}

// CHECK-LABEL: func.func @score_before_rank_major
func.func @score_before_rank_major(%b: !b, %x: tensor<?x16xbf16, #l>, %ids: tensor<?x2xi32, #l>,
                                   %s: tensor<?x2xf32, #l>) -> tensor<?x16xbf16, #l> {
  // CHECK: placement balanced :
  %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b placement balanced
    : tensor<?x2xi32, #l>, !b -> !r
  // CHECK: shunt.dispatch
  // CHECK-SAME: over = [ep], rank_major, scored>>
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xbf16, #l> -> tensor<?x16xbf16, #major>
  %o = shunt.combine %d via %r : !r, tensor<?x16xbf16, #major> -> tensor<?x16xbf16, #l>
  return %o : tensor<?x16xbf16, #l>
}
