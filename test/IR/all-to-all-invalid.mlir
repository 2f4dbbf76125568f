// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @partial_operand(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{exchanges rows but its operand holds partial sums on [tp]; reduce them first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = shunt.all_to_all %x in %b over [dp, cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @partial_result(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp], partial = [tp]>> {
  // expected-error @below {{result is partial on axis 'tp' but this op makes it partial on [] only}}
  %y = shunt.all_to_all %x in %b over [dp, cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @axes_missing(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{goes over [dp] but tokens change from [dp] to [cp], that is on [dp, cp]; list exactly these [X_LAYOUT]}}
  %y = shunt.all_to_all %x in %b over [dp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @axes_too_many(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{goes over [dp, cp, tp] but tokens change from [dp] to [cp], that is on [dp, cp]; list exactly these [X_LAYOUT]}}
  %y = shunt.all_to_all %x in %b over [dp, cp, tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @nothing_changes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{goes over [dp] but tokens change from [dp] to [dp], that is on []; list exactly these [X_LAYOUT]}}
  %y = shunt.all_to_all %x in %b over [dp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @inner_changes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{changes the axes that split dimension 1}}
  %y = shunt.all_to_all %x in %b over [dp, cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{has a table of counts; what ranks send each other is a matrix, which is derived only: drop `counts` and `given` [X_COUNTS_LENGTH]}}
  %y = shunt.all_to_all %x in %b over [dp, cp] counts [0, 0, 0, 0, 0, 0, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @given(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>, %t: tensor<8xi64>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // expected-error @below {{has a table of counts; what ranks send each other is a matrix}}
  %y = shunt.all_to_all %x in %b over [dp, cp] given(%t : tensor<8xi64>) : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [cp]>>
}
