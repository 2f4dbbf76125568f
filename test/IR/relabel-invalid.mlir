// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @shapes_differ(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<8x?xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{makes 'tensor<8x?xf32>' of 'tensor<?x8xf32>'}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<8x?xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<8x?xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
// expected-note @below {{mesh @moe is here}}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
func.func @rows_move(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  // expected-error @below {{relabels rows that are not the same: rank 0 holds the cells of ranks [0, 1] under @attn but of [0, 1, 2, 3, 4, 5, 6, 7] under @moe; move the rows first (shunt.all_gather, shunt.slice, shunt.all_to_all) or let shunt-plan choose (shunt.redistribute) [X_ROW_MISMATCH]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @rows_move_on_one_mesh(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{rank 0 holds the cells of ranks [0, 1] under @attn but of [0] under @attn}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
// expected-note @below {{mesh @odd is here}}
shunt.mesh @odd on @pod <a = 4, b = 2> devices [1, 0, 3, 2, 5, 4, 7, 6]
func.func @device_order(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@odd, tokens = [a]>> {
  // expected-error @below {{relabels rows that are not the same: rank 0 holds the cells of ranks [0, 1] under @attn but of [1, 0] under @odd}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@odd, tokens = [a]>>
  return %y : tensor<?x8xf32, #shunt.layout<@odd, tokens = [a]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
// expected-note @below {{mesh @moe is here}}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
func.func @partial_over_other_ranks(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [], partial = [cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [], partial = [ep]>> {
  // expected-error @below {{relabels partial sums over other ranks: ranks [0, 1, 2, 3] add up under @attn but [0, 2, 4, 6] under @moe; reduce before the relabel [X_WRONG_GROUP]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [], partial = [cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [], partial = [ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [], partial = [ep]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
func.func @partial_dropped(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep]>> {
  // expected-error @below {{drops the partial sums on axes [tp] of mesh @attn; reduce them first (shunt.all_reduce or shunt.reduce_scatter) [X_INCOMPLETE]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, ep]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @blocks_move(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[cp, tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp, cp]]>> {
  // expected-error @below {{splits dimension 1 differently: rank 1 holds block 1 of 4 under @attn but block 2 of 4 under @attn; a relabel moves no data [X_LAYOUT]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[cp, tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp, cp]]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp, cp]]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @number_of_blocks(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>> {
  // expected-error @below {{splits dimension 1 differently: rank 0 holds block 0 of 2 under @attn but block 0 of 1 under @attn; a relabel moves no data [X_LAYOUT]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.cluster @other {ranks_per_node = 8}
// expected-note @below {{mesh @far is here}}
shunt.mesh @far on @other <dp = 8>
func.func @clusters(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@far, tokens = [dp]>> {
  // expected-error @below {{has mesh @far on cluster @other but mesh @attn on cluster @pod; use meshes of one cluster [E_MESH]}}
  %y = shunt.relabel %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@far, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@far, tokens = [dp]>>
}
