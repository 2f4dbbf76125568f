// RUN: shunt-opt %s -verify-diagnostics -split-input-file

func.func @from_shape(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has from of type 'tensor<2xi64>'; give a row of ranks each}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[0, 1]> : tensor<2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @cell_out_of_range(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has rank 2 in to; ranks are 0 to 1 [X_GROUPS]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 2]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @hole_in_a_row(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has rank -1 in from; ranks are 0 to 1 [X_GROUPS]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [-1, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @numbers_of_rows(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has 2 rows in from but 1 in to; give each rank one row in both [X_GROUPS]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 0]]> : tensor<1x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @cell_of_another_rank(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has rank 1 make cell 0, which is not in its row of from [1]; a permute moves nothing between ranks [X_GROUPS]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0], [1]]> : tensor<2x1xi64> to dense<[[0], [0]]> : tensor<2x1xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @counts_length(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has counts of type 'tensor<4xi64>' for 2 ranks; give one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @counts_rank(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2x2xi64>) {
  // expected-error @below {{has counts of type 'tensor<2x2xi64>' for 2 ranks; give one entry for each rank [X_COUNTS_LENGTH]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2x2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @row_sizes_differ(%x: tensor<?x8xf32>, %o: tensor<?x4xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{both are rows of one element type and size [X_SHAPE]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x4xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @input_rows(%x: tensor<4x8xf32>, %o: tensor<?x8xf32>) {
  %c = arith.constant dense<[3, 2]> : tensor<2xi64>
  // expected-error @below {{has an input of 4 rows but by its counts rank 0 has 5 [X_AG_ROWS]}}
  %y = shunt.local.permute ins(%x : tensor<4x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @init_rows(%x: tensor<?x8xf32>, %o: tensor<5x8xf32>) {
  %c = arith.constant dense<[3, 2]> : tensor<2xi64>
  // expected-error @below {{has an init of 5 rows but by its counts rank 1 has 3 [X_AG_ROWS]}}
  %y = shunt.local.permute ins(%x : tensor<?x8xf32>) outs(%o : tensor<5x8xf32>) counts(%c : tensor<2xi64>) from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> to dense<[[1, 0], [0, -1]]> : tensor<2x2xi64> -> tensor<5x8xf32>
  return
}
