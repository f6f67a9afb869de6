#include "target/expansion/ProductShape.h"

using namespace mlir;

namespace headrace {

ProductShape productShape(hr::OperatorInterface op, const SizeHints &sizes) {
  ProductShape shape;
  Movement movement = op.getMovement();
  AffineMap lhs = movement.maps.front(), rhs = movement.maps[1], result = movement.maps.back();
  for (auto [dim, size] : llvm::enumerate(movement.domain)) {
    auto extent = static_cast<double>(std::max<int64_t>(1, sizeHint(size, sizes)));
    bool inLhs = lhs && lhs.isFunctionOfDim(dim), inRhs = rhs && rhs.isFunctionOfDim(dim);
    bool inResult = result && result.isFunctionOfDim(dim);
    (!inResult        ? shape.depth
     : inLhs && inRhs ? shape.batch
     : inRhs          ? shape.columns
                      : shape.rows) *= extent;
  }
  return shape;
}

} // namespace headrace
