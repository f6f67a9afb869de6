// Poolings, and what their gradients are made of.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/ops/windows/SlidingSize.h"
#include "dialect/scalar/Combine.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult PoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  int64_t spatial = type.getRank() - 2;
  if (spatial < 1 || static_cast<int64_t>(adaptor.getWindow().size()) != spatial ||
      static_cast<int64_t>(adaptor.getStrides().size()) != spatial ||
      static_cast<int64_t>(adaptor.getDilations().size()) != spatial ||
      static_cast<int64_t>(adaptor.getPads().size()) != 2 * spatial)
    return emitOptionalError(loc, "expected a window, strides, dilations and pads for each of the ",
                             spatial, " spatial dimensions");
  if (!allPositive(adaptor.getWindow()) || !allPositive(adaptor.getStrides()) ||
      !allPositive(adaptor.getDilations()))
    return emitOptionalError(loc, "expected a window, strides and dilations of 1 or more");
  SymbolicShape result = shapeOf(type);
  int64_t offset = adaptor.getLayout() == ChannelLayout::First ? 2 : 1;
  for (int64_t i = 0; i < spatial; ++i) {
    AffineExpr &dim = result[offset + i];
    dim = slide(dim, adaptor.getPads()[i], adaptor.getPads()[spatial + i], adaptor.getWindow()[i],
                adaptor.getDilations()[i], adaptor.getStrides()[i]);
    if (auto size = constantValue(dim); size && *size < 0)
      return emitOptionalError(loc, "the window is larger than the padded input ",
                               shapeText(shapeOf(type)));
  }
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

/// Domain of pooling: the result's dimensions, then the window's.
template <class Pool> static Movement poolMovement(Pool op, ArrayRef<AffineExpr> window) {
  MLIRContext *context = op.getContext();
  Movement m = overResult(op.getResult());
  unsigned rank = m.domain.size(), offset = op.getLayout() == ChannelLayout::First ? 2 : 1;
  m.operationsPerPoint = 1;
  SmallVector<AffineExpr> in;
  for (unsigned i = 0; i < rank; ++i)
    in.push_back(getAffineDimExpr(i, context));
  for (auto [i, size] : llvm::enumerate(window)) {
    m.domain.push_back(size);
    m.iterators.push_back(IteratorType::reduction);
    in[offset + i] = in[offset + i] * op.getStrides()[i] +
                     getAffineDimExpr(rank + i, context) * op.getDilations()[i] - op.getPads()[i];
  }
  unsigned dims = m.domain.size();
  m.maps = {AffineMap::get(dims, 0, in, context),
            AffineMap::getMultiDimIdentityMap(dims, context).getMajorSubMap(rank)};
  return m;
}

Movement PoolOp::getMovement() {
  SymbolicShape window;
  for (int64_t size : getWindow())
    window.push_back(constantDim(size, getContext()));
  return poolMovement(*this, window);
}

/// Averages are sums by now (see SeparatePadding).
static ReduceKind combinationOf(PoolKind kind) {
  return kind == PoolKind::Max ? ReduceKind::Max : ReduceKind::Sum;
}

Value PoolOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return combineValues(b, getLoc(), combinationOf(getKind()), scalars.back(), scalars.front());
}

TypedAttr PoolOp::getInitialValue() {
  if (getKind() == PoolKind::Average)
    return {};
  return neutralValue(combinationOf(getKind()), getElementTypeOrSelf(getResult()));
}

FailureOr<Value> PoolOp::expand(OpBuilder &b) {
  if (getKind() != PoolKind::Max || !getElementTypeOrSelf(getType()).isUnsignedInteger())
    return failure();
  return asSigned(b, getLoc(), getInput(), [&](Value input) -> Value {
    return b.create<PoolOp>(getLoc(), input, getKind(), getWindow(), getStrides(), getDilations(),
                            getPads(), getIncludePad(), getLayout());
  });
}

