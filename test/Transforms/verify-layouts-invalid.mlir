// RUN: shunt-opt %s --shunt-verify-layouts -verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#hidden = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#columns = #shunt.shard<@attn, [[], [tp]]>
#by_row = #shunt.shard<@attn, [[tp], []]>
#expert_columns = #shunt.shard<@moe, [[], [ep]]>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func private @use(tensor<?x8xf32, #partial>)

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

func.func @never_reduced(%x: tensor<?x16xf32, #hidden>, %w: tensor<16x8xf32, #by_row>, %o: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  // expected-error @+1 {{computes partial sums over 'tp', but the type of its result says that they are complete; give it partial = [tp] and reduce it (shunt.all_reduce or shunt.reduce_scatter) [X_INCOMPLETE]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x16xf32, #hidden>, tensor<16x8xf32, #by_row>)
    outs(%o : tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @returned_partial(%x: tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial> {
  // expected-error @+1 {{returns result #0 as a partial sum over 'tp'; reduce it first (shunt.all_reduce or shunt.reduce_scatter) [X_INCOMPLETE]}}
  return %x : tensor<?x8xf32, #partial>
}

func.func @complete_called_partial(%x: tensor<?x8xf32, #rows>, %w: tensor<8x8xf32>, %o: tensor<?x8xf32, #partial>) {
  // expected-error @+1 {{computes a result that is complete on 'tp', but its type says that it is a partial sum: a reduction would count it 2 times; leave the axes out of partial [X_DOUBLE_REDUCE]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #rows>, tensor<8x8xf32>)
    outs(%o : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  call @use(%y) : (tensor<?x8xf32, #partial>) -> ()
  return
}

func.func @init_that_every_rank_adds(%e: tensor<?x8xf32, #partial>) {
  %one = arith.constant 1.0 : f32
  // expected-error @+1 {{a reduction would count it 2 times; leave the axes out of partial [X_DOUBLE_REDUCE]}}
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  call @use(%f) : (tensor<?x8xf32, #partial>) -> ()
  return
}

func.func @constant_that_every_rank_adds() {
  // expected-error @+1 {{a reduction would count it 2 times; leave the axes out of partial [X_DOUBLE_REDUCE]}}
  %f = arith.constant dense<1.0> : tensor<4x8xf32, #partial>
  return
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @norm_reads_partial(%x: tensor<?x8xf32, #partial>, %s: tensor<?xf32, #partial>) {
  // expected-error @+1 {{multiplies two partial sums over 'tp'; reduce first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x8xf32, #partial>) outs(%s : tensor<?xf32, #partial>) {
  ^bb0(%a: f32, %init: f32):
    %m = arith.mulf %a, %a : f32
    %q = arith.addf %init, %m : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #partial>
  return
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @activation_reads_partial(%x: tensor<?x8xf32, #partial>) {
  // expected-error @+1 {{applies 'math.exp', which is not linear, to a partial sum over 'tp'; reduce first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = math.exp %x : tensor<?x8xf32, #partial>
  return
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @residual_added_to_partial(%x: tensor<?x8xf32, #partial>, %r: tensor<?x8xf32, #rows>, %o: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  // expected-error @+1 {{adds a partial sum to a complete value, which every rank would add; the sum is over 'tp'; reduce first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %r : tensor<?x8xf32, #partial>, tensor<?x8xf32, #rows>) outs(%o : tensor<?x8xf32, #rows>) {
  ^bb0(%a: f32, %b: f32, %init: f32):
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @block_reads_partial(%x: tensor<?x8xf32, #partial>, %w: tensor<8x16xf32, #columns>, %o: tensor<?x16xf32, #hidden>) -> tensor<?x16xf32, #hidden> {
  // expected-error @+1 {{combines operand #0, a partial sum over 'tp', with values that differ along it; reduce it first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #partial>, tensor<8x16xf32, #columns>)
    outs(%o : tensor<?x16xf32, #hidden>) -> tensor<?x16xf32, #hidden>
  return %y : tensor<?x16xf32, #hidden>
}

func.func @maximum_over_a_split_dimension(%x: tensor<?x16xf32, #hidden>, %s: tensor<?xf32, #rows>) -> tensor<?xf32, #rows> {
  // expected-error @+1 {{reduces a dimension that is split over 'tp' by something other than adding to its init; only sums can be completed by a collective, so gather the dimension first [X_PARTIAL_INPUT]}}
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x16xf32, #hidden>) outs(%s : tensor<?xf32, #rows>) {
  ^bb0(%a: f32, %init: f32):
    %q = arith.maximumf %init, %a : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #rows>
  return %max : tensor<?xf32, #rows>
}

// expected-note @+1 {{the partial sum is made as a block argument here}}
func.func @declared_token_wise_reads_partial(%x: tensor<?x8xf32, #partial>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #partial>
  // expected-error @+1 {{is token-wise and has a partial sum over 'tp'; reduce it first (shunt.all_reduce or shunt.reduce_scatter) [X_PARTIAL_INPUT]}}
  %y = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 4] {shunt.token_wise} : tensor<?x8xf32, #partial> into tensor<?x2x4xf32, #partial>
  return
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

// expected-note @+2 {{the first is made as a block argument here}}
// expected-note @+1 {{the other is made as a block argument here}}
func.func @residual_of_other_rows(%x: tensor<?x8xf32, #scattered>, %r: tensor<?x8xf32, #rows>, %o: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #scattered> {
  // expected-error @+1 {{combines tokens of different layouts: rows split over 'dp', 'tp' of @attn with rows split over 'dp' of @attn (rank 0 holds the rows scattered to ranks {0} of one and {0, 1} of the other); redistribute one of them [X_RESIDUAL_ROWS]}}
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %r : tensor<?x8xf32, #scattered>, tensor<?x8xf32, #rows>) outs(%o : tensor<?x8xf32, #scattered>) {
  ^bb0(%a: f32, %b: f32, %init: f32):
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<?x8xf32, #scattered>
  return %y : tensor<?x8xf32, #scattered>
}

func.func @shared_weight_on_scattered_rows(%x: tensor<?x8xf32, #scattered>, %w: tensor<8x16xf32, #columns>, %o: tensor<?x16xf32, #scattered>) -> tensor<?x16xf32, #scattered> {
  // expected-error @+1 {{shares a dimension of its weights out over 'tp', which splits the tokens too: the parts belong to different tokens and can never be added or joined; gather the tokens over it first [X_ROW_MISMATCH]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #scattered>, tensor<8x16xf32, #columns>)
    outs(%o : tensor<?x16xf32, #scattered>) -> tensor<?x16xf32, #scattered>
  return %y : tensor<?x16xf32, #scattered>
}

func.func @sum_over_ranks_with_other_tokens(%x: tensor<?xf32, #scattered>, %w: tensor<8xf32, #shunt.shard<@attn, [[tp]]>>, %o: tensor<?xf32, #scattered>) -> tensor<?xf32, #scattered> {
  // expected-error @+1 {{shares a dimension of its weights out over 'tp', which splits the tokens too}}
  %y = linalg.generic {indexing_maps = [#row, #col, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<?xf32, #scattered>, tensor<8xf32, #shunt.shard<@attn, [[tp]]>>) outs(%o : tensor<?xf32, #scattered>) {
  ^bb0(%a: f32, %b: f32, %init: f32):
    %m = arith.mulf %a, %b : f32
    %q = arith.addf %init, %m : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #scattered>
  return %y : tensor<?xf32, #scattered>
}

func.func @sum_over_tokens(%x: tensor<?x8xf32, #rows>, %o: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{sums over the tokens, of which a rank has rows split over 'dp' of @attn; gather all tokens first [X_ROW_MISMATCH]}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x8xf32, #rows>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %init: f32):
    %q = arith.addf %init, %a : f32
    linalg.yield %q : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

func.func @index_of_a_token(%o: tensor<?x8xindex, #rows>) -> tensor<?x8xindex, #rows> {
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%o : tensor<?x8xindex, #rows>) {
  ^bb0(%init: index):
    // expected-error @+1 {{reads the index of a token, which depends on the rank; pass positions as a tensor of tokens [X_LAYOUT]}}
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<?x8xindex, #rows>
  return %y : tensor<?x8xindex, #rows>
}

func.func @size_of_other_rows(%x: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #scattered> {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{is the number of tokens, of which a rank has rows split over 'dp' of @attn; it may only size a tensor.empty of the same rows, not one with rows split over 'dp', 'tp' of @attn [X_LAYOUT]}}
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #rows>
  // expected-note @+1 {{used here}}
  %e = tensor.empty(%n) : tensor<?x8xf32, #scattered>
  return %e : tensor<?x8xf32, #scattered>
}

func.func @number_of_tokens_in_arithmetic(%x: tensor<?x8xf32, #rows>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{it may only size a tensor.empty of the same rows [X_LAYOUT]}}
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #rows>
  // expected-note @+1 {{used here}}
  %m = arith.addi %n, %n : index
  return %m : index
}

//===----------------------------------------------------------------------===//
// Other dimensions
//===----------------------------------------------------------------------===//

// expected-note @+2 {{the first is made as a block argument here}}
// expected-note @+1 {{the other is made as a block argument here}}
func.func @split_against_whole(%x: tensor<?x16xf32, #rows>, %w: tensor<16x8xf32, #by_row>, %o: tensor<?x8xf32, #partial>) {
  // expected-error @+1 {{loops over dimension 1 of operand #0, of which a rank has all of it, together with dimension 0 of operand #1, of which it has blocks over 'tp' of @attn; give both one layout [X_LAYOUT]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x16xf32, #rows>, tensor<16x8xf32, #by_row>)
    outs(%o : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  return
}

// expected-note @+2 {{the first is made as a block argument here}}
// expected-note @+1 {{the other is made as a block argument here}}
func.func @two_meshes(%x: tensor<?x8xf32, #rows>, %w: tensor<8x16xf32, #expert_columns>, %o: tensor<?x16xf32, #rows>) {
  // expected-error @+1 {{loops over dimension 1 of operand #1, of which a rank has blocks over 'ep' of @moe, together with dimension 1 of operand #2, of which it has all of it; give both one layout [X_LAYOUT]}}
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #rows>, tensor<8x16xf32, #expert_columns>)
    outs(%o : tensor<?x16xf32, #rows>) -> tensor<?x16xf32, #rows>
  return
}

func.func @two_meshes_summed(%x: tensor<?xf32, #rows>, %w: tensor<8xf32, #shunt.shard<@moe, [[ep]]>>, %o: tensor<?xf32, #rows>) {
  // expected-error @+1 {{has operands on mesh @attn and on mesh @moe; state all in terms of one (shunt.relabel) [X_LAYOUT]}}
  %y = linalg.generic {indexing_maps = [#row, #col, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<?xf32, #rows>, tensor<8xf32, #shunt.shard<@moe, [[ep]]>>) outs(%o : tensor<?xf32, #rows>) {
  ^bb0(%a: f32, %b: f32, %init: f32):
    %q = arith.addf %init, %b : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #rows>
  return
}

func.func @diagonal(%a: tensor<8xf32, #shunt.shard<@attn, [[tp]]>>, %b: tensor<8xf32, #shunt.shard<@attn, [[tp]]>>, %o: tensor<f32>) {
  // expected-error @+1 {{has two dimensions split over 'tp', so a rank would have only a diagonal of the result; gather one of them first [X_LAYOUT]}}
  %y = linalg.generic {indexing_maps = [#row, #col, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]}
    ins(%a, %b : tensor<8xf32, #shunt.shard<@attn, [[tp]]>>, tensor<8xf32, #shunt.shard<@attn, [[tp]]>>) outs(%o : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %init: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %init, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return
}

func.func @window_over_tokens(%x: tensor<?xf32, #rows>, %w: tensor<3xf32>, %o: tensor<?xf32, #rows>) {
  // expected-error @+1 {{indexes dimension 0 of operand #0, which the ranks share, by more than a loop; gather it first [X_LAYOUT]}}
  %y = linalg.conv_1d ins(%x, %w : tensor<?xf32, #rows>, tensor<3xf32>) outs(%o : tensor<?xf32, #rows>) -> tensor<?xf32, #rows>
  return
}

func.func @cast_that_changes_the_layout(%x: tensor<?x8xf32, #rows>) -> tensor<?x8xf32> {
  // expected-error @+1 {{has values of different layouts}}
  %y = tensor.cast %x : tensor<?x8xf32, #rows> to tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

func.func @constant_with_values() -> tensor<4xf32, #shunt.shard<@attn, [[tp]]>> {
  // expected-error @+1 {{has a layout, so each rank has another part of it; only splat constants may [X_LAYOUT]}}
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #shunt.shard<@attn, [[tp]]>>
  return %c : tensor<4xf32, #shunt.shard<@attn, [[tp]]>>
}

func.func @unknown_op(%x: tensor<?x8xf32, #rows>) -> tensor<8x?xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tensor.extract' op is not known to work on a tensor with a layout; write it as linalg, or mark it shunt.token_wise if it treats each token by itself [X_LAYOUT]}}
  %y = tensor.extract %x[%c0, %c0] : tensor<?x8xf32, #rows>
  %e = tensor.empty(%c0) : tensor<8x?xf32>
  return %e : tensor<8x?xf32>
}

func.func @declared_token_wise_on_split_rows(%x: tensor<?x16xf32, #hidden>) {
  // expected-error @+1 {{is token-wise and needs whole rows, but dimension 1 of}}
  %y = tensor.collapse_shape %x [[0, 1]] {shunt.token_wise} : tensor<?x16xf32, #hidden> into tensor<?xf32, #rows>
  return
}

// expected-error @+1 {{has dimension 1 of size 7 split over 'tp' of @attn, which needs a multiple of 2 [E_SIZE]}}
func.func @size_that_does_not_divide(%w: tensor<8x7xf32, #columns>) {
  return
}
