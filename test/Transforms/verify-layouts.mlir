// RUN: shunt-opt %s --shunt-verify-layouts | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#hidden = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#columns = #shunt.shard<@attn, [[], [tp]]>
#by_row = #shunt.shard<@attn, [[tp], []]>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A parallel loop that is split splits the result.
// CHECK-LABEL: @column_parallel_matmul
func.func @column_parallel_matmul(%x: tensor<?x8xf32, #rows>, %w: tensor<8x16xf32, #columns>,
                                  %o: tensor<?x16xf32, #hidden>) -> tensor<?x16xf32, #hidden> {
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #rows>, tensor<8x16xf32, #columns>)
    outs(%o : tensor<?x16xf32, #hidden>) -> tensor<?x16xf32, #hidden>
  return %y : tensor<?x16xf32, #hidden>
}

// A summed loop that is split makes a partial sum; zero is one.
func.func private @use(tensor<?x8xf32, #partial>)
// CHECK-LABEL: @row_parallel_matmul
func.func @row_parallel_matmul(%x: tensor<?x16xf32, #hidden>, %w: tensor<16x8xf32, #by_row>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x16xf32, #hidden>
  %e = tensor.empty(%n) : tensor<?x8xf32, #partial>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  %y = linalg.matmul ins(%x, %w : tensor<?x16xf32, #hidden>, tensor<16x8xf32, #by_row>)
    outs(%f : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  call @use(%y) : (tensor<?x8xf32, #partial>) -> ()
  return
}

// Matmul is linear in a partial operand; so are sums of partial sums, scaling
// and conversion.
// CHECK-LABEL: @linear_in_partial_sums
func.func @linear_in_partial_sums(%x: tensor<?x8xf32, #partial>, %w: tensor<8x8xf32>, %o: tensor<?x8xf32, #partial>, %g: tensor<8xf32>,
                                  %s: tensor<?x8xbf16, #partial>) {
  %y = linalg.matmul ins(%x, %w : tensor<?x8xf32, #partial>, tensor<8x8xf32>)
    outs(%o : tensor<?x8xf32, #partial>) -> tensor<?x8xf32, #partial>
  %z = arith.addf %x, %y : tensor<?x8xf32, #partial>
  %r = arith.truncf %z : tensor<?x8xf32, #partial> to tensor<?x8xbf16, #partial>
  %scaled = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %g : tensor<?x8xf32, #partial>, tensor<8xf32>) outs(%o : tensor<?x8xf32, #partial>) {
  ^bb0(%a: f32, %b: f32, %init: f32):
    %m = arith.mulf %a, %b : f32
    %neg = arith.negf %m : f32
    linalg.yield %neg : f32
  } -> tensor<?x8xf32, #partial>
  call @use(%scaled) : (tensor<?x8xf32, #partial>) -> ()
  return
}

// Reducing a whole dimension keeps rows complete.
// CHECK-LABEL: @norm
func.func @norm(%x: tensor<?x8xf32, #scattered>, %s: tensor<?xf32, #scattered>, %g: tensor<8xf32>) -> tensor<?x8xf32, #scattered> {
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x8xf32, #scattered>) outs(%s : tensor<?xf32, #scattered>) {
  ^bb0(%a: f32, %init: f32):
    %m = arith.mulf %a, %a : f32
    %q = arith.addf %init, %m : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #scattered>
  %y = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sum, %g : tensor<?x8xf32, #scattered>, tensor<?xf32, #scattered>, tensor<8xf32>) outs(%x : tensor<?x8xf32, #scattered>) {
  ^bb0(%a: f32, %q: f32, %w: f32, %init: f32):
    %r = math.rsqrt %q : f32
    %m = arith.mulf %a, %r : f32
    %p = arith.mulf %m, %w : f32
    linalg.yield %p : f32
  } -> tensor<?x8xf32, #scattered>
  return %y : tensor<?x8xf32, #scattered>
}

// A function of a split dimension may be summed: each rank sums its part.
// CHECK-LABEL: @sum_of_squares_of_split_rows
func.func private @use_sums(tensor<?xf32, #partial>)
func.func @sum_of_squares_of_split_rows(%x: tensor<?x16xf32, #hidden>, %s: tensor<?xf32, #partial>) {
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<?x16xf32, #hidden>) outs(%s : tensor<?xf32, #partial>) {
  ^bb0(%a: f32, %init: f32):
    %m = arith.mulf %a, %a : f32
    %q = arith.addf %m, %init : f32
    linalg.yield %q : f32
  } -> tensor<?xf32, #partial>
  call @use_sums(%sum) : (tensor<?xf32, #partial>) -> ()
  return
}

// Any layout will do for tokens whose layout is open, and for weights alone.
// CHECK-LABEL: @open_layouts_and_weights
func.func @open_layouts_and_weights(%x: tensor<?x8xf32, #rows>, %w: tensor<8x16xf32, #columns>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [5, 3] : !b
  %a = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #shunt.auto>
  %s = arith.mulf %a, %a : tensor<?x8xf32, #shunt.auto>
  %y = shunt.redistribute %s in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #rows>
  %v = arith.negf %w : tensor<8x16xf32, #columns>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @control_flow_passes_layouts_on
func.func @control_flow_passes_layouts_on(%p: i1, %x: tensor<?x8xf32, #rows>, %y: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  %z = scf.if %p -> tensor<?x8xf32, #rows> {
    scf.yield %x : tensor<?x8xf32, #rows>
  } else {
    scf.yield %y : tensor<?x8xf32, #rows>
  }
  return %z : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @declared_token_wise
func.func @declared_token_wise(%x: tensor<?x8xf32, #rows>) -> tensor<?x2x4xf32, #rows> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32, #rows>
  %y = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 4] {shunt.token_wise} : tensor<?x8xf32, #rows> into tensor<?x2x4xf32, #rows>
  return %y : tensor<?x2x4xf32, #rows>
}

// CHECK-LABEL: @index_of_a_split_dimension
func.func @index_of_a_split_dimension(%o: tensor<?x16xf32, #hidden>) -> tensor<?x16xf32, #hidden> {
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%o : tensor<?x16xf32, #hidden>) {
  ^bb0(%init: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    linalg.yield %f : f32
  } -> tensor<?x16xf32, #hidden>
  return %y : tensor<?x16xf32, #hidden>
}
