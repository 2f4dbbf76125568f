// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @partial_operand(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{slices over axis 'tp' but its operand holds partial sums on it; reduce them first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @token_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{slices over axis 'cp', which splits the tokens of its operand already ([dp, cp]); leave it out [X_LAYOUT]}}
  %y = shunt.slice %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @result(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{result has tokens = [dp, cp] but from tokens = [dp, cp] over [tp] this op makes tokens = [dp, cp, tp] [X_LAYOUT]}}
  %y = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @drops_partial(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{drops axis 'tp' from `partial` without reducing over it}}
  %y = shunt.slice %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @wrong_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-note @below {{batch is made here}}
  %b = shunt.batch [5, 4, 1, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  // expected-error @below {{has a wrong count for rank 0: 5 instead of 3 (counts [5, 5, 4, 4, 1, 1, 0, 0], by layout and batch [3, 2, 2, 2, 1, 0, 0, 0]); drop `counts` to have them derived [X_RS_SUM]}}
  %y = shunt.slice %x in %b over [tp] counts [5, 5, 4, 4, 1, 1, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}
