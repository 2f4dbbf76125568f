// RUN: shunt-opt %s --canonicalize --cse | FileCheck %s

shunt.cluster @pod {ranks_per_node = 4}
shunt.mesh @wide on @pod <ep = 4>
shunt.mesh @one on @pod <dp = 4, ep = 1>

!wide = !shunt.batch<@wide, owners = [ep]>
!one = !shunt.batch<@one, owners = [dp]>
#wide = #shunt.layout<@wide, tokens = [ep]>
#wide_rows = #shunt.routed<@wide, tokens = [ep], over = [ep]>
#one = #shunt.layout<@one, tokens = [dp, ep]>
#one_rows = #shunt.routed<@one, tokens = [dp, ep], over = [ep]>

// Equal routes are one: counts are exchanged once.
// CHECK-LABEL: func.func @shares_the_routing
// CHECK: %[[R:.*]] = shunt.route
// CHECK-NOT: shunt.route
// CHECK: shunt.dispatch %{{.*}} via %[[R]]
// CHECK: shunt.dispatch %{{.*}} via %[[R]]
func.func @shares_the_routing(%b: !wide, %ids: tensor<?x2xi32, #wide>, %x: tensor<?x8xf32, #wide>,
                              %y: tensor<?x8xf32, #wide>)
    -> (tensor<?x8xf32, #wide_rows>, tensor<?x8xf32, #wide_rows>) {
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #wide>, !wide
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>
  %s = shunt.route %ids in %b placement even : tensor<?x2xi32, #wide>, !wide
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>
  %0 = shunt.dispatch %x via %r
    : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
      tensor<?x8xf32, #wide> -> tensor<?x8xf32, #wide_rows>
  %1 = shunt.dispatch %y via %s
    : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
      tensor<?x8xf32, #wide> -> tensor<?x8xf32, #wide_rows>
  return %0, %1 : tensor<?x8xf32, #wide_rows>, tensor<?x8xf32, #wide_rows>
}

// Another rule is another routing.
// CHECK-LABEL: func.func @keeps_other_placements_apart
// CHECK: shunt.route
// CHECK: shunt.route
func.func @keeps_other_placements_apart(%b: !wide, %ids: tensor<?x2xi32, #wide>)
    -> (!shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
        !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>) {
  %r = shunt.route %ids in %b placement even : tensor<?x2xi32, #wide>, !wide
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>
  %s = shunt.route %ids in %b placement balanced : tensor<?x2xi32, #wide>, !wide
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>
  return %r, %s
    : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
      !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>
}

// Groups of one rank are the local path, whatever was asked for.
// CHECK-LABEL: func.func @one_rank_is_local
// CHECK: shunt.route %{{.*}} algorithm local placement even
func.func @one_rank_is_local(%b: !one, %ids: tensor<?x2xi32, #one>)
    -> !shunt.routing<@one, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2> {
  %r = shunt.route %ids in %b algorithm hierarchical placement even : tensor<?x2xi32, #one>, !one
    -> !shunt.routing<@one, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
  return %r : !shunt.routing<@one, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
}

// One slot has one order.
// CHECK-LABEL: func.func @one_slot
// CHECK: shunt.combine %{{[^ ]*}} via %{{[^ ]*}} :
func.func @one_slot(%r: !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 1>,
                    %y: tensor<?x8xf32, #wide_rows>) -> tensor<?x8xf32, #wide> {
  %o = shunt.combine %y via %r order tree
    : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 1>,
      tensor<?x8xf32, #wide_rows> -> tensor<?x8xf32, #wide>
  return %o : tensor<?x8xf32, #wide>
}

// Of several slots the order matters.
// CHECK-LABEL: func.func @two_slots
// CHECK: shunt.combine %{{.*}} order tree
func.func @two_slots(%r: !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
                     %y: tensor<?x8xf32, #wide_rows>) -> tensor<?x8xf32, #wide> {
  %o = shunt.combine %y via %r order tree
    : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 8, top_k = 2>,
      tensor<?x8xf32, #wide_rows> -> tensor<?x8xf32, #wide>
  return %o : tensor<?x8xf32, #wide>
}

// Counts that are known before the ids are not exchanged.
// CHECK-LABEL: func.func @static_counts
// CHECK: shunt.route %{{.*}} algorithm all_to_all placement even {static_counts = array<i64: 1, 1, 0, 2>}
func.func @static_counts(%b: !wide, %ids: tensor<?x2xi32, #wide>)
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 4, top_k = 2> {
  %r = shunt.route %ids in %b placement even {static_counts = array<i64: 1, 1, 0, 2>}
    : tensor<?x2xi32, #wide>, !wide
    -> !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 4, top_k = 2>
  return %r : !shunt.routing<@wide, tokens = [ep], over = [ep], experts = 4, top_k = 2>
}
