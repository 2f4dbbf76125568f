// RUN: shunt-opt %s --canonicalize | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
shunt.cluster @large {nodes = 64, ranks_per_node = 8}
shunt.mesh @wide on @large <dp = 512>

!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#moe_rows = #shunt.layout<@moe, tokens = [dp]>

// CHECK-LABEL: func @token_counts(
// CHECK-DAG:     dense<[3, 2, 2, 1]> : tensor<4xi64>
// CHECK-DAG:     dense<[5, 5, 3, 3]> : tensor<4xi64>
// CHECK-DAG:     dense<8> : tensor<4xi64>
// CHECK-NOT:     shunt.
func.func @token_counts() -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) {
  %b = shunt.batch [5, 3] : !b
  %0 = shunt.token_counts %b : !b, #scattered -> tensor<4xi64>
  %1 = shunt.token_counts %b : !b, #rows -> tensor<4xi64>
  %2 = shunt.token_counts %b : !b, #moe_rows -> tensor<4xi64>
  return %0, %1, %2 : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>
}

// CHECK-LABEL: func @valid_rows(
// CHECK:         dense<[4, 1, 3, 0]> : tensor<4xi64>
func.func @valid_rows() -> tensor<4xi64> {
  %b = shunt.batch [8, 8] valid [5, 3] : !b
  %0 = shunt.token_counts valid %b : !b, #scattered -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// CHECK-LABEL: func @exchange_counts(
// CHECK:         dense<{{\[\[}}3, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]> : tensor<4x4xi64>
func.func @exchange_counts() -> tensor<4x4xi64> {
  %b = shunt.batch [5, 3] : !b
  %0 = shunt.exchange_counts %b : !b, #rows to #scattered -> tensor<4x4xi64>
  return %0 : tensor<4x4xi64>
}

// CHECK-LABEL: func @batch_of_the_step_stays(
// CHECK:         shunt.token_counts
// CHECK:         shunt.exchange_counts
func.func @batch_of_the_step_stays(%b: !b) -> (tensor<4xi64>, tensor<4x4xi64>) {
  %0 = shunt.token_counts %b : !b, #rows -> tensor<4xi64>
  %1 = shunt.exchange_counts %b : !b, #rows to #moe_rows -> tensor<4x4xi64>
  return %0, %1 : tensor<4xi64>, tensor<4x4xi64>
}

// A matrix of 512 by 512 numbers is no gain.
// CHECK-LABEL: func @wide_matrix_stays(
// CHECK:         shunt.exchange_counts
func.func @wide_matrix_stays() -> tensor<512x512xi64> {
  %n = arith.constant dense<1> : tensor<512xi64>
  %b = shunt.batch from %n : tensor<512xi64> -> !shunt.batch<@wide, owners = [dp]>
  %0 = shunt.exchange_counts %b : !shunt.batch<@wide, owners = [dp]>, #shunt.layout<@wide, tokens = [dp]> to #shunt.layout<@wide, tokens = []> -> tensor<512x512xi64>
  return %0 : tensor<512x512xi64>
}

// CHECK-LABEL: func @constant_batch(
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<[3, 2, 2, 1]>
// CHECK-NEXT:    return %[[C]]
func.func @constant_batch() -> tensor<4xi64> {
  %n = arith.constant dense<[5, 3]> : tensor<2xi64>
  %b = shunt.batch from %n : tensor<2xi64> -> !b
  %0 = shunt.token_counts %b : !b, #scattered -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// CHECK-LABEL: func @constant_batch_is_literal(
// CHECK-NEXT:    shunt.batch [5, 3] :
func.func @constant_batch_is_literal() -> !b {
  %n = arith.constant dense<[5, 3]> : tensor<2xi64>
  %b = shunt.batch from %n : tensor<2xi64> -> !b
  return %b : !b
}

// What the run time refuses stays for it to refuse.
// CHECK-LABEL: func @negative_constant_stays(
// CHECK:         shunt.batch from
func.func @negative_constant_stays() -> !b {
  %n = arith.constant dense<[5, -3]> : tensor<2xi64>
  %b = shunt.batch from %n : tensor<2xi64> -> !b
  return %b : !b
}
