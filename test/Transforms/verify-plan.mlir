// RUN: shunt-opt %s --shunt-verify-plan --remarks-filter='shunt.*' -o %t 2>&1 | FileCheck %s
// RUN: shunt-opt %s -o %t.before
// RUN: diff %t.before %t

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
func.func private @attention(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}
func.func private @experts(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.partial = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}
func.func private @norm(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {shunt.token_wise}

// CHECK: Function=layer | Collectives=4, Ops=12, Ranks=4, Remark="proved right{{.*}}", Tokens=8
func.func @layer(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c = arith.constant dense<[3, 2, 2, 1]> : tensor<4xi64>
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = shunt.local.reduce_scatter ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %r = shunt.local.slice ins(%x : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %3 = arith.addf %2, %r : tensor<?x8xf32>
  %4 = func.call @norm(%3) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = shunt.local.all_gather ins(%4 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  %6 = func.call @experts(%5) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %7 = shunt.local.reduce_scatter ins(%6 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x8xf32>
  %8 = arith.addf %7, %3 : tensor<?x8xf32>
  %9 = func.call @norm(%8) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %10 = shunt.local.all_gather ins(%9 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) counts(%c : tensor<4xi64>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return %10 : tensor<?x8xf32>
}

// Partial sums of one group may be added, moved and scaled.
// CHECK: Function=linear
func.func @linear(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>, %w: tensor<f32>) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = arith.addf %1, %2 : tensor<?x8xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%3, %two : tensor<?x8xf32>, tensor<8xf32>) outs(%o : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %5 = shunt.local.all_reduce ins(%4 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return %5 : tensor<?x8xf32>
}

// A sum over four ranks in two steps of two.
// CHECK: Function=two_steps
func.func @two_steps(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@moe, tokens = [dp]>}, %o: tensor<?x8xf32>) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@moe, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %1 = func.call @experts(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  %3 = shunt.local.all_reduce ins(%2 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 2], [1, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// A condition that is the same on all ranks may choose; a loop may run.
// CHECK: Function=uniform_flow
func.func @uniform_flow(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>, %flag: i1 {shunt.uniform}, %n: index {shunt.uniform}) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<?x8xf32>) {
    %1 = scf.if %flag -> (tensor<?x8xf32>) {
      %2 = func.call @attention(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      %3 = shunt.local.all_reduce ins(%2 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
      scf.yield %3 : tensor<?x8xf32>
    } else {
      scf.yield %y : tensor<?x8xf32>
    }
    scf.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// Ranks may go different ways where no member of a group is left alone.
// CHECK: Function=groups_part
func.func @groups_part(%x: tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}, %o: tensor<?x8xf32>) -> (tensor<?x8xf32> {shunt.layout = #shunt.layout<@attn, tokens = [dp]>}) attributes {shunt.batch = [{type = !shunt.batch<@attn, owners = [dp]>, rows = array<i64: 5, 3>}]} {
  %rank = shunt.rank
  %c2 = arith.constant 2 : index
  %low = arith.cmpi ult, %rank, %c2 : index
  %1 = func.call @attention(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = scf.if %low -> (tensor<?x8xf32>) {
    %3 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
    scf.yield %3 : tensor<?x8xf32>
  } else {
    %3 = shunt.local.all_reduce ins(%1 : tensor<?x8xf32>) outs(%o : tensor<?x8xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x8xf32>
    scf.yield %3 : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32>
}
