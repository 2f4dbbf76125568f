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

#endif // SHUNT_IR_ATTRS_TD
