// RUN: shunt-opt %s --shunt-plan -split-input-file -verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@m, owners = [dp]>
#rows = #shunt.layout<@m, tokens = [dp]>

func.func @layout_still_open(%x: tensor<?x8xf32, #rows>, %b: !b) {
  // expected-error @+1 {{has a value whose layout is still #shunt.auto; run shunt-assign-layouts first [X_LAYOUT]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #shunt.auto>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@m, owners = [dp]>
#rows = #shunt.layout<@m, tokens = [dp]>
#heads = #shunt.layout<@m, tokens = [dp], inner = [[tp]]>

func.func @inner_dimension_that_changes(%x: tensor<?x8xf32, #heads>, %b: !b) -> tensor<?x8xf32, #rows> {
  // expected-error @+1 {{dimension 1 is split over [tp] of @m and should be over [] of @m; only the layout of the tokens can change [X_LAYOUT]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #heads>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
shunt.mesh @n on @pod <a = 4>
!b = !shunt.batch<@m, owners = [dp]>
#partial = #shunt.layout<@m, tokens = [dp], partial = [tp]>
#other = #shunt.layout<@n, tokens = [], partial = [a]>

func.func @partial_over_other_ranks(%x: tensor<?x8xf32, #other>, %b: !b) {
  // expected-error @+1 {{partial sums of tokens = [], partial = [a] of @n are over other ranks than those of tokens = [dp], partial = [tp] of @m; reduce them on the mesh that made them [X_WRONG_GROUP]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #other>, !b -> tensor<?x8xf32, #partial>
  return
}

// -----

// Compute ops are checked before anything is planned.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
#partial = #shunt.layout<@m, tokens = [dp], partial = [tp]>

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @activation_of_partial_sums(%x: tensor<?x8xf32, #partial>) {
  // expected-error @+1 {{[X_PARTIAL_INPUT]}}
  %y = math.exp %x : tensor<?x8xf32, #partial>
  return
}
