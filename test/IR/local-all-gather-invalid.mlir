// RUN: shunt-opt %s -verify-diagnostics -split-input-file

func.func @groups_shape(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has groups of type 'tensor<4xi64>'; give a row of ranks each, as in dense<[[0, 1], [2, 3]]> [X_GROUPS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[0, 1, 2, 3]> : tensor<4xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @no_groups(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has groups of type 'tensor<0x2xi64>'; list between 1 and 4194304 ranks [X_GROUPS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<> : tensor<0x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @rank_out_of_range(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has rank 4 in groups; ranks are 0 to 3 [X_GROUPS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 4]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @rank_twice(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{lists rank 1 in groups 0 and 1; each of the ranks 0 to 3 is in one group [X_GROUPS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [1, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @table_length(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<2xi64>) {
  // expected-error @below {{has counts of type 'tensor<2xi64>' for 4 ranks; give one entry for each rank, or for each rank a list of 2 or 4 [X_COUNTS_LENGTH]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @list_length(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4x3xi64>) {
  // expected-error @below {{has counts of type 'tensor<4x3xi64>' for 4 ranks}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4x3xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @kinds_differ(%x: tensor<?x8xf32>, %o: memref<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has an input that is a tensor but init of type 'memref<?x8xf32>'; use tensors or memrefs throughout [X_SHAPE]}}
  shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return
}

// -----

func.func @count_kind_differs(%x: memref<?x8xf32>, %o: memref<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has an input that is a memref but counts of type 'tensor<4xi64>'; use tensors or memrefs throughout [X_SHAPE]}}
  shunt.local.all_gather ins(%x : memref<?x8xf32>) outs(%o : memref<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return
}

// -----

func.func @element_types_differ(%x: tensor<?x8xf32>, %o: tensor<?x8xf16>, %c: tensor<4xi64>) {
  // expected-error @below {{has an input of type 'tensor<?x8xf32>' but an init of type 'tensor<?x8xf16>'; both are rows of one element type and size [X_SHAPE]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf16>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf16>
  return
}

// -----

func.func @row_sizes_differ(%x: tensor<?x8xf32>, %o: tensor<?x4xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has an input of type 'tensor<?x8xf32>' but an init of type 'tensor<?x4xf32>'}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x4xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @no_rows(%x: tensor<f32>, %o: tensor<f32>, %c: tensor<4xi64>) {
  // expected-error @below {{has an input of type 'tensor<f32>' but an init of type 'tensor<f32>'}}
  %y = shunt.local.all_gather ins(%x : tensor<f32>) outs(%o : tensor<f32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<f32>
  return
}

// -----

func.func @result_type(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has a result of type 'tensor<2x8xf32>' but an init of type 'tensor<?x8xf32>'; the result is the init with new contents [X_SHAPE]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<2x8xf32>
  return
}

// -----

func.func @no_result(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has 0 results; on tensors there is one, on memrefs none [X_SHAPE]}}
  shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  return
}

// -----

func.func @negative_count(%x: tensor<?x8xf32>, %o: tensor<?x8xf32>) {
  %c = arith.constant dense<[3, 2, 2, -2]> : tensor<4xi64>
  // expected-error @below {{has counts with the count -2 at index 3; a count is at least 0 [E_COUNTS_NEG]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}

// -----

func.func @share_rows(%x: tensor<3x8xf32>, %o: tensor<5x8xf32>) {
  %c = arith.constant dense<[3, 2, 3, 2]> : tensor<4xi64>
  // expected-error @below {{has an input of 3 rows but by its counts rank 1 has 2 [X_AG_ROWS]}}
  %y = shunt.local.all_gather ins(%x : tensor<3x8xf32>) outs(%o : tensor<5x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<5x8xf32>
  return
}

// -----

func.func @all_rows(%x: tensor<?x8xf32>, %o: tensor<5x8xf32>) {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  // expected-error @below {{has an init of 5 rows but by its counts rank 2 has 3 [X_AG_ROWS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<5x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<5x8xf32>
  return
}

// -----

func.func @rows_of_a_list(%x: tensor<?x8xf32>, %o: tensor<5x8xf32>) {
  %c = arith.constant dense<[[3, 2], [3, 2], [3, 2], [2, 1]]> : tensor<4x2xi64>
  // expected-error @below {{has an init of 5 rows but by its counts rank 3 has 3 [X_AG_ROWS]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32>) outs(%o : tensor<5x8xf32>) counts(%c : tensor<4x2xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<5x8xf32>
  return
}

// -----

func.func @encoding(%x: tensor<?x8xf32, #shunt.auto>, %o: tensor<?x8xf32>, %c: tensor<4xi64>) {
  // expected-error @below {{has input of type 'tensor<?x8xf32, #shunt.auto>'; what one rank holds has no encoding, see shunt-localize [X_SHAPE]}}
  %y = shunt.local.all_gather ins(%x : tensor<?x8xf32, #shunt.auto>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return
}
