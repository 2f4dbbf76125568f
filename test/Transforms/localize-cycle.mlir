// RUN: shunt-opt %s --shunt-localize -verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 4, tp = 1>
!b = !shunt.batch<@attn, owners = [dp]>
#rows = #shunt.layout<@attn, tokens = [dp]>

%b = shunt.batch [1, 2, 3, 4] : !b
// expected-error @below {{relabels its own result, which no rank ever holds; give it the rows of another value [X_LAYOUT]}}
%0 = shunt.relabel %1 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
// expected-error @below {{relabels its own result}}
%1 = shunt.relabel %0 in %b : tensor<?x8xf32, #rows>, !b -> tensor<?x8xf32, #rows>
