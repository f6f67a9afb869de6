// Gradients of reductions and scans.
#include "dialect/gradient/Builders.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

/// Equal extrema share the gradient evenly.
static Value extremumGradient(OpBuilder &b, ReduceOp op, Value extremum, Value dy) {
  Location loc = op.getLoc();
  auto isExtremum = [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, v[0], v[1]);
  };
  Value hits = createMap(b, loc, {op.getInput(), extremum}, [&](OpBuilder &i, ValueRange v) {
    return i.create<arith::UIToFPOp>(loc, v[0].getType(), isExtremum(i, v)).getResult();
  });
  Value count = reduced(b, loc, ReduceKind::Sum, hits, op.getAxes());
  return createMap(b, loc, {op.getInput(), extremum, dy, count},
                   [&](OpBuilder &i, ValueRange v) -> Value {
                     Value zero = i.create<arith::ConstantOp>(loc, i.getZeroAttr(v[0].getType()));
                     Value share = i.create<arith::DivFOp>(loc, v[2], v[3]);
                     return i.create<arith::SelectOp>(loc, isExtremum(i, v), share, zero);
                   });
}

/// The product of the other factors. One factor that is 0 leaves the others' product to itself
/// alone; two leave nothing.
static Value productGradient(OpBuilder &b, ReduceOp op, Value dy) {
  Location loc = op.getLoc();
  Value x = op.getInput();
  auto number = [&](OpBuilder &i, Value like, double value) -> Value {
    return i.create<arith::ConstantOp>(loc, i.getFloatAttr(like.getType(), value));
  };
  auto is = [&](OpBuilder &i, Value a, double value) -> Value {
    return i.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, a, number(i, a, value));
  };
  Value factors = createMap(b, loc, {x}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::SelectOp>(loc, is(i, v[0], 0), number(i, v[0], 1), v[0]);
  });
  Value isZero = createMap(b, loc, {x}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::UIToFPOp>(loc, v[0].getType(), is(i, v[0], 0));
  });
  Value nonzero = reduced(b, loc, ReduceKind::Prod, factors, op.getAxes());
  Value zeros = reduced(b, loc, ReduceKind::Sum, isZero, op.getAxes());
  return createMap(b, loc, {x, nonzero, zeros, dy}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value none = number(i, v[0], 0);
    Value others = i.create<arith::DivFOp>(loc, v[1], v[0]);
    Value alone = i.create<arith::AndIOp>(loc, is(i, v[2], 1), is(i, v[0], 0));
    Value rest = i.create<arith::SelectOp>(loc, alone, v[1], none);
    Value slope = i.create<arith::SelectOp>(loc, is(i, v[2], 0), others, rest);
    return i.create<arith::MulFOp>(loc, slope, v[3]);
  });
}

Gradients ReduceOp::gradient(OpBuilder &b, Value resultGradient) {
  Location loc = getLoc();
  SymbolicShape shape = shapeOf(getInput()), kept = shape, reducedSizes;
  for (int64_t axis : getAxes()) {
    reducedSizes.push_back(shape[axis]);
    kept[axis] = constantDim(1, getContext());
  }
  Value dy = reshaped(b, loc, resultGradient, kept);
  switch (getKind()) {
  case ReduceKind::Sum:
    return gradientsOf({broadcast(b, loc, dy, shape)});
  case ReduceKind::Mean: {
    AffineExpr count = elementCount(reducedSizes, getContext());
    Value share = createMap(b, loc, {dy}, [&](OpBuilder &i, ValueRange v) -> Value {
      return i.create<arith::DivFOp>(loc, v[0], sizeScalar(i, loc, count, v[0].getType()));
    });
    return gradientsOf({broadcast(b, loc, share, shape)});
  }
  case ReduceKind::Max:
  case ReduceKind::Min:
    return gradientsOf({extremumGradient(b, *this, reshaped(b, loc, getResult(), kept), dy)});
  case ReduceKind::Prod:
    return gradientsOf({productGradient(b, *this, dy)});
  }
  llvm_unreachable("all kinds are handled");
}

/// An element is in all sums from its own on: their gradients, summed from the other end.
Gradients ScanOp::gradient(OpBuilder &b, Value dy) {
  if (getKind() != ReduceKind::Sum) {
    emitError("a cumulative product has no gradient");
    return failure();
  }
  return gradientsOf(
      {b.create<ScanOp>(getLoc(), dy, ReduceKind::Sum, getAxis(), getExclusive(), !getReverse())});
}

} // namespace headrace::hr
