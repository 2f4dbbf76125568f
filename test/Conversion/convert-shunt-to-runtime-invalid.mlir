// RUN: shunt-opt %s --convert-shunt-to-runtime --split-input-file --verify-diagnostics

func.func @on_tensors(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = tensor.empty() : tensor<4x8xf32>
  // expected-error @below {{is on tensors; bufferize first (one-shot-bufferize) [X_NOT_LOCAL]}}
  %y = shunt.local.all_reduce ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) groups dense<[[0, 1]]> : tensor<1x2xi64> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @of_f64(%x: memref<4x8xf64>, %o: memref<4x8xf64>) {
  // expected-error @below {{moves rows of 'f64', and the runtime has f32, bf16, f16, i32, i64 and f8E4M3FN only [X_DTYPE]}}
  shunt.local.all_reduce ins(%x : memref<4x8xf64>) outs(%o : memref<4x8xf64>) groups dense<[[0, 1]]> : tensor<1x2xi64>
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
func.func @of_another_level() {
  // expected-error @below {{is not of the local level; run shunt-localize first [X_NOT_LOCAL]}}
  %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp]>
  return
}

// -----

func.func @callee() {
  return
}
func.func @function_as_value() {
  // expected-error @below {{takes a function as a value, which then cannot be given the communicator; call it directly [X_NOT_LOCAL]}}
  %f = func.constant @callee : () -> ()
  func.call_indirect %f() : () -> ()
  return
}

// -----

func.func @routing_passed_on(%ids: memref<?x2xi32>) -> !shunt.local.routing {
  %r = shunt.local.route ins(%ids : memref<?x2xi32>) groups dense<[[0, 1]]> : tensor<1x2xi64>
    experts 2 algorithm all_to_all placement even {score = #shunt<score none>}
  // expected-error @below {{passes a routing on; use it in the function of its shunt.local.route [X_ROUTING]}}
  return %r : !shunt.local.routing
}
