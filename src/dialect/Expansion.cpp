// Level 1: coarse operators written in terms of maps and reductions.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::hr {

static Value constantLike(OpBuilder &b, Location loc, Value scalar, double value) {
  return b.create<arith::ConstantOp>(loc, b.getFloatAttr(scalar.getType(), value));
}

static Value reduce(OpBuilder &b, Location loc, ReduceKind kind, Value input,
                    ArrayRef<int64_t> axes) {
  return b.create<ReduceOp>(loc, input, kind, axes, /*keep_dims=*/true);
}

FailureOr<Value> DetachOp::expand(OpBuilder &) { return getInput(); }

/// softmax(x) = exp(x - max) * (1 / sum(exp(x - max))), one division a row; its logarithm is
/// x - max - log(sum).
FailureOr<Value> SoftmaxOp::expand(OpBuilder &b) {
  Location loc = getLoc();
  int64_t axis = getAxis();
  Value maximum = reduce(b, loc, ReduceKind::Max, getInput(), axis);
  auto shifted = [&](OpBuilder &inner, ValueRange v) {
    return inner.create<arith::SubFOp>(loc, v[0], v[1]).getResult();
  };
  Value exponential = createMap(b, loc, {getInput(), maximum}, [&](OpBuilder &i, ValueRange v) {
    return i.create<math::ExpOp>(loc, shifted(i, v)).getResult();
  });
  Value sum = reduce(b, loc, ReduceKind::Sum, exponential, axis);
  if (getLog())
    return createMap(b, loc, {getInput(), maximum, sum}, [&](OpBuilder &i, ValueRange v) {
      return i.create<arith::SubFOp>(loc, shifted(i, v), i.create<math::LogOp>(loc, v[2]))
          .getResult();
    });
  Value scale = createMap(b, loc, {sum}, [&](OpBuilder &i, ValueRange v) {
    return i.create<arith::DivFOp>(loc, constantLike(i, loc, v[0], 1.0), v[0]).getResult();
  });
  return createMap(b, loc, {exponential, scale}, [&](OpBuilder &i, ValueRange v) {
    return i.create<arith::MulFOp>(loc, v[0], v[1]).getResult();
  });
}

/// Two reductions: the mean, then the mean of squared distances from it (not E[x^2] - E[x]^2,
/// which cancels).
FailureOr<Value> LayerNormOp::expand(OpBuilder &b) {
  Location loc = getLoc();
  SmallVector<int64_t> axes = llvm::to_vector(
      llvm::seq<int64_t>(getAxis(), cast<RankedTensorType>(getInput().getType()).getRank()));
  Value mean = reduce(b, loc, ReduceKind::Mean, getInput(), axes);
  Value squared = createMap(b, loc, {getInput(), mean}, [&](OpBuilder &i, ValueRange v) {
    Value distance = i.create<arith::SubFOp>(loc, v[0], v[1]);
    return i.create<arith::MulFOp>(loc, distance, distance).getResult();
  });
  Value variance = reduce(b, loc, ReduceKind::Mean, squared, axes);
  double epsilon = getEpsilon().convertToDouble();
  Value scale = createMap(b, loc, {variance}, [&](OpBuilder &i, ValueRange v) {
    Value shifted = i.create<arith::AddFOp>(loc, v[0], constantLike(i, loc, v[0], epsilon));
    Value root = i.create<math::SqrtOp>(loc, shifted);
    return i.create<arith::DivFOp>(loc, constantLike(i, loc, v[0], 1.0), root).getResult();
  });
  SmallVector<Value> inputs{getInput(), mean, scale, getScale()};
  if (getBias())
    inputs.push_back(getBias());
  return createMap(b, loc, inputs, [&](OpBuilder &i, ValueRange v) {
    Value distance = i.create<arith::SubFOp>(loc, v[0], v[1]);
    Value normal = i.create<arith::MulFOp>(loc, distance, v[2]);
    Value scaled = i.create<arith::MulFOp>(loc, normal, v[3]);
    return v.size() == 5 ? i.create<arith::AddFOp>(loc, scaled, v[4]).getResult() : scaled;
  });
}

