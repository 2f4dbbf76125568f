// RUN: shunt-opt %s | shunt-opt | FileCheck %s
// RUN: shunt-opt %s --mlir-print-op-generic | shunt-opt | FileCheck %s

// CHECK: shunt.cluster @pod {nodes = 2 : i64, preset = "h200-nvl8-cx7", ranks_per_node = 4 : i64}
shunt.cluster @pod {nodes = 2, ranks_per_node = 4, preset = "h200-nvl8-cx7"}
// CHECK: shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
shunt.mesh @attn on @pod <dp = 2, cp = 2, tp = 2>
// CHECK: shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4, tp = 2>
// CHECK: shunt.mesh @odd on @pod <a = 4, "b-2" = 2> devices [0, 2, 4, 6, 1, 3, 5, 7]
shunt.mesh @odd on @pod <a = 4, "b-2" = 2> devices [0, 2, 4, 6, 1, 3, 5, 7]

!b = !shunt.batch<@attn, owners = [dp, cp]>
#partial = #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>
#rows = #shunt.layout<@attn, tokens = [dp, cp]>
#scattered = #shunt.layout<@attn, tokens = [dp, cp, tp]>
#moe_scattered = #shunt.layout<@moe, tokens = [dp, ep, tp]>
#moe_rows = #shunt.layout<@moe, tokens = [dp]>

// CHECK-LABEL: func @batches(
// CHECK-SAME: i64
func.func @batches(%own: i64, %n: tensor<4xi64>) {
  // CHECK: shunt.batch [5, 5, 3, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  %0 = shunt.batch [5, 5, 3, 0] : !b
  // CHECK: shunt.batch [8, 8, 8, 8] valid [5, 5, 3, 0] : !shunt.batch<@attn, owners = [dp, cp]>
  %1 = shunt.batch [8, 8, 8, 8] valid [5, 5, 3, 0] : !b
  // CHECK: shunt.batch from %{{.*}} : tensor<4xi64> -> !shunt.batch<@attn, owners = [dp, cp], replicas = [cp], split = "align:4">
  %2 = shunt.batch from %n : tensor<4xi64> -> !shunt.batch<@attn, owners = [dp, cp], replicas = [cp], split = "align:4">
  // CHECK: shunt.gather_batch %{{.*}} : i64 -> !shunt.batch<@attn, owners = [dp, cp]>
  %3 = shunt.gather_batch %own : i64 -> !b
  return
}

// CHECK-LABEL: func @tables(
func.func @tables(%b: !b) -> (tensor<8xi64>, tensor<8xi64>, tensor<8x8xi64>) {
  // CHECK: shunt.token_counts %{{.*}} : !shunt.batch<@attn, owners = [dp, cp]>, #shunt.layout<@attn, tokens = [dp, cp, tp]> -> tensor<8xi64>
  %0 = shunt.token_counts %b : !b, #scattered -> tensor<8xi64>
  // CHECK: shunt.token_counts valid %{{.*}} : !shunt.batch<{{.*}}>, #shunt.layout<@moe, tokens = [dp]> -> tensor<8xi64>
  %1 = shunt.token_counts valid %b : !b, #moe_rows -> tensor<8xi64>
  // CHECK: shunt.exchange_counts %{{.*}} : !shunt.batch<@attn, owners = [dp, cp]>, #shunt.layout<@attn, tokens = [dp, cp]> to #shunt.layout<@moe, tokens = [dp]> -> tensor<8x8xi64>
  %2 = shunt.exchange_counts %b : !b, #rows to #moe_rows -> tensor<8x8xi64>
  return %0, %1, %2 : tensor<8xi64>, tensor<8xi64>, tensor<8x8xi64>
}

