// RUN: shunt-opt %s --shunt-localize --split-input-file --verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
func.func @undecided(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, %b: !b) {
  // expected-error @below {{'shunt.redistribute' op is left to be planned; run shunt-plan first [X_NOT_PLANNED]}}
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.auto>
  // expected-error @below {{has a value of type 'tensor<?x8xf32, #shunt.auto>' whose layout is not decided; run shunt-assign-layouts first [X_NOT_PLANNED]}}
  %z = math.exp %y : tensor<?x8xf32, #shunt.auto>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
// expected-error @below {{splits dimension 1 of 'tensor<8x15xf32, #shunt.shard<@attn, [[], [tp]]>>', of size 15, over tp of 2 ranks, which does not divide it [E_SIZE]}}
func.func @uneven(%w: tensor<8x15xf32, #shunt.shard<@attn, [[], [tp]]>>) {
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
#own = #shunt.layout<@attn, tokens = [dp, tp]>
#dp = #shunt.layout<@attn, tokens = [dp]>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
func.func @wrong_table(%x: tensor<?x8xf32, #own>) -> tensor<?x8xf32, #dp> {
  %b = shunt.batch [5, 3] : !b
  %raw = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  // expected-error @below {{has a wrong count for rank 0: 5 given, 3 derived}}
  %y = shunt.all_gather %x in %b over [tp] given(%raw : tensor<4xi64>) : tensor<?x8xf32, #own>, !b -> tensor<?x8xf32, #dp>
  return %y : tensor<?x8xf32, #dp>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
#dp = #shunt.layout<@attn, tokens = [dp]>
func.func @unknown_op(%x: tensor<?x8xf32, #dp>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{reads or makes a tensor that ranks share, and what that means for one rank is not known; use linalg, elementwise arith and math, scf, or tensor.empty, tensor.dim and tensor.cast to the same layout [X_NOT_LOCAL]}}
  %v = tensor.extract %x[%c0, %c0] : tensor<?x8xf32, #dp>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
#dp = #shunt.layout<@attn, tokens = [dp]>
func.func @number_of_all_tokens(%x: tensor<?x8xf32, #dp>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{takes the number of all tokens, of which one rank knows its own part; only tensor.empty may use it [X_NOT_LOCAL]}}
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #dp>
  // expected-note @below {{used here}}
  return %n : index
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
#dp = #shunt.layout<@attn, tokens = [dp]>
func.func @rows_without_batch(%n: index) -> tensor<?x8xf32, #dp> {
  // expected-error @below {{needs a number of rows under #shunt.layout<@attn, tokens = [dp]>, and 0 batches are in scope; take the size from a tensor.dim of a tensor of this layout [X_NOT_LOCAL]}}
  %e = tensor.empty(%n) : tensor<?x8xf32, #dp>
  return %e : tensor<?x8xf32, #dp>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
func.func @constant_with_different_elements() -> tensor<4xf32, #shunt.shard<@attn, [[tp]]>> {
  // expected-error @below {{is a constant with different elements, of which each rank would hold other ones; pass it as an argument [X_NOT_LOCAL]}}
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #shunt.shard<@attn, [[tp]]>>
  return %c : tensor<4xf32, #shunt.shard<@attn, [[tp]]>>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
#dp = #shunt.layout<@attn, tokens = [dp]>
#copy = affine_map<(d0, d1) -> (d0, d1)>
func.func @position_of_a_token(%x: tensor<?x8xindex, #dp>) -> tensor<?x8xindex, #dp> {
  %r = linalg.generic {indexing_maps = [#copy], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<?x8xindex, #dp>) {
  ^bb0(%out: index):
    // expected-error @below {{asks for the position of a token, which is not its row on this rank [X_NOT_LOCAL]}}
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<?x8xindex, #dp>
  return %r : tensor<?x8xindex, #dp>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp], split = "balanced">
func.func @valid_rows_of_a_run_time_batch(%b: !b) -> tensor<4xi64> {
  // expected-error @below {{asks for the valid rows of a batch whose counts are not literal; a run-time batch has rows only [X_COUNTS_UNKNOWN]}}
  %c = shunt.token_counts valid %b : !b, #shunt.layout<@attn, tokens = [dp, tp]> -> tensor<4xi64>
  return %c : tensor<4xi64>
}

// -----

// expected-error @below {{has a value of type 'tensor<?x8xf32, #shunt.auto>' whose layout is not decided; run shunt-assign-layouts first [X_NOT_PLANNED]}}
func.func @undecided_argument(%x: tensor<?x8xf32, #shunt.auto>) {
  return
}
