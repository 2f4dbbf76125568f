// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @complete_operand(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{reduces over axis 'tp' of 2 ranks but its operand is complete: every row would count 2 times}}
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @scattered_operand(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{is complete: every row would count 2 times; drop the reduction (shunt.slice keeps a share of the rows) [X_DOUBLE_REDUCE]}}
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @other_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>> {
  // expected-error @below {{reduces over axis 'cp' but its operand holds partial sums on [tp]; reduce over those [X_WRONG_GROUP]}}
  %y = shunt.all_reduce %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @token_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>> {
  // expected-error @below {{reduces over axis 'cp', which splits the tokens: its 2 ranks would add different tokens; gather them first [X_ROW_MISMATCH]}}
  %y = shunt.all_reduce %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @not_all_partial_axes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{drops axis 'cp' from `partial` without reducing over it}}
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @result_still_partial(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>> {
  // expected-error @below {{result is partial on axis 'tp' but this op makes it partial on [] only; drop the axis from `partial` [X_LAYOUT]}}
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @result_scattered(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{result has tokens = [dp, cp, tp] but from tokens = [dp, cp] over [tp] this op makes tokens = [dp, cp] [X_LAYOUT]}}
  %y = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @wrong_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-note @below {{batch is made here}}
  %b = shunt.batch [5, 4, 1, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  // expected-error @below {{has a wrong count for rank 0: 3 instead of 5 (counts [3, 2, 4, 4, 1, 1, 0, 0], by layout and batch [5, 5, 4, 4, 1, 1, 0, 0]); drop `counts` to have them derived [X_RAGGED_REDUCE]}}
  %y = shunt.all_reduce %x in %b over [tp] counts [3, 2, 4, 4, 1, 1, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}
