// RUN: shunt-opt %s --canonicalize | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 4, tp = 1>
shunt.mesh @two on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, ep = 4>

!b = !shunt.batch<@attn, owners = [dp]>
#partial = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>
#moe_scattered = #shunt.layout<@moe, tokens = [dp, ep]>
#moe_rows = #shunt.layout<@moe, tokens = [dp]>
#two_rows = #shunt.layout<@two, tokens = [dp]>
#two_partial = #shunt.layout<@two, tokens = [dp], partial = [tp]>
#two_scattered = #shunt.layout<@two, tokens = [dp, tp]>

//===----------------------------------------------------------------------===//
// Groups of one rank
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @all_gather_of_one(
// CHECK-NEXT:    %[[R:.*]] = shunt.relabel %{{.*}} in %{{.*}} : {{.*}}tokens = [dp, tp]>>, {{.*}} -> {{.*}}tokens = [dp]>>
// CHECK-NEXT:    return %[[R]]
func.func @all_gather_of_one(%x: tensor<?x8xf32, #scattered>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.all_gather %x in %b over [tp] : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %0 : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: func @reduce_scatter_of_one(
// CHECK-NOT:     reduce_scatter
// CHECK:         shunt.relabel
func.func @reduce_scatter_of_one(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #scattered> {
  %0 = shunt.reduce_scatter %x in %b over [tp] : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #scattered>
  return %0 : tensor<?x8xf32, #scattered>
}

// CHECK-LABEL: func @all_reduce_of_one(
// CHECK-NOT:     all_reduce
// CHECK:         shunt.relabel
func.func @all_reduce_of_one(%x: tensor<?x8xf32, #partial>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #partial>, !b -> tensor<?x8xf32, #rows>
  return %0 : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: func @slice_of_one(
// CHECK-NOT:     slice
// CHECK:         shunt.relabel
func.func @slice_of_one(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #scattered> {
  %0 = shunt.slice %x in %b over [tp] : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
  return %0 : tensor<?x8xf32, #scattered>
}

// CHECK-LABEL: func @all_to_all_of_one(
// CHECK-NOT:     all_to_all
// CHECK:         shunt.relabel
func.func @all_to_all_of_one(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #scattered> {
  %0 = shunt.all_to_all %x in %b over [tp] : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
  return %0 : tensor<?x8xf32, #scattered>
}

// CHECK-LABEL: func @groups_of_two_stay(
// CHECK:         shunt.all_reduce
func.func @groups_of_two_stay(%x: tensor<?x8xf32, #two_partial>, %b: !b) -> tensor<?x8xf32, #two_rows> {
  %0 = shunt.all_reduce %x in %b over [tp] : tensor<?x8xf32, #two_partial>, !b -> tensor<?x8xf32, #two_rows>
  return %0 : tensor<?x8xf32, #two_rows>
}

// A given table is for shunt-rewrite-token-counts to judge.
// CHECK-LABEL: func @given_stays(
// CHECK:         shunt.all_gather {{.*}} given(
func.func @given_stays(%x: tensor<?x8xf32, #scattered>, %b: !b, %t: tensor<4xi64>) -> tensor<?x8xf32, #rows> {
  %0 = shunt.all_gather %x in %b over [tp] given(%t : tensor<4xi64>) : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
  return %0 : tensor<?x8xf32, #rows>
}

//===----------------------------------------------------------------------===//
// Relabel
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @relabel_to_itself(
// CHECK-SAME:    %[[X:.*]]: tensor<{{[^%]*}}%
// CHECK-NEXT:    return %[[X]]
func.func @relabel_to_itself(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.relabel %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
  return %0 : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: func @relabels_merge(
// CHECK-SAME:    %[[X:.*]]: tensor<{{[^%]*}}%
// CHECK-NEXT:    %[[R:.*]] = shunt.relabel %[[X]]
// CHECK-NEXT:    return %[[R]]
func.func @relabels_merge(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #moe_scattered> {
  %0 = shunt.relabel %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
  %1 = shunt.relabel %0 in %b : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #moe_scattered>
  return %1 : tensor<?x8xf32, #moe_scattered>
}

// CHECK-LABEL: func @relabel_there_and_back(
// CHECK-SAME:    %[[X:.*]]: tensor<{{[^%]*}}%
// CHECK-NEXT:    return %[[X]]
func.func @relabel_there_and_back(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.relabel %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #moe_scattered>
  %1 = shunt.relabel %0 in %b : tensor<?x8xf32, #moe_scattered>, !b -> tensor<?x8xf32, #rows>
  return %1 : tensor<?x8xf32, #rows>
}

//===----------------------------------------------------------------------===//
// Redistribute
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @redistribute_to_itself(
// CHECK-SAME:    %[[X:.*]]: tensor<{{[^%]*}}%
// CHECK-NEXT:    return %[[X]]
func.func @redistribute_to_itself(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #rows> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
  return %0 : tensor<?x8xf32, #rows>
}

// CHECK-LABEL: func @redistribute_in_place(
// CHECK-NOT:     redistribute
// CHECK:         shunt.relabel
func.func @redistribute_in_place(%x: tensor<?x8xf32, #rows>, %b: !b) -> tensor<?x8xf32, #moe_scattered> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #moe_scattered>
  return %0 : tensor<?x8xf32, #moe_scattered>
}

// Two open layouts of one spelling may be decided differently.
// CHECK-LABEL: func @open_layouts_stay(
// CHECK:         shunt.redistribute
func.func @open_layouts_stay(%x: tensor<?x8xf32, #shunt.auto>, %b: !b) -> tensor<?x8xf32, #shunt.auto> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #shunt.auto>
  return %0 : tensor<?x8xf32, #shunt.auto>
}

// Same rows, but the sums are still to be made.
// CHECK-LABEL: func @redistribute_that_reduces_stays(
// CHECK:         shunt.redistribute
func.func @redistribute_that_reduces_stays(%x: tensor<?x8xf32, #two_partial>, %b: !b) -> tensor<?x8xf32, #two_rows> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #two_partial>, !b -> tensor<?x8xf32, #two_rows>
  return %0 : tensor<?x8xf32, #two_rows>
}

// CHECK-LABEL: func @redistributes_merge(
// CHECK-SAME:    %[[X:.*]]: tensor<{{[^%]*}}%
// CHECK-NEXT:    %[[R:.*]] = shunt.redistribute %[[X]] in %{{.*}} {step = "pre_moe"} : {{.*}}partial = [tp]>>, {{.*}} -> {{.*}}<@moe, tokens = [dp]>>
// CHECK-NEXT:    return %[[R]]
func.func @redistributes_merge(%x: tensor<?x8xf32, #two_partial>, %b: !b) -> tensor<?x8xf32, #moe_rows> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #two_partial>, !b -> tensor<?x8xf32, #two_scattered>
  %1 = shunt.redistribute %0 in %b {step = "pre_moe"} : tensor<?x8xf32, #two_scattered>, !b -> tensor<?x8xf32, #moe_rows>
  return %1 : tensor<?x8xf32, #moe_rows>
}

// Reports name both steps.
// CHECK-LABEL: func @two_steps_stay(
// CHECK:         shunt.redistribute {{.*}} {step = "post_attention"}
// CHECK:         shunt.redistribute {{.*}} {step = "pre_moe"}
func.func @two_steps_stay(%x: tensor<?x8xf32, #two_partial>, %b: !b) -> tensor<?x8xf32, #moe_rows> {
  %0 = shunt.redistribute %x in %b {step = "post_attention"} : tensor<?x8xf32, #two_partial>, !b -> tensor<?x8xf32, #two_scattered>
  %1 = shunt.redistribute %0 in %b {step = "pre_moe"} : tensor<?x8xf32, #two_scattered>, !b -> tensor<?x8xf32, #moe_rows>
  return %1 : tensor<?x8xf32, #moe_rows>
}

// CHECK-LABEL: func @value_with_two_readers_stays(
// CHECK-COUNT-2: shunt.redistribute
func.func @value_with_two_readers_stays(%x: tensor<?x8xf32, #two_rows>, %b: !b) -> (tensor<?x8xf32, #two_scattered>, tensor<?x8xf32, #moe_rows>) {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #two_rows>, !b -> tensor<?x8xf32, #two_scattered>
  %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #two_scattered>, !b -> tensor<?x8xf32, #moe_rows>
  return %0, %1 : tensor<?x8xf32, #two_scattered>, tensor<?x8xf32, #moe_rows>
}

// CHECK-LABEL: func @open_layout_in_between_stays(
// CHECK-COUNT-2: shunt.redistribute
func.func @open_layout_in_between_stays(%x: tensor<?x8xf32, #two_partial>, %b: !b) -> tensor<?x8xf32, #moe_rows> {
  %0 = shunt.redistribute %x in %b : tensor<?x8xf32, #two_partial>, !b -> tensor<?x8xf32, #shunt.auto>
  %1 = shunt.redistribute %0 in %b : tensor<?x8xf32, #shunt.auto>, !b -> tensor<?x8xf32, #moe_rows>
  return %1 : tensor<?x8xf32, #moe_rows>
}
