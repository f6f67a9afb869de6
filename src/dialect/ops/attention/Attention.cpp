// Attention, expanded into products, maps and a softmax at level 1.
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  SymbolicShape query = shapeOf(adaptor.getQuery()), key = shapeOf(adaptor.getKey()),
                value = shapeOf(adaptor.getValue());
  auto refuse = [&](const Twine &expected) {
    return emitOptionalError(loc, "expected ", expected, ", got queries ", shapeText(query),
                             ", keys ", shapeText(key), " and values ", shapeText(value));
  };
  size_t rank = query.size();
  if (rank < 2 || key.size() != rank || value.size() != rank)
    return refuse("matrices of one rank");
  auto same = [](ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
    return llvm::all_of(llvm::zip_equal(a, b),
                        [](auto pair) { return sameSize(std::get<0>(pair), std::get<1>(pair)); });
  };
  auto batch = [](const SymbolicShape &shape) { return ArrayRef(shape).drop_back(2); };
  if (!same(batch(query), batch(key)) || !same(batch(query), batch(value)))
    return refuse("equal leading dimensions");
  if (!sameSize(query.back(), key.back()))
    return refuse("queries as long as keys");
  if (!sameSize(key[rank - 2], value[rank - 2]))
    return refuse("as many values as keys");
  auto type = typeOf(adaptor.getQuery());
  for (Value operand : {adaptor.getKey(), adaptor.getValue(), adaptor.getBias()})
    if (operand && typeOf(operand).getElementType() != type.getElementType())
      return emitOptionalError(loc, "expected operands of one element type, got ",
                               type.getElementType(), " and ", typeOf(operand).getElementType());
  if (Value bias = adaptor.getBias()) {
    SymbolicShape scores(ArrayRef(query).drop_back());
    scores.push_back(key[rank - 2]);
    auto joined = broadcastShapes(scores, shapeOf(bias));
    if (!joined || !llvm::equal(*joined, scores))
      return emitOptionalError(loc, "a bias ", shapeText(shapeOf(bias)),
                               " does not fit the scores ", shapeText(scores));
  }
  SymbolicShape result(ArrayRef(query).drop_back());
  result.push_back(value.back());
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

/// Over leading dimensions, queries, keys and the depth: a multiplication and an addition for the
/// scores, and about as many for the values.
Movement AttentionOp::getMovement() {
  SymbolicShape query = shapeOf(getQuery());
  size_t rank = query.size();
  Movement m;
  m.domain.assign(query.begin(), query.end() - 1);
  m.domain.push_back(shapeOf(getKey())[rank - 2]);
  m.domain.push_back(query.back());
  m.iterators.assign(rank - 1, IteratorType::parallel);
  m.iterators.append(2, IteratorType::reduction);
  m.maps.assign(getNumOperands() + 1, AffineMap());
  m.operationsPerPoint = 4;
  return m;
}

namespace {

/// The product of matrices with equal leading dimensions; `transposed`: with rhs transposed.
Value matrixProduct(OpBuilder &b, Location loc, Value lhs, Value rhs, bool transposed) {
  unsigned leading = typeOf(lhs).getRank() - 2, row = leading, column = leading + 1,
           summed = leading + 2;
  auto map = [&](unsigned i, unsigned j) {
    SmallVector<AffineExpr> dims;
    for (unsigned dim = 0; dim < leading; ++dim)
      dims.push_back(b.getAffineDimExpr(dim));
    dims.append({b.getAffineDimExpr(i), b.getAffineDimExpr(j)});
    return AffineMap::get(leading + 3, 0, dims, b.getContext());
  };
  AffineMap maps[] = {map(row, summed), transposed ? map(column, summed) : map(summed, column),
                      map(row, column)};
  return b.create<ContractOp>(loc, lhs, rhs, b.getAffineMapArrayAttr(maps), TypeAttr());
}

/// Whether query i may see key j: j <= i.
Value causalMask(OpBuilder &b, Location loc, AffineExpr queries, AffineExpr keys) {
  MLIRContext *context = b.getContext();
  auto mask = b.create<ComputeOp>(
      loc, tensorType({queries, keys}, b.getI1Type()), /*inputs=*/ValueRange{},
      /*tables=*/ValueRange{}, symbolMap({queries, keys}, context), b.getAffineMapArrayAttr({}),
      /*reduced=*/0, /*initial=*/TypedAttr());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&mask.getBody());
  Value seen = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, b.create<IndexOp>(loc, 1),
                                       b.create<IndexOp>(loc, 0));
  b.create<YieldOp>(loc, seen);
  return mask;
}

Value minusInfinity(OpBuilder &b, Location loc, Type type) {
  const llvm::fltSemantics &format = cast<FloatType>(type).getFloatSemantics();
  return b.create<arith::ConstantOp>(
      loc, b.getFloatAttr(type, APFloat::getInf(format, /*Negative=*/true)));
}

/// Softmax along the last axis with 0 for all scores of -inf, in rows of nothing else, too.
Value maskedSoftmax(OpBuilder &b, Location loc, Value scores) {
  auto element = cast<FloatType>(typeOf(scores).getElementType());
  APFloat least = APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true);
  Value finite = createMap(b, loc, scores, [&](OpBuilder &i, ValueRange v) -> Value {
    Value bound = i.create<arith::ConstantOp>(loc, i.getFloatAttr(element, least));
    return i.create<arith::MaximumFOp>(loc, v[0], bound);
  });
  Value weights = b.create<SoftmaxOp>(loc, finite, typeOf(scores).getRank() - 1, /*log=*/false);
  return createMap(b, loc, {scores, weights}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value isOut = i.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, v[0],
                                          minusInfinity(i, loc, element));
    return i.create<arith::SelectOp>(loc, isOut, constantLike(i, loc, v[1], 0.0), v[1]);
  });
}

} // namespace

FailureOr<Value> AttentionOp::expand(OpBuilder &b) {
  Location loc = getLoc();
  Value scores = matrixProduct(b, loc, getQuery(), getKey(), /*transposed=*/true);
  double scale = getScale().convertToDouble();
  SmallVector<Value> inputs{scores};
  if (getBias())
    inputs.push_back(getBias());
  if (getCausal()) {
    auto sizes = shapeOf(scores);
    inputs.push_back(causalMask(b, loc, sizes[sizes.size() - 2], sizes.back()));
  }
  scores = createMap(b, loc, inputs, [&](OpBuilder &i, ValueRange v) -> Value {
    Value score = i.create<arith::MulFOp>(loc, v[0], constantLike(i, loc, v[0], scale));
    if (getBias())
      score = i.create<arith::AddFOp>(loc, score, v[1]);
    if (getCausal())
      score =
          i.create<arith::SelectOp>(loc, v.back(), score, minusInfinity(i, loc, score.getType()));
    return score;
  });
  Value weights = getZeroMasked() ? maskedSoftmax(b, loc, scores)
                                  : b.create<SoftmaxOp>(loc, scores, typeOf(scores).getRank() - 1,
                                                        /*log=*/false);
  return matrixProduct(b, loc, weights, getValue(), /*transposed=*/false);
}

} // namespace headrace::hr
