// The order of elements along an axis.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/reference/Reference.h"
#include "dialect/scalar/ScalarMath.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult SortOp::verify() {
  SymbolicShape input = shapeOf(getInput()), result = shapeOf(getResult());
  int64_t axis = getAxis(), rank = static_cast<int64_t>(input.size());
  if (axis < 0 || axis >= rank)
    return emitOpError("axis ") << axis << " is outside rank " << rank;
  if (!getElementTypeOrSelf(getResult()).isSignlessInteger(64))
    return emitOpError("expected a result of 64-bit integers");
  bool fits = input.size() == result.size();
  if (fits)
    fits = constantValue(input[axis] - result[axis]).value_or(0) >= 0;
  for (int64_t i = 0; fits && i < rank; ++i)
    fits = i == axis || sameSize(input[i], result[i]);
  if (!fits)
    return emitOpError("expected a result of the shape ")
           << shapeText(input) << ", or less along axis " << axis << ", got " << shapeText(result);
  return success();
}

/// Which element comes where depends on all of them.
Movement SortOp::getMovement() {
  constexpr int64_t kComparisons = 16; // about the logarithm of a line's length
  Movement m = overResult(getInput());
  m.operationsPerPoint = kComparisons;
  m.maps = {identityMap(getInput()), AffineMap()};
  return m;
}

/// Types in which lines are compared: any other has its numbers among those of one of them.
static Type comparedType(Type element) {
  Builder b(element.getContext());
  if (isa<FloatType>(element))
    return element.isF64() ? element : b.getF32Type();
  bool fits = element.getIntOrFloatBitWidth() < 32 || element.isSignlessInteger(32);
  return fits ? b.getI32Type() : b.getI64Type();
}

FailureOr<Value> SortOp::expand(OpBuilder &b) {
  Type element = getElementTypeOrSelf(getInput()), compared = comparedType(element);
  if (element == compared)
    return failure();
  Value input;
  if (element.isUnsignedInteger(64))
    asSigned(b, getLoc(), getInput(), [&](Value flipped) { return input = flipped; });
  else
    input = castTo(b, getLoc(), getInput(), compared);
  return b.create<SortOp>(getLoc(), getType(), input, getAxis(), getDescending()).getResult();
}

/// NaN is greater than any number.
static Value isLess(OpBuilder &b, Location loc, Value x, Value y) {
  if (!isa<FloatType>(x.getType()))
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
  Value less = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ULT, x, y);
  Value isNumber = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, x, x);
  return b.create<arith::AndIOp>(loc, less, isNumber);
}

/// Every element counts those before it, and goes where the count says: n comparisons for each, but
/// code for any target. CPUs have a routine that sorts.
FailureOr<Value> SortOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  MLIRContext *context = getContext();
  auto axis = static_cast<unsigned>(getAxis());
  unsigned rank = typeOf(getInput()).getRank();
  Type count = b.getI64Type();
  AffineMap own = AffineMap::getMultiDimIdentityMap(rank + 1, context).dropResult(rank);
  SmallVector<AffineExpr> exprs(own.getResults());
  exprs[axis] = getAffineDimExpr(rank, context);
  AffineMap other = AffineMap::get(rank + 1, 0, exprs, context);
  Movement m;
  m.iterators.assign(rank, IteratorType::parallel);
  m.iterators.push_back(IteratorType::reduction);
  auto position = [&](OpBuilder &body, Location at, unsigned dim) -> Value {
    return body.create<arith::IndexCastOp>(at, count, body.create<linalg::IndexOp>(at, dim));
  };
  auto zeros = [&](ArrayRef<AffineExpr> shape) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(count));
    Value empty = emptyTensor(b, loc, shape, count);
    return b.create<linalg::FillOp>(loc, zero, empty).getResult(0);
  };

  m.maps = {own, other, own};
  Value places =
      generic(b, loc, m, {inputs[0], inputs[0]}, zeros(shapeOf(getInput())),
              [&](OpBuilder &body, Location at, ValueRange args) -> Value {
                Value first = getDescending() ? args[0] : args[1];
                Value second = getDescending() ? args[1] : args[0];
                Value less = isLess(body, at, first, second);
                Value equal = isLess(body, at, second, first);
                Value earlier =
                    body.create<arith::CmpIOp>(at, arith::CmpIPredicate::slt,
                                               position(body, at, rank), position(body, at, axis));
                Value tie = body.create<arith::SelectOp>(
                    at, equal, body.create<arith::ConstantOp>(at, b.getBoolAttr(false)), earlier);
                Value before = body.create<arith::OrIOp>(at, less, tie);
                return body.create<arith::AddIOp>(at, args[2],
                                                  body.create<arith::ExtUIOp>(at, count, before));
              });
  m.maps = {other, own};
  return generic(b, loc, m, {places}, zeros(shapeOf(getResult())),
                 [&](OpBuilder &body, Location at, ValueRange args) -> Value {
                   Value isHere = body.create<arith::CmpIOp>(at, arith::CmpIPredicate::eq, args[0],
                                                             position(body, at, axis));
                   Value found = body.create<arith::SelectOp>(
                       at, isHere, position(body, at, rank),
                       body.create<arith::ConstantOp>(at, b.getZeroAttr(count)));
                   return body.create<arith::AddIOp>(at, args[1], found);
                 });
}

Tensor SortOp::evaluate(reference::Tensors inputs, reference::Sizes symbols) {
  Tensor result = reference::allocateResult(getResult(), symbols);
  reference::Sizes shape = inputs[0].shape();
  int64_t size = shape[getAxis()], taken = result.shape()[getAxis()];
  int64_t inner = reference::product(shape.drop_front(getAxis() + 1));
  bool isUnsigned = getElementTypeOrSelf(getInput()).isUnsignedInteger();
  reference::withElement(inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *values = inputs[0].as<T>();
    auto less = [&](T x, T y) {
      if constexpr (std::is_same_v<T, double>)
        return x < y || (std::isnan(y) && !std::isnan(x));
      if constexpr (std::is_same_v<T, int64_t>)
        if (isUnsigned)
          return static_cast<uint64_t>(x) < static_cast<uint64_t>(y);
      return x < y;
    };
    SmallVector<int64_t> order(size);
    for (int64_t line = 0; taken > 0 && line < result.elements() / taken; ++line) {
      const T *first = values + line / inner * size * inner + line % inner;
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        T x = first[i * inner], y = first[j * inner];
        if (getDescending())
          std::swap(x, y);
        return less(x, y) || (!less(y, x) && i < j);
      });
      for (int64_t i = 0; i < taken; ++i)
        result.as<int64_t>()[(line / inner * taken + i) * inner + line % inner] = order[i];
    }
  });
  return result;
}

} // namespace headrace::hr
