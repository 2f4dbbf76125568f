// RUN: shunt-opt %s -verify-diagnostics -split-input-file --allow-unregistered-dialect

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @ids_of_another_type(%b: !b, %ids: tensor<?x2xi64, #l>) {
  // expected-error @below {{has ids of 'i64'; ids are i32, scores f32 [X_DTYPE]}}
  %r = shunt.route %ids in %b placement even : tensor<?x2xi64, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @scores_of_another_type(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xbf16, #l>) {
  // expected-error @below {{has scores of 'bf16'; ids are i32, scores f32 [X_DTYPE]}}
  %r = shunt.route %ids scores(%s : tensor<?x2xbf16, #l>) in %b placement even : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @ids_of_another_top_k(%b: !b, %ids: tensor<?x3xi32, #l>) {
  // expected-error @below {{has ids of type 'tensor<?x3xi32>'; give each token top_k = 2 [X_SHAPE]}}
  %r = shunt.route %ids in %b placement even : tensor<?x3xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
func.func @ids_of_other_tokens(%b: !b, %ids: tensor<?x2xi32, #shunt.layout<@moe, tokens = [dp]>>) {
  // expected-error @below {{has ids with layout #shunt.layout<@moe, tokens = [dp]> but routes tokens of layout #shunt.layout<@moe, tokens = [dp, ep]>; redistribute them [X_ROUTING]}}
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #shunt.layout<@moe, tokens = [dp]>>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @uneven(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{6 experts cannot be shared equally by 4 ranks; use the balanced placement or a table [E_PLACEMENT]}}
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #l>, !b -> !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 6, top_k = 2>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @table_of_two_ranks(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{lists the experts of 2 ranks, but a group has 4 [E_PLACEMENT]}}
  %r = shunt.route %ids in %b placement [[0, 1, 2, 3], [4, 5, 6, 7]] : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @expert_on_no_rank(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{the placement gives expert 7 to no rank; every expert of 8 needs one [E_PLACEMENT]}}
  %r = shunt.route %ids in %b placement [[0, 1], [2, 3], [4, 5], [6]] : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @expert_out_of_range(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{the placement gives rank 3 expert 8, but there are 8 experts [E_PLACEMENT]}}
  %r = shunt.route %ids in %b placement [[0, 1], [2, 3], [4, 5], [6, 7, 8]] : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @local_over_four_ranks(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{is local but its experts are on groups of 4 ranks over [ep] of mesh @moe; leave the algorithm out, or choose one that moves rows [X_ROUTING]}}
  %r = shunt.route %ids in %b algorithm local placement even : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @no_capacity(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{expects capacity of at least 1, got 0 [E_SIZE]}}
  %r = shunt.route %ids in %b placement even {capacity = 0} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @no_bound(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{expects bound of at least 1, got -3 [E_SIZE]}}
  %r = shunt.route %ids in %b placement even {bound = -3} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @no_alignment(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{expects alignment of at least 1, got 0 [E_SIZE]}}
  %r = shunt.route %ids in %b placement even {alignment = 0} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @overflow_without_capacity(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{has overflow rule drop_last but no capacity that rows could exceed; give one [E_CAPACITY]}}
  %r = shunt.route %ids in %b placement even {overflow = #shunt<overflow drop_last>} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @lowest_of_no_scores(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{drops the lowest scores but has none; give scores [E_CAPACITY]}}
  %r = shunt.route %ids in %b placement even {capacity = 4, overflow = #shunt<overflow drop_lowest>} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @static_counts_of_other_experts(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{has 2 static counts for 8 experts; give one for each [E_COUNTS_LEN]}}
  %r = shunt.route %ids in %b placement even {static_counts = array<i64: 1, 1>} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @static_counts_negative(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{has static counts with the count -1 at index 6; a count is at least 0 [E_COUNTS_NEG]}}
  %r = shunt.route %ids in %b placement even {static_counts = array<i64: 1, 1, 1, 1, 1, 1, -1, 1>} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @static_counts_gathered(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>) {
  // expected-error @below {{has static counts with all_gather, which asks for what the ids say; leave one of them out [X_ROUTING]}}
  %r = shunt.route %ids in %b algorithm all_gather placement even {static_counts = array<i64: 1, 1, 1, 1, 1, 1, 1, 1>} : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @dispatch_shape(%b: !b, %r: !r, %x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has a result of type 'tensor<?x8xf32>' for rows of type 'tensor<?x16xf32>'; they differ in the number of rows only [X_SHAPE]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x8xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#p = #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>
#prows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]>
func.func @dispatch_partial(%b: !b, %r: !r, %x: tensor<?x16xf32, #p>) {
  // expected-error @below {{sends partial sums over [tp]; reduce them first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #p> -> tensor<?x16xf32, #prows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
func.func @dispatch_inner(%b: !b, %r: !r, %x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has a payload with layout #shunt.layout<@moe, tokens = [dp, ep]> but a result with encoding #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>; tokens, inner and partial axes are the same before and after [X_ROUTING]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
func.func @dispatch_other_routing(%b: !b, %r: !r, %x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has a result with encoding #shunt.routed<@moe, tokens = [ep], over = [ep]> but a routing '!shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>'; state the routing's mesh, tokens and over [X_ROUTING]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #shunt.routed<@moe, tokens = [ep], over = [ep]>>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @dispatch_results(%b: !b, %r: !r, %x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has 1 payloads but 2 results; give one for each [X_SHAPE]}}
  %d:2 = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #rows>, tensor<?x16xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#major = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], rank_major>
func.func @dispatch_two_orders(%b: !b, %r: !r, %x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has results that are rank-major and others that are not; make all one [X_ROUTING]}}
  %d:2 = shunt.dispatch %x, %x via %r : !r, tensor<?x16xf32, #l>, tensor<?x16xf32, #l> -> tensor<?x16xf32, #rows>, tensor<?x16xf32, #major>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#scored = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], scored>
func.func @dispatch_scored_integers(%b: !b, %r: !r, %x: tensor<?x16xi32, #l>) {
  // expected-error @below {{has scored rows of 'i32', expected f32, bf16 or f16 [X_DTYPE]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xi32, #l> -> tensor<?x16xi32, #scored>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#scored = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], scored>
func.func @dispatch_without_scores(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>, %x: tensor<?x16xf32, #l>) {
  // expected-note @below {{routing is made here}}
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #l>, !b -> !r
  // expected-error @below {{makes scored rows by a routing without scores; give the route scores [X_ROUTING]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #scored>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#major = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], rank_major>
func.func @dispatch_padded_rank_major(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>, %x: tensor<?x16xf32, #l>) {
  // expected-note @below {{routing is made here}}
  %r = shunt.route %ids in %b placement even {alignment = 8} : tensor<?x2xi32, #l>, !b -> !r
  // expected-error @below {{makes rank-major rows by a routing with alignment 8; only expert-major rows are padded [E_ALIGN]}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #major>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
func.func @matmul_shapes(%b: !b, %r: !r, %x: tensor<?x8xf32, #rows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-error @below {{multiplies rows 'tensor<?x8xf32>' by weights 'tensor<8x16x32xf32>' to 'tensor<?x32xf32>'; with 8 experts these are [?, k], [8, k, n] and [?, n] of one type [X_SHAPE]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x8xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @matmul_experts(%b: !b, %r: !r, %x: tensor<?x16xf32, #rows>, %w: tensor<4x16x32xf32>) {
  // expected-error @below {{multiplies rows 'tensor<?x16xf32>' by weights 'tensor<4x16x32xf32>' to 'tensor<?x32xf32>'; with 8 experts these are [?, k], [8, k, n] and [?, n] of one type [X_SHAPE]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #rows>, tensor<4x16x32xf32> -> tensor<?x32xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
#major = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], rank_major>
func.func @matmul_rank_major(%b: !b, %r: !r, %x: tensor<?x16xf32, #major>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-error @below {{has rank-major rows, in which an expert's are not together; dispatch them expert-major [X_ROUTING]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #major>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
#prows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]>
func.func @matmul_partial(%b: !b, %r: !r, %x: tensor<?x16xf32, #prows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-error @below {{has rows that are partial sums over [tp]; reduce them before dispatch [X_PARTIAL_INPUT]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #prows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @matmul_integers(%b: !b, %r: !r, %x: tensor<?x16xi32, #rows>, %w: tensor<8x16x32xi32>) {
  // expected-error @below {{has rows of 'i32', expected f32, bf16 or f16 [X_DTYPE]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xi32, #rows>, tensor<8x16x32xi32> -> tensor<?x32xi32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @matmul_loses_split(%b: !b, %r: !r, %x: tensor<?x16xf32, #rows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-error @below {{has a result split over [] but weights split over [tp]; state what follows [X_LAYOUT]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
func.func @matmul_incomplete(%b: !b, %r: !r, %x: tensor<?x16xf32, #split>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [tp], []]>>) {
  // expected-error @below {{computes partial sums over [tp], but its result is partial on []; state what follows [X_INCOMPLETE]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #split>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [tp], []]>> -> tensor<?x32xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
func.func @matmul_split_k(%b: !b, %r: !r, %x: tensor<?x16xf32, #split>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-error @below {{multiplies rows split over [tp] by weights of which that dimension is split over []; split both alike [X_LAYOUT]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #split>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @matmul_token_axis(%b: !b, %r: !r, %x: tensor<?x16xf32, #rows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[], [], [ep]]>>) {
  // expected-error @below {{has weights split over 'ep', which splits the tokens too: the parts belong to different tokens; gather the tokens over it first [X_ROW_MISMATCH]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[], [], [ep]]>> -> tensor<?x32xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @matmul_other_axes(%b: !b, %r: !r, %x: tensor<?x16xf32, #rows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[tp], [], []]>>) {
  // expected-error @below {{has experts split over [tp] but a routing over [ep]; split them over the same axes, in mesh order, or not at all [X_ROUTING]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[tp], [], []]>> -> tensor<?x32xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#split = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
func.func @matmul_balanced(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>, %x: tensor<?x16xf32, #rows>, %w: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>) {
  // expected-note @below {{routing is made here}}
  %r = shunt.route %ids in %b placement balanced : tensor<?x2xi32, #l>, !b -> !r
  // expected-error @below {{has experts split over [ep], into equal blocks, but a routing of placement balanced; place them evenly, or leave the weights' experts whole [E_PLACEMENT]}}
  %y = shunt.expert_matmul %x, %w via %r : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #split>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#prows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]>
func.func @combine_layout(%b: !b, %r: !r, %y: tensor<?x16xf32, #prows>) {
  // expected-error @below {{brings rows #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]> back to layout #shunt.layout<@moe, tokens = [dp, ep]>; they come back to #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]> [X_ROUTING]}}
  %o = shunt.combine %y via %r : !r, tensor<?x16xf32, #prows> -> tensor<?x16xf32, #l>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @combine_type(%b: !b, %r: !r, %y: tensor<?x16xi32, #rows>) {
  // expected-error @below {{has rows of 'i32', expected f32, bf16 or f16 [X_DTYPE]}}
  %o = shunt.combine %y via %r : !r, tensor<?x16xi32, #rows> -> tensor<?x16xi32, #l>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#p = #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @combine_bias(%b: !b, %r: !r, %y: tensor<?x16xf32, #rows>, %z: tensor<?x16xf32, #p>) {
  // expected-error @below {{has a bias of type 'tensor<?x16xf32, #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>>' for a result of type 'tensor<?x16xf32, #shunt.layout<@moe, tokens = [dp, ep]>>'; both are the same rows [X_SHAPE]}}
  %o = shunt.combine %y via %r bias(%z : tensor<?x16xf32, #p>) : !r, tensor<?x16xf32, #rows> -> tensor<?x16xf32, #l>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
func.func @static_rows(%x: tensor<?x16xf32, #l>) {
  // expected-error @below {{has 4 routed rows, but how many arrive is known at run time only; make the dimension dynamic [X_SHAPE]}}
  %d = "x"(%x) : (tensor<?x16xf32, #l>) -> tensor<4x16xf32, #rows>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
func.func @over_no_tokens(%b: !b) {
  // expected-error @below {{axis 'ep' is in `over` but does not split the tokens: its ranks would send the same tokens; add it to `tokens` [X_ROUTING]}}
  %d = "x"(%b) : (!b) -> !shunt.routing<@moe, tokens = [dp], over = [ep], experts = 8, top_k = 2>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
func.func @over_nothing(%b: !b) {
  // expected-error @below {{is over no axis; name those whose ranks hold the experts, as in over = [ep] [E_AXIS]}}
  %d = "x"(%b) : (!b) -> !shunt.routing<@moe, tokens = [dp], over = [], experts = 8, top_k = 2>
  return
}

// -----

shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
func.func @no_experts(%b: !b) {
  // expected-error @below {{expects experts of 1 to 1048576, got 0 [E_SIZE]}}
  %d = "x"(%b) : (!b) -> !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 0, top_k = 2>
  return
}
