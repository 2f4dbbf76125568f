// RUN: shunt-opt %s -verify-diagnostics -split-input-file

func.func @groups(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>) {
  // expected-error @below {{lists rank 1 in groups 0 and 1}}
  %y = shunt.local.all_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [1, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @rows_differ(%x: tensor<3x8xf32>, %o: tensor<4x8xf32>) {
  // expected-error @below {{has an input of 3 rows but an init of 4; all rows stay on all members [X_RAGGED_REDUCE]}}
  %y = shunt.local.all_reduce ins(%x : tensor<3x8xf32>) outs(%o : tensor<4x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @element_types_differ(%x: tensor<?x8xf32>, %o: tensor<?x8xf16>) {
  // expected-error @below {{both are rows of one element type and size [X_SHAPE]}}
  %y = shunt.local.all_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf16>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf16>
  return
}

// -----

func.func @result_type(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>) {
  // expected-error @below {{the result is the init with new contents [X_SHAPE]}}
  %y = shunt.local.all_reduce ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<2x8xf32>
  return
}

// -----

func.func @groups(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4x4xi64>) {
  // expected-error @below {{has rank -1 in groups; ranks are 0 to 3 [X_GROUPS]}}
  %y = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4x4xi64>) groups dense<[[0, 1], [2, -1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @matrix_shape(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4x2xi64>) {
  // expected-error @below {{has counts of type 'tensor<4x2xi64>' for 4 ranks; give a matrix of 4 by 4 [X_COUNTS_LENGTH]}}
  %y = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4x2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @matrix_rank(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has counts of type 'tensor<4xi64>' for 4 ranks; give a matrix of 4 by 4 [X_COUNTS_LENGTH]}}
  %y = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @row_sizes_differ(%x: tensor<?x8xf32>, %o: tensor<?x8x1xf32>, %c: tensor<4x4xi64>) {
  // expected-error @below {{both are rows of one element type and size [X_SHAPE]}}
  %y = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8x1xf32>) counts(%c : tensor<4x4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8x1xf32>
  return
}

// -----

func.func @sent_rows(%x: tensor<3x8xf32>, %o: tensor<?x8xf32>) {
  %c = arith.constant dense<[[1, 1], [1, 2]]> : tensor<2x2xi64>
  // expected-error @below {{has an input of 3 rows but by its counts rank 0 has 2 [X_RS_SUM]}}
  %y = shunt.local.all_to_all ins(%x : tensor<3x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2x2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @received_rows(%x: tensor<?x8xf32>, %o: tensor<3x8xf32>) {
  %c = arith.constant dense<[[1, 2], [2, 2]]> : tensor<2x2xi64>
  // expected-error @below {{has an init of 3 rows but by its counts rank 1 has 4 [X_AG_ROWS]}}
  %y = shunt.local.all_to_all ins(%x : tensor<?x8xf32>) outs(%o : tensor<3x8xf32>) counts(%c : tensor<2x2xi64>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<3x8xf32>
  return
}

// -----

func.func @group_index() {
  // expected-error @below {{lists rank 0 in groups 0 and 1; each of the ranks 0 to 3 is in one group [X_GROUPS]}}
  %i = shunt.group_index groups dense<0> : tensor<4x1xi64>
  return
}

// -----

func.func @too_many_ranks() {
  // expected-error @below {{list between 1 and 4194304 ranks [X_GROUPS]}}
  %i = shunt.group_index groups dense<0> : tensor<1099511627776x1099511627776xi64>
  return
}
