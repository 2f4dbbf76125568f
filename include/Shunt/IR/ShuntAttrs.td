//===- ShuntAttrs.td - Layouts and the batch type ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_ATTRS_TD
#define SHUNT_IR_ATTRS_TD

include "Shunt/IR/ShuntDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Shunt_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Shunt_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Shunt_LayoutAttr
    : Shunt_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How the ranks of a mesh hold a tensor of tokens";
  let description = [{
    Encoding of a tensor whose first dimension is the tokens of a batch.
    `tokens` lists the mesh axes that split the tokens, `inner` (one list for
    each further dimension) the axes that split those, `partial` the axes on
    which each rank holds a partial sum. Axes named nowhere replicate.

    For one rank: it holds the rows of all ranks that share its coordinates on
    the `tokens` axes, in mesh order. For all ranks: the tokens are shared out
    as the batch says; splitting by a minor axis alone is a strided layout.

    ```mlir
    tensor<?x64xf32, #shunt.layout<@attn, tokens = [dp, cp], partial = [tp]>>
    tensor<?x8x32xf32, #shunt.layout<@moe, tokens = [dp], inner = [[ep], [tp]]>>
    ```

    **Constraints:**
    - An axis is used once, in `tokens`, `inner` or `partial`.
    - `inner` is absent or has one list for each dimension after the first.
    - The tensor has at least one dimension.
  }];
  let parameters = (ins
    "mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"mlir::StringAttr">:$tokens,
    OptionalParameter<"mlir::ArrayAttr">:$inner,
    OptionalArrayRefParameter<"mlir::StringAttr">:$partial);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Axes that split dimension `dim` (≥ 1).
    llvm::ArrayRef<mlir::Attribute> getInnerAxes(unsigned dim) const;
    /// Same layout with other token and partial axes.
    LayoutAttr withAxes(llvm::ArrayRef<mlir::StringAttr> tokens,
                        llvm::ArrayRef<mlir::StringAttr> partial) const;
    bool isPartial() const { return !getPartial().empty(); }
  }];
}

def Shunt_ShardAttr
    : Shunt_Attr<"Shard", "shard", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How the ranks of a mesh hold a tensor without tokens";
  let description = [{
    Encoding of a weight: one list of mesh axes for each dimension; the
    dimension is cut into equal blocks, by the axes major to minor.

    ```mlir
    tensor<8x64x32xf32, #shunt.shard<@moe, [[ep], [], [tp]]>>
    ```

    **Constraints:**
    - One list for each dimension.
    - An axis is used once.
    - A split dimension is static.
  }];
  let parameters = (ins "mlir::FlatSymbolRefAttr":$mesh,
                        "mlir::ArrayAttr":$dims);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Shunt_AutoAttr : Shunt_Attr<"Auto", "auto", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A layout that is still to be decided";
  let description = [{
    Encoding of a tensor of tokens whose layout `shunt-assign-layouts` is free
    to choose: what token-wise ops (norm, residual add) between blocks have.

    ```mlir
    %1 = shunt.redistribute %0 in %b : tensor<?x64xf32, #full>, !b
      -> tensor<?x64xf32, #shunt.auto>
    ```
  }];
  let assemblyFormat = "";
}

def Shunt_BatchType : TypeDef<Shunt_Dialect, "Batch"> {
  let mnemonic = "batch";
  let summary = "The tokens of one step";
  let description = [{
    How many tokens each owner has: the run-time fact, uniform on all ranks.
    The type holds what is static: the *home* mesh, the `owners` axes (major to
    minor) whose coordinates have a count each, which of them hold copies of the
    same tokens (`replicas`), and the rule by which the other axes of the mesh
    `split` an owner's rows.

    ```mlir
    !shunt.batch<@attn, owners = [dp, cp], replicas = [cp], split = "balanced">
    ```

    **Constraints:**
    - Owner axes are listed once; a replica axis is an owner axis.
    - The split rule is `balanced`, `ceil`, `align` or `align:M`.
  }];
  let parameters = (ins
    "mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"mlir::StringAttr">:$owners,
    OptionalArrayRefParameter<"mlir::StringAttr">:$replicas,
    "mlir::StringAttr":$split);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

/// Values are those of the enums of shunt/moe.h.
class Shunt_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::shunt";
  let genSpecializedAttr = 0;
}
class Shunt_EnumAttr<EnumInfo info, string attrMnemonic>
    : EnumAttr<Shunt_Dialect, info, attrMnemonic> {
  let assemblyFormat = "$value";
}

def Shunt_MoePlacement : Shunt_Enum<
    "MoePlacement", "which experts a rank holds",
    [I32EnumAttrCase<"Even", 0, "even">,
     I32EnumAttrCase<"Balanced", 1, "balanced">,
     I32EnumAttrCase<"Table", 2, "table">]>;
def Shunt_MoePlacementAttr : Shunt_EnumAttr<Shunt_MoePlacement, "placement">;

