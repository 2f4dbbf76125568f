// RUN: shunt-opt %s --shunt-rewrite-token-counts -split-input-file -verify-diagnostics | FileCheck %s

// The mistakes that engines made by hand, each as the IR they would import.

// A gather of scattered rows, sized from the counts before the scatter: 16 rows
// for 8 tokens.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 1, tp = 4>
#scattered = #shunt.layout<@moe, tokens = [dp, ep, tp]>
#gathered = #shunt.layout<@moe, tokens = [dp]>

// CHECK-LABEL: @gather_sized_from_raw_counts
func.func @gather_sized_from_raw_counts(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #gathered> {
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp]>
  // CHECK-NOT: dense<
  %t = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1] :
  // expected-remark @+4 {{rank 0: hand-written count 5 replaced by 3 (table [5, 5, 3, 3], derived [3, 2, 2, 1])}}
  // expected-remark @+3 {{rank 1: hand-written count 5 replaced by 2 (table [5, 5, 3, 3], derived [3, 2, 2, 1])}}
  // expected-remark @+2 {{rank 2: hand-written count 3 replaced by 2 (table [5, 5, 3, 3], derived [3, 2, 2, 1])}}
  // expected-remark @+1 {{rank 3: hand-written count 3 replaced by 1 (table [5, 5, 3, 3], derived [3, 2, 2, 1])}}
  %y = shunt.all_gather %x in %b over [ep, tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #scattered>, !shunt.batch<@attn, owners = [dp]> -> tensor<?x8xf32, #gathered>
  return %y : tensor<?x8xf32, #gathered>
}

// -----

// A table of dp·tp entries where context parallelism makes more ranks.
shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 1, cp = 4, tp = 1>
shunt.mesh @moe on @pod <dp = 1, ep = 1, tp = 4>
#scattered = #shunt.layout<@moe, tokens = [dp, ep, tp]>
#gathered = #shunt.layout<@moe, tokens = [dp]>

func.func @table_of_dp_tp_entries(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #gathered> {
  %b = shunt.batch [3, 3, 2, 2] : !shunt.batch<@attn, owners = [dp, cp]>
  %t = arith.constant dense<[10]> : tensor<1xi64>
  // expected-error @+1 {{[X_COUNTS_LENGTH]}}
  %y = shunt.all_gather %x in %b over [ep, tp] given(%t : tensor<1xi64>)
    : tensor<?x8xf32, #scattered>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #gathered>
  return %y : tensor<?x8xf32, #gathered>
}

// -----

// The table filled with stride tp instead of tp·cp.
shunt.cluster @pod {ranks_per_node = 8}
shunt.mesh @attn on @pod <dp = 4, cp = 2, tp = 1>
shunt.mesh @moe on @pod <dp = 1, ep = 1, tp = 8>
#scattered = #shunt.layout<@moe, tokens = [dp, ep, tp]>
#gathered = #shunt.layout<@moe, tokens = [dp]>

// CHECK-LABEL: @tp_stride_for_tp_cp
func.func @tp_stride_for_tp_cp(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #gathered> {
  %b = shunt.batch [3, 3, 5, 5, 7, 7, 9, 9] : !shunt.batch<@attn, owners = [dp, cp]>
  %t = arith.constant dense<[3, 3, 3, 3, 5, 5, 5, 5]> : tensor<8xi64>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 3, 5, 5, 7, 7, 9, 9] :
  // expected-remark @+6 {{rank 2: hand-written count 3 replaced by 5}}
  // expected-remark @+5 {{rank 3: hand-written count 3 replaced by 5}}
  // expected-remark @+4 {{rank 4: hand-written count 5 replaced by 7}}
  // expected-remark @+3 {{rank 5: hand-written count 5 replaced by 7}}
  // expected-remark @+2 {{rank 6: hand-written count 5 replaced by 9}}
  // expected-remark @+1 {{rank 7: hand-written count 5 replaced by 9}}
  %y = shunt.all_gather %x in %b over [ep, tp] given(%t : tensor<8xi64>)
    : tensor<?x8xf32, #scattered>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x8xf32, #gathered>
  return %y : tensor<?x8xf32, #gathered>
}

// -----

// Each rank cuts the list of its dense group out of the attention table, from
// the start of its attention group: right for the first dense group of each.
shunt.cluster @pod {ranks_per_node = 8}
shunt.mesh @attn on @pod <dp = 2, cp = 1, tp = 4>
shunt.mesh @dense on @pod <dp = 4, tp = 2>
#scattered = #shunt.layout<@dense, tokens = [dp, tp]>
#gathered = #shunt.layout<@dense, tokens = [dp]>

// CHECK-LABEL: @dense_group_from_attention_table
func.func @dense_group_from_attention_table(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #gathered> {
  %b = shunt.batch [6, 1] : !shunt.batch<@attn, owners = [dp]>
  %t = arith.constant dense<[[2, 2], [2, 2], [2, 2], [2, 2], [1, 0], [1, 0], [1, 0], [1, 0]]> : tensor<8x2xi64>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [2, 2, 1, 1, 1, 0, 0, 0] :
  // expected-remark @+3 {{rank 2: hand-written count 2 replaced by 1 (table [2, 2, 2, 2, 1, 0, 1, 0], derived [2, 2, 1, 1, 1, 0, 0, 0])}}
  // expected-remark @+2 {{rank 3: hand-written count 2 replaced by 1}}
  // expected-remark @+1 {{rank 6: hand-written count 1 replaced by 0}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<8x2xi64>)
    : tensor<?x8xf32, #scattered>, !shunt.batch<@attn, owners = [dp]> -> tensor<?x8xf32, #gathered>
  return %y : tensor<?x8xf32, #gathered>
}
