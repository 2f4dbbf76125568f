// RUN: shunt-opt %s --shunt-assign-layouts --remarks-filter=shunt-assign-layouts 2>&1 | FileCheck %s

// Nothing is known of how many rows there are: rules decide, though the links
// are known.

shunt.cluster @pod {ranks_per_node = 8, preset = "h200"}
shunt.mesh @attn on @pod <dp = 2, tp = 4>
shunt.mesh @dense on @pod <tp = 8>
!b = !shunt.batch<@attn, owners = [dp]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#all = #shunt.layout<@dense, tokens = []>

// CHECK: Scattered | Category:shunt-assign-layouts | Function=unknown_counts
// CHECK-LABEL: @unknown_counts
func.func @unknown_counts(%x: tensor<?x64xbf16, #sums>, %b: !b) -> tensor<?x64xbf16, #all> {
  // CHECK: -> tensor<?x64xbf16, #shunt.layout<@attn, tokens = [dp, tp]>>
  %0 = shunt.redistribute %x in %b : tensor<?x64xbf16, #sums>, !b -> tensor<?x64xbf16, #shunt.auto>
  %1 = shunt.redistribute %0 in %b : tensor<?x64xbf16, #shunt.auto>, !b -> tensor<?x64xbf16, #all>
  return %1 : tensor<?x64xbf16, #all>
}
