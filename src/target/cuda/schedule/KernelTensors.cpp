#include "target/cuda/schedule/KernelTensors.h"

#include "dialect/Hr.h"
#include "transform/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace::cuda {

AffineExpr loopSize(linalg::GenericOp op, unsigned dim) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (!ShapedType::isDynamic(ranges[dim]))
    return constantDim(ranges[dim], op.getContext());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (expr == getAffineDimExpr(dim, op.getContext()))
        if (auto shape = kernelShape(operand.get()))
          return (*shape)[i];
  }
  return {};
}

int64_t elementsFrom(linalg::GenericOp op, unsigned from) {
  constexpr int64_t kMany = int64_t{1} << 30;
  int64_t elements = 1;
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  for (unsigned dim : dims) {
    AffineExpr size = dim < from ? AffineExpr() : loopSize(op, dim);
    if (dim >= from)
      elements *= size ? constantValue(size).value_or(kMany) : kMany;
    if (elements >= kMany)
      return kMany;
  }
  return elements;
}

bool isWindow(linalg::GenericOp op) {
  constexpr int64_t kMaxWindow = 64; // elements
  return op.getNumReductionLoops() > 0 && elementsFrom(op, 0) <= kMaxWindow;
}

Operation *combinerOf(linalg::GenericOp op) {
  SmallVector<Operation *> combiners;
  if (op.getNumDpsInits() != 1 || !matchReduction(op.getRegionOutputArgs(), 0, combiners) ||
      combiners.size() != 1)
    return nullptr;
  return combiners.front()->getNumOperands() == 2 ? combiners.front() : nullptr;
}

Value combine(OpBuilder &b, Operation *combiner, Value a, Value c) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), c);
  return b.clone(*combiner, mapping)->getResult(0);
}

Value startOf(linalg::GenericOp op) {
  auto fill = op.getDpsInits().front().getDefiningOp<linalg::FillOp>();
  return fill ? fill.value() : Value();
}

Point loopsAt(linalg::GenericOp op, ArrayRef<AffineExpr> point) {
  Point loops(op.getNumLoops());
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  for (auto [expr, place] : llvm::zip(map.getResults(), point)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return {};
    loops[dim.getPosition()] = place;
  }
  for (auto [loop, kind] : llvm::zip(loops, op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::parallel && !loop)
      return {};
  return loops;
}

} // namespace headrace::cuda
