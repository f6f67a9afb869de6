#include "frontend/common/Products.h"

using namespace mlir;

namespace headrace {

Value contract(OperatorBuilder &b, Value lhs, Value rhs, StringRef lhsDims, StringRef rhsDims,
               StringRef resultDims, Type accumulator) {
  std::string letters;
  for (StringRef dims : {resultDims, lhsDims, rhsDims})
    for (char letter : dims)
      if (letters.find(letter) == std::string::npos)
        letters += letter;
  SmallVector<AffineMap> maps;
  for (StringRef dims : {lhsDims, rhsDims, resultDims}) {
    SmallVector<AffineExpr> exprs;
    for (char letter : dims)
      exprs.push_back(getAffineDimExpr(letters.find(letter), b.context));
    maps.push_back(AffineMap::get(letters.size(), 0, exprs, b.context));
  }
  return b.infer<hr::ContractOp>(lhs, rhs, b.builder.getAffineMapArrayAttr(maps),
                                 accumulator ? TypeAttr::get(accumulator) : TypeAttr());
}

/// The leading dimensions of an operand, which broadcast as in NumPy. A dimension of size 1 that is
/// repeated is dropped: the other operand alone then gives it.
struct BatchedOperand {
  Value tensor;
  std::string dims;
};

static BatchedOperand dropRepeated(OperatorBuilder &b, Value tensor, size_t batchRank,
                                   ArrayRef<AffineExpr> batch) {
  SymbolicShape shape = shapeOf(tensor), kept;
  BatchedOperand operand;
  for (size_t i = 0; i < batchRank; ++i) {
    size_t position = batch.size() - batchRank + i;
    if (constantValue(shape[i]) == 1 && constantValue(batch[position]) != 1)
      continue;
    kept.push_back(shape[i]);
    operand.dims += static_cast<char>('A' + position);
  }
  kept.append(shape.begin() + batchRank, shape.end());
  operand.tensor = b.reshape(tensor, kept);
  return operand;
}

Value matrixProduct(OperatorBuilder &b, Value lhs, Value rhs, Type accumulator) {
  SymbolicShape lhsShape = shapeOf(lhs), rhsShape = shapeOf(rhs);
  if (lhsShape.empty() || rhsShape.empty())
    b.fail(ErrorKind::ShapeMismatch, "expected operands of rank 1 or more, got {0} and {1}",
           b.text(lhsShape), b.text(rhsShape));
  bool lhsVector = lhsShape.size() == 1, rhsVector = rhsShape.size() == 1;
  size_t lhsBatch = lhsVector ? 0 : lhsShape.size() - 2;
  size_t rhsBatch = rhsVector ? 0 : rhsShape.size() - 2;
  auto batch = broadcastShapes(ArrayRef(lhsShape).take_front(lhsBatch),
                               ArrayRef(rhsShape).take_front(rhsBatch));
  if (!batch || !sameSize(lhsShape.back(), rhsShape[rhsBatch]))
    b.fail(ErrorKind::ShapeMismatch, "matrices {0} and {1} cannot be multiplied", b.text(lhsShape),
           b.text(rhsShape));

  BatchedOperand left = dropRepeated(b, lhs, lhsBatch, *batch);
  BatchedOperand right = dropRepeated(b, rhs, rhsBatch, *batch);
  std::string result;
  for (size_t i = 0; i < batch->size(); ++i)
    result += static_cast<char>('A' + i);
  std::string row = lhsVector ? "" : "m", column = rhsVector ? "" : "n";
  return contract(b, left.tensor, right.tensor, left.dims + row + "k", right.dims + "k" + column,
                  result + row + column, accumulator);
}

} // namespace headrace
