#include "transform/KernelBuilder.h"

#include "dialect/KernelSizes.h"
#include "dialect/SizeAlgebra.h"
#include "transform/KernelPlan.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/ProgramModel.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

class KernelBuilder : private KernelPlan {
public:
  KernelBuilder(OpBuilder &b, const KernelGroup &group, const Machine &machine)
      : KernelPlan(group, machine), b(b) {}

  SmallVector<Replacement> build();

private:
  /// The rows a block of a walking group covers.
  struct Rows {
    Value block, first, count;
  };

  Value asView(const Access &access);
  Value packed(const Access &access);
  Value partOf(OpBuilder &inner, const Access &access, Value operand);
  SmallVector<OpFoldResult> sizesIn(OpBuilder &inner, Location loc, const Access &access,
                                    const Rows *rows);
  Value emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands,
                     const Rows *rows);
  void nameStage(linalg::GenericOp generic, const OpPlan &plan);
  void placeIndices(linalg::GenericOp generic, const OpPlan &plan);
  SmallVector<Value> valuesRead() const;
  SmallVector<Value> collectInputs();
  hr::KernelOp createKernel(ArrayRef<Value> inputs, ArrayRef<Type> results);
  llvm::DenseMap<Value, Value> emitOperators(OpBuilder &inner, ArrayRef<Value> parts,
                                             const Rows *rows);
  SmallVector<Value> emitBlocks(ArrayRef<Value> parts, ArrayRef<Type> results);
  Rows rowsOf(OpBuilder &inner, Location loc, Value block);
  RankedTensorType storedType(const OpPlan &plan) const;
  Value combined(const OpPlan &plan, Value partial);
  bool hasAccumulation() const {
    return llvm::any_of(plans, [](const OpPlan &plan) { return plan.accumulates; });
  }
  AffineExpr rowsPerBlock() const;

  OpBuilder &b;
  SmallVector<Access> external; // what the kernel reads, an argument each
};

/// The operand in the shape the kernel sees; a reshape, so nothing moves.
Value KernelBuilder::asView(const Access &access) {
  if (hr::SliceOp slice = access.slice)
    return slice.getInput();
  if (access.isTable)
    return access.value;
  auto type = cast<RankedTensorType>(access.value.getType());
  RankedTensorType viewType = tensorType(sizesOf(access), type.getElementType());
  if (viewType == type)
    return access.value;
  return b.create<hr::ReshapeOp>(access.value.getLoc(), viewType, access.value);
}

Value KernelBuilder::packed(const Access &access) {
  Value view = asView(access);
  return b.create<hr::TransposeOp>(view.getLoc(), view, packPermutation);
}

