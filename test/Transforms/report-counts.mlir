// RUN: shunt-opt %s --shunt-report-counts -verify-diagnostics

shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>

#scattered = #shunt.layout<@moe, tokens = [dp, tp]>
#gathered = #shunt.layout<@moe, tokens = [dp]>
!b = !shunt.batch<@attn, owners = [dp]>

func.func @literal_batch(%x: tensor<?x64xf32, #scattered>) -> tensor<?x64xf32, #gathered> {
  %b = shunt.batch [5, 3] : !b
  // expected-remark @below {{ranks pass [3, 2, 2, 1] rows}}
  %y = shunt.all_gather %x in %b over [tp]
    : tensor<?x64xf32, #scattered>, !b -> tensor<?x64xf32, #gathered>
  return %y : tensor<?x64xf32, #gathered>
}

func.func @batch_of_the_step(%b: !b, %x: tensor<?x64xf32, #scattered>) -> tensor<?x64xf32, #gathered> {
  // expected-remark @below {{counts are known at run time only}}
  %y = shunt.all_gather %x in %b over [tp]
    : tensor<?x64xf32, #scattered>, !b -> tensor<?x64xf32, #gathered>
  return %y : tensor<?x64xf32, #gathered>
}
