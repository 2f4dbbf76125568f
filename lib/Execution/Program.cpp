//===- Program.cpp - What a program takes and returns ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shunt/Execution/Program.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace shunt {

std::vector<int64_t> LocalPart::shape() const {
  std::vector<int64_t> shape;
  for (const std::vector<int64_t> &dim : indices)
    shape.push_back(dim.size());
  return shape;
}

int64_t LocalPart::logicalIndex(int64_t local,
                                ArrayRef<int64_t> logicalShape) const {
  int64_t logical = 0, stride = 1;
  for (size_t dim = indices.size(); dim-- > 0;) {
    int64_t size = indices[dim].size();
    logical += indices[dim][local % size] * stride;
    local /= size;
    stride *= logicalShape[dim];
  }
  return logical;
}

Buffer LocalPart::of(const Buffer &logical) const {
  Buffer part = makeZeros(shape(), logical.type);
  size_t bytes = elementBytes(logical.type);
  for (int64_t i = 0, n = part.numElements(); i < n; ++i)
    std::copy_n(logical.data.data() + logicalIndex(i, logical.shape) * bytes,
                bytes, part.data.data() + i * bytes);
  return part;
}

/// `main`, or the only function with a body.
static FailureOr<func::FuncOp> findEntry(ModuleOp module) {
  SmallVector<func::FuncOp> bodies;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (function.getName() == "main")
      return function;
    bodies.push_back(function);
  }
  if (bodies.size() == 1)
    return bodies.front();
  module.emitError() << "has " << bodies.size()
                     << " functions with a body and none is called 'main'; "
                        "name the one to run so";
  return failure();
}

/// Bytes that arguments and results of all ranks together may take: a count
/// with a few digits too many is to be an error, not a machine without memory.
static constexpr int64_t kMaxBytes = int64_t(1) << 33;

/// Adds to `bytes` at least what the ranks hold of a value of `type`; a sum
/// beyond `kMaxBytes` is an error.
static LogicalResult addBytes(func::FuncOp entry, RankedTensorType type,
                              const std::optional<Batch> &batch, int64_t world,
                              int64_t &bytes) {
  bool one = type.getRank() == 0 || type.isDynamicDim(0);
  int64_t rows = one ? 1 : type.getDimSize(0);
  bool fits = true;
  if (LayoutAttr attr = getLayout(type)) {
    FailureOr<Layout> layout = Resolver(entry).layout(attr);
    if (failed(layout))
      return failure();
    rows = 0;
    for (int64_t held : rowCounts(*batch, *layout))
      fits = fits && !__builtin_add_overflow(rows, held, &rows);
  } else {
    fits = !__builtin_mul_overflow(rows, world, &rows);
  }
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    fits = fits && (type.isDynamicDim(dim) ||
                    !__builtin_mul_overflow(rows, type.getDimSize(dim), &rows));
  int64_t width = elementBytes(*elementTypeOf(type.getElementType()));
  fits = fits && !__builtin_mul_overflow(rows, width, &rows) &&
         !__builtin_add_overflow(bytes, rows, &bytes) && bytes <= kMaxBytes;
  if (fits)
    return success();
  return entry.emitError()
         << "takes and returns more than " << kMaxBytes
         << " bytes on all ranks together; use fewer tokens or ranks, or a "
            "smaller model [E_CAPACITY]";
}

/// Removes the counts that the planner wrote beside a collective; they are
/// derived again when needed. A table that came with the program stays.
static void dropCounts(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, SliceOp>(
          [](auto collective) { collective.removeCountsAttr(); });
}

/// Replaces the counts of a batch.
static FailureOr<Batch> makeBatch(Resolver &resolver, BatchType type,
                                  ArrayRef<int64_t> counts) {
  FailureOr<BatchSpec> spec = resolver.batchSpec(type);
  if (failed(spec))
    return failure();
  Result<Batch> batch =
      Batch::create(*spec, std::vector<int64_t>(counts.begin(), counts.end()));
  if (!batch)
    return resolver.fail(batch.error());
  return *batch;
}

