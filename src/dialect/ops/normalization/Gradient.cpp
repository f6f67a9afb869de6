// Gradients of softmax and the normalizations. Each is two passes over rows: what is summed along
// the row, then what is made of it.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

/// y = softmax(x): dx = y (dy - sum(dy y)); y = log softmax(x): dx = dy - exp(y) sum(dy).
Gradients SoftmaxOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  int64_t axis = getAxis();
  Value y = getResult();
  if (getLog()) {
    Value total = reduced(b, loc, ReduceKind::Sum, dy, axis);
    return gradientsOf({createMap(b, loc, {y, dy, total}, [&](OpBuilder &i, ValueRange v) -> Value {
      Value share = i.create<arith::MulFOp>(loc, i.create<math::ExpOp>(loc, v[0]), v[2]);
      return i.create<arith::SubFOp>(loc, v[1], share);
    })});
  }
  Value total = reduced(b, loc, ReduceKind::Sum, product(b, loc, y, dy), axis);
  return gradientsOf({createMap(b, loc, {y, dy, total}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::MulFOp>(loc, v[0], i.create<arith::SubFOp>(loc, v[1], v[2]));
  })});
}

/// With n = (x - mean) / deviation and g = dy scale:
/// dx = (g - mean(g) - n mean(g n)) / deviation, dscale = sum(dy n), dbias = sum(dy).
Gradients LayerNormOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  Value x = getInput();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(getAxis(), typeOf(x).getRank()));
  double epsilon = getEpsilon().convertToDouble();
  Value mean = reduced(b, loc, ReduceKind::Mean, x, axes);
  Value squared = createMap(b, loc, {x, mean}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value distance = i.create<arith::SubFOp>(loc, v[0], v[1]);
    return i.create<arith::MulFOp>(loc, distance, distance);
  });
  Value variance = reduced(b, loc, ReduceKind::Mean, squared, axes);
  Value factor = createMap(b, loc, {variance}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value e = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), epsilon));
    Value one = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), 1));
    Value root = i.create<math::SqrtOp>(loc, i.create<arith::AddFOp>(loc, v[0], e));
    return i.create<arith::DivFOp>(loc, one, root);
  });
  auto normal = [&](OpBuilder &i, ValueRange v) -> Value { // v: x, mean, factor
    return i.create<arith::MulFOp>(loc, i.create<arith::SubFOp>(loc, v[0], v[1]), v[2]);
  };
  Value scale = getScale();
  Value g = product(b, loc, dy, scale);
  Value meanG = reduced(b, loc, ReduceKind::Mean, g, axes);
  Value gn = createMap(b, loc, {x, mean, factor, dy, scale}, [&](OpBuilder &i, ValueRange v) {
    Value scaledGradient = i.create<arith::MulFOp>(loc, v[3], v[4]);
    return i.create<arith::MulFOp>(loc, scaledGradient, normal(i, v)).getResult();
  });
  Value meanGn = reduced(b, loc, ReduceKind::Mean, gn, axes);
  Value dx = createMap(b, loc, {x, mean, factor, dy, scale, meanG, meanGn},
                       [&](OpBuilder &i, ValueRange v) {
                         Value scaledGradient = i.create<arith::MulFOp>(loc, v[3], v[4]);
                         Value centered = i.create<arith::SubFOp>(loc, scaledGradient, v[5]);
                         Value along = i.create<arith::MulFOp>(loc, normal(i, v), v[6]);
                         Value rest = i.create<arith::SubFOp>(loc, centered, along);
                         return i.create<arith::MulFOp>(loc, rest, v[2]).getResult();
                       });
  Value dyN = createMap(b, loc, {x, mean, factor, dy}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::MulFOp>(loc, v[3], normal(i, v));
  });
  SmallVector<Value> gradients{dx, summedTo(b, loc, dyN, shapeOf(scale))};
  if (getBias())
    gradients.push_back(summedTo(b, loc, dy, shapeOf(getBias())));
  return gradients;
}

/// y = (x - mean) / deviation scale + bias, with deviation = sqrt(variance + epsilon).
Gradients BatchNormOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  Value x = getInput();
  int64_t rank = typeOf(x).getRank();
  SymbolicShape channel{shapeOf(getScale())[0]};
  if (getLayout() == ChannelLayout::First)
    channel.append(rank - 2, constantDim(1, getContext()));
  auto beside = [&](Value parameter) { return reshaped(b, loc, parameter, channel); };
  auto perChannel = [&](Value full) {
    return reshaped(b, loc, summedTo(b, loc, full, channel), shapeOf(getScale()));
  };
  double epsilon = getEpsilon().convertToDouble();
  Value factor = createMap(b, loc, {beside(getVariance())}, [&](OpBuilder &i, ValueRange v) {
    Value e = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), epsilon));
    Value one = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), 1));
    Value root = i.create<math::SqrtOp>(loc, i.create<arith::AddFOp>(loc, v[0], e));
    return i.create<arith::DivFOp>(loc, one, root).getResult();
  });
  Value slope = product(b, loc, factor, beside(getScale()));
  Value dx = product(b, loc, dy, slope);
  Value dyN = createMap(
      b, loc, {dy, x, beside(getMean()), factor}, [&](OpBuilder &i, ValueRange v) -> Value {
        Value distance = i.create<arith::SubFOp>(loc, v[1], v[2]);
        return i.create<arith::MulFOp>(loc, v[0], i.create<arith::MulFOp>(loc, distance, v[3]));
      });
  Value dScale = perChannel(dyN), dBias = perChannel(dy);
  Value flatSlope = reshaped(b, loc, slope, shapeOf(getScale()));
  Value flatFactor = reshaped(b, loc, factor, shapeOf(getScale()));
  Value dMean = scaled(b, loc, product(b, loc, dBias, flatSlope), -1);
  // d(1/sqrt(v + e)) = -1/2 (v + e)^(-3/2) dv
  Value dVariance =
      createMap(b, loc, {dScale, flatSlope, flatFactor}, [&](OpBuilder &i, ValueRange v) -> Value {
        Value half = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), -0.5));
        Value product = i.create<arith::MulFOp>(loc, v[0], v[1]);
        return i.create<arith::MulFOp>(loc, half, i.create<arith::MulFOp>(loc, product, v[2]));
      });
  return gradientsOf({dx, dScale, dBias, dMean, dVariance});
}

} // namespace headrace::hr
