// Values of a graph region may depend on themselves: folding ends.
// RUN: shunt-opt %s --canonicalize | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 4, tp = 1>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#scattered = #shunt.layout<@attn, tokens = [dp, tp]>

// CHECK: shunt.mesh
%b = shunt.batch [5, 3, 2, 1] : !b
%0 = shunt.relabel %1 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
%1 = shunt.relabel %0 in %b : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
%2 = shunt.redistribute %3 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #scattered>
%3 = shunt.redistribute %2 in %b : tensor<?x8xf32, #scattered>, !b -> tensor<?x8xf32, #rows>
%4 = shunt.redistribute %4 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
%5 = shunt.relabel %5 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