Movement PoolIndexOp::getMovement() {
  Movement m = poolMovement(*this, shapeOf(getPositions()));
  unsigned dims = m.domain.size(), spatial = getStrides().size();
  m.operationsPerPoint = 3;
  AffineMap position =
      AffineMap::getMultiDimIdentityMap(dims, getContext()).getMinorSubMap(spatial);
  AffineMap result = m.maps.back();
  m.maps = {m.maps.front(), result, position, result};
  return m;
}

/// The smallest position whose element equals the maximum or is NaN.
Value PoolIndexOp::buildBody(OpBuilder &b, ValueRange scalars) {
  Value holds =
      b.create<arith::CmpFOp>(getLoc(), arith::CmpFPredicate::UEQ, scalars[0], scalars[1]);
  Value least = b.create<arith::MinSIOp>(getLoc(), scalars[3], scalars[2]);
  return b.create<arith::SelectOp>(getLoc(), holds, least, scalars[3]);
}

TypedAttr PoolIndexOp::getInitialValue() {
  return neutralValue(ReduceKind::Min, getElementTypeOrSelf(getResult()));
}

LogicalResult UnpoolOp::verify() {
  size_t spatial = typeOf(getResult()).getRank() - 2;
  if (getWindow().size() != spatial || getStrides().size() != spatial ||
      getDilations().size() != spatial || getPads().size() != 2 * spatial)
    return emitOpError("expected a window, strides, dilations and pads for each of the ")
           << spatial << " spatial dimensions";
  if (!allPositive(getWindow()) || !allPositive(getStrides()) || !allPositive(getDilations()))
    return emitOpError("expected a window, strides and dilations of 1 or more");
  SymbolicShape expected = shapeOf(getResult());
  size_t offset = getLayout() == ChannelLayout::First ? 2 : 1;
  for (size_t i = 0; i < spatial; ++i)
    expected[offset + i] = slide(expected[offset + i], getPads()[i], getPads()[spatial + i],
                                 getWindow()[i], getDilations()[i], getStrides()[i]);
  for (Value operand : getOperands())
    if (!llvm::all_of(llvm::zip_equal(expected, shapeOf(operand)),
                      [](auto pair) { return sameSize(std::get<0>(pair), std::get<1>(pair)); }))
      return emitOpError("expected one value per window (")
             << shapeText(expected) << "), got " << shapeText(shapeOf(operand));
  return success();
}

/// Has a point for every element of every window; which of them meet an element of the result
/// depends on the strides.
Movement UnpoolOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 1;
  for (auto [extent, stride] : llvm::zip(getWindow(), getStrides()))
    m.operationsPerPoint *= (extent + stride - 1) / stride;
  return m;
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
  Value extents = emptyTensor(b, loc, window, getElementTypeOrSelf(getResult()));
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

bool PoolOp::isPadded() { return isAnyNonZero(getPads()); }
bool PoolIndexOp::isPadded() { return isAnyNonZero(getPads()); }

bool PoolOp::addsUp() { return getKind() != PoolKind::Max; }
bool UnpoolOp::addsUp() { return true; }

FusionRole PoolOp::getFusionRole() { return FusionRole::Anchor; }
FusionRole PoolIndexOp::getFusionRole() { return FusionRole::Anchor; }

LayoutRole PoolOp::getLayoutRole() { return wantsChannelsLast(*this, getLayout()); }
LayoutRole PoolIndexOp::getLayoutRole() { return wantsChannelsLast(*this, getLayout()); }
LayoutRole UnpoolOp::getLayoutRole() { return wantsChannelsLast(*this, getLayout()); }

/// Input and maximum; the last operand numbers the positions of a window.
bool PoolIndexOp::isImageOperand(unsigned index) { return index < 2; }

void PoolOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }
void PoolIndexOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }
void UnpoolOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }

} // namespace headrace::hr
