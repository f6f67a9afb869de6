// Level 3: a kernel walks a range of its grid cells; its caller gives the range.
//
// Before:
//   func.func @k(%in, %out) { scf.forall (%i, %j) in (8, 4) { ... } ; return }
// After:
//   func.func @k(%in, %out, %begin: index, %end: index) -> index {
//     scf.for %cell = %begin to %end { %i = %cell / 4 ; %j = %cell mod 4 ; ... }
//     return %c32
//   }
//
// Which thread runs which cells is the caller's business, and never changes a result: a cell
// computes the same values wherever it runs. Padding around the result is filled with the first
// cell, or part by part with the first cell of each part if the kernel can run in slices; a kernel
// with other work outside its grid is one cell.
#include "target/Slices.h"
#include "target/cpu/Passes.h"
#include "target/cpu/lower/Border.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUDISTRIBUTEGRIDPASS
#include "target/cpu/Passes.h.inc"

namespace {

Value asValue(OpBuilder &b, Location loc, OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return b.create<arith::ConstantIndexOp>(loc, *constant);
  return cast<Value>(value);
}

/// How many cells there are in each dimension.
SmallVector<Value> cellCounts(OpBuilder &b, scf::ForallOp grid) {
  SmallVector<Value> counts;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1), d2 = b.getAffineDimExpr(2);
  for (auto [low, high, step] :
       llvm::zip(grid.getMixedLowerBound(), grid.getMixedUpperBound(), grid.getMixedStep())) {
    std::optional<int64_t> known = getConstantIntValue(step);
    AffineExpr size = known ? b.getAffineConstantExpr(*known) : d2;
    OpFoldResult count = affine::makeComposedFoldedAffineApply(
        b, grid.getLoc(), AffineMap::get(3, 0, (d1 - d0).ceilDiv(size)), {low, high, step});
    counts.push_back(asValue(b, grid.getLoc(), count));
  }
  return counts;
}

/// Fills the padding around the part of the result, along its leading dimension, that cells at
/// `first` of the grid's outermost dimension compute, if this is the first of these cells.
void fillPart(OpBuilder &b, ArrayRef<Operation *> borders, Value first, OpFoldResult count,
              ArrayRef<Value> inner) {
  if (borders.empty())
    return;
  Location loc = borders.front()->getLoc();
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0), isFirst;
  for (Value id : inner) {
    Value isZero = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, id, zero);
    isFirst = isFirst ? b.create<arith::AndIOp>(loc, isFirst, isZero) : isZero;
  }
  OpBuilder::InsertionGuard guard(b);
  if (isFirst) {
    auto branch = b.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/false);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  for (Operation *border : borders) {
    auto view =
        cast<linalg::FillOp>(border).getOutputs().front().getDefiningOp<memref::SubViewOp>();
    SmallVector<OpFoldResult> offsets = view.getMixedOffsets(), sizes = view.getMixedSizes();
    offsets.front() = first;
    sizes.front() = count;
    Value part =
        b.create<memref::SubViewOp>(loc, view.getSource(), offsets, sizes, view.getMixedStrides());
    b.create<linalg::FillOp>(loc, cast<linalg::FillOp>(border).getInputs().front(), part);
  }
}

/// Moves the body of `grid` into a loop over the linear cells [begin, end), and with it padding
/// that is filled part by part.
void walkCells(OpBuilder &b, scf::ForallOp grid, ArrayRef<Value> bounds, Value begin, Value end,
               ArrayRef<Operation *> borders = {}) {
  Location loc = grid.getLoc();
  Value one = b.create<arith::ConstantIndexOp>(loc, 1);
  auto loop = b.create<scf::ForOp>(loc, begin, end, one);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value rest = loop.getInductionVar();
  SmallVector<Value> ids(bounds.size());
  for (int i = static_cast<int>(bounds.size()) - 1; i > 0; --i) {
    ids[i] = inner.create<arith::RemUIOp>(loc, rest, bounds[i]);
    rest = inner.create<arith::DivUIOp>(loc, rest, bounds[i]);
  }
  if (!ids.empty())
    ids[0] = rest;
  SmallVector<Value> numbers(ids);
  for (auto [id, low, step] : llvm::zip(ids, grid.getLowerBound(inner), grid.getStep(inner)))
    id = inner.createOrFold<arith::AddIOp>(loc, inner.createOrFold<arith::MulIOp>(loc, id, step),
                                           low);
  fillPart(inner, borders, ids.front(), grid.getMixedStep().front(),
           ArrayRef(numbers).drop_front());
  IRMapping mapping;
  mapping.map(grid.getInductionVars(), ids);
  for (Operation &op : grid.getBody()->without_terminator())
    inner.clone(op, mapping);
}