FailureOr<Value> BatchNormOp::expand(OpBuilder &b) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  // Per-channel parameters stand beside the channels of the input.
  SymbolicShape channelShape{shapeOf(getScale())[0]};
  if (getLayout() == ChannelLayout::First)
    channelShape.append(type.getRank() - 2, constantDim(1, getContext()));
  SmallVector<Value> inputs{getInput()};
  for (Value parameter : {getScale(), getBias(), getMean(), getVariance()})
    inputs.push_back(
        b.create<ReshapeOp>(loc, tensorType(channelShape, type.getElementType()), parameter));
  double epsilon = getEpsilon().convertToDouble();
  return createMap(b, loc, inputs, [&](OpBuilder &i, ValueRange v) {
    Value shifted = i.create<arith::AddFOp>(loc, v[4], constantLike(i, loc, v[4], epsilon));
    Value scale = i.create<arith::DivFOp>(loc, v[1], i.create<math::SqrtOp>(loc, shifted));
    Value distance = i.create<arith::SubFOp>(loc, v[0], v[3]);
    Value scaled = i.create<arith::MulFOp>(loc, distance, scale);
    return i.create<arith::AddFOp>(loc, scaled, v[2]).getResult();
  });
}

/// The mean of integers, rounded toward zero: summed in 64 bits, since the sum may not fit the
/// type. The mean of nothing is 0.
static Value integerMean(OpBuilder &b, ReduceOp op, AffineExpr count) {
  Location loc = op.getLoc();
  Type narrow = cast<RankedTensorType>(op.getType()).getElementType(), wide = b.getI64Type();
  Value input = op.getInput();
  if (narrow != wide)
    input = createMap(b, loc, {input}, [&](OpBuilder &i, ValueRange v) -> Value {
      return i.create<arith::ExtSIOp>(loc, wide, v[0]);
    });
  Value sum = b.create<ReduceOp>(loc, input, ReduceKind::Sum, op.getAxes(), op.getKeepDims());
  return createMap(b, loc, {sum}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value size = i.create<SizeOp>(loc, symbolMap({count}, i.getContext()));
    Value one = i.create<arith::ConstantOp>(loc, i.getI64IntegerAttr(1));
    Value divisor =
        i.create<arith::MaxSIOp>(loc, i.create<arith::IndexCastOp>(loc, wide, size), one);
    Value mean = i.create<arith::DivSIOp>(loc, v[0], divisor);
    return narrow == wide ? mean : i.create<arith::TruncIOp>(loc, narrow, mean).getResult();
  });
}

/// A mean is a sum divided by how many elements went into it.
FailureOr<Value> ReduceOp::expand(OpBuilder &b) {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  if (getKind() != ReduceKind::Mean || !(isa<FloatType>(element) || element.isSignlessInteger()))
    return failure();
  Location loc = getLoc();
  SymbolicShape reduced;
  for (int64_t axis : getAxes())
    reduced.push_back(shapeOf(getInput())[axis]);
  AffineExpr count = elementCount(reduced, getContext());
  if (!isa<FloatType>(element))
    return integerMean(b, *this, count);
  Value sum = b.create<ReduceOp>(loc, getInput(), ReduceKind::Sum, getAxes(), getKeepDims());
  return createMap(b, loc, {sum}, [&](OpBuilder &i, ValueRange v) -> Value {
    if (auto constant = constantValue(count))
      return i.create<arith::DivFOp>(loc, v[0],
                                     constantLike(i, loc, v[0], static_cast<double>(*constant)));
    Value size = i.create<SizeOp>(loc, symbolMap({count}, getContext()));
    Value wide = i.create<arith::IndexCastOp>(loc, i.getI64Type(), size);
    return i.create<arith::DivFOp>(loc, v[0], i.create<arith::SIToFPOp>(loc, v[0].getType(), wide));
  });
}

} // namespace headrace::hr
