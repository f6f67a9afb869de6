// Elements of parts of tensors: padding, slices, insertions, and loops that carry tensors.
#include "target/cuda/write/PointWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {

/// An offset as an expression; a number that is computed in a loop becomes a coordinate.
AffineExpr PointWriter::offsetExpr(OpFoldResult offset) {
  if (AffineExpr expr = sizeExpr(offset, kernel.context()))
    return expr;
  Value number = cast<Value>(offset);
  AffineExpr &known = state.offsets[number];
  if (!known)
    known = addCoordinate(captured(number, state.scalars));
  return known;
}

Pack PointWriter::pad(tensor::PadOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  auto source = kernelShape(op.getSource());
  Value fill = op.getConstantPaddingValue();
  Type type = storedElementOf(op);
  if (!source || !fill)
    return refuse(op, type, "padding of unknown size");
  Point inside;
  SmallVector<std::pair<AffineExpr, AffineExpr>> bounds; // distance from the beginning, size
  auto high = op.getMixedHighPad();
  for (auto [i, low] : llvm::enumerate(op.getMixedLowPad())) {
    AffineExpr first = offsetExpr(low);
    inside.push_back(point[i] - first);
    if (getConstantIntValue(low) != 0 || getConstantIntValue(high[i]) != 0)
      bounds.emplace_back(point[i] - first, (*source)[i]);
  }
  for (auto &[distance, size] : bounds)
    if (usesLanes({distance}))
      return laneByLane(op, point);
  if (bounds.empty())
    return at(op.getSource(), inside);
  // Below the beginning is far beyond the end, seen without a sign.
  Value holds;
  for (auto &[distance, size] : bounds) {
    Value one = less(distance, size);
    holds = holds ? b.create<arith::AndIOp>(loc, holds, one).getResult() : one;
  }
  return choose(
      holds, SmallVector<Type>(laneCount, type), [&] { return at(op.getSource(), inside); },
      [&] {
        IRMapping none;
        return Pack(laneCount, captured(fill, none));
      });
}

Pack PointWriter::slice(tensor::ExtractSliceOp op, ArrayRef<AffineExpr> point) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  auto offsets = op.getMixedOffsets(), strides = op.getMixedStrides();
  Point read;
  unsigned next = 0;
  for (unsigned i = 0; i < offsets.size(); ++i) {
    AffineExpr expr = offsetExpr(offsets[i]);
    if (!dropped.test(i))
      expr = expr + point[next++] * offsetExpr(strides[i]);
    read.push_back(expr);
  }
  return at(op.getSource(), read);
}

Pack PointWriter::insertion(tensor::InsertSliceOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  auto offsets = op.getMixedOffsets(), sizes = op.getMixedSizes(), strides = op.getMixedStrides();
  auto whole = kernelShape(op.getDest());
  Type type = storedElementOf(op);
  if (!whole)
    return refuse(op, type, "a part of unknown size");
  struct Bound {
    AffineExpr distance, size, stride;
  };
  SmallVector<Bound> bounds;
  Point inside;
  llvm::DenseMap<AffineExpr, AffineExpr> equal;
  for (unsigned i = 0; i < offsets.size(); ++i) {
    AffineExpr offset = offsetExpr(offsets[i]), size = offsetExpr(sizes[i]);
    AffineExpr stride = offsetExpr(strides[i]);
    AffineExpr distance = simplified(point[i] - offset);
    if (!dropped.test(i))
      inside.push_back(constantValue(stride) == 1 ? distance : distance.floorDiv(stride));
    if (constantValue(size) == 1)
      equal[offset] = point[i];
    if (constantValue(offset) == 0 && constantValue(stride) == 1 && sameSize(size, (*whole)[i]))
      continue;
    bounds.push_back({distance, size, stride});
    if (usesLanes({distance}))
      return laneByLane(op, point);
  }
  Value holds;
  auto require = [&](Value condition) {
    holds = holds ? b.create<arith::AndIOp>(loc, holds, condition).getResult() : condition;
  };
  for (Bound &bound : bounds) {
    require(less(bound.distance, bound.size * bound.stride));
    if (constantValue(bound.stride) != 1)
      require(less(bound.distance % bound.stride, constantDim(1, kernel.context())));
  }
  if (!holds)
    return at(op.getSource(), inside);
  return choose(
      holds, SmallVector<Type>(laneCount, type),
      [&] {
        for (auto [offset, same] : equal)
          if (isa<AffineDimExpr>(offset))
            state.equal[offset] = same;
        return at(op.getSource(), inside);
      },
      [&] { return at(op.getDest(), point); });
}

/// A loop over tensors, followed at one point.
Pack PointWriter::loop(scf::ForOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  if (op.getInitArgs().size() != 1)
    return refuse(op, storedElementOf(op.getResult(0)), "a loop that carries several tensors");
  Pack start = at(op.getInitArgs().front(), point);
  Value begin = captured(op.getLowerBound(), state.scalars);
  Value end = captured(op.getUpperBound(), state.scalars);
  Value step = captured(op.getStep(), state.scalars);
  auto copy = b.create<scf::ForOp>(loc, begin, end, step, start);
  Scope scope(*this);
  b.setInsertionPointToStart(copy.getBody());
  state.scalars.map(op.getInductionVar(), copy.getInductionVar());
  Point place;
  for (AffineExpr expr : point)
    place.push_back(simplified(expr));
  state.points[keyOf(op.getRegionIterArg(0), place)] = Pack(copy.getRegionIterArgs());
  Pack next = at(op.getBody()->getTerminator()->getOperand(0), point);
  b.create<scf::YieldOp>(loc, next);
  return Pack(copy.getResults());
}

} // namespace headrace::cuda
