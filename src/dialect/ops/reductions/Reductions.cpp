// Elements reduced along axes.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/Permutation.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/scalar/Combine.h"
#include "dialect/scalar/ScalarMath.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  SymbolicShape input = shapeOf(type), result;
  for (auto [i, dim] : llvm::enumerate(input)) {
    if (!llvm::is_contained(adaptor.getAxes(), static_cast<int64_t>(i)))
      result.push_back(dim);
    else if (adaptor.getKeepDims())
      result.push_back(constantDim(1, context));
  }
  for (int64_t axis : adaptor.getAxes())
    if (axis < 0 || axis >= type.getRank())
      return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

Movement ReduceOp::getMovement() {
  Movement m;
  m.domain = shapeOf(getInput());
  m.operationsPerPoint = 1;
  SmallVector<AffineExpr> result;
  for (size_t i = 0; i < m.domain.size(); ++i) {
    bool reduced = llvm::is_contained(getAxes(), static_cast<int64_t>(i));
    m.iterators.push_back(reduced ? IteratorType::reduction : IteratorType::parallel);
    if (!reduced)
      result.push_back(getAffineDimExpr(i, getContext()));
    else if (getKeepDims())
      result.push_back(constantDim(0, getContext()));
  }
  m.maps = {identityMap(getInput()), AffineMap::get(m.domain.size(), 0, result, getContext())};
  return m;
}

Value ReduceOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return combineValues(b, getLoc(), getKind(), scalars[1], scalars[0]);
}

TypedAttr ReduceOp::getInitialValue() {
  return getKind() == ReduceKind::Mean ? TypedAttr()
                                       : neutralValue(getKind(), getElementTypeOrSelf(getResult()));
}

/// The mean of integers, rounded toward zero: summed in 64 bits, since the sum may not fit the
/// type. The mean of nothing is 0.
static Value integerMean(OpBuilder &b, ReduceOp op, AffineExpr count) {
  Location loc = op.getLoc();
  Type narrow = cast<RankedTensorType>(op.getType()).getElementType(), wide = b.getI64Type();
  if (narrow.isUnsignedInteger())
    wide = b.getIntegerType(64, /*isSigned=*/false);
  Value input = castTo(b, loc, op.getInput(), wide);
  Value sum = b.create<ReduceOp>(loc, input, ReduceKind::Sum, op.getAxes(), op.getKeepDims());
  return createMap(b, loc, {sum}, [&](OpBuilder &i, ValueRange v) -> Value {
    ScalarMath m(i, loc);
    Value size = i.create<SizeOp>(loc, symbolMap({count}, i.getContext()));
    Value one = i.create<arith::ConstantOp>(loc, i.getI64IntegerAttr(1));
    Value divisor =
        i.create<arith::MaxSIOp>(loc, i.create<arith::IndexCastOp>(loc, i.getI64Type(), size), one);
    Value mean = wide.isUnsignedInteger()
                     ? m.op<arith::DivUIOp>(v[0], m.fromBits(divisor, wide))
                     : i.create<arith::DivSIOp>(loc, v[0], divisor).getResult();
    return m.convert(mean, narrow);
  });
}

/// A mean is a sum divided by how many elements went into it.
FailureOr<Value> ReduceOp::expand(OpBuilder &b) {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  if ((getKind() == ReduceKind::Max || getKind() == ReduceKind::Min) && element.isUnsignedInteger())
    return asSigned(b, getLoc(), getInput(), [&](Value input) -> Value {
      return b.create<ReduceOp>(getLoc(), input, getKind(), getAxes(), getKeepDims());
    });
  if (getKind() != ReduceKind::Mean)
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

bool ReduceOp::addsUp() { return true; }

FusionRole ReduceOp::getFusionRole() { return FusionRole::Reduction; }

LayoutRole ReduceOp::getLayoutRole() {
  LayoutRole role = inEitherLayout(*this);
  if (!role.flexible || getKeepDims())
    return role;
  // Without the reduced dimensions the result must be the same in either layout.
  int64_t last = -1;
  for (int64_t dim : channelsLastPermutation(typeOf(getInput()).getRank())) {
    if (llvm::is_contained(getAxes(), dim))
      continue;
    if (dim < last)
      return {};
    last = dim;
  }
  role.resultIsImage = false;
  return role;
}

void ReduceOp::permute(ArrayRef<int64_t> permutation) {
  Permutation newPosition = inverse(permutation);
  SmallVector<int64_t> axes;
  for (int64_t axis : getAxes())
    axes.push_back(newPosition[axis]);
  llvm::sort(axes);
  setAxes(axes);
}

//===--------------------------------------------------------------------------===//
// Scans
//===--------------------------------------------------------------------------===//

LogicalResult ScanOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  if (adaptor.getKind() != ReduceKind::Sum && adaptor.getKind() != ReduceKind::Prod)
    return emitOptionalError(loc, "expected cumulative sums or products, got ",
                             stringifyReduceKind(adaptor.getKind()));
  inferred.push_back(type);
  return success();
}

/// An element depends on all before it: no map says which.
Movement ScanOp::getMovement() {
  Movement m = overResult(getResult());
  m.operationsPerPoint = 1;
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
}

/// Step by step along the axis, all lines at once.
FailureOr<Value> ScanOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  int64_t axis = getAxis();
  SymbolicShape shape = shapeOf(getInput()), rest = shape;
  rest.erase(rest.begin() + axis);
  Type element = getElementTypeOrSelf(getResult());
  Value neutral = b.create<arith::ConstantOp>(loc, neutralValue(getKind(), element));
  Value start =
      b.create<linalg::FillOp>(loc, neutral, emptyTensor(b, loc, rest, element)).getResult(0);
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value one = b.create<arith::ConstantIndexOp>(loc, 1);
  Value count = getValueOrCreateConstantIndexOp(b, loc, sizeOperand(b, loc, shape[axis]));
  SmallVector<OpFoldResult> sizes = sizeOperands(b, loc, shape);
  SmallVector<OpFoldResult> ones(shape.size(), b.getIndexAttr(1));
  sizes[axis] = b.getIndexAttr(1);
  Movement m;
  m.maps.assign(2, AffineMap::getMultiDimIdentityMap(rest.size(), getContext()));
  m.iterators.assign(rest.size(), IteratorType::parallel);
  auto loop = b.create<scf::ForOp>(
      loc, zero, count, one, ValueRange{start, emptyLike(b, loc, getResult())},
      [&](OpBuilder &inner, Location at, Value i, ValueRange carried) {
        Value place = i;
        if (getReverse())
          place = inner.create<arith::SubIOp>(at, inner.create<arith::SubIOp>(at, count, one), i);
        SmallVector<OpFoldResult> offsets(shape.size(), inner.getIndexAttr(0));
        offsets[axis] = place;
        auto put = [&](Value line) {
          return inner.create<tensor::InsertSliceOp>(at, line, carried[1], offsets, sizes, ones);
        };
        Value result = getExclusive() ? put(carried[0]) : Value();
        Value line = inner.create<tensor::ExtractSliceOp>(at, plainType(tensorType(rest, element)),
                                                          inputs[0], offsets, sizes, ones);
        Value next = generic(inner, at, m, {line}, carried[0],
                             [&](OpBuilder &body, Location where, ValueRange args) {
                               return combineValues(body, where, getKind(), args[1], args[0]);
                             });
        inner.create<scf::YieldOp>(at, ValueRange{next, result ? result : put(next)});
      });
  return loop.getResult(1);
}

bool ScanOp::addsUp() { return true; }

} // namespace headrace::hr
