// RUN: shunt-opt %s --shunt-rewrite-token-counts -split-input-file -verify-diagnostics | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>

// CHECK-LABEL: @drops_a_right_table
func.func @drops_a_right_table(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  // CHECK-NOT: given
  // CHECK: shunt.all_gather {{.*}} over [tp] counts [3, 2, 2, 1] {step = "pre_moe"}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4xi64>) {step = "pre_moe"}
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @keeps_a_table_that_others_read
func.func @keeps_a_table_that_others_read(%x: tensor<?x8xf32, #scattered>) -> (tensor<?x8xf32, #rows>, tensor<4xi64>) {
  %b = shunt.batch [5, 3] : !b
  // CHECK: dense<[3, 2, 2, 1]>
  %t = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y, %t : tensor<?x8xf32, #rows>, tensor<4xi64>
}

// CHECK-LABEL: @reduce_scatter_counts_are_of_the_result
func.func @reduce_scatter_counts_are_of_the_result(%x: tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #scattered> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[3, 3, 2, 1]> : tensor<4xi64>
  // CHECK: shunt.reduce_scatter {{.*}} over [tp] counts [3, 2, 2, 1]
  // expected-remark @+1 {{rank 1: hand-written count 3 replaced by 2 (table [3, 3, 2, 1], derived [3, 2, 2, 1])}}
  %y = shunt.reduce_scatter %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #scattered>
  return %y : tensor<?x8xf32, #scattered>
}

// CHECK-LABEL: @all_reduce_counts_are_rows_held
func.func @all_reduce_counts_are_rows_held(%x: tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[5, 5, 5, 3]> : tensor<4xi64>
  // CHECK: shunt.all_reduce {{.*}} over [tp] counts [5, 5, 3, 3]
  // expected-remark @+1 {{rank 2: hand-written count 5 replaced by 3}}
  %y = shunt.all_reduce %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @slice_counts_are_of_the_result
func.func @slice_counts_are_of_the_result(%x: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #scattered> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[3, 2, 1, 1]> : tensor<4xi64>
  // CHECK: shunt.slice {{.*}} over [tp] counts [3, 2, 2, 1]
  // expected-remark @+1 {{rank 2: hand-written count 1 replaced by 2}}
  %y = shunt.slice %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
  return %y : tensor<?x8xf32, #scattered>
}

// Lists with one entry per world rank, of which a group reads its own.
// CHECK-LABEL: @lists_over_the_world
func.func @lists_over_the_world(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[[3, 2, 0, 0], [3, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 2]]> : tensor<4x4xi64>
  // CHECK: counts [3, 2, 2, 1]
  // expected-remark @+1 {{group {2, 3} would pass different counts: rank 2 [2, 1], rank 3 [2, 2]; replaced by [2, 1]}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4x4xi64>)
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @members_that_disagree
func.func @members_that_disagree(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %t = arith.constant dense<[[5, 0], [0, 5], [2, 1], [2, 1]]> : tensor<4x2xi64>
  // CHECK: counts [3, 2, 2, 1]
  // expected-remark @+1 {{group {0, 1} would pass different counts: rank 0 [5, 0], rank 1 [0, 5]; replaced by [3, 2]}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4x2xi64>)
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @table_known_at_run_time_only
func.func @table_known_at_run_time_only(%x: tensor<?x8xf32, #scattered>, %t: tensor<4xi64>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: counts [3, 2, 2, 1]
  // expected-remark @+1 {{hand-written counts replaced by derived ones without a comparison: the table is not a constant}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @batch_known_at_run_time_only
func.func @batch_known_at_run_time_only(%x: tensor<?x8xf32, #scattered>, %b: !b) -> tensor<?x8xf32, #rows> {
  %t = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] :
  // expected-remark @+1 {{hand-written counts replaced by derived ones without a comparison: the batch is not known at compile time}}
  %y = shunt.all_gather %x in %b over [tp] given(%t : tensor<4xi64>)
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @leaves_derived_counts_alone
func.func @leaves_derived_counts_alone(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] :
  %y = shunt.all_gather %x in %b over [tp]
    : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}
