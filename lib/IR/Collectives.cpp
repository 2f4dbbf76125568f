//===- Collectives.cpp - What the collectives may do to a layout ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

using namespace mlir;
using namespace shunt;
using namespace shunt::checks;

Transition::Transition(Operation *op, Resolver &resolver, Value input,
                       Value result, Value batch, Layout from, Layout to,
                       AxisList axes)
    : op(op), resolver(resolver), input(input), result(result), batch(batch),
      from(std::move(from)), to(std::move(to)), axes(std::move(axes)) {}

//===----------------------------------------------------------------------===//
// Common to all
//===----------------------------------------------------------------------===//

/// What needs no symbols: shapes, the list of axes.
template <typename OpTy> static LogicalResult verifyParts(OpTy op) {
  if (failed(verifySameShape(op, op.getInput().getType(), op.getType())))
    return failure();
  if (op.getAxes().empty())
    return op.emitOpError() << "goes over no axis; list at least one, or use "
                               "shunt.relabel [E_AXIS]";
  return success();
}

/// Resolves operand, result and axes of a collective.
template <typename OpTy>
static FailureOr<Transition> resolve(OpTy op, Resolver &resolver) {
  FailureOr<Layout> from =
      verifyTokens(op, resolver, op.getInput().getType(), op.getBatch());
  if (failed(from))
    return failure();
  FailureOr<Layout> to =
      verifyTokens(op, resolver, op.getType(), op.getBatch());
  if (failed(to))
    return failure();
  if (from->mesh.name() != to->mesh.name()) {
    op.emitOpError() << "goes from mesh @" << from->mesh.name() << " to mesh @"
                     << to->mesh.name()
                     << "; a collective stays on one mesh, change to the other "
                        "by shunt.relabel [X_LAYOUT]";
    return failure();
  }
  FailureOr<AxisList> axes = resolver.axes(from->mesh, op.getAxes());
  if (failed(axes))
    return failure();
  return Transition(op, resolver, op.getInput(), op.getResult(), op.getBatch(),
                    std::move(*from), std::move(*to), std::move(*axes));
}

static std::string axisText(const Mesh &mesh, unsigned axis) {
  return "axis '" + mesh.axes()[axis].name + "'";
}

/// Fails with a note at the op that makes the operand.
static LogicalResult failAtOperand(const Transition &t, const Twine &message) {
  InFlightDiagnostic diag = t.op->emitOpError() << message;
  noteProducer(diag, t.input, "operand");
  return failure();
}

/// Checks that no axis splits an inner dimension.
static LogicalResult verifyNotInner(const Transition &t) {
  LayoutAttr layout = getLayout(t.input.getType());
  if (!layout.getInner())
    return success();
  for (auto [dim, list] : llvm::enumerate(layout.getInner()))
    for (StringRef name : cast<ArrayAttr>(list).getAsValueRange<StringAttr>())
      for (unsigned axis : t.axes)
        if (t.from.mesh.axes()[axis].name == name)
          return failAtOperand(
              t, "goes over " + axisText(t.from.mesh, axis) +
                     ", which splits dimension " + Twine(dim + 1) +
                     " of its operand; token collectives move whole rows "
                     "[X_LAYOUT]");
  return success();
}

/// Checks that the result has these token and partial axes, and the operand's
/// inner axes.
static LogicalResult verifyResult(const Transition &t, const AxisList &tokens,
                                  const AxisList &partial) {
  const Mesh &mesh = t.from.mesh;
  if (AxisList lost = without(partial, t.to.partial); !lost.empty())
    return failAtOperand(t, "drops " + axisText(mesh, lost.front()) +
                                " from `partial` without reducing over it: "
                                "operand is partial on " +
                                axesText(mesh, t.from.partial) +
                                ", the op goes over " + axesText(mesh, t.axes) +
                                "; reduce over it too, or keep it in the "
                                "result's `partial` [X_INCOMPLETE]");
  if (AxisList gained = without(t.to.partial, partial); !gained.empty())
    return failAtOperand(
        t, "result is partial on " + axisText(mesh, gained.front()) +
               " but this op makes it partial on " + axesText(mesh, partial) +
               " only; drop the axis from `partial` "
               "[X_LAYOUT]");
  if (!sameAxes(t.to.tokens, tokens))
    return failAtOperand(
        t, "result has tokens = " + axesText(mesh, t.to.tokens) +
               " but from tokens = " + axesText(mesh, t.from.tokens) +
               " over " + axesText(mesh, t.axes) + " this op makes tokens = " +
               axesText(mesh, tokens) + " [X_LAYOUT]");
  LayoutAttr from = getLayout(t.input.getType());
  LayoutAttr to = getLayout(t.result.getType());
  for (int64_t dim = 1, e = cast<ShapedType>(t.result.getType()).getRank();
       dim < e; ++dim)
    if (from.getInnerAxes(dim) != to.getInnerAxes(dim))
      return failAtOperand(t, "changes the axes that split dimension " +
                                  Twine(dim) +
                                  "; token collectives leave `inner` as it is "
                                  "[X_LAYOUT]");
  return success();
}

