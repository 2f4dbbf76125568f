// RUN: shunt-opt %s --shunt-plan | FileCheck %s

// Complete rows from each set of token axes of a mesh to each.

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @m on @pod <dp = 2, tp = 2>
!b = !shunt.batch<@m, owners = [dp]>

// CHECK-LABEL: @none_to_none
func.func @none_to_none(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = []>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK-NOT: shunt.{{all|reduce|slice|relabel|redistribute}}
  // CHECK: return %arg0
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
}

// CHECK-LABEL: @none_to_dp
func.func @none_to_dp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = []>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [dp] counts [5, 5, 3, 3]{{.*}} -> {{.*}}<@m, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}

// CHECK-LABEL: @none_to_tp
func.func @none_to_tp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = []>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [tp] counts [5, 3, 5, 3]{{.*}} -> {{.*}}<@m, tokens = [tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
}

// CHECK-LABEL: @none_to_both
func.func @none_to_both(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = []>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [dp, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}

// CHECK-LABEL: @dp_to_none
func.func @dp_to_none(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [dp] counts [5, 5, 3, 3]{{.*}} -> {{.*}}<@m, tokens = []>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
}

// CHECK-LABEL: @dp_to_dp
func.func @dp_to_dp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK-NOT: shunt.{{all|reduce|slice|relabel|redistribute}}
  // CHECK: return %arg0
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}

// CHECK-LABEL: @dp_to_tp
func.func @dp_to_tp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_to_all %{{.*}} in %{{.*}} over [dp, tp]{{.*}} -> {{.*}}<@m, tokens = [tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
}

// CHECK-LABEL: @dp_to_both
func.func @dp_to_both(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}

// CHECK-LABEL: @tp_to_none
func.func @tp_to_none(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [5, 3, 5, 3]{{.*}} -> {{.*}}<@m, tokens = []>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
}

// CHECK-LABEL: @tp_to_dp
func.func @tp_to_dp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_to_all %{{.*}} in %{{.*}} over [dp, tp]{{.*}} -> {{.*}}<@m, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}

// CHECK-LABEL: @tp_to_tp
func.func @tp_to_tp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK-NOT: shunt.{{all|reduce|slice|relabel|redistribute}}
  // CHECK: return %arg0
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
}

// CHECK-LABEL: @tp_to_both
func.func @tp_to_both(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.slice %{{.*}} in %{{.*}} over [dp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp, tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}

// CHECK-LABEL: @both_to_none
func.func @both_to_none(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [dp, tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = []>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
}

// CHECK-LABEL: @both_to_dp
func.func @both_to_dp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [tp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [dp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
}

// CHECK-LABEL: @both_to_tp
func.func @both_to_tp(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.all_gather %{{.*}} in %{{.*}} over [dp] counts [3, 2, 2, 1]{{.*}} -> {{.*}}<@m, tokens = [tp]>
  // CHECK-NEXT: return
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [tp]>>
}

// CHECK-LABEL: @both_to_both
func.func @both_to_both(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>> {
  %b = shunt.batch [5, 3] : !b
  // CHECK-NOT: shunt.{{all|reduce|slice|relabel|redistribute}}
  // CHECK: return %arg0
  %y = shunt.redistribute %x in %b
    : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>, !b -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
  return %y : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp, tp]>>
}
