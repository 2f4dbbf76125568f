//===- ShuntOps.td - Clusters, meshes, batches and layout transitions ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_OPS_TD
#define SHUNT_IR_OPS_TD

include "Shunt/IR/ShuntOpBase.td"

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

def Shunt_ClusterOp : Shunt_Op<"cluster", [Symbol]> {
  let summary = "The machines that the ranks run on";
  let description = [{
    `nodes` machines of `ranks_per_node` ranks; rank r runs on node
    r / ranks_per_node.

    ```mlir
    shunt.cluster @pod {nodes = 2, ranks_per_node = 8, preset = "h200-nvl8-cx7"}
    ```

    **Constraints:**
    - `nodes` and `ranks_per_node` are at least 1.
    - They multiply to at most 2^20 ranks.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       DefaultValuedAttr<I64Attr, "1">:$nodes,
                       I64Attr:$ranks_per_node,
                       OptionalAttr<StrAttr>:$preset);
  let assemblyFormat = "$sym_name attr-dict";
  let extraClassDeclaration = [{
    /// Ranks, at most this many.
    static constexpr int64_t kMaxWorld = int64_t(1) << 20;
    /// The ranks of all nodes; 0 when the numbers are out of range.
    int64_t getWorld();
  }];
  let hasVerifier = 1;
}

def Shunt_MeshOp
    : Shunt_Op<"mesh", [Symbol, DeclareOpInterfaceMethods<
                                    SymbolUserOpInterface>]> {
  let summary = "The ranks of a cluster as coordinates";
  let description = [{
    A factorisation of the ranks; the last axis varies fastest. Several meshes
    view the same ranks. `devices`, if given, lists the rank at each linear
    position.

    ```mlir
    shunt.mesh @attn on @pod <dp = 4, cp = 1, tp = 4>
    shunt.mesh @odd on @pod <a = 2, b = 2> devices [0, 2, 1, 3]
    ```

    **Constraints:**
    - Axis names are unique and not empty, sizes at least 1.
    - The cluster exists; the sizes multiply to its ranks.
    - `devices` is a permutation of the ranks.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$cluster,
                       StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes,
                       OptionalAttr<DenseI64ArrayAttr>:$devices);
  let assemblyFormat = [{
    $sym_name `on` $cluster custom<MeshAxes>($axis_names, $axis_sizes)
    (`devices` custom<I64List>($devices)^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

def Shunt_BatchOp
    : Shunt_Op<"batch", [Pure, DeclareOpInterfaceMethods<
                                   SymbolUserOpInterface>]> {
  let summary = "Makes the batch of a step from its counts";
  let description = [{
    One count for each part, that is each coordinate of the owner axes, major
    to minor: either literally or from a tensor that is the same on all ranks.
    Rows include padding; `valid`, if given, are the real ones among them.

    ```mlir
    %b = shunt.batch [5, 3] : !shunt.batch<@attn, owners = [dp]>
    %p = shunt.batch [8, 8] valid [5, 3] : !shunt.batch<@attn, owners = [dp]>
    %d = shunt.batch from %n : tensor<2xi64> -> !shunt.batch<@attn, owners = [dp]>
    ```

    **Constraints:**
    - Literal counts or a tensor, not both; `valid` stands with literal counts.
    - One count for each part; none negative; replicas have equal counts.
    - A valid count is at most its count.
    - The mesh of the type exists and has its axes.
  }];
  let arguments = (ins Optional<1DTensorOf<[I64]>>:$from,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       OptionalAttr<DenseI64ArrayAttr>:$valid);
  let results = (outs Shunt_BatchType:$result);
  let assemblyFormat = [{
    (custom<LeadingI64List>($rows)^ (`valid` custom<I64List>($valid)^)?)?
    (`from` $from^ `:` type($from) `->`):(`:`)? qualified(type($result))
    attr-dict
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Shunt_GatherBatchOp
    : Shunt_Op<"gather_batch",
               [MemoryEffects<[MemRead<Shunt_Communicator>,
                               MemWrite<Shunt_Communicator>]>,
                DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Exchanges counts: makes the batch from each rank's own count";
  let description = [{
    For one rank: contributes the rows it computes attention on. For all ranks:
    an all-gather of one integer each; the result is uniform. Ranks of one part
    must contribute the same count (a run-time error names them otherwise).

    ```mlir
    %b = shunt.gather_batch %n : i64 -> !shunt.batch<@attn, owners = [dp]>
    ```

    **Constraints:**
    - The mesh of the type exists and has its axes.
  }];
  let arguments = (ins I64:$rows);
  let results = (outs Shunt_BatchType:$result);
  let assemblyFormat = [{
    $rows attr-dict `:` type($rows) `->` qualified(type($result))
  }];
}

def Shunt_TokenCountsOp
    : Shunt_Op<"token_counts", [Pure, DeclareOpInterfaceMethods<
                                          SymbolUserOpInterface>]> {
  let summary = "Rows that each rank holds under a layout";
  let description = [{
    A table with one entry per world rank, uniform: the same value on all ranks.
    Folds to a constant when the batch is a literal. With `valid`, padding rows
    are not counted.

    ```mlir
    %c = shunt.token_counts %b : !shunt.batch<@attn, owners = [dp]>,
      #shunt.layout<@attn, tokens = [dp, tp]> -> tensor<4xi64>
    ```

    **Constraints:**
    - The axes of the layout are axes of its mesh.
    - The mesh of the layout and of the batch have the same cluster.
    - The result has one entry for each rank of the world.
  }];
  let arguments = (ins Shunt_BatchType:$batch, Shunt_LayoutAttr:$layout,
                       UnitAttr:$valid);
  let results = (outs 1DTensorOf<[I64]>:$result);
  let assemblyFormat = [{
    (`valid` $valid^)? $batch attr-dict `:` qualified(type($batch)) `,`
    qualified($layout) `->` type($result)
  }];
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Logical level
//===----------------------------------------------------------------------===//

def Shunt_RedistributeOp
    : Shunt_Op<"redistribute", [Pure, DeclareOpInterfaceMethods<
                                          SymbolUserOpInterface>]> {
  let summary = "Takes tokens to another layout, completing partial sums";
  let description = [{
    The abstract transition that `shunt-plan` turns into collectives. Partial
    axes of the operand that the result does not have are summed. `step` names
    the place in the model for reports.

    ```mlir
    %y = shunt.redistribute %x in %b {step = "pre_moe"}
      : tensor<?x64xf32, #scattered>, !b -> tensor<?x64xf32, #gathered>
    ```

    **Constraints:**
    - Operand and result differ in their encoding only.
    - The result is not partial on an axis on which the operand is complete.
    - Meshes and axes exist and view the batch's cluster.
    - A static number of tokens is the batch's where that is a literal, and a
      static inner dimension is divided by the axes that split it.
  }];
  let arguments = (ins Shunt_TokenTensor:$input, Shunt_BatchType:$batch,
                       OptionalAttr<StrAttr>:$step);
  let results = (outs Shunt_TokenTensor:$result);
  let assemblyFormat = [{
    $input `in` $batch attr-dict `:` type($input) `,` qualified(type($batch))
    `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Collective level
//===----------------------------------------------------------------------===//

/// A legal layout transition over `axes` of the operand's mesh.
///
/// `counts`, if present, is the derived table (one entry per world rank) of the
/// rows that the members pass, written down for the reader and verified.
/// `given` is a table that came with hand-written IR and is not trusted:
/// `shunt-rewrite-token-counts` replaces it, every lowering refuses a wrong one.
///
/// In a result type the order of `tokens` and `partial` is free: they are sets.
class Shunt_CollectiveOp<string mnemonic>
    : Shunt_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<
                                    SymbolUserOpInterface>]> {
  let arguments = (ins Shunt_LaidOutTensor:$input, Shunt_BatchType:$batch,
                       StrArrayAttr:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$counts,
                       Optional<TensorRankOf<[I64], [1, 2]>>:$given,
                       OptionalAttr<StrAttr>:$step);
  let results = (outs Shunt_LaidOutTensor:$result);
  let assemblyFormat = [{
    $input `in` $batch `over` custom<AxisNames>($axes)
    (`counts` custom<I64List>($counts)^)?
    (`given` `(` $given^ `:` type($given) `)`)?
    attr-dict `:` type($input) `,` qualified(type($batch)) `->`
    type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Shunt_AllGatherOp : Shunt_CollectiveOp<"all_gather"> {
  let summary = "Gathers token rows over mesh axes";
  let description = [{
    For one rank: receives the rows of all members of its group over `axes`.
    For all ranks: the axes no longer split the tokens; counts are those of the
    operand.

    ```mlir
    %1 = shunt.all_gather %0 in %b over [ep, tp] counts [3, 2, 2, 1]
      : tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>, !b
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp]>>
    ```

    **Constraints:**
    - Operand and result differ in their encoding only and have one mesh, which
      views the batch's cluster. The axes exist; each is listed once.
    - The axes split the tokens of the operand.
    - The result's layout is the operand's without these axes in `tokens`.
    - `counts`, and a `given` table, have one entry for each rank (`given` may
      be a row for each rank: what that rank would pass).
    - `counts` agrees with layout and batch where the batch is a literal.
  }];
}

def Shunt_ReduceScatterOp : Shunt_CollectiveOp<"reduce_scatter"> {
  let summary = "Sums partial rows over mesh axes and scatters them";
  let description = [{
    For one rank: receives the sums of its share of the group's rows. For all
    ranks: the axes are no longer partial and split the tokens instead; counts
    are those of the result.

    ```mlir
    %1 = shunt.reduce_scatter %0 in %b over [tp]
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>,
        !b -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
    ```

    **Constraints:**
    - Types, axes, `counts` and `given` as for all_gather.
    - The operand is partial on the axes.
    - The result has them in `tokens`, and is else as the operand.
  }];
}

def Shunt_AllReduceOp : Shunt_CollectiveOp<"all_reduce"> {
  let summary = "Sums partial rows over mesh axes, all rows on all members";
  let description = [{
    For one rank: its rows, complete. For all ranks: the axes are no longer
    partial and replicate.

    ```mlir
    %1 = shunt.all_reduce %0 in %b over [tp]
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp], partial = [tp]>>,
        !b -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp]>>
    ```

    **Constraints:**
    - Types, axes, `counts` (the rows each rank holds) and `given` as for
      all_gather.
    - The operand is partial on the axes; the result is as the operand without.
  }];
}

def Shunt_AllToAllOp : Shunt_CollectiveOp<"all_to_all"> {
  let summary = "Exchanges token rows: some axes split them, others no longer";
  let description = [{
    For one rank: sends the rows that others need and keeps what it needs
    itself. For all ranks: the token axes of the operand's layout become those
    of the result's; `axes` are those in which the two differ. Counts are a
    matrix, which is derived only.

    ```mlir
    %1 = shunt.all_to_all %0 in %b over [dp, tp]
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp]>>, !b
      -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [tp]>>
    ```

    **Constraints:**
    - Types and axes as for all_gather.
    - Operand and result are complete and differ in `tokens` only.
    - `axes` are exactly those in one `tokens` list and not in the other.
    - No `counts` and no `given`.
  }];
}

def Shunt_SliceOp : Shunt_CollectiveOp<"slice"> {
  let summary = "Keeps a rank's share of replicated rows";
  let description = [{
    No communication. For one rank: drops the rows that other members keep. For
    all ranks: axes that replicated the rows split them.

    ```mlir
    %1 = shunt.slice %0 in %b over [tp]
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp]>>, !b
      -> tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, tp]>>
    ```

    **Constraints:**
    - Types, axes, `counts` and `given` as for reduce_scatter.
    - The axes are unused in the operand's layout, and in `tokens` of the
      result's, which is else the same.
  }];
}

def Shunt_RelabelOp
    : Shunt_Op<"relabel", [Pure, DeclareOpInterfaceMethods<
                                     SymbolUserOpInterface>]> {
  let summary = "States the same rows in terms of another mesh";
  let description = [{
    No communication, no copy: every rank holds the same rows in the same order
    under both layouts, and partial sums over the same groups.

    ```mlir
    %1 = shunt.relabel %0 in %b
      : tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, tp]>>, !b
      -> tensor<?x64xf32, #shunt.layout<@moe, tokens = [dp, ep, tp]>>
    ```

    **Constraints:**
    - Operand and result differ in their encoding only; their meshes view the
      batch's cluster.
    - All ranks hold the same rows under both layouts.
    - Partial axes form the same groups.
    - Every rank holds the same block of the inner dimensions.
  }];
  let arguments = (ins Shunt_LaidOutTensor:$input, Shunt_BatchType:$batch);
  let results = (outs Shunt_LaidOutTensor:$result);
  let assemblyFormat = [{
    $input `in` $batch attr-dict `:` type($input) `,` qualified(type($batch))
    `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Local level
//===----------------------------------------------------------------------===//

def Shunt_RankOp : Shunt_Op<"rank", [Pure]> {
  let summary = "This rank's number in the world";
  let description = [{
    Not uniform: what depends on it must not control a collective.

    ```mlir
    %r = shunt.rank
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Shunt_GroupIndexOp : Shunt_Op<"group_index", [Pure]> {
  let summary = "This rank's position in its group";
  let description = [{
    `groups` lists all groups, one a row. Not uniform.

    ```mlir
    %i = shunt.group_index groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
    ```

    **Constraints:**
    - The groups are a partition of the ranks 0 … n-1.
  }];
  let arguments = (ins I64ElementsAttr:$groups);
  let results = (outs Index:$result);
  let assemblyFormat = "`groups` $groups attr-dict";
  let hasVerifier = 1;
}

class Shunt_LocalCountedOp<string mnemonic>
    : Shunt_LocalOp<mnemonic, (ins Shunt_Rows:$input, Shunt_Rows:$init,
                                   Shunt_CountTable:$counts,
                                   I64ElementsAttr:$groups,
                                   OptionalAttr<StrAttr>:$step)> {
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `counts` `(` $counts `:` type($counts) `)` `groups` $groups attr-dict
    (`->` type($results)^)?
  }];
}

def Shunt_LocalAllGatherOp : Shunt_LocalCountedOp<"all_gather"> {
  let summary = "Ragged all-gather of this rank's rows";
  let description = [{
    Every member passes `counts[its rank]` rows and receives those of all, in
    group order.

    ```mlir
    %1 = shunt.local.all_gather ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>)
      groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x64xf32>
    ```

    **Constraints:**
    - The groups are a partition of the ranks 0 … n-1; the table has an entry
      for each.
    - All operands are tensors without encoding, or all memrefs. Rows differ in
      their number only; result and `init` have one type.
    - Where rows and counts are static, they agree.
  }];
}

def Shunt_LocalReduceScatterOp : Shunt_LocalCountedOp<"reduce_scatter"> {
  let summary = "Ragged reduce-scatter of this rank's partial rows";
  let description = [{
    Every member passes all rows of the group, the sum of its counts, and
    receives the sums of the `counts[its rank]` rows that are its own.

    ```mlir
    %1 = shunt.local.reduce_scatter ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>)
      groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x64xf32>
    ```

    **Constraints:** as for local.all_gather.
  }];
}

def Shunt_LocalSliceOp : Shunt_LocalCountedOp<"slice"> {
  let summary = "Keeps this rank's share of the group's rows";
  let description = [{
    Like local.reduce_scatter of complete rows: takes `counts[its rank]` rows at
    the sum of the counts of the members before it. No communication.

    ```mlir
    %1 = shunt.local.slice ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) counts(%c : tensor<4xi64>)
      groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> -> tensor<?x64xf32>
    ```

    **Constraints:** as for local.all_gather.
  }];
}

def Shunt_LocalAllReduceOp
    : Shunt_LocalOp<"all_reduce", (ins Shunt_Rows:$input, Shunt_Rows:$init,
                                       I64ElementsAttr:$groups,
                                       OptionalAttr<StrAttr>:$step)> {
  let summary = "Sums the rows of all members";
  let description = [{
    ```mlir
    %1 = shunt.local.all_reduce ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) groups dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
      -> tensor<?x64xf32>
    ```

    **Constraints:**
    - Groups and operands as for local.all_gather; input, `init` and result have
      one shape.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `groups` $groups attr-dict (`->` type($results)^)?
  }];
}

def Shunt_LocalAllToAllOp
    : Shunt_LocalOp<"all_to_all", (ins Shunt_Rows:$input, Shunt_Rows:$init,
                                       Shunt_CountTable:$counts,
                                       I64ElementsAttr:$groups,
                                       OptionalAttr<StrAttr>:$step)> {
  let summary = "Ragged all-to-all of this rank's rows";
  let description = [{
    `counts` is a matrix, entry [s, d] the rows that rank s sends to rank d. A
    rank's rows are ordered by destination and arrive ordered by source, in
    group order.

    ```mlir
    %1 = shunt.local.all_to_all ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) counts(%m : tensor<4x4xi64>)
      groups dense<[[0, 1, 2, 3]]> : tensor<1x4xi64> -> tensor<?x64xf32>
    ```

    **Constraints:**
    - Groups and operands as for local.all_gather.
    - The matrix is square over the ranks; where it and the rows are static,
      they agree.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `counts` `(` $counts `:` type($counts) `)` `groups` $groups attr-dict
    (`->` type($results)^)?
  }];
}

def Shunt_LocalPermuteOp
    : Shunt_LocalOp<"permute", (ins Shunt_Rows:$input, Shunt_Rows:$init,
                                    Shunt_CountTable:$counts,
                                    I64ElementsAttr:$from,
                                    I64ElementsAttr:$to)> {
  let summary = "Reorders blocks of this rank's rows";
  let description = [{
    Row r of `from` lists the cells (numbers of the ranks whose rows they are)
    that rank r's input consists of, row r of `to` those of its result, in
    order; the cell of rank c has `counts[c]` rows. Cells may be dropped or
    repeated; -1 fills up a row that lists fewer cells than others. No
    communication.

    ```mlir
    %1 = shunt.local.permute ins(%x : tensor<?x64xf32>)
      outs(%o : tensor<?x64xf32>) counts(%c : tensor<2xi64>)
      from dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>
      to dense<[[1, 0], [1, 0]]> : tensor<2x2xi64> -> tensor<?x64xf32>
    ```

    **Constraints:**
    - Operands as for local.all_gather; one count for each rank.
    - One row for each rank in `from` and `to`; cells are ranks, or -1 at the
      end of a row; a cell of `to` is in `from`.
    - Where rows and counts are static, they agree.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `counts` `(` $counts `:` type($counts) `)` `from` $from `to` $to attr-dict
    (`->` type($results)^)?
  }];
}

/// A local op that computes count tables, where the batch is a run-time value.
class Shunt_LocalTableOp<string mnemonic>
    : Shunt_LocalOp<mnemonic, (ins Shunt_CountTable:$input,
                                   Shunt_CountTable:$init,
                                   TypeAttrOf<Shunt_BatchType>:$batch)> {
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `of` $batch attr-dict (`->` type($results)^)?
  }];
}

def Shunt_LocalPartCountsOp : Shunt_LocalTableOp<"part_counts"> {
  let summary = "Counts of each part, from what every rank says";
  let description = [{
    Takes one count for each rank of the world. Ranks that share a part must say
    the same; at run time an error names them otherwise [E_TP_PEER_COUNTS].

    ```mlir
    %n = shunt.local.part_counts ins(%t : tensor<4xi64>)
      outs(%o : tensor<2xi64>) of !shunt.batch<@attn, owners = [dp]>
      -> tensor<2xi64>
    ```

    **Constraints:**
    - Tables have one dimension; result and `init` have one type.
  }];
}

def Shunt_LocalCellCountsOp : Shunt_LocalTableOp<"cell_counts"> {
  let summary = "Rows of each rank's cell, from the counts of the parts";
  let description = [{
    Takes one count for each part of the batch, gives one for each rank of the
    world: the rows that are its own when everything is scattered. A run-time
    error names a negative count, or replicas that differ.

    ```mlir
    %c = shunt.local.cell_counts ins(%n : tensor<2xi64>)
      outs(%o : tensor<4xi64>) of !shunt.batch<@attn, owners = [dp]>
      -> tensor<4xi64>
    ```

    **Constraints:**
    - Tables have one dimension; result and `init` have one type.
  }];
}

def Shunt_LocalSumCellsOp
    : Shunt_LocalOp<"sum_cells", (ins Shunt_CountTable:$input,
                                      Shunt_CountTable:$init,
                                      I64ElementsAttr:$cells)> {
  let summary = "Sums the counts of lists of cells";
  let description = [{
    Entry i of the result is the sum of the counts of the cells in row i of
    `cells`, where -1 fills up shorter rows. A matrix is filled row by row.

    ```mlir
    %t = shunt.local.sum_cells ins(%c : tensor<2xi64>) outs(%o : tensor<2xi64>)
      cells dense<[[0, 1], [0, 1]]> : tensor<2x2xi64> -> tensor<2xi64>
    ```

    **Constraints:**
    - `cells` has a row for each entry of the result; cells are entries of
      the operand, or -1.
    - Result and `init` have one type.
  }];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)`
    `cells` $cells attr-dict (`->` type($results)^)?
  }];
}

def Shunt_ExchangeCountsOp
    : Shunt_Op<"exchange_counts", [Pure, DeclareOpInterfaceMethods<
                                             SymbolUserOpInterface>]> {
  let summary = "Rows that each rank sends to each between two layouts";
  let description = [{
    A matrix over the world, entry [s, d] the rows that rank s sends to rank d
    when complete rows go from layout `from` to layout `to`. Uniform; folds when
    the batch is a literal.

    ```mlir
    %m = shunt.exchange_counts %b : !b, #a to #c -> tensor<4x4xi64>
    ```

    **Constraints:**
    - The layouts' meshes and the batch's have one cluster.
    - Both layouts are complete.
    - The result is square over the ranks of the world.
  }];
  let arguments = (ins Shunt_BatchType:$batch, Shunt_LayoutAttr:$from,
                       Shunt_LayoutAttr:$to);
  let results = (outs 2DTensorOf<[I64]>:$result);
  let assemblyFormat = [{
    $batch attr-dict `:` qualified(type($batch)) `,` qualified($from) `to`
    qualified($to) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

include "Shunt/IR/ShuntMoe.td"

#endif // SHUNT_IR_OPS_TD
