//===- Canonicalize.cpp - Rewrites to simpler ops ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// A collective over groups of one rank moves nothing.
template <typename OpTy> struct SizeOneGroups : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getGiven())
      return rewriter.notifyMatchFailure(
          op, "a given table is for shunt-rewrite-token-counts to judge");
    Resolver resolver(op, Resolver::Silent());
    FailureOr<Mesh> mesh =
        resolver.mesh(getLayout(op.getInput().getType()).getMesh());
    if (failed(mesh))
      return rewriter.notifyMatchFailure(op, "unknown mesh");
    FailureOr<AxisList> axes = resolver.axes(*mesh, op.getAxes());
    if (failed(axes) || mesh->groupSize(*axes) != 1)
      return rewriter.notifyMatchFailure(op, "groups of several ranks");
    rewriter.replaceOpWithNewOp<RelabelOp>(op, op.getType(), op.getInput(),
                                           op.getBatch());
    return success();
  }
};
} // namespace

void AllGatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<SizeOneGroups<AllGatherOp>>(context);
}
void ReduceScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<SizeOneGroups<ReduceScatterOp>>(context);
}
void AllReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<SizeOneGroups<AllReduceOp>>(context);
}
void AllToAllOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<SizeOneGroups<AllToAllOp>>(context);
}
void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SizeOneGroups<SliceOp>>(context);
}

//===----------------------------------------------------------------------===//
// RedistributeOp
//===----------------------------------------------------------------------===//

namespace {
/// A redistribute that leaves every row where it is only changes the name.
struct RedistributeInPlace : OpRewritePattern<RedistributeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RedistributeOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType from = op.getInput().getType(), to = op.getType();
    if (!isLaidOutTensor(from) || !isLaidOutTensor(to))
      return rewriter.notifyMatchFailure(op, "a layout is not decided");
    Resolver resolver(op, Resolver::Silent());
    if (!isRelabel(resolver, from, to))
      return rewriter.notifyMatchFailure(op, "rows, sums or blocks move");
    rewriter.replaceOpWithNewOp<RelabelOp>(op, op.getType(), op.getInput(),
                                           op.getBatch());
    return success();
  }
};

/// Two redistributes in a row are one when nothing reads what is in between.
struct MergeRedistributes : OpRewritePattern<RedistributeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RedistributeOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<RedistributeOp>();
    if (!producer || producer == op || producer.getInput() == op.getResult() ||
        !producer->hasOneUse() || producer.getBatch() != op.getBatch())
      return rewriter.notifyMatchFailure(op, "no redistribute just for this");
    for (Type type : {Type(producer.getInput().getType()),
                      Type(producer.getType()), Type(op.getType())})
      if (!isLaidOutTensor(type))
        return rewriter.notifyMatchFailure(op, "a layout is not decided");
    if (getLayout(producer.getType()).isPartial())
      return rewriter.notifyMatchFailure(op, "partial in between");
    // Reports name the steps of a model; each keeps its own collectives.
    StringAttr first = producer.getStepAttr(), second = op.getStepAttr();
    if (first && second && first != second)
      return rewriter.notifyMatchFailure(op, "two steps of the model");
    rewriter.replaceOpWithNewOp<RedistributeOp>(
        op, op.getType(), producer.getInput(), op.getBatch(),
        second ? second : first);
    return success();
  }
};
} // namespace

void RedistributeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<RedistributeInPlace, MergeRedistributes>(context);
}

//===----------------------------------------------------------------------===//
// BatchOp
//===----------------------------------------------------------------------===//

namespace {
/// A batch of constant counts becomes a literal, from which tables fold.
struct LiteralBatch : OpRewritePattern<BatchOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchOp op,
                                PatternRewriter &rewriter) const override {
    DenseIntElementsAttr counts;
    if (!op.getFrom() || !matchPattern(op.getFrom(), m_Constant(&counts)))
      return rewriter.notifyMatchFailure(op, "counts are not constant");
    Resolver resolver(op, Resolver::Silent());
    FailureOr<BatchSpec> spec = resolver.batchSpec(op.getType());
    if (failed(spec) || counts.getNumElements() != spec->numParts())
      return rewriter.notifyMatchFailure(op, "not one count for each part");
    auto values = llvm::to_vector(counts.getValues<int64_t>());
    if (!Batch::create(*spec, {values.begin(), values.end()}))
      return rewriter.notifyMatchFailure(op, "counts that are no batch");
    rewriter.replaceOpWithNewOp<BatchOp>(op, op.getType(), Value(),
                                         rewriter.getDenseI64ArrayAttr(values),
                                         DenseI64ArrayAttr());
    return success();
  }
};
} // namespace

void BatchOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<LiteralBatch>(context);
}
