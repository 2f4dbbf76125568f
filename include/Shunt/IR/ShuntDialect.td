//===- ShuntDialect.td - The shunt dialect ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_IR_DIALECT_TD
#define SHUNT_IR_DIALECT_TD

include "mlir/IR/OpBase.td"

def Shunt_Dialect : Dialect {
  let name = "shunt";
  let summary = "Where tokens live, and what moves them";
  let description = [{
    Plans the communication of attention / MoE transformer layers. Tensor
    encodings say how the ranks of a mesh hold a tensor of *all* tokens of a
    batch; collectives are legal transitions between such layouts; every ragged
    token count follows from a layout and a batch.

    Levels: *logical* (`redistribute` between layouts, undecided layouts are
    `#shunt.auto`), *collective* (one op for each legal layout transition),
    *local* (`shunt.local.*`: what one rank executes; no encodings, counts are
    SSA values, groups are rank lists).
  }];
  let cppNamespace = "::shunt";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttrsAndTypes();
  }];
}

class Shunt_Op<string mnemonic, list<Trait> traits = []>
    : Op<Shunt_Dialect, mnemonic, traits>;

#endif // SHUNT_IR_DIALECT_TD
