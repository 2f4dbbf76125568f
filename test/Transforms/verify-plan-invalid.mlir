// RUN: shunt-opt %s --shunt-verify-plan --split-input-file --verify-diagnostics

// Counts and sums: each finding with its counterexample.

// The list is not what the members hold.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
// expected-note @below {{the rows are an argument here}}
func.func @gather_sized_from_raw_counts(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  // expected-error @below {{'shunt.local.all_gather' op is passed [5, 5, 3, 3] by ranks {0, 1, 2, 3}, which hold [3, 2, 2, 1] rows: rank 0 holds 3, not 5; pass the rows that each member holds [X_AG_ROWS]}}
  %1 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// The list does not add up to the rows held.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @scatter_of_other_groups_counts(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[2, 1, 3, 2]> : tensor<4xi64>
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{'shunt.local.reduce_scatter' op is passed [2, 1], 3 rows in all, by ranks {0, 1}, but rank 0 holds 5; pass counts that add up to the rows held [X_RS_SUM]}}
  %2 = shunt.local.reduce_scatter ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

// Each rank patches its own entry only.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @lists_that_disagree(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[[3, 2], [3, 2], [2, 0], [2, 1]]> : tensor<4x2xi64>
  // expected-error @below {{is passed different lists within ranks {2, 3}: rank 2 passes [2, 0], rank 3 passes [2, 1]; every member passes the same list [X_COUNTS_DISAGREE]}}
  %1 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4x2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

// A table with one entry for each attention group, which the verifier cannot see.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func @table_of_dp_entries(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp, tp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %t = arith.constant dense<[5, 3]> : tensor<2xi64>
  %c = tensor.cast %t : tensor<2xi64> to tensor<?xi64>
  // expected-error @below {{has a table of 2 counts for 4 ranks; give one entry for each rank [X_COUNTS_LENGTH]}}
  %1 = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<?xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// Block and communicator both reduce.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @reduced_twice(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  // expected-error @below {{reduces token 0 (row 0 of rank 0) over ranks {0, 1}, but it is complete and would count 2 times; drop one of the reductions [X_DOUBLE_REDUCE]}}
  %3 = shunt.local.all_reduce ins(%2 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

// Partial sums are returned.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
// expected-error @below {{returns partial sums as result 0: token 0 (row 0 of rank 0) is a summand over ranks {0, 1}; reduce it (shunt.local.all_reduce or shunt.local.reduce_scatter) [X_INCOMPLETE]}}
func.func @never_reduced(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) -> (tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Gathered partial sums have one contribution twice and one never.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @one_contribution_twice(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = shunt.local.all_gather ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  // expected-error @below {{adds up the contributions of ranks {0, 0} to token 0 (row 0 of rank 0), which needs one of each of {0, 1} [X_INCOMPLETE]}}
  %3 = shunt.local.all_reduce ins(%2 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

// A reduction is lost before a norm.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @norm_of_partial_sums(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{reads token 0 (row 0 of rank 0), which is a partial sum over ranks {0, 1}; reduce it first (shunt.local.all_reduce or shunt.local.reduce_scatter) [X_PARTIAL_INPUT]}}
  %2 = func.call @norm(%1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// The residual is complete, what is added to it is not.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
// expected-note @below {{the rows are an argument here}}
func.func @residual_added_before_the_reduction(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{adds complete rows to a partial sum over ranks {0, 1}: token 0 (row 0 of rank 0) would be added 2 times; reduce it first (shunt.local.all_reduce or shunt.local.reduce_scatter) [X_PARTIAL_INPUT]}}
  %2 = arith.addf %1, %x : tensor<?x8xf32>
  return
}

// -----

// The experts are on four ranks, two of them add up.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @reduced_over_half_the_group(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %r = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %1 = shunt.local.slice ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %2 = shunt.local.all_gather ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  // expected-note @below {{the rows are made by 'func.call' here}}
  %3 = func.call @experts(%2) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{reduces token 0 (row 0 of rank 0) over ranks {0, 1}, but it is a partial sum over ranks {0, 1, 2, 3}; reduce it over those [X_WRONG_GROUP]}}
  %4 = shunt.local.all_reduce ins(%3 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

// A combine without its dispatch.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @ranks_with_other_tokens(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 4, 4>}]} {
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @experts(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{adds token 4 (row 0 of rank 2) to token 0 (row 0 of rank 0) over ranks {0, 1, 2, 3}; members must hold the same rows [X_ROW_MISMATCH]}}
  %2 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// An all-reduce over ranks that hold other numbers of rows.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
func.func @ranks_with_other_numbers_of_rows(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %1 = func.call @experts(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-error @below {{reduces over ranks {0, 1, 2, 3}, which hold [5, 5, 3, 3] rows: rank 2 holds 3, rank 0 5; members must hold the same rows [X_RAGGED_REDUCE]}}
  %2 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  return
}

// -----

// The residual was not sliced.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}
// expected-note @below {{the rows are an argument here}}
func.func @residual_of_other_rows(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  // expected-note @below {{the rows are made by 'func.call' here}}
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = shunt.local.reduce_scatter ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  // expected-error @below {{combines 3 rows with 5 on rank 0; slice or gather one operand to the rows of the other [X_RESIDUAL_ROWS]}}
  %3 = arith.addf %2, %x : tensor<?x8xf32>
  return
}

// -----

// The residual was sliced from the other end.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
// expected-note @below {{the rows are an argument here}}
func.func @residual_of_other_tokens(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 4, 4>}]} {
  %c = arith.constant dense<[2, 2, 2, 2]> : tensor<4xi64>
  %1 = shunt.local.slice ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %2 = tensor.extract_slice %x[2, 0] [2, 8] [1, 1] : tensor<?x8xf32> to tensor<2x8xf32>
  %3 = tensor.cast %2 : tensor<2x8xf32> to tensor<?x8xf32>
  // expected-error @below {{combines token 0 with token 2 in row 0 of rank 0; slice or gather one operand to the rows of the other [X_RESIDUAL_ROWS]}}
  %4 = arith.addf %1, %3 : tensor<?x8xf32>
  return
}
