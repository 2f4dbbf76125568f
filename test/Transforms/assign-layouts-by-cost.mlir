// RUN: shunt-opt %s --shunt-assign-layouts --remarks-filter=shunt-assign-layouts 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: shunt-opt %s --shunt-assign-layouts --shunt-plan --shunt-localize --shunt-verify-plan -o /dev/null

// Where the cluster says what its links are and the batch is a literal, open
// layouts are those of least modelled time.

shunt.cluster @pod {ranks_per_node = 8, preset = "h200"}
shunt.mesh @attn on @pod <dp = 2, tp = 4>
shunt.mesh @dense on @pod <tp = 8>
!b = !shunt.batch<@attn, owners = [dp]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#shared = #shunt.layout<@attn, tokens = [dp, tp]>
#all = #shunt.layout<@dense, tokens = []>

// The next block reads the same rows: one all-reduce takes less than a
// reduce-scatter and a gather.
// REMARK: Chosen | Category:shunt-assign-layouts | Function=same_rows | Reason="least time of the function, [[TIME:[0-9.]+]] us; all sums completed in place [[TIME]] us, all scattered {{[0-9.]+}} us", Remark="out: rows of #shunt.layout<@attn, tokens = [dp]>"
// CHECK-LABEL: @same_rows
func.func @same_rows(%x: tensor<?x64xbf16, #sums>) -> tensor<?x64xbf16, #rows> {
  %b = shunt.batch [5, 3] : !b
  // CHECK: shunt.redistribute %{{.*}} -> tensor<?x64xbf16, #shunt.layout<@attn, tokens = [dp]>>
  // CHECK-NEXT: return
  %0 = shunt.redistribute %x in %b {step = "out"} : tensor<?x64xbf16, #sums>, !b -> tensor<?x64xbf16, #shunt.auto>
  %1 = shunt.redistribute %0 in %b : tensor<?x64xbf16, #shunt.auto>, !b -> tensor<?x64xbf16, #rows>
  return %1 : tensor<?x64xbf16, #rows>
}

// Rows become fewer bytes before they travel: the sum is completed in shares,
// each share is cast, and the cast rows are gathered.
// CHECK-LABEL: @cast_before_the_wire
func.func @cast_before_the_wire(%x: tensor<?x4096xf32, #sums>) -> tensor<?x4096xf8E4M3FN, #all> {
  %b = shunt.batch [4096, 4096] : !b
  // CHECK: shunt.redistribute %{{.*}} -> tensor<?x4096xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
  // CHECK-NEXT: arith.truncf %{{.*}} : tensor<?x4096xf32, #shunt.layout<@attn, tokens = [dp, tp]>> to
  // CHECK-NEXT: shunt.redistribute %{{.*}} : tensor<?x4096xf8E4M3FN, #shunt.layout<@attn, tokens = [dp, tp]>>, {{.*}} -> tensor<?x4096xf8E4M3FN, #shunt.layout<@dense, tokens = []>>
  %0 = shunt.redistribute %x in %b : tensor<?x4096xf32, #sums>, !b -> tensor<?x4096xf32, #shunt.auto>
  %1 = arith.truncf %0 : tensor<?x4096xf32, #shunt.auto> to tensor<?x4096xf8E4M3FN, #shunt.auto>
  %2 = shunt.redistribute %1 in %b : tensor<?x4096xf8E4M3FN, #shunt.auto>, !b -> tensor<?x4096xf8E4M3FN, #all>
  return %2 : tensor<?x4096xf8E4M3FN, #all>
}

// And the other way around: few bytes travel, then they grow.
// CHECK-LABEL: @widen_after_the_wire
func.func @widen_after_the_wire(%x: tensor<?x4096xbf16, #shared>) -> tensor<?x4096xf32, #all> {
  %b = shunt.batch [4096, 4096] : !b
  // CHECK: shunt.redistribute %{{.*}} : tensor<?x4096xbf16, {{.*}} -> tensor<?x4096xbf16, #shunt.layout<@dense, tokens = []>>
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: return
  %0 = shunt.redistribute %x in %b : tensor<?x4096xbf16, #shared>, !b -> tensor<?x4096xbf16, #shunt.auto>
  %1 = arith.extf %0 : tensor<?x4096xbf16, #shunt.auto> to tensor<?x4096xf32, #shunt.auto>
  %2 = shunt.redistribute %1 in %b : tensor<?x4096xf32, #shunt.auto>, !b -> tensor<?x4096xf32, #all>
  return %2 : tensor<?x4096xf32, #all>
}

// A residual that the next block and the addition after it both need on all
// rows travels once.
// CHECK-LABEL: @gathered_once
func.func @gathered_once(%x: tensor<?x512xbf16, #sums>, %y: tensor<?x512xbf16, #sums>, %old: tensor<?x512xbf16, #all>)
    -> (tensor<?x512xbf16, #all>, tensor<?x512xbf16, #all>) {
  %b = shunt.batch [512, 300] : !b
  // CHECK: arith.addf
  // CHECK-COUNT-1: -> tensor<?x512xbf16, #shunt.layout<@dense, tokens = []>>
  // CHECK-NOT: shunt.redistribute
  // CHECK: return
  %0 = shunt.redistribute %x in %b : tensor<?x512xbf16, #sums>, !b -> tensor<?x512xbf16, #shunt.auto>
  %1 = shunt.redistribute %y in %b : tensor<?x512xbf16, #sums>, !b -> tensor<?x512xbf16, #shunt.auto>
  %2 = arith.addf %0, %1 : tensor<?x512xbf16, #shunt.auto>
  %3 = shunt.redistribute %2 in %b : tensor<?x512xbf16, #shunt.auto>, !b -> tensor<?x512xbf16, #all>
  %o = shunt.redistribute %old in %b : tensor<?x512xbf16, #all>, !b -> tensor<?x512xbf16, #shunt.auto>
  %4 = arith.mulf %2, %o : tensor<?x512xbf16, #shunt.auto>
  %5 = shunt.redistribute %4 in %b : tensor<?x512xbf16, #shunt.auto>, !b -> tensor<?x512xbf16, #all>
  return %3, %5 : tensor<?x512xbf16, #all>, tensor<?x512xbf16, #all>
}
