#include "dialect/KernelSizes.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

using namespace mlir;

namespace headrace {

OpFoldResult sizeOperand(OpBuilder &builder, Location loc, AffineExpr size) {
  if (auto constant = constantValue(size))
    return builder.getIndexAttr(*constant);
  return builder.create<hr::SizeOp>(loc, symbolMap({size}, builder.getContext())).getResult();
}

SmallVector<OpFoldResult> sizeOperands(OpBuilder &builder, Location loc,
                                       ArrayRef<AffineExpr> sizes) {
  return llvm::map_to_vector(sizes,
                             [&](AffineExpr size) { return sizeOperand(builder, loc, size); });
}

Value emptyTensor(OpBuilder &builder, Location loc, ArrayRef<AffineExpr> dims, Type elementType) {
  return builder.create<tensor::EmptyOp>(loc, sizeOperands(builder, loc, dims), elementType);
}

} // namespace headrace