// CHECK-LABEL: func @redistribute(
func.func @redistribute(%b: !b, %x: tensor<?x64xf32, #partial>) -> tensor<?x64xf32, #moe_rows> {
  // CHECK: shunt.redistribute %{{.*}} in %{{.*}} {step = "post_attention"} : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x64xf32, #shunt.auto>
  %0 = shunt.redistribute %x in %b {step = "post_attention"} : tensor<?x64xf32, #partial>, !b -> tensor<?x64xf32, #shunt.auto>
  // CHECK: shunt.redistribute
  // CHECK-SAME: tensor<?x64xf32, #shunt.auto>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp]>>
  %1 = shunt.redistribute %0 in %b : tensor<?x64xf32, #shunt.auto>, !b -> tensor<?x64xf32, #moe_rows>
  return %1 : tensor<?x64xf32, #moe_rows>
}

// CHECK-LABEL: func @attention_to_moe(
func.func @attention_to_moe(%x: tensor<?x64xf32, #partial>) -> tensor<?x64xf32, #moe_rows> {
  %b = shunt.batch [5, 4, 1, 0] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 2, 1, 0, 0, 0] {step = "post_attention"}
  // CHECK-SAME: -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  %0 = shunt.reduce_scatter %x in %b over [tp] counts [3, 2, 2, 2, 1, 0, 0, 0] {step = "post_attention"} : tensor<?x64xf32, #partial>, !b -> tensor<?x64xf32, #scattered>
  // CHECK: shunt.relabel %{{.*}} in %{{.*}} : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !shunt.batch<@attn, owners = [dp, cp]> -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
  %1 = shunt.relabel %0 in %b : tensor<?x64xf32, #scattered>, !b -> tensor<?x64xf32, #moe_scattered>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 2, 1, 0, 0, 0]
  %2 = shunt.all_gather %1 in %b over [ep, tp] counts [3, 2, 2, 2, 1, 0, 0, 0] : tensor<?x64xf32, #moe_scattered>, !b -> tensor<?x64xf32, #moe_rows>
  return %2 : tensor<?x64xf32, #moe_rows>
}

// CHECK-LABEL: func @other_collectives(
func.func @other_collectives(%x: tensor<?x64xf32, #partial>, %b: !b, %t: tensor<8xi64>, %l: tensor<8x2xi64>) -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp]>> {
  // CHECK: shunt.all_reduce %{{.*}} in %{{.*}} over [tp] :
  %0 = shunt.all_reduce %x in %b over [tp] : tensor<?x64xf32, #partial>, !b -> tensor<?x64xf32, #rows>
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [tp] given(%{{.*}} : tensor<8xi64>) :
  %1 = shunt.slice %0 in %b over [tp] given(%t : tensor<8xi64>) : tensor<?x64xf32, #rows>, !b -> tensor<?x64xf32, #scattered>
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] given(%{{.*}} : tensor<8x2xi64>) :
  %2 = shunt.all_gather %1 in %b over [tp] given(%l : tensor<8x2xi64>) : tensor<?x64xf32, #scattered>, !b -> tensor<?x64xf32, #rows>
  %3 = shunt.all_gather %2 in %b over [cp] : tensor<?x64xf32, #rows>, !b -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK: shunt.all_to_all %{{.*}} in %{{.*}} over [dp, cp] :
  %4 = shunt.all_to_all %3 in %b over [dp, cp] : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp]>>, !b -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp]>>
  return %4 : tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp]>>
}

// Token axes are a set: any order, also after a reduction of some of the axes.
// CHECK-LABEL: func @axes_are_sets(
func.func @axes_are_sets(%x: tensor<?x64xf32, #shunt.layout<@attn, tokens = [], partial = [tp, cp, dp]>>, %b: !b) -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp, dp], partial = [tp]>> {
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [dp, cp]
  %0 = shunt.reduce_scatter %x in %b over [dp, cp] : tensor<?x64xf32, #shunt.layout<@attn, tokens = [], partial = [tp, cp, dp]>>, !b -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp, dp], partial = [tp]>>
  return %0 : tensor<?x64xf32, #shunt.layout<@attn, tokens = [cp, dp], partial = [tp]>>
}
