// Level 2: the operators of gradients whose movement no affine map describes.
#include "dialect/Hr.h"
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::hr {

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static Value zerosLike(OpBuilder &b, Location loc, Value result) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(elementOf(result)));
  return b.create<linalg::FillOp>(loc, zero, emptyLike(b, loc, result)).getResult(0);
}

FailureOr<Value> PlaceOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  SmallVector<OpFoldResult> steps;
  for (int64_t step : getSteps())
    steps.push_back(b.getIndexAttr(step));
  return b
      .create<tensor::InsertSliceOp>(loc, inputs[0], zerosLike(b, loc, getResult()),
                                     sizeOperands(b, loc, getStarts().getResults()),
                                     sizeOperands(b, loc, shapeOf(getInput())), steps)
      .getResult();
}

/// Element i lies at tap k of the window that begins at i - k * dilation, if one begins there.
FailureOr<Value> UnpoolOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  if (llvm::any_of(getPads(), [](int64_t pad) { return pad != 0; }))
    return failure();
  MLIRContext *context = getContext();
  SymbolicShape held = shapeOf(getInput()), window;
  unsigned rank = held.size(), offset = getLayout() == ChannelLayout::First ? 2 : 1;
  Movement m;
  m.domain = shapeOf(getResult());
  m.iterators.assign(rank, utils::IteratorType::parallel);
  for (int64_t size : getWindow()) {
    window.push_back(constantDim(size, context));
    m.iterators.push_back(utils::IteratorType::reduction);
  }
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank + window.size(), context);
  m.maps = {all.getMinorSubMap(window.size()), all.getMajorSubMap(rank)};
  Value extents = emptyTensor(b, loc, window, elementOf(getResult()));
  return generic(
      b, loc, m, {extents}, zerosLike(b, loc, getResult()),
      [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
        auto number = [&](int64_t value) -> Value {
          return inner.create<arith::ConstantIndexOp>(at, value);
        };
        SmallVector<Value> position;
        for (unsigned i = 0; i < rank; ++i)
          position.push_back(inner.create<linalg::IndexOp>(at, i));
        Value inside, tap = number(0), zero = number(0);
        auto require = [&](arith::CmpIPredicate kind, Value a, Value c) {
          Value holds = inner.create<arith::CmpIOp>(at, kind, a, c);
          inside = inside ? inner.create<arith::AndIOp>(at, inside, holds).getResult() : holds;
        };
        for (unsigned i = 0; i < window.size(); ++i) {
          Value k = inner.create<linalg::IndexOp>(at, rank + i);
          Value &place = position[offset + i];
          tap = inner.create<arith::AddIOp>(
              at, inner.create<arith::MulIOp>(at, tap, number(getWindow()[i])), k);
          Value begin = inner.create<arith::SubIOp>(
              at, place, inner.create<arith::MulIOp>(at, k, number(getDilations()[i])));
          require(arith::CmpIPredicate::sge, begin, zero);
          begin = inner.create<arith::MaxSIOp>(at, begin, zero);
          Value count = inner.create<SizeOp>(at, symbolMap({held[offset + i]}, inner.getContext()));
          Value stride = number(getStrides()[i]);
          Value index = inner.create<arith::DivUIOp>(at, begin, stride);
          require(arith::CmpIPredicate::eq, inner.create<arith::MulIOp>(at, index, stride), begin);
          require(arith::CmpIPredicate::slt, index, count);
          place = inner.create<arith::MinSIOp>(at, index,
                                               inner.create<arith::SubIOp>(at, count, number(1)));
        }
        Value value = inner.create<tensor::ExtractOp>(at, inputs[0], position);
        if (inputs.size() > 1) {
          Value chosen = inner.create<tensor::ExtractOp>(at, inputs[1], position);
          require(arith::CmpIPredicate::eq,
                  inner.create<arith::IndexCastOp>(at, inner.getIndexType(), chosen), tap);
        }
        Value none = inner.create<arith::ConstantOp>(at, inner.getZeroAttr(value.getType()));
        Value share = inner.create<arith::SelectOp>(at, inside, value, none);
        return inner.create<arith::AddFOp>(at, args[1], share);
      });
}

/// Row by row, in the order of the updates: sums do not depend on threads.
FailureOr<Value> ScatterAddOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  SymbolicShape updates = shapeOf(getUpdates()), result = shapeOf(getResult());
  if (constantValue(result[1]) == 0)
    return emitError("expected rows to add to, found none");
  auto index = [&](AffineExpr size) {
    return getValueOrCreateConstantIndexOp(b, loc, sizeOperand(b, loc, size));
  };
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value one = b.create<arith::ConstantIndexOp>(loc, 1);
  Value size = index(result[1]), count = index(updates[1]);
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<OpFoldResult> rowSizes = sizeOperands(b, loc, {updates[0], updates[2]});
  rowSizes.insert(rowSizes.begin() + 1, b.getIndexAttr(1));
  RankedTensorType rowType =
      plainType(tensorType({updates[0], updates[2]}, elementOf(getResult())));
  Movement m;
  m.maps.assign(2, AffineMap::getMultiDimIdentityMap(2, getContext()));
  m.iterators.assign(2, utils::IteratorType::parallel);
  auto loop = b.create<scf::ForOp>(
      loc, zero, count, one, zerosLike(b, loc, getResult()),
      [&](OpBuilder &inner, Location at, Value i, ValueRange sums) {
        Value given = inner.create<tensor::ExtractOp>(at, inputs[1], i);
        Value row = inner.create<arith::IndexCastOp>(at, inner.getIndexType(), given);
        Value negative = inner.create<arith::CmpIOp>(at, arith::CmpIPredicate::slt, row, zero);
        row = inner.create<arith::SelectOp>(at, negative,
                                            inner.create<arith::AddIOp>(at, row, size), row);
        Value last = inner.create<arith::SubIOp>(at, size, one);
        row = inner.create<arith::MaxSIOp>(at, inner.create<arith::MinSIOp>(at, row, last), zero);
        SmallVector<OpFoldResult> from(3, inner.getIndexAttr(0)), to(from);
        from[1] = i;
        to[1] = row;
        Value update =
            inner.create<tensor::ExtractSliceOp>(at, rowType, inputs[0], from, rowSizes, ones);
        Value sum = inner.create<tensor::ExtractSliceOp>(at, rowType, sums[0], to, rowSizes, ones);
        Value added = generic(inner, at, m, {update}, sum,
                              [](OpBuilder &body, Location where, ValueRange args) -> Value {
                                return body.create<arith::AddFOp>(where, args[1], args[0]);
                              });
        Value next = inner.create<tensor::InsertSliceOp>(at, added, sums[0], to, rowSizes, ones);
        inner.create<scf::YieldOp>(at, next);
      });
  return loop.getResult(0);
}

} // namespace headrace::hr
