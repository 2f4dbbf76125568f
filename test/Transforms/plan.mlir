// RUN: shunt-opt %s --shunt-plan --remarks-filter='shunt-plan' 2>&1 | FileCheck %s

shunt.cluster @pod {ranks_per_node = 128}
shunt.mesh @attn on @pod <dp = 16, tp = 8>
shunt.mesh @small on @pod <a = 128>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#heads = #shunt.layout<@attn, tokens = [dp], inner = [[tp]]>

// A remark says what was chosen; rows are counted in cells, one for each rank.
// CHECK: remark: [Passed] Planned | Category:shunt-plan | Function=explains
// CHECK-SAME: Remark="post_attention: reduce_scatter over tp, all_gather over dp·tp", collectives=2, received_cells=134, world_cells=128
func.func @explains(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = []>> {
  %y = shunt.redistribute %x in %b {step = "post_attention"} : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = []>>
}

// CHECK-LABEL: @writes_no_counts_of_an_unknown_batch
func.func @writes_no_counts_of_an_unknown_batch(%x: tensor<?x8xf32, #scattered>, %b: !b) -> tensor<?x8xf32, #rows> {
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] :
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: @writes_no_table_too_long_to_read
func.func @writes_no_table_too_long_to_read(%x: tensor<?x8xf32, #scattered>) -> tensor<?x8xf32, #rows> {
  %b = shunt.batch [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] :
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %y : tensor<?x8xf32, #rows>
}

// Inner axes stay where they are.
// CHECK-LABEL: @keeps_inner_axes
func.func @keeps_inner_axes(%x: tensor<?x8xf32, #heads>, %b: !b) -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [], inner = [[tp]]>> {
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [dp] {{.*}} -> {{.*}}<@attn, tokens = [], inner = {{\[\[}}tp]]>
  %y = shunt.redistribute %x in %b : tensor<?x8xf32, #heads>, !b -> tensor<?x8xf32, #shunt.layout<@attn, tokens = [], inner = [[tp]]>>
  return %y : tensor<?x8xf32, #shunt.layout<@attn, tokens = [], inner = [[tp]]>>
}
