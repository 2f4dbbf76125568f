// RUN: shunt-opt %s --shunt-assign-layouts=mode=reduce -split-input-file -verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4>
!b = !shunt.batch<@attn, owners = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#experts = #shunt.layout<@moe, tokens = [dp]>

func.func @reduce_for_other_ranks(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #experts> {
  // expected-error @+1 {{mode 'reduce' needs a next block on the same ranks, but the partial sums are on ranks {0, 1} and the next block reads on ranks {0, 1, 2, 3}; use scatter or auto [E_MODE]}}
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #shunt.auto>
  // expected-note @+1 {{the next block reads here}}
  %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #experts>
  return %1 : tensor<?x8xf32, #experts>
}

// -----

// expected-error @+1 {{has an argument or a result of layout #shunt.auto; state its layout and redistribute inside the function [X_LAYOUT]}}
func.func @open_argument(%x: tensor<?x8xf32, #shunt.auto>) {
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>

func.func @open_loop_carried_value(%x: tensor<?x8xf32, #rows>, %b: !b, %n: index) {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #shunt.auto>
  // expected-error @+1 {{has a block argument of layout #shunt.auto; state its layout and redistribute it inside [X_LAYOUT]}}
  %y = scf.for %i = %n to %n step %n iter_args(%v = %0) -> tensor<?x8xf32, #shunt.auto> {
    scf.yield %v : tensor<?x8xf32, #shunt.auto>
  }
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>

func.func @open_result_of_a_branch(%p: i1, %x: tensor<?x8xf32, #rows>, %b: !b) {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #shunt.auto>
  // expected-error @+1 {{has a result of layout #shunt.auto but is not token-wise; state the layout of the result [X_LAYOUT]}}
  %y = scf.if %p -> tensor<?x8xf32, #shunt.auto> {
    scf.yield %0 : tensor<?x8xf32, #shunt.auto>
  } else {
    scf.yield %0 : tensor<?x8xf32, #shunt.auto>
  }
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>

func.func @not_token_wise(%x: tensor<?x8xf32, #rows>, %b: !b, %block: (tensor<?x8xf32, #shunt.auto>) -> ()) {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #shunt.auto>
  // expected-error @+1 {{is not token-wise, so it cannot run in any layout; redistribute its operands to the layout that it needs [X_LAYOUT]}}
  call_indirect %block(%0) : (tensor<?x8xf32, #shunt.auto>) -> ()
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#heads = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>

func.func @leaves_with_split_rows(%x: tensor<?x8xf32, #heads>, %b: !b) {
  // expected-error @+1 {{leaves a block with split inner dimensions}}
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #heads>, !b -> tensor<?x8xf32, #shunt.auto>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>

func.func @no_tokens_to_take_a_layout_from(%n: index, %b: !b) -> tensor<?x8xf32, #rows> {
  // expected-error @+1 {{has a result of layout #shunt.auto that no token-wise op of decided rows reads; state its layout [X_LAYOUT]}}
  %e = tensor.empty(%n) : tensor<?x8xf32, #shunt.auto>
  %y = shunt.redistribute %e in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}
