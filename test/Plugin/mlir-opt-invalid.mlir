// RUN: mlir-opt %s --load-dialect-plugin=%shunt_libs/ShuntPlugin.so --verify-diagnostics

// The verifiers work there too.
shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{[E_PRODUCT]}}
shunt.mesh @attn on @pod <dp = 2, tp = 3>