FailureOr<Program> Program::read(ModuleOp module,
                                 std::optional<std::vector<int64_t>> counts) {
  Program program;
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry))
    return failure();
  program.entry = *entry;
  auto clusters = module.getOps<ClusterOp>();
  if (clusters.empty() || std::next(clusters.begin()) != clusters.end())
    return module.emitError() << "needs exactly one shunt.cluster to be run on";
  program.worldSize = (*clusters.begin()).getWorld();

  // The batch of the entry's tokens: a literal in it, or an argument.
  SmallVector<Value> batches;
  for (BlockArgument argument : entry->getArguments())
    if (isa<BatchType>(argument.getType()))
      batches.push_back(argument);
  entry->walk([&](BatchOp op) { batches.push_back(op.getResult()); });
  if (batches.size() > 1) {
    InFlightDiagnostic diag = entry->emitError()
                              << "has " << batches.size()
                              << " batches; one can be run at a time";
    for (Value batch : batches)
      diag.attachNote(batch.getLoc()) << "a batch is here";
    return diag;
  }
  if (!batches.empty()) {
    Value value = batches.front();
    Operation *at =
        value.getDefiningOp() ? value.getDefiningOp() : entry->getOperation();
    Resolver resolver(at);
    FailureOr<std::optional<Batch>> batch = resolver.batch(value);
    if (failed(batch))
      return failure();
    if (counts) {
      FailureOr<Batch> given =
          makeBatch(resolver, cast<BatchType>(value.getType()), *counts);
      if (failed(given))
        return failure();
      *batch = *given;
      // What the planner wrote beside collectives says the old counts.
      entry->walk(dropCounts);
      if (auto literal = value.getDefiningOp<BatchOp>();
          literal && literal.getRows()) {
        literal.setRows(given->partRows());
        literal.setValid(given->partValid());
      }
    }
    if (!*batch)
      return at->emitError() << "the batch's counts are not in the program; "
                                "give them with --tokens [E_COUNTS_MISSING]";
    program.theBatch = std::move(*batch);
  }

  int64_t bytes = 0;
  auto check = [&](Type type, const Twine &what) -> LogicalResult {
    if (isa<BatchType>(type))
      return success();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !elementTypeOf(tensor.getElementType()))
      return entry->emitError()
             << what << " has type " << type
             << "; tensors of f32, bf16, f16, i32 and i64 can be run";
    if (getRouted(type))
      return entry->emitError()
             << what << " has type " << type
             << ", whose rows are known at run time only; dispatch and combine "
                "inside [X_ROUTING]";
    if (isa_and_nonnull<AutoAttr>(tensor.getEncoding()))
      return entry->emitError()
             << what << " has an undecided layout; redistribute it inside";
    if (getLayout(type) && !program.theBatch)
      return entry->emitError() << what
                                << " has tokens but there is no batch; make "
                                   "one with shunt.batch "
                                   "[E_COUNTS_MISSING]";
    if (failed(addBytes(*entry, tensor, program.theBatch, program.worldSize,
                        bytes)))
      return failure();
    return LogicalResult(program.localPart(type, 0));
  };
  FunctionType type = entry->getFunctionType();
  for (auto [i, input] : llvm::enumerate(type.getInputs()))
    if (failed(check(input, "argument " + Twine(i))))
      return failure();
  for (auto [i, result] : llvm::enumerate(type.getResults()))
    if (failed(check(result, "result " + Twine(i))))
      return failure();
  return program;
}

std::vector<int64_t> Program::logicalShape(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  std::vector<int64_t> shape(tensor.getShape().begin(),
                             tensor.getShape().end());
  if (getLayout(type))
    shape[0] = theBatch->totalRows();
  return shape;
}

FailureOr<LocalPart> Program::localPart(Type type, Rank rank) const {
  auto tensor = cast<RankedTensorType>(type);
  func::FuncOp entry = this->entry;
  Resolver resolver(entry);
  LocalPart part;
  // Which axes of which mesh split each dimension into blocks.
  std::vector<ArrayAttr> axes(tensor.getRank());
  FlatSymbolRefAttr meshName;
  auto layoutAttr = getLayout(type);
  if (layoutAttr) {
    meshName = layoutAttr.getMesh();
    if (layoutAttr.getInner())
      for (auto [dim, list] : llvm::enumerate(layoutAttr.getInner()))
        axes[dim + 1] = cast<ArrayAttr>(list);
  } else if (auto shard = dyn_cast_or_null<ShardAttr>(tensor.getEncoding())) {
    meshName = shard.getMesh();
    for (auto [dim, list] : llvm::enumerate(shard.getDims()))
      axes[dim] = cast<ArrayAttr>(list);
  }
  std::optional<Mesh> mesh;
  if (meshName) {
    FailureOr<Mesh> resolved = resolver.mesh(meshName);
    if (failed(resolved))
      return failure();
    mesh = *resolved;
  }
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
    std::vector<int64_t> &indices = part.indices.emplace_back();
    if (dim == 0 && layoutAttr) {
      FailureOr<Layout> layout = resolver.layout(layoutAttr);
      if (failed(layout))
        return failure();
      for (const RowRun &run : rowsOf(*theBatch, *layout, rank))
        for (int64_t row = 0; row < run.rows; ++row) {
          indices.push_back(run.offset + row);
          part.valid.push_back(row < run.valid);
        }
      continue;
    }
    int64_t size = tensor.getDimSize(dim), blocks = 1, block = 0;
    if (ShapedType::isDynamic(size))
      return entry.emitError()
             << "type " << type << " has a dynamic size in "
             << "dimension " << dim << "; only the token dimension may be";
    if (axes[dim]) {
      FailureOr<AxisList> list = resolver.axes(*mesh, axes[dim]);
      if (failed(list))
        return failure();
      for (unsigned axis : *list) {
        blocks *= mesh->axes()[axis].size;
        block = block * mesh->axes()[axis].size + mesh->coordinate(rank, axis);
      }
    }
    if (size % blocks != 0)
      return entry.emitError()
             << "dimension " << dim << " of " << type << " has size " << size
             << ", which its " << blocks << " blocks do not divide [E_SIZE]";
    indices.resize(size / blocks);
    std::iota(indices.begin(), indices.end(), block * (size / blocks));
  }
  return part;
}

