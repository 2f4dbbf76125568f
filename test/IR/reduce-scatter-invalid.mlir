// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @complete_operand(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{reduces over axis 'tp' of 2 ranks but its operand is complete: every row would count 2 times; drop the reduction (shunt.slice keeps a share of the rows) [X_DOUBLE_REDUCE]}}
  %y = shunt.reduce_scatter %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @other_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>> {
  // expected-error @below {{reduces over axis 'cp' but its operand holds partial sums on [tp]; reduce over those [X_WRONG_GROUP]}}
  %y = shunt.reduce_scatter %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @token_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>> {
  // expected-error @below {{reduces over axis 'cp', which splits the tokens: its 2 ranks would add different tokens; gather them first [X_ROW_MISMATCH]}}
  %y = shunt.reduce_scatter %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @not_all_partial_axes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>> {
  // expected-error @below {{drops axis 'cp' from `partial` without reducing over it: operand is partial on [cp, tp], the op goes over [tp]}}
  %y = shunt.reduce_scatter %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @result_is_not_scattered(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{result has tokens = [dp, cp] but from tokens = [dp, cp] over [tp] this op makes tokens = [dp, cp, tp] [X_LAYOUT]}}
  %y = shunt.reduce_scatter %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @wrong_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-note @below {{batch is made here}}
  %b = shunt.batch [5, 4, 1, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  // expected-error @below {{has a wrong count for rank 3: 0 instead of 2 (counts [3, 2, 2, 0, 1, 0, 0, 0], by layout and batch [3, 2, 2, 2, 1, 0, 0, 0]); drop `counts` to have them derived [X_RS_SUM]}}
  %y = shunt.reduce_scatter %x in %b over [tp] counts [3, 2, 2, 0, 1, 0, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @counts_length(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{has counts of 1 entry but the world has 8 ranks; a table has one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.reduce_scatter %x in %b over [tp] counts [10] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @negative_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{has a table with the count -3 at index 0; a count is at least 0 [E_COUNTS_NEG]}}
  %y = shunt.reduce_scatter %x in %b over [tp] counts [-3, 2, 2, 0, 1, 0, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}
