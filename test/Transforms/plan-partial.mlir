// RUN: shunt-opt %s --shunt-plan | FileCheck %s

// Partial sums on the way to another layout of the same mesh.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@m, owners = [dp]>

// CHECK-LABEL: @complete_it
func.func @complete_it(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_reduce %{{.*}} in %{{.*}} over [tp] counts [5, 5, 3, 3]{{.*}} -> {{.*}}<@m, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}

// CHECK-LABEL: @scatter_it
func.func @scatter_it(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}

// CHECK-LABEL: @to_all_rows
func.func @to_all_rows(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [dp, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = []>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
}

// CHECK-LABEL: @to_strided_rows
func.func @to_strided_rows(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [dp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp], partial = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
}

// CHECK-LABEL: @over_both_axes
func.func @over_both_axes(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [], partial = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [dp, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [], partial = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}

// CHECK-LABEL: @scatter_one_complete_one
func.func @scatter_one_complete_one(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [], partial = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.reduce_scatter %{{.*}} in %{{.*}} over [dp, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [], partial = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}