FailureOr<Buffer> Program::localInput(Type type, const LocalPart &part,
                                      const Buffer &whole, Rank rank) const {
  Buffer input = part.of(whole);
  LayoutAttr attr = getLayout(type);
  if (!attr || !attr.isPartial())
    return input;
  func::FuncOp entry = this->entry;
  FailureOr<Layout> layout = Resolver(entry).layout(attr);
  if (failed(layout))
    return failure();
  if (layout->mesh.rankInGroup(rank, layout->partial) != 0)
    std::fill(input.data.begin(), input.data.end(), 0);
  return input;
}

Result<Buffer> Program::makeExpertIds(Type type, int64_t experts, uint64_t seed,
                                      const RoutingSource &routing) const {
  auto tensor = cast<RankedTensorType>(type);
  if (!getLayout(type) || tensor.getRank() != 2 || tensor.isDynamicDim(1))
    return Error{"E_ROUTING", "an argument with shunt.experts is no tensor of "
                              "tokens with a static number of ids each"};
  int64_t topK = tensor.getDimSize(1);
  Result<std::vector<int32_t>> ids =
      readExpertIds(routing, theBatch->totalValid(), experts, topK, seed);
  if (!ids)
    return ids.error();
  Buffer input =
      makeZeros(logicalShape(type), *elementTypeOf(tensor.getElementType()));
  int64_t next = 0, row = 0;
  for (auto [rows, valid] :
       llvm::zip(theBatch->partRows(), theBatch->partValid()))
    for (int64_t i = 0; i < rows; ++i, ++row)
      for (int64_t k = 0; k < topK; ++k)
        setElement(input, row * topK + k, i < valid ? (*ids)[next++] : -1);
  return input;
}

Result<Buffer> Program::makeInput(unsigned index, uint64_t seed,
                                  const RoutingSource &routing) const {
  func::FuncOp entry = this->entry;
  Type type = entry.getArgumentTypes()[index];
  if (auto attr = entry.getArgAttrOfType<IntegerAttr>(index, "shunt.experts"))
    return makeExpertIds(type, attr.getInt(), seed, routing);
  if (isa<BatchType>(type)) {
    Buffer counts = makeZeros({theBatch->spec().numParts()}, ElementType::I64);
    for (auto [i, rows] : llvm::enumerate(theBatch->partRows()))
      setElement(counts, i, rows);
    return counts;
  }
  auto tensor = cast<RankedTensorType>(type);
  Buffer input =
      makeZeros(logicalShape(type), *elementTypeOf(tensor.getElementType()));
  // Not std::uniform_*_distribution: its values are the library's choice.
  std::mt19937_64 bits(seed * 1000003 + index);
  auto unit = [&] { return double(bits() >> 11) * 0x1p-53; };
  bool weight = !getLayout(type) && tensor.getRank() >= 2;
  double scale =
      weight ? 1 / std::sqrt(double(input.shape[tensor.getRank() - 2])) : 1;
  int64_t range = 1;
  if (auto attr = entry.getArgAttrOfType<IntegerAttr>(index, "shunt.range"))
    range = std::max<int64_t>(attr.getInt(), 1);
  for (int64_t i = 0, n = input.numElements(); i < n; ++i)
    setElement(input, i,
               isFloat(input.type) ? (2 * unit() - 1) * scale
                                   : std::floor(unit() * range));
  if (!getLayout(type) || input.shape[0] == 0)
    return input;
  int64_t rowBytes = input.data.size() / input.shape[0], row = 0;
  for (auto [rows, valid] :
       llvm::zip(theBatch->partRows(), theBatch->partValid())) {
    std::fill_n(input.data.begin() + (row + valid) * rowBytes,
                (rows - valid) * rowBytes, 0);
    row += rows;
  }
  return input;
}

void makeReference(ModuleOp module, const Program &program) {
  Builder builder(module.getContext());
  module.walk([&](Operation *op) {
    if (auto cluster = dyn_cast<ClusterOp>(op)) {
      cluster.setNodes(1);
      cluster.setRanksPerNode(1);
    } else if (auto mesh = dyn_cast<MeshOp>(op)) {
      mesh.setAxisSizes(SmallVector<int64_t>(mesh.getAxisSizes().size(), 1));
      mesh.removeDevicesAttr();
    } else if (auto batch = dyn_cast<BatchOp>(op)) {
      if (batch.getRows())
        batch.setRows(ArrayRef<int64_t>{program.batch()->totalRows()});
      batch.removeValidAttr();
    } else if (auto route = dyn_cast<RouteOp>(op)) {
      route.setAlgorithm(MoeAlgorithm::Local);
      route.setPlacement(MoePlacement::Even);
      route.removeTableAttr();
      route.removeStaticCountsAttr();
      route.removeBoundAttr();
    } else {
      // Tables are for the real world; they are derived again when needed.
      TypeSwitch<Operation *>(op)
          .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, SliceOp>(
              [](auto collective) {
                collective.removeCountsAttr();
                collective.getGivenMutable().clear();
              });
    }
  });
}

} // namespace shunt
