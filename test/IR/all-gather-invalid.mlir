// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @shapes_differ(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x16xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{makes 'tensor<?x16xf32>' of 'tensor<?x8xf32>'; operand and result differ in their encoding only, both are the tokens of all ranks [X_SHAPE]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x16xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x16xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @element_types_differ(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xbf16, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{makes 'tensor<?x8xbf16>' of 'tensor<?x8xf32>'}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xbf16, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xbf16, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @no_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{goes over no axis; list at least one, or use shunt.relabel [E_AXIS]}}
  %y = shunt.all_gather %x in %b over [] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @unknown_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{mesh @attn has no axis ep; its axes are dp, cp, tp [E_AXIS]}}
  %y = shunt.all_gather %x in %b over [ep] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @axis_twice(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{axis tp of mesh @attn is listed twice; list it once [E_AXIS]}}
  %y = shunt.all_gather %x in %b over [tp, tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 2, ep = 4>
func.func @two_meshes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  // expected-error @below {{goes from mesh @attn to mesh @moe; a collective stays on one mesh, change to the other by shunt.relabel [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @static_rows(%x: tensor<9x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>) -> tensor<9x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-note @below {{batch is made here}}
  %b = shunt.batch [5, 4, 1, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  // expected-error @below {{has a tensor of 9 rows but its batch has 10 rows in all; correct one or make the dimension dynamic [X_SHAPE]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<9x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<9x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<9x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @inner_not_divided(%x: tensor<?x7xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x7xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>> {
  // expected-error @below {{splits dimension 1 of size 7 over axes [tp] of mesh @attn into 2 parts; take axes that divide it [E_SIZE]}}
  %y = shunt.all_gather %x in %b over [cp] : tensor<?x7xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x7xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>
  return %y : tensor<?x7xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @over_an_inner_axis(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{goes over axis 'tp', which splits dimension 1 of its operand; token collectives move whole rows [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @inner_changes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{changes the axes that split dimension 1; token collectives leave `inner` as it is [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], inner = [[tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @gathers_partial(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{gathers over axis 'tp' but its operand holds partial sums on it; reduce them first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @gathers_replicated(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{gathers over axis 'tp', which does not split the tokens of its operand ([dp, cp]): its 2 ranks hold the same rows; leave it out [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @gather_drops_partial(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{drops axis 'tp' from `partial` without reducing over it: operand is partial on [tp], the op goes over [cp]; reduce over it too, or keep it in the result's `partial` [X_INCOMPLETE]}}
  %y = shunt.all_gather %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @gather_makes_partial(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp]>> {
  // expected-error @below {{result is partial on axis 'cp' but this op makes it partial on [] only; drop the axis from `partial` [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [cp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], partial = [cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @gather_result(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{result has tokens = [dp] but from tokens = [dp, cp, tp] over [tp] this op makes tokens = [dp, cp] [X_LAYOUT]}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @wrong_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-note @below {{batch is made here}}
  %b = shunt.batch [5, 4, 1, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  // expected-error @below {{has a wrong count for rank 0: 5 instead of 3 (counts [5, 5, 4, 4, 1, 1, 0, 0], by layout and batch [3, 2, 2, 2, 1, 0, 0, 0]); drop `counts` to have them derived [X_AG_ROWS]}}
  %y = shunt.all_gather %x in %b over [tp] counts [5, 5, 4, 4, 1, 1, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @negative_counts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{has a table with the count -1 at index 1; a count is at least 0 [E_COUNTS_NEG]}}
  %y = shunt.all_gather %x in %b over [tp] counts [3, -1, 2, 2, 1, 0, 0, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @counts_of_dp_tp(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{has counts of 4 entries but the world has 8 ranks (4 is dp·cp of mesh @attn); a table has one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.all_gather %x in %b over [tp] counts [5, 4, 1, 0] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @counts_of_no_axes(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{has counts of 3 entries but the world has 8 ranks; a table has one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.all_gather %x in %b over [tp] counts [5, 4, 1] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @given_length(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>, %t: tensor<2xi64>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{has a given table of 2 entries but the world has 8 ranks (2 is dp of mesh @attn); a table has one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<2xi64>) : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @given_lists(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>, %t: tensor<8x4xi64>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{has given lists of 4 counts; a list has 2, one for each member of a group over [tp], or 8, one for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<8x4xi64>) : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @no_layout(%x: tensor<?x8xf32>, %b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{operand #0 must be tensor of tokens with a decided layout (encoding #shunt.layout), but got 'tensor<?x8xf32>'}}
  %y = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32>, !shunt.batch<@attn, owners = [dp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = []>>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @open_layout(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{result #0 must be tensor of tokens with a decided layout (encoding #shunt.layout), but got 'tensor<?x8xf32, #shunt.auto>'}}
  %y = shunt.all_gather %x in %b over [dp] : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !shunt.batch<@attn, owners = [dp]> -> tensor<?x8xf32, #shunt.auto>
  return
}
