// RUN: shunt-opt %s --shunt-verify-plan --split-input-file --verify-diagnostics

// Who comes, what is returned, what is not known: each finding with its counterexample.

// Attention sees its scattered rows only.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @core(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.attention = #shunt.layout<@attn, tokens = [dp]>}
// expected-note @below {{the rows are an argument here}}
func.func @attention_on_scattered_rows(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  // expected-error @below {{attends over other rows than its own: has 3 rows on rank 0 where 5 belong; gather them first [X_ATTN_ROWS]}}
  %1 = func.call @core(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// A rank without rows returns early.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @idle_rank_returns_early(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 1, 1>}]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %idle = arith.cmpi eq, %n, %c0 : index
  // expected-note @below {{rank 1 leaves here}}
  %1 = scf.if %idle -> (tensor<?x8xf32>) {
    scf.yield %x : tensor<?x8xf32>
  } else {
    %z = arith.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
    // expected-error @below {{over ranks {0, 1, 2, 3} is never entered by {1, 3}, for which the others wait; let every member come, with 0 rows if it has none [X_MISSING_RANK]}}
    %2 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%z : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
    scf.yield %2 : tensor<?x8xf32>
  }
  return
}

// -----

// The same by an early return.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @early_return_of_blocks(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 1, 1>}]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %idle = arith.cmpi eq, %n, %c0 : index
  // expected-note @below {{rank 1 leaves here}}
  cf.cond_br %idle, ^out, ^on
^on:
  %z = arith.constant dense<[1, 0, 1, 0]> : tensor<4xi64>
  // expected-error @below {{is never entered by {1, 3}, for which the others wait}}
  %2 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%z : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
^out:
  return
}

// -----

// What a rank is given may differ from what others are.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @flag_of_a_rank(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>, %flag: i1) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  // expected-note @below {{they may leave here}}
  scf.if %flag {
    // expected-error @below {{may not be entered by all ranks: they may leave where a condition that differs from rank to rank chooses; let every rank come, with 0 rows if it has none [X_MISSING_RANK]}}
    %2 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  }
  return
}

// -----

// The last iteration of a loop is not run by all.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @loop_over_own_rows(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  // expected-note @below {{rank 3 leaves here}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{over ranks {0, 1, 2, 3} is never entered by {3}, for which the others wait}}
    %2 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  }
  return
}

// -----

// Results have a layout to be in.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
// expected-error @below {{returns other rows than #shunt.layout<@attn, tokens = [dp]> as result 0: it has 3 rows on rank 0 where 5 belong [X_LAYOUT]}}
func.func @other_rows_than_promised(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  return %x : tensor<?x8xf32>
}

// -----

// A proof is of numbers.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
// expected-error @below {{has rows under #shunt.layout<@attn, tokens = [dp, tp]>, but how many there are is not known; a proof needs a literal batch (shunt.batch [...] in the function, or its attribute shunt.batch) [X_NOT_PROVED]}}
func.func @batch_not_known(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {no.batch} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %1 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// An op that is not known makes no rows.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @mystery(tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @unknown_block(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %1 = func.call @mystery(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{has an input whose rows are not known on rank 0; give the argument that it comes from a shunt.layout, and the ops on the way shunt.token_wise, shunt.attention or shunt.partial [X_NOT_PROVED]}}
  %2 = shunt.local.all_gather ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// An init that is too small.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @init_of_own_rows(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  // expected-error @below {{writes 8 rows on rank 0 into an init of 3; size it by the counts [X_AG_ROWS]}}
  %2 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}
