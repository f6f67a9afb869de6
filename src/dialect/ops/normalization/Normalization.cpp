// Softmax and normalizations, expanded into maps and reductions at level 1.
#include "dialect/Permutation.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  inferred.push_back(type);
  return success();
}

Movement SoftmaxOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  m.operationsPerPoint = 5;
  return m;
}

static Value reduce(OpBuilder &b, Location loc, ReduceKind kind, Value input,
                    ArrayRef<int64_t> axes) {
  return b.create<ReduceOp>(loc, input, kind, axes, /*keep_dims=*/true);
}

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

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  for (Value parameter : {adaptor.getScale(), adaptor.getBias()}) {
    if (!parameter)
      continue;
    auto joined = broadcastShapes(shapeOf(type), shapeOf(parameter));
    if (!joined || !llvm::equal(*joined, shapeOf(type)))
      return emitOptionalError(loc, "scale or bias ", shapeText(shapeOf(parameter)),
                               " does not fit the input ", shapeText(shapeOf(type)));
  }
  inferred.push_back(type);
  return success();
}

Movement LayerNormOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 8;
  return m;
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

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "expected an input of rank 2 or more, got rank ", type.getRank());
  AffineExpr channels =
      adaptor.getLayout() == ChannelLayout::First ? shapeOf(type)[1] : shapeOf(type).back();
  for (Value parameter :
       {adaptor.getScale(), adaptor.getBias(), adaptor.getMean(), adaptor.getVariance()})
    if (typeOf(parameter).getRank() != 1 || !sameSize(shapeOf(parameter)[0], channels))
      return emitOptionalError(loc, "expected parameters of one value per channel (",
                               shapeText({channels}), "), got ", shapeText(shapeOf(parameter)));
  inferred.push_back(type);
  return success();
}

Movement BatchNormOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.front() = identityMap(getResult());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 4;
  return m;
}

FailureOr<Value> BatchNormOp::expand(OpBuilder &b) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  // Per-channel parameters stand next to the channels of the input.
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

bool SoftmaxOp::addsUp() { return true; }
bool LayerNormOp::addsUp() { return true; }
bool BatchNormOp::addsUp() { return true; }

LayoutRole SoftmaxOp::getLayoutRole() { return inEitherLayout(*this); }

void SoftmaxOp::permute(ArrayRef<int64_t> permutation) { setAxis(inverse(permutation)[getAxis()]); }

/// Images and matrices of any rank: a matrix's channels are last already, and stay last.
LayoutRole BatchNormOp::getLayoutRole() {
  return getLayout() == ChannelLayout::First ? LayoutRole{true, true, true} : LayoutRole{};
}

bool BatchNormOp::isImageOperand(unsigned index) { return index == 0; }

void BatchNormOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }

} // namespace headrace::hr
