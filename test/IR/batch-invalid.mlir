// RUN: shunt-opt %s -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @two_sources(%n: tensor<2xi64>) {
  // expected-error @below {{has literal counts and a tensor of counts; give one of them [E_COUNTS_LEN]}}
  %b = shunt.batch [5, 3] from %n : tensor<2xi64> -> !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @no_source() {
  // expected-error @below {{has no counts; give literal ones ([5, 3]) or a tensor (from %n) [E_COUNTS_MISSING]}}
  %b = shunt.batch : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @valid_of_tensor(%n: tensor<2xi64>) {
  // expected-error @below {{has valid counts beside a tensor of counts; they stand with literal counts only [E_COUNTS_LEN]}}
  %b = "shunt.batch"(%n) <{valid = array<i64: 1, 1>}> : (tensor<2xi64>) -> !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @no_valid_counts() {
  // expected-error @below {{has 0 valid counts beside 2 counts; give one for each, or none [E_COUNTS_LEN]}}
  %b = shunt.batch [5, 3] valid [] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @length() {
  // expected-error @below {{got 3 counts; want 2 (one per dp) [E_COUNTS_LEN]}}
  %b = shunt.batch [5, 3, 1] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @tensor_length(%n: tensor<4xi64>) {
  // expected-error @below {{got 4 counts; want 2 (one for each part, owners [dp]) [E_COUNTS_LEN]}}
  %b = shunt.batch from %n : tensor<4xi64> -> !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @negative() {
  // expected-error @below {{[E_COUNTS_NEG]}}
  %b = shunt.batch [5, -3] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @copies_differ() {
  // expected-error @below {{[E_CP_PEER_COUNTS]}}
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp], replicas = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @more_valid_than_rows() {
  // expected-error @below {{part 1 has 4 valid tokens but only 3 rows; use a larger bucket [E_BUCKET]}}
  %b = shunt.batch [5, 3] valid [5, 4] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @too_many_rows() {
  // expected-error @below {{[E_OVERFLOW]}}
  %b = shunt.batch [9223372036854775807, 9223372036854775807] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

func.func @no_mesh() {
  // expected-error @below {{names @attn, which is no shunt.mesh of this module; declare it: shunt.mesh @attn on @cluster <dp = 2, tp = 2> [E_MESH]}}
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @no_axis() {
  // expected-error @below {{mesh @attn has no axis cp; its axes are dp, tp [E_AXIS]}}
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [cp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @split_does_not_fit() {
  // expected-error @below {{[E_SPLIT]}}
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp], split = "align:3">
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @gather_batch(%n: i64) {
  // expected-error @below {{mesh @attn has no axis cp; its axes are dp, tp [E_AXIS]}}
  %b = shunt.gather_batch %n : i64 -> !shunt.batch<@attn, owners = [cp]>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @counts_axis(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{mesh @attn has no axis ep; its axes are dp, tp [E_AXIS]}}
  %0 = shunt.token_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@attn, tokens = [ep]> -> tensor<4xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @counts_length(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{makes a table of type 'tensor<2xi64>' for 4 ranks; it has 4 entries [X_COUNTS_LENGTH]}}
  %0 = shunt.token_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@attn, tokens = [dp]> -> tensor<2xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

shunt.cluster @other {ranks_per_node = 4 : i64}
// expected-note @below {{mesh @moe is here}}
shunt.mesh @moe on @other <dp = 1, tp = 4>
func.func @counts_cluster(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{has mesh @moe on cluster @other but mesh @attn on cluster @pod; use meshes of one cluster [E_MESH]}}
  %0 = shunt.token_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@moe, tokens = [dp]> -> tensor<4xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @exchange_shape(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{makes a table of type 'tensor<4x2xi64>' for 4 ranks; it has 4 by 4 entries [X_COUNTS_LENGTH]}}
  %0 = shunt.exchange_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@attn, tokens = [dp]> to #shunt.layout<@attn, tokens = [tp]> -> tensor<4x2xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

func.func @exchange_partial(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{exchanges partial sums on axes [tp]; reduce them first [X_PARTIAL_INPUT]}}
  %0 = shunt.exchange_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@attn, tokens = [dp], partial = [tp]> to #shunt.layout<@attn, tokens = [tp]> -> tensor<4x4xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
// expected-note @below {{mesh @attn is here}}
shunt.mesh @attn on @pod <dp = 2, tp = 2>

shunt.cluster @other {ranks_per_node = 4 : i64}
// expected-note @below {{mesh @moe is here}}
shunt.mesh @moe on @other <dp = 1, tp = 4>
func.func @exchange_cluster(%b: !shunt.batch<@attn, owners = [dp]>) {
  // expected-error @below {{has mesh @moe on cluster @other but mesh @attn on cluster @pod; use meshes of one cluster [E_MESH]}}
  %0 = shunt.exchange_counts %b : !shunt.batch<@attn, owners = [dp]>, #shunt.layout<@attn, tokens = [dp]> to #shunt.layout<@moe, tokens = [dp]> -> tensor<4x4xi64>
  return
}
