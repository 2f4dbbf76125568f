// RUN: shunt-opt %s | shunt-opt | FileCheck %s

// CHECK: @layouts(tensor<?x8x4xf32, #shunt.layout<@m, tokens = [dp], inner = {{\[\[}}ep], [tp]], partial = [cp]>>, tensor<?x8xf32, #shunt.layout<@m, tokens = []>>)
func.func private @layouts(
  tensor<?x8x4xf32, #shunt.layout<@m, partial = [cp], inner = [[ep], [tp]], tokens = [dp]>>,
  tensor<?x8xf32, #shunt.layout<@m>>)

// Lists that split nothing are dropped.
// CHECK: @no_inner(tensor<?x8x4xf32, #shunt.layout<@m, tokens = [dp]>>)
func.func private @no_inner(tensor<?x8x4xf32, #shunt.layout<@m, tokens = [dp], inner = [[], []]>>)

// CHECK: @names(tensor<?xf32, #shunt.layout<@m, tokens = ["data parallel", dp]>>)
func.func private @names(tensor<?xf32, #shunt.layout<@m, tokens = ["data parallel", "dp"]>>)

// CHECK: @shards(tensor<8x64x32xf32, #shunt.shard<@moe, {{\[\[}}ep], [], [tp]]>>)
func.func private @shards(tensor<8x64x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>)

// CHECK: @open(tensor<?x8xf32, #shunt.auto>)
func.func private @open(tensor<?x8xf32, #shunt.auto>)

// CHECK: @batches(!shunt.batch<@m, owners = [dp]>, !shunt.batch<@m, owners = [dp, cp], replicas = [cp], split = "align:8">, !shunt.batch<@m, owners = []>)
func.func private @batches(
  !shunt.batch<@m, owners = [dp], split = "balanced">,
  !shunt.batch<@m, split = "align:8", replicas = [cp], owners = [dp, cp]>,
  !shunt.batch<@m>)