def Shunt_MoeAlgorithm : Shunt_Enum<
    "MoeAlgorithm", "how routed rows travel",
    [I32EnumAttrCase<"AllToAll", 0, "all_to_all">,
     I32EnumAttrCase<"AllGather", 1, "all_gather">,
     I32EnumAttrCase<"AllToAllDedup", 2, "all_to_all_dedup">,
     I32EnumAttrCase<"Hierarchical", 3, "hierarchical">,
     I32EnumAttrCase<"Local", 4, "local">]>;
def Shunt_MoeAlgorithmAttr : Shunt_EnumAttr<Shunt_MoeAlgorithm, "algorithm">;

def Shunt_MoeOrder : Shunt_Enum<
    "MoeOrder", "in which order combine adds up the slots of a token",
    [I32EnumAttrCase<"Slot", 0, "slot">,
     I32EnumAttrCase<"Expert", 1, "expert">,
     I32EnumAttrCase<"RankSlot", 2, "rank_slot">,
     I32EnumAttrCase<"NodeRankSlot", 3, "node_rank_slot">,
     I32EnumAttrCase<"Tree", 4, "tree">]>;
def Shunt_MoeOrderAttr : Shunt_EnumAttr<Shunt_MoeOrder, "order">;

def Shunt_MoeOverflow : Shunt_Enum<
    "MoeOverflow", "what becomes of rows over the capacity",
    [I32EnumAttrCase<"Error", 0, "error">,
     I32EnumAttrCase<"DropLast", 1, "drop_last">,
     I32EnumAttrCase<"DropLowest", 2, "drop_lowest">]>;
def Shunt_MoeOverflowAttr : Shunt_EnumAttr<Shunt_MoeOverflow, "overflow">;

def Shunt_MoeScore : Shunt_Enum<
    "MoeScore", "where scores are multiplied in",
    [I32EnumAttrCase<"After", 0, "after">,
     I32EnumAttrCase<"Before", 1, "before">,
     I32EnumAttrCase<"None", 2, "none">]>;
def Shunt_MoeScoreAttr : Shunt_EnumAttr<Shunt_MoeScore, "score">;

def Shunt_RoutedAttr
    : Shunt_Attr<"Routed", "routed",
                 [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How the ranks of a mesh hold rows that a routing sent";
  let description = [{
    Encoding of what `shunt.dispatch` makes: one row for each slot that travels,
    at the rank that holds its expert. `tokens` are the axes that split the
    tokens where they come from, `over` those of them whose ranks exchange rows;
    `inner` and `partial` are as in `#shunt.layout`. How many rows a rank has is
    known at run time only.

    For one rank: rows in the order (expert, source, slot), padded if the
    routing says so; with `rank_major` (source, expert, slot). `scored` rows
    have been multiplied by their score.

    ```mlir
    tensor<?x64xf32, #shunt.routed<@moe, tokens = [dp, ep], over = [ep]>>
    tensor<?x32xf32, #shunt.routed<@moe, tokens = [ep], over = [ep], inner = [[tp]]>>
    ```

    **Constraints:**
    - As for `#shunt.layout`; `over` is part of `tokens`, not empty, each once.
    - The number of rows is dynamic.
  }];
  let parameters = (ins
    "mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"mlir::StringAttr">:$tokens,
    ArrayRefParameter<"mlir::StringAttr">:$over,
    OptionalParameter<"mlir::ArrayAttr">:$inner,
    OptionalArrayRefParameter<"mlir::StringAttr">:$partial,
    DefaultValuedParameter<"bool", "false">:$rankMajor,
    DefaultValuedParameter<"bool", "false">:$scored);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of the tokens that the rows come from, or go back to.
    LayoutAttr getSource() const;
    /// The same rows, whole and complete: equal for values that may meet in a
    /// computation.
    RoutedAttr getRows() const;
  }];
}

def Shunt_RoutingType : TypeDef<Shunt_Dialect, "Routing"> {
  let mnemonic = "routing";
  let summary = "Which rows go to which expert";
  let description = [{
    What `shunt.route` makes of expert ids and dispatch and combine share:
    tokens that the axes `tokens` split choose `top_k` of `experts` experts,
    which the ranks of each group over the axes `over` hold together.

    ```mlir
    !shunt.routing<@moe, tokens = [dp, ep], over = [ep], experts = 8, top_k = 2>
    ```

    **Constraints:**
    - Axes as for `#shunt.routed`.
    - `experts` and `top_k` are at least 1.
  }];
  let parameters = (ins
    "mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"mlir::StringAttr">:$tokens,
    ArrayRefParameter<"mlir::StringAttr">:$over,
    "int64_t":$experts,
    "int64_t":$topK);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of the tokens.
    LayoutAttr getSource() const;
  }];
}

def Shunt_LocalRoutingType : TypeDef<Shunt_Dialect, "LocalRouting"> {
  let mnemonic = "local.routing";
  let summary = "A routing as one rank has it";
  let description = [{
    Made by `shunt.local.route`, given back by `shunt.local.release`. A handle
    of the runtime library in the end.
  }];
}

#endif // SHUNT_IR_ATTRS_TD