/// Checks that the operand holds partial sums on all axes of the reduction.
static LogicalResult verifyReducible(const Transition &t) {
  const Mesh &mesh = t.from.mesh;
  for (unsigned axis : t.axes) {
    if (contains(t.from.partial, axis))
      continue;
    int64_t size = mesh.axes()[axis].size;
    if (t.from.partial.empty())
      return failAtOperand(
          t, "reduces over " + axisText(mesh, axis) + " of " +
                 countText(size, "rank") +
                 " but its operand is complete: every row would count " +
                 countText(size, "time") +
                 "; drop the reduction (shunt.slice keeps a share of the rows) "
                 "[X_DOUBLE_REDUCE]");
    if (contains(t.from.tokens, axis))
      return failAtOperand(
          t, "reduces over " + axisText(mesh, axis) +
                 ", which splits the tokens: its " + countText(size, "rank") +
                 " would add different tokens; gather them first "
                 "[X_ROW_MISMATCH]");
    return failAtOperand(t, "reduces over " + axisText(mesh, axis) +
                                " but its operand holds partial sums on " +
                                axesText(mesh, t.from.partial) +
                                "; reduce over those [X_WRONG_GROUP]");
  }
  return success();
}

static LogicalResult failOnPartial(const Transition &t, StringRef does,
                                   unsigned axis) {
  return failAtOperand(t, does + " " + axisText(t.from.mesh, axis) +
                              " but its operand holds partial sums on it; "
                              "reduce them first (shunt.all_reduce or "
                              "shunt.reduce_scatter) [X_PARTIAL_INPUT]");
}

//===----------------------------------------------------------------------===//
// One by one
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  return failure(failed(verifyParts(*this)) || failed(verifyCounts(*this)));
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Transition> t = resolve(*this, resolver);
  if (failed(t) || failed(verifyNotInner(*t)))
    return failure();
  const Mesh &mesh = t->from.mesh;
  for (unsigned axis : t->axes) {
    if (contains(t->from.partial, axis))
      return failOnPartial(*t, "gathers over", axis);
    if (!contains(t->from.tokens, axis))
      return failAtOperand(
          *t, "gathers over " + axisText(mesh, axis) +
                  ", which does not split the tokens of its operand (" +
                  axesText(mesh, t->from.tokens) + "): its " +
                  countText(mesh.axes()[axis].size, "rank") +
                  " hold the same rows; leave it out [X_LAYOUT]");
  }
  return failure(failed(verifyResult(*t, without(t->from.tokens, t->axes),
                                     t->from.partial)) ||
                 failed(verifyCounts(*t, t->from, getCounts(), getGiven())));
}

LogicalResult ReduceScatterOp::verify() {
  return failure(failed(verifyParts(*this)) || failed(verifyCounts(*this)));
}

/// Scattering is the same for partial and for replicated rows.
static AxisList scattered(const Transition &t) {
  AxisList tokens = t.from.tokens;
  tokens.insert(tokens.end(), t.axes.begin(), t.axes.end());
  return tokens;
}

LogicalResult
ReduceScatterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Transition> t = resolve(*this, resolver);
  if (failed(t) || failed(verifyNotInner(*t)) || failed(verifyReducible(*t)))
    return failure();
  return failure(failed(verifyResult(*t, scattered(*t),
                                     without(t->from.partial, t->axes))) ||
                 failed(verifyCounts(*t, t->to, getCounts(), getGiven())));
}

LogicalResult AllReduceOp::verify() {
  return failure(failed(verifyParts(*this)) || failed(verifyCounts(*this)));
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Transition> t = resolve(*this, resolver);
  if (failed(t) || failed(verifyNotInner(*t)) || failed(verifyReducible(*t)))
    return failure();
  return failure(failed(verifyResult(*t, t->from.tokens,
                                     without(t->from.partial, t->axes))) ||
                 failed(verifyCounts(*t, t->from, getCounts(), getGiven())));
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyParts(*this)))
    return failure();
  if (getCounts() || getGiven())
    return emitOpError() << "has a table of counts; what ranks send each other "
                            "is a matrix, which is derived only: drop `counts` "
                            "and `given` [X_COUNTS_LENGTH]";
  return success();
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Transition> t = resolve(*this, resolver);
  if (failed(t) || failed(verifyNotInner(*t)))
    return failure();
  const Mesh &mesh = t->from.mesh;
  if (!t->from.partial.empty())
    return failAtOperand(*t, "exchanges rows but its operand holds partial "
                             "sums on " +
                                 axesText(mesh, t->from.partial) +
                                 "; reduce them first (shunt.all_reduce or "
                                 "shunt.reduce_scatter) [X_PARTIAL_INPUT]");
  AxisList changed = without(t->from.tokens, t->to.tokens);
  AxisList gained = without(t->to.tokens, t->from.tokens);
  changed.insert(changed.end(), gained.begin(), gained.end());
  if (!sameAxes(changed, t->axes))
    return failAtOperand(
        *t, "goes over " + axesText(mesh, t->axes) +
                " but tokens change from " + axesText(mesh, t->from.tokens) +
                " to " + axesText(mesh, t->to.tokens) + ", that is on " +
                axesText(mesh, changed) + "; list exactly these [X_LAYOUT]");
  return verifyResult(*t, t->to.tokens, {});
}

LogicalResult SliceOp::verify() {
  return failure(failed(verifyParts(*this)) || failed(verifyCounts(*this)));
}

LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Resolver resolver(*this, symbols);
  FailureOr<Transition> t = resolve(*this, resolver);
  if (failed(t) || failed(verifyNotInner(*t)))
    return failure();
  const Mesh &mesh = t->from.mesh;
  for (unsigned axis : t->axes) {
    if (contains(t->from.partial, axis))
      return failOnPartial(*t, "slices over", axis);
    if (contains(t->from.tokens, axis))
      return failAtOperand(*t, "slices over " + axisText(mesh, axis) +
                                   ", which splits the tokens of its operand "
                                   "already (" +
                                   axesText(mesh, t->from.tokens) +
                                   "); leave it out [X_LAYOUT]");
  }
  return failure(failed(verifyResult(*t, scattered(*t), t->from.partial)) ||
                 failed(verifyCounts(*t, t->to, getCounts(), getGiven())));
}
