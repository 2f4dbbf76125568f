// RUN: shunt-opt %s --shunt-plan | FileCheck %s

// From the layout of one block to that of the next, which views the ranks as
// another mesh.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, cp = 1, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 1, tp = 4>
shunt.mesh @dense on @pod <dp = 2, tp = 2>
shunt.mesh @swapped on @pod <a = 2, b = 2> devices [0, 2, 1, 3]
!b = !shunt.batch<@attn, owners = [dp, cp]>

// CHECK-LABEL: @attention_to_experts
func.func @attention_to_experts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1] {step = "post_attention"}{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1] {step = "post_attention"}{{.*}} -> {{.*}}<@moe, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b {step = "post_attention"}
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// CHECK-LABEL: @scattered_rows_to_experts
func.func @scattered_rows_to_experts(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1] {step = "pre_moe"}{{.*}} -> {{.*}}<@moe, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b {step = "pre_moe"}
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// CHECK-LABEL: @experts_to_attention
func.func @experts_to_attention(%x: tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@attn, tokens = [dp, cp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>
}

// CHECK-LABEL: @experts_to_scattered_rows
func.func @experts_to_scattered_rows(%x: tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [ep, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@moe, tokens = [dp, ep, tp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp], partial = [ep, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// CHECK-LABEL: @same_ranks_all_reduce
func.func @same_ranks_all_reduce(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_reduce %{{.*}} in %{{.*}} over [tp] counts [5, 5, 3, 3]{{.*}} -> {{.*}}<@attn, tokens = [dp, cp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@dense, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
}

// CHECK-LABEL: @same_rows_by_another_name
func.func @same_rows_by_another_name(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@dense, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !b -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp]>>
}

// CHECK-LABEL: @same_scattered_rows
func.func @same_scattered_rows(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@dense, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@dense, tokens = [dp, tp]>>
}

// CHECK-LABEL: @replicated_rows_gather_what_is_missing
func.func @replicated_rows_gather_what_is_missing(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [dp] counts [5, 5, 3, 3]{{.*}} -> {{.*}}<@attn, tokens = [cp]>
  // CHECK-NEXT: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@moe, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !b -> tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp]>>
}

// CHECK-LABEL: @axes_of_size_one_need_no_collective
func.func @axes_of_size_one_need_no_collective(%x: tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, tp], partial = [ep]>>) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@attn, tokens = [dp, cp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@moe, tokens = [dp, tp], partial = [ep]>>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp, tp]>>
}

// CHECK-LABEL: @device_order_of_the_same_groups
func.func @device_order_of_the_same_groups(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@swapped, tokens = [b]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@swapped, tokens = [b]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !b -> tensor<?x8xf32, #shunt.layout<@swapped, tokens = [b]>>
  return %y : tensor<?x8xf32, #shunt.layout<@swapped, tokens = [b]>>
}

// CHECK-LABEL: @device_order_of_other_groups
func.func @device_order_of_other_groups(%x: tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>) -> tensor<?x8xf32, #shunt.layout<@swapped, tokens = [a]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.relabel %{{.*}} in %{{.*}}{{.*}} -> {{.*}}<@swapped, tokens = [b]>
  // CHECK-NEXT: shunt.all_to_all %{{.*}} in %{{.*}} over [a, b]{{.*}} -> {{.*}}<@swapped, tokens = [a]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@attn, tokens = [dp, cp]>>, !b -> tensor<?x8xf32, #shunt.layout<@swapped, tokens = [a]>>
  return %y : tensor<?x8xf32, #shunt.layout<@swapped, tokens = [a]>>
}
