// Attributes of a wrong kind, as hand-written generic IR may have them.
// RUN: shunt-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{attribute 'ranks_per_node' failed to satisfy constraint: 64-bit signless integer attribute}}
"shunt.cluster"() <{ranks_per_node = 4 : i32, sym_name = "pod"}> : () -> ()

// -----

// expected-error @below {{requires attribute 'ranks_per_node'}}
"shunt.cluster"() <{sym_name = "pod"}> : () -> ()

// -----

// expected-error @below {{attribute 'axis_names' failed to satisfy constraint: string array attribute}}
"shunt.mesh"() <{axis_names = [1, 2], axis_sizes = array<i64: 2, 2>, cluster = @pod, sym_name = "m"}> : () -> ()

// -----

// expected-error @below {{Invalid attribute `axis_sizes` in property conversion: array<i32: 2, 2>}}
"shunt.mesh"() <{axis_names = ["a", "b"], axis_sizes = array<i32: 2, 2>, cluster = @pod, sym_name = "m"}> : () -> ()

// -----

func.func @counts_that_are_no_array(%x: tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, %b: !shunt.batch<@m, owners = [dp]>) {
  // expected-error @below {{Invalid attribute `counts` in property conversion: dense<1> : tensor<4xi64>}}
  %0 = "shunt.all_gather"(%x, %b) <{axes = ["dp"], counts = dense<1> : tensor<4xi64>}> : (tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !shunt.batch<@m, owners = [dp]>) -> tensor<?x8xf32, #shunt.layout<@m, tokens = []>>
  return
}

// -----

func.func @groups_of_floats() {
  // expected-error @below {{Invalid attribute `groups` in property conversion: dense<1.000000e+00> : tensor<1x1xf32>}}
  %0 = "shunt.group_index"() <{groups = dense<1.0> : tensor<1x1xf32>}> : () -> index
  return
}

// -----

func.func @groups_of_a_resource() {
  // expected-error @below {{Invalid attribute `groups` in property conversion: dense_resource<r> : tensor<2x2xi64>}}
  %0 = "shunt.group_index"() <{groups = dense_resource<r> : tensor<2x2xi64>}> : () -> index
  return
}

// -----

// Numbers that no machine has.
shunt.cluster @pod {ranks_per_node = 4 : i64}
// expected-error @below {{sizes a=9223372036854775807, b=9223372036854775807 multiply to more than 2^63 but the world has 4 ranks}}
shunt.mesh @m on @pod <a = 9223372036854775807, b = 9223372036854775807>

// -----

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @m on @pod <dp = 2, tp = 2>
func.func @unreachable_cycle(%b: !shunt.batch<@m, owners = [dp]>) {
  return
^bb1:
  // expected-note @below {{operand is made here}}
  %0 = shunt.relabel %1 in %b : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !shunt.batch<@m, owners = [dp]> -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  // expected-error @below {{reduces over axis 'tp' of 2 ranks but its operand is complete}}
  %1 = shunt.all_reduce %0 in %b over [tp] : tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>, !shunt.batch<@m, owners = [dp]> -> tensor<?x8xf32, #shunt.layout<@m, tokens = [dp]>>
  cf.br ^bb1
}

// -----

// An attribute of other elements than its type says is refused as it is read.
func.func @groups_of_too_few() {
  // expected-error @below {{inferred shape of elements literal ([1, 2]) does not match type ([2, 2])}}
  %0 = shunt.group_index groups dense<[[0, 1]]> : tensor<2x2xi64>
  return
}

// -----

// More elements than can be visited.
func.func @endless_cells(%c: tensor<2xi64>, %o: tensor<1xi64>) {
  // expected-error @below {{has 1099511627776 lists of cells for 1 sums [X_COUNTS_LENGTH]}}
  %0 = shunt.local.sum_cells ins(%c : tensor<2xi64>) outs(%o : tensor<1xi64>) cells dense<0> : tensor<1099511627776x1024xi64> -> tensor<1xi64>
  return
}

// -----

func.func @endless_wrong_cells(%c: tensor<2xi64>, %o: tensor<?xi64>) {
  // expected-error @below {{names cell 7, expected one of 2 or -1 for none [X_COUNTS_LENGTH]}}
  %0 = shunt.local.sum_cells ins(%c : tensor<2xi64>) outs(%o : tensor<?xi64>) cells dense<7> : tensor<1099511627776x1024xi64> -> tensor<?xi64>
  return
}
