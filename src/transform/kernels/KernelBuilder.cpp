#include "transform/kernels/KernelBuilder.h"

#include "dialect/KernelSizes.h"
#include "dialect/SizeAlgebra.h"
#include "transform/kernels/KernelWriter.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

/// The operand in the shape the kernel sees; a reshape, so nothing moves.
Value KernelWriter::asView(const Access &access) {
  if (hr::SliceOp slice = access.slice) {
    if (!access.splitDim)
      return slice.getInput();
    unsigned dim = *access.splitDim;
    SymbolicShape shape = shapeOf(slice.getInput());
    SmallVector<AffineExpr> seen = sizesOf(access);
    auto *outer = seen.begin() + (llvm::find(access.sliceDims, dim) - access.sliceDims.begin());
    shape[dim] = outer[0];
    shape.insert(shape.begin() + dim + 1, outer[1]);
    Type element = cast<RankedTensorType>(slice.getType()).getElementType();
    return b.create<hr::ReshapeOp>(slice.getLoc(), tensorType(shape, element), slice.getInput());
  }
  if (access.isTable)
    return access.value;
  auto type = cast<RankedTensorType>(access.value.getType());
  RankedTensorType viewType = tensorType(sizesOf(access), type.getElementType());
  if (viewType == type)
    return access.value;
  return b.create<hr::ReshapeOp>(access.value.getLoc(), viewType, access.value);
}

Value KernelWriter::packed(const Access &access) {
  Value view = asView(access);
  return b.create<hr::TransposeOp>(view.getLoc(), view, packPermutation);
}

/// What an operand is, or is a part of.
static Value sourceOf(const KernelPlan::Access &access) {
  return access.slice ? hr::SliceOp(access.slice).getInput() : access.value;
}

/// The part of an operand that is walked: of a slice, or the beginning of a dimension.
Value KernelWriter::partOf(OpBuilder &inner, const Access &access, Value operand) {
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
    SmallVector<AffineExpr> starts(slice.getStarts().getResults());
    SmallVector<int64_t> steps(slice.getSteps());
    if (access.splitDim) {
      starts.insert(starts.begin() + *access.splitDim + 1, constantDim(0, context));
      steps.insert(steps.begin() + *access.splitDim + 1, 1);
    }
    offsets = sizeOperands(inner, loc, starts);
    for (auto [stride, step] : llvm::zip(strides, steps))
      stride = inner.getIndexAttr(step);
  }
  auto type = plainType(tensorType(walked, source.getElementType()));
  return inner.create<tensor::ExtractSliceOp>(loc, type, operand, offsets, parts, strides);
}

SmallVector<OpFoldResult> KernelWriter::sizesIn(OpBuilder &inner, Location loc,
                                                const Access &access, const Rows *rows) {
  SmallVector<OpFoldResult> result = sizeOperands(inner, loc, sizesOf(access));
  if (rows && startsWithRows(access))
    result.front() = rows->count;
  return result;
}

Value KernelWriter::emitOperator(OpBuilder &inner, const OpPlan &plan, ArrayRef<Value> operands,
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

/// Sets the names that recipes use for the operation and its loops.
void KernelWriter::nameStage(linalg::GenericOp generic, const OpPlan &plan) {
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
void KernelWriter::placeIndices(linalg::GenericOp generic, const OpPlan &plan) {
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

/// The values read from memory: a slice counts as such, several of one tensor as all of it, once.
SmallVector<Value> KernelWriter::valuesRead() const {
  SmallVector<Value> values;
  llvm::DenseMap<Value, size_t> placeOf;
  for (const Access &access : external) {
    Value source = sourceOf(access);
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

/// The kernel's inputs: every value the group does not compute itself, once per way to read it.
SmallVector<Value> KernelWriter::collectInputs() {
  SmallVector<Value> inputs;
  for (OpPlan &plan : plans)
    for (auto [i, access] : llvm::enumerate(llvm::drop_end(plan.accesses))) {
      bool computed =
          llvm::any_of(plans, [&](OpPlan &p) { return p.op->getResult(0) == sourceOf(access); });
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

hr::KernelOp KernelWriter::createKernel(ArrayRef<Value> inputs, ArrayRef<Type> results) {
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
  if (group.border() && !llvm::is_contained(names, operatorName(group.border())))
    names.push_back(operatorName(group.border()));
  SmallVector<StringRef> nameRefs(names.begin(), names.end());
  SmallVector<AffineExpr> cost{bytesRead, bytesWritten, operations};
  if (plans.size() > 1)
    cost.push_back(normalized(bytesApart - bytesRead - bytesWritten));
  hr::OperatorInterface root = group.root();
  auto kernel = b.create<hr::KernelOp>(
      root->getLoc(), results, inputs, b.getStringAttr(kernelName(group.namesake())),
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

/// The operators in program order, each on the rows of a block if the group walks. `parts` are
/// what they read of the kernel's arguments.
llvm::DenseMap<Value, Value> KernelWriter::emitOperators(OpBuilder &inner, ArrayRef<Value> parts,
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
      if (Value inside = computed.lookup(sourceOf(access)))
        operands.push_back(rows ? inside : partOf(inner, access, inside));
      else
        operands.push_back(read[llvm::find(external, access) - external.begin()]);
    computed[plan.op->getResult(0)] = emitOperator(inner, plan, operands, rows);
  }
  return computed;
}

/// The kernel's result in the middle of its padding.
Value KernelWriter::withBorder(const OpPlan &plan, Value result) {
  SmallVector<OpFoldResult> low, high;
  for (const ViewDim &dim : plan.accesses.back().view) {
    auto [front, behind] = dim.axis() ? borderAlong(*dim.axis()) : std::pair<int64_t, int64_t>{};
    low.push_back(b.getIndexAttr(front));
    high.push_back(b.getIndexAttr(behind));
  }
  hr::PadOp border = group.border();
  Value value = b.create<arith::ConstantOp>(border.getLoc(), cast<TypedAttr>(border.getValue()));
  return b.create<tensor::PadOp>(border.getLoc(), plainType(storedType(plan)), result, low, high,
                                 value);
}

SmallVector<Replacement> KernelWriter::build() {
  if (group.walkAxis())
    decideBlocks();
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
        yields.push_back(group.border() ? withBorder(plan, computed[plan.op->getResult(0)])
                                        : computed[plan.op->getResult(0)]);
  }
  b.create<hr::YieldOp>(kernel.getLoc(), yields);
  b.setInsertionPointAfter(kernel);

  SmallVector<Replacement> replacements;
  SmallVector<Location> places;
  unsigned next = 0;
  for (const OpPlan &plan : plans) {
    if (!plan.stored)
      continue;
    Operation *replaced = group.border() ? group.border().getOperation() : plan.op;
    places.push_back(plan.accumulates ? withoutNumber(replaced->getLoc(), next)
                                      : replaced->getLoc());
    Value out = kernel.getResult(next++);
    if (plan.accumulates)
      out = combined(plan, out);
    Type type = replaced->getResult(0).getType();
    if (out.getType() != type)
      out = b.create<hr::ReshapeOp>(replaced->getLoc(), type, out);
    replacements.emplace_back(replaced, out);
  }
  if (valueNumber(group.root()->getResult(0)))
    kernel->setLoc(locationOfResults(places));
  return replacements;
}

SmallVector<Replacement> buildKernel(OpBuilder &builder, const KernelGroup &group,
                                     const Machine &machine, KernelForm &form) {
  return KernelWriter(builder, group, machine, form).build();
}

} // namespace headrace