/// The part of an operand that is walked: of a slice, or the beginning of a dimension.
Value KernelBuilder::partOf(OpBuilder &inner, const Access &access, Value operand) {
  bool isPart = llvm::any_of(access.view, [](const ViewDim &dim) { return dim.isBeginning(); });
  if (!access.slice && !isPart)
    return operand;
  Location loc = operand.getLoc();
  SmallVector<AffineExpr> walked = sizesOf(access);
  for (auto [dim, size] : llvm::zip(access.view, walked))
    if (dim.isBeginning())
      size = sizes[cast<AffineDimExpr>(dim.expr).getPosition()];
  auto source = cast<RankedTensorType>(operand.getType());
  SmallVector<OpFoldResult> parts = sizeOperands(inner, loc, walked);
  SmallVector<OpFoldResult> offsets(source.getRank(), inner.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(source.getRank(), inner.getIndexAttr(1));
  if (hr::SliceOp slice = access.slice) {
    SmallVector<OpFoldResult> all(source.getRank(), inner.getIndexAttr(1));
    for (auto [dim, part] : llvm::zip(access.sliceDims, parts))
      all[dim] = part;
    parts = all;
    offsets = sizeOperands(inner, loc, slice.getStarts().getResults());
    for (auto [stride, step] : llvm::zip(strides, slice.getSteps()))
      stride = inner.getIndexAttr(step);
  }
  auto type = plainType(tensorType(walked, source.getElementType()));
  return inner.create<tensor::ExtractSliceOp>(loc, type, operand, offsets, parts, strides);
}

SmallVector<OpFoldResult> KernelBuilder::sizesIn(OpBuilder &inner, Location loc,
                                                 const Access &access, const Rows *rows) {
  SmallVector<OpFoldResult> result = sizeOperands(inner, loc, sizesOf(access));
  if (rows && startsWithRows(access))
    result.front() = rows->count;
  return result;
}

Value KernelBuilder::emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands,
                                  const Rows *rows) {
  Location loc = plan.op->getLoc();
  SmallVector<AffineExpr> local(sizes.size(), constantDim(0, context));
  for (auto [position, axis] : llvm::enumerate(plan.axes))
    local[axis] = getAffineDimExpr(position, context);
  auto mapOf = [&](const View &view) {
    SmallVector<AffineExpr> exprs;
    for (const ViewDim &dim : view)
      exprs.push_back(dim.expr.replaceDims(local));
    return AffineMap::get(plan.axes.size(), 0, exprs, context);
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  llvm::SmallDenseSet<int> seen;
  for (auto [i, access] : llvm::enumerate(plan.accesses)) {
    if (access.isTable)
      continue;
    if (i < operands.size())
      inputs.push_back(operands[i]);
    maps.push_back(mapOf(access.view));
    for (const ViewDim &dim : access.view)
      if (auto axis = dim.axis())
        seen.insert(*axis);
  }
  // A window's extent is the shape of an operand that is never read, as in linalg's own pooling.
  View window;
  SmallVector<AffineExpr> windowSizes;
  for (int axis : plan.axes)
    if (!seen.contains(axis)) {
      window.push_back(axisDim(axis));
      windowSizes.push_back(sizes[axis]);
    }
  const Access &result = plan.accesses.back();
  Type element = cast<RankedTensorType>(result.value.getType()).getElementType();
  if (!window.empty()) {
    inputs.push_back(emptyTensor(inner, loc, windowSizes, element));
    maps.insert(maps.end() - 1, mapOf(window));
  }
  Value init = inner.create<tensor::EmptyOp>(loc, sizesIn(inner, loc, result, rows), element);
  hr::OperatorInterface op = plan.op;
  if (TypedAttr start = op.getInitialValue())
    init = inner
               .create<linalg::FillOp>(loc, inner.create<arith::ConstantOp>(loc, start).getResult(),
                                       init)
               .getResult(0);
  auto generic = inner.create<linalg::GenericOp>(
      loc, TypeRange{init.getType()}, inputs, ValueRange{init}, maps, plan.iterators,
      [&](OpBuilder &body, Location, ValueRange scalars) {
        SmallVector<Value> arguments(scalars);
        for (auto [i, operand] : llvm::enumerate(operands))
          if (plan.accesses[i].isTable)
            arguments.insert(arguments.begin() + i, operand);
        body.create<linalg::YieldOp>(loc, op.buildBody(body, arguments));
      });
  placeIndices(generic, plan);
  nameStage(generic, plan);
  return generic.getResult(0);
}

/// What recipes call the operation and its loops.
void KernelBuilder::nameStage(linalg::GenericOp generic, const OpPlan &plan) {
  auto list = [&](ArrayRef<std::string> names) {
    return b.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end()));
  };
  StringRef stage = stageOf(plan.op);
  generic->setAttr(kStageAttr,
                   b.getStringAttr(stage.empty() ? plan.op->getName().stripDialect() : stage));
  if (!plan.names.empty())
    generic->setAttr(kAxesAttr, list(plan.names));
  if (!plan.units.empty())
    generic->setAttr(kUnitAxesAttr, list(plan.units));
}

