#include "transform/common/OperatorBuilders.h"

#include "dialect/SymbolicShape.h"

using namespace mlir;

namespace headrace {

Value transposed(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> permutation) {
  if (movesUnitDimsOnly(cast<RankedTensorType>(value.getType()), permutation))
    return reshaped(builder, loc, value,
                    permuted(ArrayRef<AffineExpr>(shapeOf(value)), permutation));
  return builder.create<hr::TransposeOp>(loc, value, permutation);
}

Value reshaped(OpBuilder &builder, Location loc, Value value, ArrayRef<AffineExpr> shape) {
  auto type = tensorType(shape, cast<RankedTensorType>(value.getType()).getElementType());
  if (type == value.getType())
    return value;
  return builder.create<hr::ReshapeOp>(loc, type, value);
}

Value withRank(OpBuilder &builder, Location loc, Value value, int64_t rank) {
  SymbolicShape shape = shapeOf(value);
  shape.insert(shape.begin(), rank - shape.size(), constantDim(1, builder.getContext()));
  return reshaped(builder, loc, value, shape);
}

bool isKnown(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<hr::OperatorInterface>(op))
    return false;
  return isa<hr::ConstantOp>(op) ||
         (depth > 0 && op->getNumOperands() > 0 &&
          llvm::all_of(op->getOperands(), [=](Value v) { return isKnown(v, depth - 1); }));
}

bool broadcastTo(ValueRange operands, ArrayRef<AffineExpr> shape) {
  SymbolicShape joined;
  for (Value operand : operands) {
    auto next = broadcastShapes(joined, shapeOf(operand));
    if (!next)
      return false;
    joined = *next;
  }
  return joined.size() == shape.size() && llvm::all_of(llvm::zip(joined, shape), [](auto pair) {
           return sameSize(std::get<0>(pair), std::get<1>(pair));
         });
}

} // namespace headrace
