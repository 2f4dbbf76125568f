// RUN: shunt-opt %s --shunt-localize -verify-diagnostics -split-input-file

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [ep]>
func.func @not_planned(%b: !b, %ids: tensor<?x2xi32, #l>) {
  // expected-error @below {{has no algorithm yet; run shunt-plan first, or state one [X_NOT_PLANNED]}}
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #l>, !b -> !r
  return
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [ep]>
func.func @passed_on(%b: !b, %ids: tensor<?x2xi32, #l>) -> !r {
  %r = shunt.route %ids in %b algorithm all_to_all placement even : tensor<?x2xi32, #l>, !b -> !r
  // expected-error @below {{passes a routing on; use it in the block of its shunt.route, or route again [X_ROUTING]}}
  return %r : !r
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [ep]>
#rows = #shunt.routed<@moe, tokens = [ep], over = [ep]>
func.func @two_orders_of_summation(%b: !b, %ids: tensor<?x2xi32, #l>, %x: tensor<?x8xf32, #l>)
    -> (tensor<?x8xf32, #l>, tensor<?x8xf32, #l>) {
  %r = shunt.route %ids in %b algorithm all_to_all placement even : tensor<?x2xi32, #l>, !b -> !r
  %d = shunt.dispatch %x via %r : !r, tensor<?x8xf32, #l> -> tensor<?x8xf32, #rows>
  // expected-error @below {{adds up in another order, or scored rows with others, than another use of its routing; make a routing for each [X_ROUTING]}}
  %y = shunt.combine %d via %r : !r, tensor<?x8xf32, #rows> -> tensor<?x8xf32, #l>
  // expected-note @below {{other use is here}}
  %z = shunt.combine %d via %r order tree : !r, tensor<?x8xf32, #rows> -> tensor<?x8xf32, #l>
  return %y, %z : tensor<?x8xf32, #l>, tensor<?x8xf32, #l>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @moe on @pod <ep = 4>
!b = !shunt.batch<@moe, owners = [ep]>
!r = !shunt.routing<@moe, tokens = [ep], over = [ep], experts = 8, top_k = 2>
#l = #shunt.layout<@moe, tokens = [ep]>
#rows = #shunt.routed<@moe, tokens = [ep], over = [ep]>
#scored = #shunt.routed<@moe, tokens = [ep], over = [ep], scored>
func.func @scored_twice(%b: !b, %ids: tensor<?x2xi32, #l>, %s: tensor<?x2xf32, #l>,
                        %x: tensor<?x8xf32, #l>) -> tensor<?x8xf32, #l> {
  %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b algorithm all_to_all
    placement even : tensor<?x2xi32, #l>, !b -> !r
  // expected-note @below {{other use is here}}
  %d = shunt.dispatch %x via %r : !r, tensor<?x8xf32, #l> -> tensor<?x8xf32, #scored>
  %e = shunt.dispatch %x via %r : !r, tensor<?x8xf32, #l> -> tensor<?x8xf32, #rows>
  // expected-error @below {{multiplies rows by scores, at another place than another use of its routing; make a routing for each [X_ROUTING]}}
  %y = shunt.combine %e via %r : !r, tensor<?x8xf32, #rows> -> tensor<?x8xf32, #l>
  return %y : tensor<?x8xf32, #l>
}

// -----

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @moe on @pod <ep = 4>
#rows = #shunt.routed<@moe, tokens = [ep], over = [ep]>
func.func @size_unknown(%n: index) -> tensor<?x8xf32, #rows> {
  // expected-error @below {{needs a number of rows under #shunt.routed<@moe, tokens = [ep], over = [ep]>, which is known at run time; take the size from a tensor.dim of a tensor of the same rows [X_NOT_LOCAL]}}
  %e = tensor.empty(%n) : tensor<?x8xf32, #rows>
  return %e : tensor<?x8xf32, #rows>
}
