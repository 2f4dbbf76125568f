// RUN: shunt-opt %s -verify-diagnostics -split-input-file

// expected-error @below {{expects nodes of at least 1, got 0 [E_SIZE]}}
shunt.cluster @pod {nodes = 0, ranks_per_node = 4}

// -----

// expected-error @below {{expects ranks_per_node of at least 1, got -4 [E_SIZE]}}
shunt.cluster @pod {ranks_per_node = -4}

// -----

// expected-error @below {{has nodes = 4294967296 and ranks_per_node = 4294967296, together more than 1048576 ranks; take less [E_SIZE]}}
shunt.cluster @pod {nodes = 4294967296, ranks_per_node = 4294967296}

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{has 2 axis names but 1 axis sizes; give each axis one size [E_MESH]}}
"shunt.mesh"() <{axis_names = ["dp", "tp"], axis_sizes = array<i64: 4>, cluster = @pod, sym_name = "m"}> : () -> ()

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: two axes are named tp; rename one [E_MESH]}}
shunt.mesh @m on @pod <tp = 2, tp = 2>

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: an axis has no name [E_MESH]}}
shunt.mesh @m on @pod <"" = 2, tp = 2>

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: axis dp has size 0; a size is at least 1 [E_SIZE]}}
shunt.mesh @m on @pod <dp = 0, tp = 2>

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: sizes dp=2, tp=4 multiply to 8 but the world has 4 ranks; change one size or leave one out [E_PRODUCT]}}
shunt.mesh @m on @pod <dp = 2, tp = 4>

// -----

// expected-error @below {{needs mesh @m on cluster @pod, which is no shunt.cluster of this module [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2>

// -----

// A symbol that is something else.
func.func private @pod()
// expected-error @below {{needs mesh @m on cluster @pod, which is no shunt.cluster of this module [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2>

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{has an empty device list; leave it out, or list every rank once [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2> devices []

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: the device list has 3 entries but the world has 4 ranks; list every rank once [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2> devices [0, 1, 2]

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: entries 1 and 2 of the device list are both rank 1; list every rank once [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2> devices [0, 1, 1, 3]

// -----

shunt.cluster @pod {ranks_per_node = 4}
// expected-error @below {{mesh @m: entry 3 of the device list is rank 4; ranks are 0 to 3 [E_MESH]}}
shunt.mesh @m on @pod <dp = 2, tp = 2> devices [0, 1, 2, 4]
