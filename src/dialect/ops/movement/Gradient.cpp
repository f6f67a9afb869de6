// Gradients of operators that only move elements: the way back.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

Gradients TransposeOp::gradient(OpBuilder &b, Value dy) {
  SmallVector<int64_t> back(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    back[dim] = static_cast<int64_t>(i);
  return gradientsOf({b.createOrFold<TransposeOp>(getLoc(), dy, back)});
}

Gradients ReshapeOp::gradient(OpBuilder &b, Value dy) {
  return gradientsOf({reshaped(b, getLoc(), dy, shapeOf(getInput()))});
}

Gradients BroadcastOp::gradient(OpBuilder &b, Value dy) {
  return gradientsOf({summedTo(b, getLoc(), dy, shapeOf(getInput()))});
}

/// Backward steps are turned around first.
Gradients SliceOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  SymbolicShape shape = shapeOf(dy);
  SmallVector<AffineExpr> starts(getStarts().getResults()), ends;
  SmallVector<int64_t> steps(getSteps()), turns;
  bool turned = false;
  for (auto [start, step, size] : llvm::zip(starts, steps, shape)) {
    bool backward = step < 0;
    turned |= backward;
    turns.push_back(backward ? -1 : 1);
    ends.push_back(backward ? size - 1 : constantDim(0, getContext()));
    if (backward) {
      start = start + (size - 1) * step;
      step = -step;
    }
  }
  if (turned)
    dy = b.create<SliceOp>(loc, dy.getType(), dy, symbolMap(ends, getContext()), turns);
  return gradientsOf(
      {b.create<PlaceOp>(loc, getInput().getType(), dy, symbolMap(starts, getContext()), steps)});
}

Gradients PlaceOp::gradient(OpBuilder &b, Value dy) {
  return gradientsOf(
      {b.create<SliceOp>(getLoc(), getInput().getType(), dy, getStarts(), getSteps())});
}

Gradients ConcatOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  SmallVector<int64_t> steps(typeOf(dy).getRank(), 1);
  SmallVector<AffineExpr> starts(steps.size(), constantDim(0, getContext()));
  SmallVector<Value> gradients;
  for (Value input : getInputs()) {
    gradients.push_back(
        b.create<SliceOp>(loc, input.getType(), dy, symbolMap(starts, getContext()), steps));
    starts[getAxis()] = starts[getAxis()] + shapeOf(input)[getAxis()];
  }
  return gradients;
}

/// Pads cut off what they added; pads that cut off add zeros.
Gradients PadOp::gradient(OpBuilder &b, Value dy) {
  SmallVector<int64_t> low, high;
  for (auto [lowPad, highPad] : llvm::zip(getLow(), getHigh())) {
    low.push_back(-lowPad);
    high.push_back(-highPad);
  }
  TypedAttr zero = b.getZeroAttr(typeOf(dy).getElementType());
  return gradientsOf({b.create<PadOp>(getLoc(), dy, low, high, zero)});
}

} // namespace headrace::hr