/// Operations outside the grid run with its first cell.
void runWithFirstCell(OpBuilder &b, ArrayRef<Operation *> ops, Value begin, Value end) {
  if (ops.empty())
    return;
  Location loc = ops.front()->getLoc();
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, begin, zero);
  Value runs = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, begin, end);
  auto first = b.create<scf::IfOp>(loc, b.create<arith::AndIOp>(loc, isFirst, runs),
                                   /*withElseRegion=*/false);
  for (Operation *op : ops)
    op->moveBefore(first.thenBlock()->getTerminator());
}

struct CpuDistributeGridPass : impl::CpuDistributeGridPassBase<CpuDistributeGridPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, linalg::LinalgDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.isExternal())
      return;
    Location loc = kernel.getLoc();
    Type index = IndexType::get(&getContext());
    unsigned arguments = kernel.getNumArguments();
    kernel.insertArgument(arguments, index, {}, loc);
    kernel.insertArgument(arguments + 1, index, {}, loc);
    kernel.insertResult(0, index, {});
    Value begin = kernel.getArgument(arguments), end = kernel.getArgument(arguments + 1);
    Block &body = kernel.getBody().front();

    scf::ForallOp grid;
    SmallVector<Operation *> borders;
    bool oneGrid = true;
    for (Operation &op : body.without_terminator()) {
      if (auto forall = dyn_cast<scf::ForallOp>(op)) {
        oneGrid &= !grid;
        grid = forall;
      } else if (op.hasAttr(kBorderAttr)) {
        borders.push_back(&op);
      } else {
        oneGrid &= isMemoryEffectFree(&op) || isa<memref::AllocOp>(op);
      }
    }
    auto ret = cast<func::ReturnOp>(body.getTerminator());
    if (grid && oneGrid) {
      OpBuilder b(grid);
      bool fillsParts = kernel->getParentOp()->hasAttr(kSlicesAttr);
      if (!fillsParts)
        runWithFirstCell(b, borders, begin, end);
      SmallVector<Value> bounds = cellCounts(b, grid);
      Value cells = b.create<arith::ConstantIndexOp>(loc, 1);
      for (Value bound : bounds)
        cells = b.create<arith::MulIOp>(loc, cells, bound);
      walkCells(b, grid, bounds, begin, end, fillsParts ? borders : ArrayRef<Operation *>());
      if (fillsParts)
        for (Operation *border : borders)
          border->erase();
      grid.erase();
      ret.getOperandsMutable().assign(cells);
      return;
    }

    // One cell: everything, inner grids as plain loops.
    OpBuilder b(ret);
    Value wanted = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, begin, end);
    auto run = b.create<scf::IfOp>(loc, wanted, /*withElseRegion=*/false);
    SmallVector<Operation *> moved;
    for (Operation &op : body.without_terminator())
      if (&op != run.getOperation() && &op != wanted.getDefiningOp())
        moved.push_back(&op);
    for (Operation *op : moved)
      op->moveBefore(run.thenBlock()->getTerminator());
    run.walk([&](scf::ForallOp forall) {
      OpBuilder at(forall);
      SmallVector<Value> bounds = cellCounts(at, forall);
      Value cells = at.create<arith::ConstantIndexOp>(loc, 1);
      for (Value bound : bounds)
        cells = at.create<arith::MulIOp>(loc, cells, bound);
      walkCells(at, forall, bounds, at.create<arith::ConstantIndexOp>(loc, 0), cells);
      forall.erase();
    });
    b.setInsertionPoint(ret);
    ret.getOperandsMutable().assign(b.create<arith::ConstantIndexOp>(loc, 1).getResult());
  }
};

} // namespace
} // namespace headrace
