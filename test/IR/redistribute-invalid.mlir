// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @shapes_differ(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf16, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  // expected-error @below {{makes 'tensor<?x8xf16>' of 'tensor<?x8xf32>'}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf16, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf16, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @partial_from_complete(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>> {
  // expected-error @below {{result is partial on axis 'tp' of mesh @attn but the operand's partial axes are [] of mesh @attn; only a computation makes partial sums, drop the axis from `partial` [X_LAYOUT]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
func.func @partial_over_other_ranks(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep]>> {
  // expected-error @below {{result is partial on axis 'ep' of mesh @moe but the operand's partial axes are [tp] of mesh @attn; only a computation makes partial sums, drop the axis from `partial` [X_WRONG_GROUP]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep]>>
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
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@far, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@far, tokens = [dp]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @axis(%x: tensor<?x8xf32, #shunt.auto>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [ep]>> {
  // expected-error @below {{mesh @attn has no axis ep; its axes are dp, cp, tp [E_AXIS]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.auto>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [ep]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @mesh(%x: tensor<?x8xf32, #shunt.auto>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@nowhere, tokens = [ep]>> {
  // expected-error @below {{names @nowhere, which is no shunt.mesh of this module; declare it: shunt.mesh @nowhere on @cluster <dp = 2, tp = 2> [E_MESH]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.auto>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@nowhere, tokens = [ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@nowhere, tokens = [ep]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @not_a_mesh(%x: tensor<?x8xf32, #shunt.auto>, %b: !shunt.batch<@attn, owners = [dp, cp]>) -> tensor<?x8xf32, #shunt.layout<@pod, tokens = [ep]>> {
  // expected-error @below {{names @pod, which is no shunt.mesh of this module}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.auto>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #shunt.layout<@pod, tokens = [ep]>>
  return %y : tensor<?x8xf32, #shunt.layout<@pod, tokens = [ep]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 8 : i64}
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
func.func @batch_mesh(%x: tensor<?x8xf32, #shunt.auto>, %b: !shunt.batch<@nowhere, owners = []>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  // expected-error @below {{names @nowhere, which is no shunt.mesh of this module}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.auto>, !shunt.batch<@nowhere, owners = []> -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}
