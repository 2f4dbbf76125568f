//===- ShuntMoe.td - Routing, dispatch and combine ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_MOE_TD
#define SHUNT_IR_MOE_TD

include "Shunt/IR/ShuntOpBase.td"

def Shunt_RoutedTensor : Type<
    CPred<"::shunt::isRoutedTensor($_self)">,
    "tensor of routed rows (encoding #shunt.routed)",
    "::mlir::RankedTensorType">;

//===----------------------------------------------------------------------===//
// Logical level
//===----------------------------------------------------------------------===//

def Shunt_RouteOp
    : Shunt_Op<"route", [Pure, DeclareOpInterfaceMethods<
                                   SymbolUserOpInterface>]> {
  let summary = "Makes a routing of expert ids";
  let description = [{
    `ids` [tokens, top_k] are the experts that each token chooses, -1 for a slot
    that is dropped; `scores`, of the same shape, what the experts' rows are
    multiplied by. The result is what dispatch and combine need to know; equal
    routes are one (`--cse`), so counts are exchanged once.

    `placement` says which experts a rank of a group over the axes `over` of the
    type holds: `even` blocks, `balanced` ones where the ranks do not divide the
    experts, or a list for each rank (an expert in several is replicated).
    `algorithm` says how rows travel; without one `shunt-plan` chooses the
    cheapest. All give the same results, and under the order `slot` of combine
    the same bits.

    `static_counts` are the slots that every rank sends to each expert, where
    that is known before the ids (round robin, a fixed pattern): counts are then
    not exchanged, which makes `all_to_all` the algorithm, and ids that say
    otherwise are an error at run time.

    Rows over `capacity`, which one rank sends to one expert, are an `overflow`:
    an error, or the last ones or those with the lowest scores are dropped. A
    rank may receive `bound` rows, of which storage can be taken beforehand.
    Each expert's rows are padded with zero rows to a multiple of `alignment`,
    with `pad_empty` also those of an expert without rows.

    ```mlir
    %r = shunt.route %ids scores(%s : tensor<?x2xf32, #l>) in %b
      algorithm all_to_all placement even : tensor<?x2xi32, #l>, !b
      -> !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
    ```

    **Constraints:**
    - `ids` and `scores` have shape [tokens, top_k] and the layout of the
      routing's tokens: complete, not split inside.
    - Mesh and axes exist and view the batch's cluster.
    - `even` needs a number of experts that the ranks divide; a list for each
      rank names experts only, and every expert.
    - `local` needs groups of one rank.
    - `static_counts` has a count for each expert, none negative, and goes with
      `all_to_all` or `local` and no capacity.
    - `capacity`, `bound` and `alignment` are at least 1; an overflow rule needs
      a capacity, `drop_lowest` scores too.
  }];
  let arguments = (ins Shunt_LaidOutTensor:$ids,
                       Optional<Shunt_LaidOutTensor>:$scores,
                       Shunt_BatchType:$batch,
                       OptionalAttr<Shunt_MoeAlgorithmAttr>:$algorithm,
                       DefaultValuedAttr<Shunt_MoePlacementAttr,
                                         "MoePlacement::Even">:$placement,
                       OptionalAttr<ArrayAttr>:$table,
                       OptionalAttr<DenseI64ArrayAttr>:$static_counts,
                       OptionalAttr<I64Attr>:$capacity,
                       DefaultValuedAttr<Shunt_MoeOverflowAttr,
                                         "MoeOverflow::Error">:$overflow,
                       OptionalAttr<I64Attr>:$bound,
                       DefaultValuedAttr<I64Attr, "1">:$alignment,
                       UnitAttr:$pad_empty,
                       OptionalAttr<StrAttr>:$step);
  let results = (outs Shunt_RoutingType:$result);
  let assemblyFormat = [{
    $ids (`scores` `(` $scores^ `:` type($scores) `)`)? `in` $batch
    (`algorithm` `` $algorithm^)?
    `placement` custom<Placement>($placement, $table) attr-dict
    `:` type($ids) `,` qualified(type($batch)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Shunt_DispatchOp
    : Shunt_Op<"dispatch", [Pure, SameVariadicOperandSize,
                            DeclareOpInterfaceMethods<
                                SymbolUserOpInterface>]> {
  let summary = "Sends the rows of tokens to their experts";
  let description = [{
    For one rank: receives a row for each slot that chose one of its experts.
    Payloads share a routing, e.g. quantised rows and their scales. Whether the
    rows that arrive are `scored` (score before the experts) and whether they
    are `rank_major` is part of the results' types.

    ```mlir
    %rows = shunt.dispatch %x via %r
      : !r, tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp, ep]>>
      -> tensor<?x64xf32, #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>>
    ```

    **Constraints:**
    - At least one payload; a result for each, of the same element type and
      inner dimensions.
    - Payloads are complete and have the layout of the routing's tokens, results
      are routed over its axes; `inner` of a result is that of its payload.
    - All results are rank-major, or none; `rank_major` needs a routing without
      alignment.
    - `scored` rows are f32, bf16 or f16, and the routing has scores.
  }];
  let arguments = (ins Variadic<Shunt_LaidOutTensor>:$payloads,
                       Shunt_RoutingType:$routing, OptionalAttr<StrAttr>:$step);
  let results = (outs Variadic<Shunt_RoutedTensor>:$results);
  let assemblyFormat = [{
    $payloads `via` $routing attr-dict `:` qualified(type($routing)) `,`
    type($payloads) `->` type($results)
  }];
  let hasVerifier = 1;
}

def Shunt_ExpertMatmulOp
    : Shunt_Op<"expert_matmul", [Pure, DeclareOpInterfaceMethods<
                                           SymbolUserOpInterface>]> {
  let summary = "Multiplies each expert's rows by its weights";
  let description = [{
    A grouped matrix product: `weights` [experts, k, n] times `rows` [?, k] is
    [?, n]. For one rank: over its own experts. With expert tensor parallelism
    the result is split over the axes that split n, and a partial sum over those
    that split k.

    ```mlir
    %h = shunt.expert_matmul %rows, %w via %r : !r,
        tensor<?x64xf32, #shunt.routed<@moe, tokens = [ep], over = [ep]>>,
        tensor<8x64x128xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>
      -> tensor<?x128xf32, #shunt.routed<@moe, tokens = [ep], over = [ep], inner = [[tp]]>>
    ```

    **Constraints:**
    - Rows are [?, k], weights [experts, k, n], of one element type f32, bf16 or
      f16 with static sizes; the result is [?, n].
    - The rows are routed by the routing, expert-major, complete; k is split
      alike in rows and weights.
    - The experts are split over the routing's axes, in mesh order, which needs
      an even placement, or not at all (each rank has all weights).
    - `inner` of the result is how the weights split n, `partial` how they split
      k; no axis of the tokens does either.
  }];
  let arguments = (ins Shunt_RoutedTensor:$rows, AnyRankedTensor:$weights,
                       Shunt_RoutingType:$routing);
  let results = (outs Shunt_RoutedTensor:$result);
  let assemblyFormat = [{
    $rows `,` $weights `via` $routing attr-dict `:` qualified(type($routing))
    `,` type($rows) `,` type($weights) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Shunt_CombineOp
    : Shunt_Op<"combine", [Pure, DeclareOpInterfaceMethods<
                                     SymbolUserOpInterface>]> {
  let summary = "Brings experts' rows back and adds them up";
  let description = [{
    For one rank: row t is the sum over the slots k of token t of what the
    expert made of it, times its score unless the rows are `scored`; zero when
    all slots are dropped. Sums are f32 in the stated `order` and rounded once;
    `bias`, e.g. what a shared expert made, is added last.

    `slot` gives the same bits whatever the algorithm and the number of ranks.
    `rank_slot` and `node_rank_slot` let `all_gather`, `all_to_all_dedup` and
    `hierarchical` add up at the experts and send one row for each rank or node.

    ```mlir
    %y = shunt.combine %rows via %r bias(%shared : tensor<?x64xf32, #l>)
      order slot : !r,
        tensor<?x64xf32, #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>>
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp, ep]>>
    ```

    **Constraints:**
    - Element types are f32, bf16 or f16; shapes differ in the number of rows
      only.
    - The rows are routed by the routing; the result has its tokens' layout with
      `inner` and `partial` of the rows. `bias` has the type of the result.
  }];
  let arguments = (ins Shunt_RoutedTensor:$rows, Shunt_RoutingType:$routing,
                       Optional<Shunt_LaidOutTensor>:$bias,
                       DefaultValuedAttr<Shunt_MoeOrderAttr,
                                         "MoeOrder::Slot">:$order,
                       OptionalAttr<StrAttr>:$step);
  let results = (outs Shunt_LaidOutTensor:$result);
  let assemblyFormat = [{
    $rows `via` $routing (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`order` `` $order^)? attr-dict `:` qualified(type($routing)) `,` type($rows)
    `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Local level
//===----------------------------------------------------------------------===//

def Shunt_LocalRouteOp
    : Shunt_Op<"local.route", [DeclareOpInterfaceMethods<
                                   MemoryEffectsOpInterface>]> {
  let summary = "Sorts this rank's slots by expert and exchanges counts";
  let description = [{
    What shunt.route is for one rank, with all that its dispatches and combines
    ask of it. `node_size` consecutive members of a group are on one node.

    ```mlir
    %r = shunt.local.route ins(%ids, %s : tensor<?x2xi32>, tensor<?x2xf32>)
      groups dense<[[0, 1]]> : tensor<1x2xi64> experts 8 algorithm all_to_all
      placement even
    ```

    **Constraints:**
    - The groups are a partition of the ranks 0 … n-1.
    - `ids` are rows of top_k i32, `scores` as many f32; both tensors without
      encoding, or memrefs; `scores` is absent exactly when `score` is `none`.
    - Placement, static counts, capacity, bound, alignment and node size as for
      shunt.route.
  }];
  let arguments = (ins Shunt_Rows:$ids, Optional<Shunt_Rows>:$scores,
                       I64ElementsAttr:$groups, I64Attr:$experts,
                       Shunt_MoeAlgorithmAttr:$algorithm,
                       DefaultValuedAttr<Shunt_MoePlacementAttr,
                                         "MoePlacement::Even">:$placement,
                       OptionalAttr<ArrayAttr>:$table,
                       OptionalAttr<DenseI64ArrayAttr>:$static_counts,
                       DefaultValuedAttr<Shunt_MoeScoreAttr,
                                         "MoeScore::After">:$score,
                       DefaultValuedAttr<Shunt_MoeOrderAttr,
                                         "MoeOrder::Slot">:$order,
                       DefaultValuedAttr<Shunt_MoeOverflowAttr,
                                         "MoeOverflow::Error">:$overflow,
                       OptionalAttr<I64Attr>:$capacity,
                       OptionalAttr<I64Attr>:$bound,
                       DefaultValuedAttr<I64Attr, "1">:$alignment,
                       DefaultValuedAttr<I64Attr, "1">:$node_size,
                       UnitAttr:$pad_empty, UnitAttr:$rank_major,
                       OptionalAttr<StrAttr>:$step);
  let results = (outs Shunt_LocalRoutingType:$result);
  let assemblyFormat = [{
    `ins` `(` $ids (`,` $scores^)? `:` type($ids) (`,` type($scores)^)? `)`
    `groups` $groups `experts` $experts `algorithm` `` $algorithm
    `placement` custom<Placement>($placement, $table) attr-dict
  }];
  let hasVerifier = 1;
}

def Shunt_LocalRoutedRowsOp
    : Shunt_Op<"local.routed_rows",
               [MemoryEffects<[MemRead<Shunt_Communicator>]>]> {
  let summary = "Rows that this rank receives, with padding";
  let description = [{
    ```mlir
    %n = shunt.local.routed_rows %r
    ```
  }];
  let arguments = (ins Shunt_LocalRoutingType:$routing);
  let results = (outs Index:$result);
  let assemblyFormat = "$routing attr-dict";
}

def Shunt_LocalReleaseOp
    : Shunt_Op<"local.release",
               [MemoryEffects<[MemRead<Shunt_Communicator>,
                               MemWrite<Shunt_Communicator>]>]> {
  let summary = "Gives a routing back";
  let description = [{
    ```mlir
    shunt.local.release %r
    ```
  }];
  let arguments = (ins Shunt_LocalRoutingType:$routing);
  let assemblyFormat = "$routing attr-dict";
}

def Shunt_LocalDispatchOp
    : Shunt_LocalOp<"dispatch", (ins Shunt_Rows:$input, Shunt_Rows:$init,
                                     Shunt_LocalRoutingType:$routing,
                                     UnitAttr:$scored,
                                     OptionalAttr<StrAttr>:$step)> {
  let summary = "Sends one payload's rows to the experts";
  let description = [{
    `init` has the rows that shunt.local.routed_rows says. `scored` rows are
    multiplied by their score before they are sent.

    ```mlir
    %1 = shunt.local.dispatch ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) via %r -> tensor<?x64xf32>
    ```

    **Constraints:**
    - Operands as for local.all_gather.
    - `scored` rows are f32, bf16 or f16.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `via` $routing (`scored` $scored^)? attr-dict (`->` type($results)^)?
  }];
}

def Shunt_LocalExpertMatmulOp
    : Shunt_LocalOp<"expert_matmul", (ins Shunt_Rows:$input, Shunt_Rows:$weights,
                                          Shunt_Rows:$init,
                                          Shunt_LocalRoutingType:$routing)> {
  let summary = "Multiplies the rows of this rank's experts by their weights";
  let description = [{
    `weights` are those of this rank's experts, or of all.

    ```mlir
    %1 = shunt.local.expert_matmul ins(%x, %w : tensor<?x64xf32>, tensor<4x64x32xf32>)
      outs(%o : tensor<?x32xf32>) via %r -> tensor<?x32xf32>
    ```

    **Constraints:**
    - Rows [?, k], weights [e, k, n] with static sizes, `init` [?, n], of one
      element type f32, bf16 or f16; all tensors or all memrefs.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `,` $weights `:` type($input) `,` type($weights) `)`
    `outs` `(` $init `:` type($init) `)` `via` $routing attr-dict
    (`->` type($results)^)?
  }];
}

def Shunt_LocalCombineOp
    : Shunt_LocalOp<"combine", (ins Shunt_Rows:$input, Optional<Shunt_Rows>:$bias,
                                    Shunt_Rows:$init,
                                    Shunt_LocalRoutingType:$routing,
                                    OptionalAttr<StrAttr>:$step)> {
  let summary = "Adds up the experts' rows of this rank's tokens";
  let description = [{
    `init` has a row for each token that was routed; score and order are those
    of the routing.

    ```mlir
    %1 = shunt.local.combine ins(%y : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) via %r -> tensor<?x64xf32>
    ```

    **Constraints:**
    - Operands as for local.all_gather, f32, bf16 or f16; `bias` has the type of
      `init`, but for its layout in memory.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $init `:` type($init) `)` `via` $routing attr-dict
    (`->` type($results)^)?
  }];
}

#endif // SHUNT_IR_MOE_TD
