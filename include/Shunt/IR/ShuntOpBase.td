//===- ShuntOpBase.td - What the ops of shunt have in common ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_OPBASE_TD
#define SHUNT_IR_OPBASE_TD

include "Shunt/IR/ShuntAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Shunt_TokenTensor : Type<
    CPred<"::shunt::isTokenTensor($_self)">,
    "tensor of tokens (encoding #shunt.layout or #shunt.auto)",
    "::mlir::RankedTensorType">;
def Shunt_LaidOutTensor : Type<
    CPred<"::shunt::isLaidOutTensor($_self)">,
    "tensor of tokens with a decided layout (encoding #shunt.layout)",
    "::mlir::RankedTensorType">;

/// What ops that communicate read and write: keeps them, and their order.
def Shunt_Communicator : Resource<"::shunt::CommunicatorResource">;

def Shunt_Rows : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;
def Shunt_CountTable : AnyTypeOf<[TensorRankOf<[I64], [1, 2]>,
                                  MemRefRankOf<[I64], [1, 2]>]>;

/// An op of the local level, in destination-passing style: on tensors the
/// result is `init` with new contents, on memrefs there is no result. `groups`
/// lists all groups, one a row; `counts` has one entry per world rank (or, hand
/// written, a row per rank: the list that it passes, with an entry for each
/// member of its group or for each rank). What communicates reads and writes
/// the communicator also on tensors: it is neither dropped nor merged nor moved
/// across another.
class Shunt_LocalOp<string mnemonic, dag args, list<Trait> traits = []>
    : Shunt_Op<"local." # mnemonic,
               !listconcat([DestinationStyleOpInterface,
                            DeclareOpInterfaceMethods<MemoryEffectsOpInterface>],
                           traits)> {
  let arguments = args;
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

#endif // SHUNT_IR_OPBASE_TD
