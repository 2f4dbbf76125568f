//===- Dims.cpp - see Dims.h ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dims.h"

#include "Shunt/Analysis/CollectiveText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace shunt {

bool isEncoded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr, ShardAttr, AutoAttr, RoutedAttr>(
                       tensor.getEncoding());
}

static bool byName(StringAttr a, StringAttr b) {
  return a.getValue() < b.getValue();
}

void addAxes(AxisNames &axes, ArrayRef<StringAttr> more) {
  axes.append(more.begin(), more.end());
  llvm::sort(axes, byName);
  axes.erase(llvm::unique(axes), axes.end());
}

/// Equal blocks over `list`, an array of axis names.
static DimSplit blocks(FlatSymbolRefAttr mesh, ArrayRef<Attribute> list) {
  DimSplit split;
  if (list.empty())
    return split;
  split.kind = DimSplit::Blocks;
  split.mesh = mesh;
  for (Attribute axis : list)
    split.axes.push_back(cast<StringAttr>(axis));
  return split;
}

DimSplit dimSplit(Type type, unsigned dim) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getEncoding())
    return {};
  if (auto shard = dyn_cast<ShardAttr>(tensor.getEncoding()))
    return blocks(shard.getMesh(),
                  cast<ArrayAttr>(shard.getDims()[dim]).getValue());
  if (RoutedAttr routed = getRouted(type)) {
    if (dim > 0)
      return blocks(routed.getMesh(), innerAxes(routed.getInner(), dim));
    DimSplit split;
    split.kind = DimSplit::Tokens;
    split.mesh = routed.getMesh();
    addAxes(split.axes, routed.getTokens());
    split.routed = routed.getRows();
    return split;
  }
  auto layout = dyn_cast<LayoutAttr>(tensor.getEncoding());
  if (dim > 0)
    return layout ? blocks(layout.getMesh(), layout.getInnerAxes(dim))
                  : DimSplit();
  DimSplit split;
  if (layout) {
    split.kind = DimSplit::Tokens;
    split.mesh = layout.getMesh();
    addAxes(split.axes, layout.getTokens());
  } else if (isa<AutoAttr>(tensor.getEncoding())) {
    split.kind = DimSplit::Tokens;
  }
  return split;
}

AxisNames partialAxes(Type type) {
  AxisNames axes;
  if (LayoutAttr layout = getLayout(type))
    addAxes(axes, layout.getPartial());
  else if (RoutedAttr routed = getRouted(type))
    addAxes(axes, routed.getPartial());
  return axes;
}

std::string axesText(ArrayRef<StringAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(axes, os, [&](StringAttr axis) {
    os << '\'' << axis.getValue() << '\'';
  });
  return text;
}

std::string splitText(const DimSplit &split) {
  if (split.kind == DimSplit::Whole)
    return "all of it";
  std::string mesh = split.mesh ? " of @" + split.mesh.getValue().str() : "";
  if (split.kind == DimSplit::Blocks)
    return "blocks over " + axesText(split.axes) + mesh;
  if (split.routed)
    return "routed rows of tokens split over " + axesText(split.axes) + mesh +
           (split.routed.getRankMajor() ? ", rank-major" : "") +
           (split.routed.getScored() ? ", scored" : "");
  if (!split.mesh)
    return "rows of an undecided layout";
  if (split.axes.empty())
    return "the rows of all tokens" + mesh;
  return "rows split over " + axesText(split.axes) + mesh;
}

void noteProducer(InFlightDiagnostic &diag, Value value, StringRef text) {
  if (Operation *producer = value.getDefiningOp()) {
    diag.attachNote(producer->getLoc())
        << text << " by '" << producer->getName() << "' here";
    return;
  }
  diag.attachNote(value.getLoc()) << text << " as a block argument here";
}

int64_t groupSizeOf(Operation *op, FlatSymbolRefAttr meshName,
                    ArrayRef<StringAttr> names) {
  Resolver resolver(op);
  FailureOr<Mesh> mesh = resolver.mesh(meshName);
  if (failed(mesh))
    return 0;
  FailureOr<AxisList> axes = resolver.axes(*mesh, names);
  return failed(axes) ? 0 : mesh->groupSize(*axes);
}

LogicalResult reportRows(Operation *op, Value a, Value b) {
  LayoutAttr layoutA = getLayout(a.getType()), layoutB = getLayout(b.getType());
  std::string example;
  if (layoutA && layoutB) {
    Resolver resolver(op);
    FailureOr<Layout> first = resolver.layout(layoutA);
    FailureOr<Layout> second = resolver.layout(layoutB);
    if (failed(first) || failed(second))
      return failure();
    if (first->mesh.world() == second->mesh.world()) {
      example = ", the same rows by another name (shunt.relabel)";
      for (Rank rank = 0; rank < first->mesh.world(); ++rank) {
        RankList cellsA = first->cells(rank), cellsB = second->cells(rank);
        if (cellsA == cellsB)
          continue;
        example = " (rank " + std::to_string(rank) +
                  " holds the rows scattered to ranks " + groupText(cellsA) +
                  " of one and " + groupText(cellsB) + " of the other)";
        break;
      }
    }
  }
  InFlightDiagnostic diag = op->emitOpError()
                            << "combines tokens of different layouts: "
                            << splitText(dimSplit(a.getType(), 0)) << " with "
                            << splitText(dimSplit(b.getType(), 0)) << example
                            << "; redistribute one of them [X_RESIDUAL_ROWS]";
  noteProducer(diag, a, "the first is made");
  noteProducer(diag, b, "the other is made");
  return diag;
}

static StringRef nameOf(StringAttr axis) { return axis.getValue(); }

LogicalResult checkPartial(Operation *op, Value result,
                           const AxisNames &derived) {
  AxisNames declared = partialAxes(result.getType());
  auto missing = [](const AxisNames &from, const AxisNames &in) {
    return llvm::to_vector(llvm::make_filter_range(
        from, [&](StringAttr axis) { return !llvm::is_contained(in, axis); }));
  };
  if (SmallVector<StringAttr> lost = missing(derived, declared); !lost.empty())
    return op->emitOpError()
           << "computes partial sums over " << axesText(lost)
           << ", but the type of its result says that they are complete; give "
              "it partial = ["
           << llvm::join(llvm::map_range(lost, nameOf), ", ")
           << "] and reduce it (shunt.all_reduce or shunt.reduce_scatter) "
              "[X_INCOMPLETE]";
  SmallVector<StringAttr> excess = missing(declared, derived);
  if (excess.empty())
    return success();
  RoutedAttr routed = getRouted(result.getType());
  int64_t times = groupSizeOf(
      op, routed ? routed.getMesh() : getLayout(result.getType()).getMesh(),
      excess);
  if (times == 0)
    return failure();
  return op->emitOpError() << "computes a result that is complete on "
                           << axesText(excess)
                           << ", but its type says that it is a partial sum: a "
                              "reduction would count it "
                           << times
                           << " times; leave the axes out of partial "
                              "[X_DOUBLE_REDUCE]";
}

} // namespace shunt