/// Positions along the operator's dimensions are positions along the kernel's axes.
void KernelBuilder::placeIndices(linalg::GenericOp generic, const OpPlan &plan) {
  ArrayRef<AxisRef> domain = group.domainOf(plan.op);
  generic.walk([&](hr::IndexOp index) {
    OpBuilder at(index);
    AxisRef ref = domain[index.getDim()];
    Value position;
    if (ref.isAxis())
      position = at.create<linalg::IndexOp>(index.getLoc(),
                                            llvm::find(plan.axes, ref.getId()) - plan.axes.begin());
    else
      position = at.create<arith::ConstantIndexOp>(index.getLoc(), 0);
    index.replaceAllUsesWith(position);
    index.erase();
  });
}

/// What comes from memory: a slice counts as such, several of one tensor as all of it, once.
SmallVector<Value> KernelBuilder::valuesRead() const {
  SmallVector<Value> values;
  llvm::DenseMap<Value, size_t> placeOf;
  for (const Access &access : external) {
    Value source = access.slice ? hr::SliceOp(access.slice).getInput() : access.value;
    auto [place, isNew] = placeOf.try_emplace(source, values.size());
    if (isNew)
      values.push_back(access.value);
    else if (access.slice)
      values[place->second] = source;
    else
      values.push_back(access.value);
  }
  return values;
}

/// What the kernel reads: every value the group does not compute itself, once per way to read it.
SmallVector<Value> KernelBuilder::collectInputs() {
  SmallVector<Value> inputs;
  for (OpPlan &plan : plans)
    for (auto [i, access] : llvm::enumerate(llvm::drop_end(plan.accesses))) {
      bool computed =
          llvm::any_of(plans, [&](OpPlan &p) { return p.op->getResult(0) == access.value; });
      if (computed)
        continue;
      Value read;
      if (!packPermutation.empty() && plan.op == group.anchor() && i == 1) {
        read = packed(access);
        View view;
        for (int64_t dim : packPermutation)
          view.push_back(access.view[dim]);
        access.view = view;
      }
      if (llvm::is_contained(external, access))
        continue;
      external.push_back(access);
      inputs.push_back(read ? read : asView(access));
    }
  return inputs;
}

hr::KernelOp KernelBuilder::createKernel(ArrayRef<Value> inputs, ArrayRef<Type> results) {
  AffineExpr bytesRead = constantDim(0, context), bytesWritten = bytesRead, operations = bytesRead;
  for (Value value : valuesRead())
    bytesRead = bytesRead + byteCount(cast<RankedTensorType>(value.getType()));
  for (Type type : results)
    bytesWritten = bytesWritten + byteCount(cast<RankedTensorType>(type));
  AffineExpr bytesApart = constantDim(0, context);
  SmallVector<std::string> names;
  for (OpPlan &plan : plans) {
    operations = operations + plan.op.getMovement().operations(context);
    for (const Access &access : plan.accesses)
      bytesApart = bytesApart + byteCount(cast<RankedTensorType>(access.value.getType()));
    std::string name = operatorName(plan.op);
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  }
  SmallVector<StringRef> nameRefs(names.begin(), names.end());
  SmallVector<AffineExpr> cost{bytesRead, bytesWritten, operations};
  if (plans.size() > 1)
    cost.push_back(normalized(bytesApart - bytesRead - bytesWritten));
  hr::OperatorInterface root = group.root(), named = group.anchor() ? group.anchor() : root;
  auto kernel = b.create<hr::KernelOp>(
      root->getLoc(), results, inputs, b.getStringAttr(kernelName(named)),
      b.getStrArrayAttr(nameRefs), AffineMapAttr::get(symbolMap(cost, context)));
  if (group.keepsAxes()) {
    SmallVector<std::string> inputNames;
    for (const Access &access : external)
      inputNames.push_back(programSourceName(access.value));
    kernel->setAttr(kInputNamesAttr, b.getStrArrayAttr(SmallVector<StringRef>(inputNames.begin(),
                                                                              inputNames.end())));
  }
  Block *block = b.createBlock(&kernel.getBody());
  for (Value input : inputs)
    block->addArgument(plainType(input.getType()), root->getLoc());
  return kernel;
}

