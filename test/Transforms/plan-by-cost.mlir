// RUN: shunt-opt %s --shunt-plan --remarks-filter=shunt-plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: shunt-opt %s --shunt-plan --shunt-localize --shunt-verify-plan -o /dev/null
// RUN: shunt-run %s --check

// Where the cluster says what its links are, the chain of least modelled time
// is taken, through layouts of strided ownership where these are cheaper. They
// are of a mesh of the digits that both meshes share.

// CHECK: shunt.mesh @attn_moe on @pod <tp0 = 2, tp1 = 2, ep = 2>
shunt.cluster @pod {nodes = 2, ranks_per_node = 4, preset = "h100"}
shunt.mesh @attn on @pod <dp = 2, tp = 4>
shunt.mesh @moe on @pod <tp = 4, ep = 2>
!b = !shunt.batch<@attn, owners = [dp]>
#sums = #shunt.layout<@attn, tokens = [dp], partial = [tp]>
#rows = #shunt.layout<@attn, tokens = [dp]>
#all = #shunt.layout<@moe, tokens = []>
#strided = #shunt.layout<@moe, tokens = [tp]>

func.func @main(%wide: tensor<?x8192xbf16, #sums>, %narrow: tensor<?x8xbf16, #sums>, %complete: tensor<?x8xbf16, #rows>)
    -> (tensor<?x8192xbf16, #all>, tensor<?x8xbf16, #all>, tensor<?x8xbf16, #strided>) {
  %b = shunt.batch [0, 65] : !b

  // REMARK: by rules [[RULES:.*]] us", Remark="wide: reduce_scatter over tp (in_network), relabel to @moe, all_gather over tp·ep ({{[a-z]+}}); [[RULES]] us, {{.*}} % above the bound", bytes_of_busiest_rank={{[1-9][0-9]*}}, rounds=2
  // CHECK: shunt.reduce_scatter {{.*}} over [tp]
  // CHECK-NEXT: shunt.relabel
  // CHECK-NEXT: shunt.all_gather {{.*}} over [tp, ep]
  %1 = shunt.redistribute %wide in %b {step = "wide"} : tensor<?x8192xbf16, #sums>, !b -> tensor<?x8192xbf16, #all>

  // Latency counts: the fast links first, and only then those between nodes.
  // REMARK: Remark="narrow: relabel to @attn_moe, all_reduce over tp1·ep (in_network), all_gather over tp0 (direct), relabel to @moe;
  // CHECK-NEXT: shunt.relabel {{.*}} -> {{.*}}<@attn_moe, tokens = [tp0], partial = [tp1, ep]>
  // CHECK-NEXT: shunt.all_reduce {{.*}} over [tp1, ep] counts [0, 0, 0, 0, 65, 65, 65, 65]
  // CHECK-NEXT: shunt.all_gather {{.*}} over [tp0] counts [0, 0, 0, 0, 65, 65, 65, 65]
  // CHECK-NEXT: shunt.relabel {{.*}} -> {{.*}}<@moe, tokens = []>
  %2 = shunt.redistribute %narrow in %b {step = "narrow"} : tensor<?x8xbf16, #sums>, !b -> tensor<?x8xbf16, #all>

  // Ranks hold all rows that they are to have.
  // REMARK: Remark="complete: relabel to @attn_moe, slice over tp1, relabel to @moe; 0.0 us, 0.0 % above the bound"
  // CHECK-NEXT: shunt.relabel
  // CHECK-NEXT: shunt.slice {{.*}} over [tp1]
  // CHECK-NEXT: shunt.relabel
  // CHECK-NEXT: return
  %3 = shunt.redistribute %complete in %b {step = "complete"} : tensor<?x8xbf16, #rows>, !b -> tensor<?x8xbf16, #strided>
  return %1, %2, %3 : tensor<?x8192xbf16, #all>, tensor<?x8xbf16, #all>, tensor<?x8xbf16, #strided>
}
