// Systems of linear equations: shapes and movement.
#include "dialect/ops/systems/Systems.h"

#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using utils::IteratorType;

#define GET_OP_CLASSES
#include "dialect/Systems.cpp.inc"

namespace headrace::hr {

LogicalResult SolveOp::verify() {
  SymbolicShape matrix = shapeOf(getMatrix()), right = shapeOf(getRight());
  size_t last = getComplex() ? 1 : 0, rank = matrix.size();
  auto refuse = [&](const Twine &expected) {
    return emitOpError("expected ")
           << expected << ", got " << shapeText(matrix) << " and " << shapeText(right);
  };
  Type element = typeOf(getMatrix()).getElementType();
  if (element != typeOf(getRight()).getElementType() || !(element.isF32() || element.isF64()))
    return emitOpError("expected a matrix and right-hand sides of f32 or f64, got ")
           << element << " and " << typeOf(getRight()).getElementType();
  if (rank < 2 + last || right.size() != rank)
    return refuse("matrices and right-hand sides of one rank, at least " + Twine(2 + last));
  if (last && (constantValue(matrix.back()) != 2 || constantValue(right.back()) != 2))
    return refuse("a last dimension of 2, real and imaginary part");
  size_t row = rank - 2 - last;
  for (size_t i = 0; i <= row; ++i)
    if (!sameSize(matrix[i], right[i]))
      return refuse("right-hand sides with the matrices' leading dimensions and rows");
  if (!sameSize(matrix[row], matrix[row + 1]))
    return refuse("square matrices");
  return success();
}

SolveOp::Sizes SolveOp::getSizes() {
  SymbolicShape right = shapeOf(getRight());
  size_t row = right.size() - 2 - (getComplex() ? 1 : 0);
  return {elementCount(ArrayRef(right).take_front(row), getContext()), right[row], right[row + 1]};
}

/// Two triangular systems for every right-hand side, n^2 points, and a factorization of about a
/// third of n^3.
Movement SolveOp::getMovement() {
  constexpr int64_t kReal = 2, kComplex = 8; // a multiplication and an addition
  Sizes sizes = getSizes();
  Movement m;
  m.domain = {sizes.batch, sizes.unknowns, sizes.unknowns,
              sizes.columns + sizes.unknowns.ceilDiv(3)};
  m.iterators = {IteratorType::parallel, IteratorType::reduction, IteratorType::reduction,
                 IteratorType::reduction};
  m.maps.assign(3, AffineMap());
  m.operationsPerPoint = getComplex() ? kComplex : kReal;
  return m;
}

} // namespace headrace::hr
