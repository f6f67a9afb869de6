// Kernels that walk: all operators on one block of rows after the other.
#include "dialect/KernelSizes.h"
#include "dialect/SizeAlgebra.h"
#include "transform/kernels/KernelWriter.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace headrace {

/// Blocks are a fixed part of all rows if something is reduced over them, else what makes a
/// cell of reasonable size; or what the recipe says.
void KernelWriter::decideBlocks() {
  constexpr uint64_t kPointsPerCell = 1 << 14;
  WalkBlocks &walk = form.walk;
  bool onlyRows = llvm::all_of(plans, [](const OpPlan &plan) { return plan.axes.size() == 1; });
  walk.unit = onlyRows ? 64 : 8; // blocks begin where whole vectors or groups of rows do
  if (hasAccumulation()) {
    walk.blocks = group.walkBlocks();
    if (walk.wantedBlocks && walk.refusalOf(*walk.wantedBlocks, 0).empty())
      walk.blocks = *walk.wantedBlocks;
    return;
  }
  // Of an empty axis, and of one whose size is not known yet, some points are assumed.
  uint64_t row = 1;
  for (const OpPlan &plan : plans) {
    uint64_t points = 1;
    for (int64_t axis : plan.axes)
      if (axis != *group.walkAxis())
        points = llvm::SaturatingMultiply<uint64_t>(
            points, std::max<int64_t>(1, constantValue(sizes[axis]).value_or(64)));
    row = std::max(row, points);
  }
  walk.block =
      std::max<int64_t>(1, static_cast<int64_t>(kPointsPerCell / row) / walk.unit) * walk.unit;
  if (walk.wantedBlock && walk.refusalOf(0, *walk.wantedBlock).empty())
    walk.block = *walk.wantedBlock;
}

AffineExpr KernelWriter::rowsPerBlock() const {
  const WalkBlocks &walk = form.walk;
  return walk.block ? constantDim(walk.block, context)
                    : sizes[*group.walkAxis()].ceilDiv(walk.blocks * walk.unit) * walk.unit;
}

KernelWriter::Rows KernelWriter::rowsOf(OpBuilder &inner, Location loc, Value block) {
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
RankedTensorType KernelWriter::storedType(const OpPlan &plan) const {
  const Access &result = plan.accesses.back();
  SmallVector<AffineExpr> shape = sizesOf(result);
  if (plan.op == group.root())
    for (auto [size, dim] : llvm::zip(shape, result.view))
      if (auto axis = dim.axis()) {
        auto [low, high] = borderAlong(*axis);
        size = size + (low + high);
      }
  if (plan.accumulates)
    shape.insert(shape.begin(), constantDim(form.walk.blocks, context));
  return tensorType(shape, cast<RankedTensorType>(result.value.getType()).getElementType());
}

/// A walking kernel: all operators on one block of rows after the other.
SmallVector<Value> KernelWriter::emitBlocks(ArrayRef<Value> parts, ArrayRef<Type> results) {
  Location loc = group.root()->getLoc();
  SmallVector<Value> inits;
  for (Type type : results) {
    auto tensor = cast<RankedTensorType>(type);
    inits.push_back(emptyTensor(b, loc, shapeOf(tensor), tensor.getElementType()));
  }
  AffineExpr cells = form.walk.blocks ? constantDim(form.walk.blocks, context)
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
Value KernelWriter::combined(const OpPlan &plan, Value partial) {
  Operation *op = plan.op;
  auto reduce = dyn_cast<hr::ReduceOp>(op);
  hr::ReduceKind kind = reduce ? reduce.getKind() : hr::ReduceKind::Sum;
  auto all = b.create<hr::ReduceOp>(plan.op->getLoc(), partial, kind, ArrayRef<int64_t>{0},
                                    /*keep_dims=*/false);
  KernelRules rules(all->getParentOfType<func::FuncOp>(), KernelRules::Loops::Whole);
  KernelGroup small(cast<hr::OperatorInterface>(all.getOperation()), rules);
  KernelForm undecided;
  Value result = buildKernel(b, small, machine, undecided).front().second;
  all.erase();
  return result;
}

} // namespace headrace