/// The operators in program order, each on the rows of a block where the group walks. `parts` are
/// what they read of the kernel's arguments.
llvm::DenseMap<Value, Value> KernelBuilder::emitOperators(OpBuilder &inner, ArrayRef<Value> parts,
                                                          const Rows *rows) {
  SmallVector<Value> read(parts);
  for (auto [access, part] : llvm::zip_equal(external, read)) {
    if (!rows || !startsWithRows(access))
      continue;
    SmallVector<OpFoldResult> offsets(access.view.size(), inner.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(access.view.size(), inner.getIndexAttr(1));
    offsets.front() = rows->first;
    Location loc = access.value.getLoc();
    part = inner.create<tensor::ExtractSliceOp>(loc, part, offsets,
                                                sizesIn(inner, loc, access, rows), strides);
  }
  llvm::DenseMap<Value, Value> computed;
  for (OpPlan &plan : plans) {
    SmallVector<Value> operands;
    for (const Access &access : ArrayRef(plan.accesses).drop_back())
      if (Value inside = computed.lookup(access.value))
        operands.push_back(rows ? inside : partOf(inner, access, inside));
      else
        operands.push_back(read[llvm::find(external, access) - external.begin()]);
    computed[plan.op->getResult(0)] = emitOperator(inner, plan, operands, rows);
  }
  return computed;
}

/// How many rows a block has: a fixed part of all where something is combined over them, else what
/// makes a cell of reasonable size.
AffineExpr KernelBuilder::rowsPerBlock() const {
  constexpr int64_t kPointsPerCell = 1 << 14;
  bool onlyRows = llvm::all_of(plans, [](const OpPlan &plan) { return plan.axes.size() == 1; });
  int64_t unit = onlyRows ? 64 : 8; // blocks begin where whole vectors or groups of rows do
  if (hasAccumulation())
    return sizes[*group.walkAxis()].ceilDiv(group.walkBlocks() * unit) * unit;
  int64_t row = 1;
  for (auto [axis, size] : llvm::enumerate(sizes))
    if (static_cast<int>(axis) != *group.walkAxis() &&
        llvm::any_of(plans, [&](const OpPlan &p) { return llvm::is_contained(p.axes, axis); }))
      row *= constantValue(size).value_or(64);
  return constantDim(std::max<int64_t>(1, kPointsPerCell / row / unit) * unit, context);
}

KernelBuilder::Rows KernelBuilder::rowsOf(OpBuilder &inner, Location loc, Value block) {
  auto value = [&](AffineExpr size) {
    return getValueOrCreateConstantIndexOp(inner, loc, sizeOperand(inner, loc, size));
  };
  Value perBlock = value(rowsPerBlock()), all = value(sizes[*group.walkAxis()]);
  Value start = inner.create<arith::MulIOp>(loc, block, perBlock);
  Value first = inner.create<arith::MinSIOp>(loc, start, all);
  Value left = inner.create<arith::SubIOp>(loc, all, first);
  return {block, first, inner.create<arith::MinSIOp>(loc, perBlock, left)};
}

/// The type of what the kernel stores of an operator.
RankedTensorType KernelBuilder::storedType(const OpPlan &plan) const {
  const Access &result = plan.accesses.back();
  SmallVector<AffineExpr> shape = sizesOf(result);
  if (plan.accumulates)
    shape.insert(shape.begin(), constantDim(group.walkBlocks(), context));
  return tensorType(shape, cast<RankedTensorType>(result.value.getType()).getElementType());
}

/// A walking kernel: all operators on one block of rows after the other.
SmallVector<Value> KernelBuilder::emitBlocks(ArrayRef<Value> parts, ArrayRef<Type> results) {
  Location loc = group.root()->getLoc();
  SmallVector<Value> inits;
  for (Type type : results) {
    auto tensor = cast<RankedTensorType>(type);
    inits.push_back(emptyTensor(b, loc, shapeOf(tensor), tensor.getElementType()));
  }
  AffineExpr cells = hasAccumulation() ? constantDim(group.walkBlocks(), context)
                                       : sizes[*group.walkAxis()].ceilDiv(rowsPerBlock());
  SmallVector<OpFoldResult> bounds{sizeOperand(b, loc, cells)};
  auto emitBody = [&](OpBuilder &inner, Location, ValueRange arguments) {
    Rows rows = rowsOf(inner, loc, arguments.front());
    llvm::DenseMap<Value, Value> computed = emitOperators(inner, parts, &rows);
    struct Store {
      Value value;
      SmallVector<OpFoldResult> offsets, sizes;
    };
    SmallVector<Store> stores;
    for (const OpPlan &plan : plans) {
      if (!plan.stored)
        continue;
      Store store{
          computed[plan.op->getResult(0)], {}, sizesIn(inner, loc, plan.accesses.back(), &rows)};
      store.offsets.assign(store.sizes.size(), inner.getIndexAttr(0));
      if (plan.accumulates) {
        store.sizes.insert(store.sizes.begin(), inner.getIndexAttr(1));
        store.offsets.insert(store.offsets.begin(), rows.block);
      } else {
        store.offsets.front() = rows.first;
      }
      stores.push_back(std::move(store));
    }
    auto terminator = inner.create<scf::InParallelOp>(loc);
    inner.setInsertionPointToEnd(terminator.getBody());
    for (auto [store, destination] : llvm::zip_equal(stores, arguments.drop_front())) {
      SmallVector<OpFoldResult> strides(store.offsets.size(), inner.getIndexAttr(1));
      inner.create<tensor::ParallelInsertSliceOp>(loc, store.value, destination, store.offsets,
                                                  store.sizes, strides);
    }
  };
  auto walk = b.create<scf::ForallOp>(loc, bounds, inits, /*mapping=*/std::nullopt, emitBody);
  return walk.getResults();
}

/// The result of an operator from the partial results of all blocks.
Value KernelBuilder::combined(const OpPlan &plan, Value partial) {
  Operation *op = plan.op;
  auto reduce = dyn_cast<hr::ReduceOp>(op);
  hr::ReduceKind kind = reduce ? reduce.getKind() : hr::ReduceKind::Sum;
  auto all = b.create<hr::ReduceOp>(plan.op->getLoc(), partial, kind, ArrayRef<int64_t>{0},
                                    /*keep_dims=*/false);
  KernelGroup small(cast<hr::OperatorInterface>(all.getOperation()), KernelGroup::Loops::Whole);
  Value result = buildKernel(b, small, machine).front().second;
  all.erase();
  return result;
}

SmallVector<Replacement> KernelBuilder::build() {
  SmallVector<Value> inputs = collectInputs();
  SmallVector<Type> results;
  for (const OpPlan &plan : plans)
    if (plan.stored)
      results.push_back(storedType(plan));
  hr::KernelOp kernel = createKernel(inputs, results);
  SmallVector<Value> parts, yields;
  for (auto [access, argument] : llvm::zip_equal(external, kernel.getBody().getArguments()))
    parts.push_back(partOf(b, access, argument));
  if (group.walkAxis()) {
    yields = emitBlocks(parts, results);
  } else {
    llvm::DenseMap<Value, Value> computed = emitOperators(b, parts, nullptr);
    for (const OpPlan &plan : plans)
      if (plan.stored)
        yields.push_back(computed[plan.op->getResult(0)]);
  }
  b.create<hr::YieldOp>(kernel.getLoc(), yields);
  b.setInsertionPointAfter(kernel);

  SmallVector<Replacement> replacements;
  unsigned next = 0;
  for (const OpPlan &plan : plans) {
    if (!plan.stored)
      continue;
    Value out = kernel.getResult(next++);
    if (plan.accumulates)
      out = combined(plan, out);
    Type type = plan.op->getResult(0).getType();
    if (out.getType() != type)
      out = b.create<hr::ReshapeOp>(plan.op->getLoc(), type, out);
    replacements.emplace_back(plan.op, out);
  }
  return replacements;
}

} // namespace

SmallVector<Replacement> buildKernel(OpBuilder &builder, const KernelGroup &group,
                                     const Machine &machine) {
  return KernelBuilder(builder, group, machine).build();
}

} // namespace headrace
