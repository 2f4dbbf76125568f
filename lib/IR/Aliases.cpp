//===- Aliases.cpp - Short names for layouts in printed IR ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/IR/Aliases.h"

#include "AxisLists.h"
#include "Shunt/IR/Shunt.h"

using namespace mlir;
using namespace shunt;

namespace {

struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  static void addAxes(raw_ostream &os, ArrayRef<StringAttr> axes) {
    for (StringAttr axis : axes)
      os << '_' << axis.getValue();
  }
  static void addLists(raw_ostream &os, StringRef what, ArrayAttr lists) {
    os << '_' << what;
    for (Attribute list : lists)
      addAxes(os, toStrings(cast<ArrayAttr>(list)));
  }

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (auto layout = dyn_cast<LayoutAttr>(attr)) {
      os << layout.getMesh().getValue();
      addAxes(os, layout.getTokens());
      if (layout.getInner())
        addLists(os, "inner", layout.getInner());
      if (layout.isPartial()) {
        os << "_partial";
        addAxes(os, layout.getPartial());
      }
      return AliasResult::FinalAlias;
    }
    if (auto shard = dyn_cast<ShardAttr>(attr)) {
      os << shard.getMesh().getValue();
      addLists(os, "shard", shard.getDims());
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<BatchType>(type))
      return AliasResult::NoAlias;
    os << "batch";
    return AliasResult::FinalAlias;
  }
};

} // namespace

void shunt::registerAliases(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, ShuntDialect *dialect) {
    dialect->addInterfaces<Aliases>();
  });
}
