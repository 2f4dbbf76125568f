#include "Shunt/IR/Shunt.h"

using namespace mlir;
using namespace shunt;

LogicalResult AllGatherOp::verify() { return success(); }
OpFoldResult AllGatherOp::fold(FoldAdaptor) { return {}; }
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult AllReduceOp::verify() { return success(); }
OpFoldResult AllReduceOp::fold(FoldAdaptor) { return {}; }
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult AllToAllOp::verify() { return success(); }
OpFoldResult AllToAllOp::fold(FoldAdaptor) { return {}; }
LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult BatchOp::verify() { return success(); }
void BatchOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
LogicalResult BatchOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult ClusterOp::verify() { return success(); }
LogicalResult ExchangeCountsOp::verify() { return success(); }
OpFoldResult ExchangeCountsOp::fold(FoldAdaptor) { return {}; }
LogicalResult ExchangeCountsOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult GatherBatchOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult GroupIndexOp::verify() { return success(); }
LogicalResult LocalAllGatherOp::verify() { return success(); }
void LocalAllGatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult LocalAllReduceOp::verify() { return success(); }
void LocalAllReduceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult LocalAllToAllOp::verify() { return success(); }
void LocalAllToAllOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult LocalPermuteOp::verify() { return success(); }
void LocalPermuteOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult LocalReduceScatterOp::verify() { return success(); }
void LocalReduceScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult LocalSliceOp::verify() { return success(); }
void LocalSliceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
LogicalResult MeshOp::verify() { return success(); }
LogicalResult MeshOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult RedistributeOp::verify() { return success(); }
void RedistributeOp::getCanonicalizationPatterns(RewritePatternSet &,
                                                 MLIRContext *) {}
OpFoldResult RedistributeOp::fold(FoldAdaptor) { return {}; }
LogicalResult RedistributeOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult ReduceScatterOp::verify() { return success(); }
OpFoldResult ReduceScatterOp::fold(FoldAdaptor) { return {}; }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult RelabelOp::verify() { return success(); }
OpFoldResult RelabelOp::fold(FoldAdaptor) { return {}; }
LogicalResult RelabelOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult SliceOp::verify() { return success(); }
OpFoldResult SliceOp::fold(FoldAdaptor) { return {}; }
LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
LogicalResult TokenCountsOp::verify() { return success(); }
OpFoldResult TokenCountsOp::fold(FoldAdaptor) { return {}; }
LogicalResult TokenCountsOp::verifySymbolUses(SymbolTableCollection &) {
  return success();
}
