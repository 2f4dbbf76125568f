// RUN: shunt-opt %s --shunt-verify-layouts --shunt-localize --cse --canonicalize | FileCheck %s
// RUN: shunt-opt %s --shunt-localize --shunt-verify-plan -o /dev/null
// RUN: shunt-run %s --check | FileCheck %s --check-prefix=EQUAL

// Dispatch over ep with expert tensor parallelism over tp: groups of every
// second rank, two of them on a node.
shunt.cluster @pod {nodes = 2, ranks_per_node = 4}
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [dp, ep]>
#p = #shunt.layout<@moe, tokens = [dp, ep], partial = [tp]>
#rows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>
#mid = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], inner = [[tp]]>
#prows = #shunt.routed<@moe, tokens = [dp, ep], over = [ep], partial = [tp]>
func.func @layer(%x: tensor<?x16xf32, #l>, %ids: tensor<?x2xi32, #l> {shunt.range = 8 : i64}, %s: tensor<?x2xf32, #l>,
    %w1: tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>,
    %w2: tensor<8x32x16xf32, #shunt.shard<@moe, [[ep], [tp], []]>>) -> tensor<?x16xf32, #l> {
  %b = shunt.batch [5, 0, 3, 7] : !b
  %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b algorithm all_to_all placement even : tensor<?x2xi32, #l>, !b -> !r
  %rows = shunt.dispatch %x via %r : !r, tensor<?x16xf32, #l> -> tensor<?x16xf32, #rows>
  %h = shunt.expert_matmul %rows, %w1 via %r : !r, tensor<?x16xf32, #rows>, tensor<8x16x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>> -> tensor<?x32xf32, #mid>
  %a = math.tanh %h : tensor<?x32xf32, #mid>
  %y = shunt.expert_matmul %a, %w2 via %r : !r, tensor<?x32xf32, #mid>, tensor<8x32x16xf32, #shunt.shard<@moe, [[ep], [tp], []]>> -> tensor<?x16xf32, #prows>
  %o = shunt.combine %y via %r : !r, tensor<?x16xf32, #prows> -> tensor<?x16xf32, #p>
  %f = shunt.all_reduce %o in %b over [tp] : tensor<?x16xf32, #p>, !b -> tensor<?x16xf32, #l>
  return %f : tensor<?x16xf32, #l>
}

// EQUAL: check: equal to the one-rank reference; 30 rows compared
// CHECK-LABEL: func.func @layer
// CHECK: %[[R:.*]] = shunt.local.route ins(%[[IDS:.*]], %{{.*}} : tensor<?x2xi32>, tensor<?x2xf32>) groups dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64> experts 8 algorithm all_to_all placement even {node_size = 2 : i64}
// CHECK: %[[N:.*]] = shunt.local.routed_rows %[[R]]
// CHECK: %[[O:.*]] = tensor.empty(%[[N]])
// CHECK: %[[X:.*]] = shunt.local.dispatch ins(%{{.*}}) outs(%[[O]] : tensor<?x16xf32>) via %[[R]]
// CHECK: shunt.local.expert_matmul ins(%[[X]], %{{.*}} : tensor<?x16xf32>, tensor<2x16x16xf32>)
// CHECK: %[[Y:.*]] = shunt.local.expert_matmul {{.*}} {shunt.partial = dense<{{\[\[}}0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>}
// CHECK: %[[T:.*]] = tensor.dim %[[IDS]]
// CHECK: %[[Z:.*]] = tensor.empty(%[[T]])
// CHECK: shunt.local.combine ins(%[[Y]] : tensor<?x16xf32>) outs(%[[Z]] : tensor<?x16xf32>) via %[[R]]
// CHECK: shunt.local.all_reduce
// CHECK: shunt.local.release %[[R]]
// CHECK: return
