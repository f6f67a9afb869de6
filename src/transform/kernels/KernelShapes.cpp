#include "transform/kernels/KernelShapes.h"

#include "dialect/Hr.h"
#include "transform/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace headrace {

AffineExpr sizeExpr(OpFoldResult size, MLIRContext *context) {
  if (auto constant = getConstantIntValue(size))
    return constantDim(*constant, context);
  Operation *op = cast<Value>(size).getDefiningOp();
  if (!op)
    return {};
  if (auto symbolic = dyn_cast<hr::SizeOp>(op))
    return symbolic.getExpr().getResult(0);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    SmallVector<AffineExpr> operands;
    for (Value operand : apply.getOperands()) {
      operands.push_back(sizeExpr(operand, context));
      if (!operands.back())
        return {};
    }
    AffineMap map = apply.getAffineMap();
    return map.getResult(0).replaceDimsAndSymbols(ArrayRef(operands).take_front(map.getNumDims()),
                                                  ArrayRef(operands).drop_front(map.getNumDims()));
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto shape = kernelShape(dim.getSource());
    auto index = dim.getConstantIndex();
    return shape && index ? (*shape)[*index] : AffineExpr();
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  AffineExpr lhs = sizeExpr(op->getOperand(0), context), rhs = sizeExpr(op->getOperand(1), context);
  if (!lhs || !rhs)
    return {};
  return isa<arith::AddIOp>(op) ? lhs + rhs : isa<arith::SubIOp>(op) ? lhs - rhs : lhs * rhs;
}

static std::optional<SymbolicShape> shapeOfSizes(ArrayRef<OpFoldResult> sizes,
                                                 MLIRContext *context) {
  SymbolicShape shape;
  for (OpFoldResult size : sizes) {
    shape.push_back(sizeExpr(size, context));
    if (!shape.back())
      return std::nullopt;
  }
  return shape;
}

std::optional<SymbolicShape> kernelShape(Value tensor) {
  MLIRContext *context = tensor.getContext();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.hasStaticShape()) {
    SymbolicShape shape;
    for (int64_t size : type.getShape())
      shape.push_back(constantDim(size, context));
    return shape;
  }
  Operation *op = tensor.getDefiningOp();
  if (!op) // carried by a loop
    return kernelShape(cast<scf::ForOp>(tensor.getParentBlock()->getParentOp())
                           .getTiedLoopInit(cast<BlockArgument>(tensor))
                           ->get());
  return llvm::TypeSwitch<Operation *, std::optional<SymbolicShape>>(op)
      .Case([&](bufferization::ToTensorOp given) -> std::optional<SymbolicShape> {
        auto argument = cast<BlockArgument>(given.getMemref());
        auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
        auto sizes = function.getArgAttrOfType<AffineMapAttr>(argument.getArgNumber(), kSizesAttr);
        if (!sizes)
          return std::nullopt;
        return SymbolicShape(sizes.getValue().getResults());
      })
      .Case([&](tensor::EmptyOp empty) { return shapeOfSizes(empty.getMixedSizes(), context); })
      .Case([&](tensor::ExtractSliceOp slice) -> std::optional<SymbolicShape> {
        auto shape = shapeOfSizes(slice.getMixedSizes(), context);
        if (!shape)
          return shape;
        SymbolicShape kept;
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        for (auto [i, size] : llvm::enumerate(*shape))
          if (!dropped.test(i))
            kept.push_back(size);
        return kept;
      })
      .Case([&](tensor::InsertSliceOp insert) { return kernelShape(insert.getDest()); })
      .Case([&](tensor::PadOp pad) -> std::optional<SymbolicShape> {
        auto shape = kernelShape(pad.getSource());
        auto low = shapeOfSizes(pad.getMixedLowPad(), context);
        auto high = shapeOfSizes(pad.getMixedHighPad(), context);
        if (!shape || !low || !high)
          return std::nullopt;
        for (auto [size, before, after] : llvm::zip(*shape, *low, *high))
          size = size + before + after;
        return shape;
      })
      .Case([&](scf::ForOp loop) {
        return kernelShape(loop.getInitArgs()[cast<OpResult>(tensor).getResultNumber()]);
      })
      .Case([&](linalg::LinalgOp linalgOp) {
        return kernelShape(linalgOp.getDpsInits()[cast<OpResult>(tensor).getResultNumber()]);
      })
      .Default([](Operation *) { return std::nullopt; });
}

SmallVector<AffineExpr> loopSizes(linalg::LinalgOp op) {
  SmallVector<AffineExpr> sizes;
  for (int64_t range : op.getStaticLoopRanges())
    sizes.push_back(ShapedType::isDynamic(range) ? AffineExpr()
                                                 : constantDim(range, op.getContext()));
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<SymbolicShape> shape;
    if (llvm::is_contained(sizes, AffineExpr()) && isa<RankedTensorType>(operand.get().getType()))
      shape = kernelShape(operand.get());
    if (!shape)
      continue;
    for (auto [expr, size] : llvm::zip(op.getMatchingIndexingMap(&operand).getResults(), *shape))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !sizes[dim.getPosition()])
        sizes[dim.getPosition()] = size;
  }
  return sizes;
}

} // namespace headrace
