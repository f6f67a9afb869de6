// Level 2: what each operator computes at a point of its domain, and linalg for those whose
// movement no affine map describes.
#include "dialect/Combine.h"
#include "dialect/Hr.h"
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::hr {

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===--------------------------------------------------------------------------===//
// Structured operators
//===--------------------------------------------------------------------------===//

bool OperatorInterface::isStructured() {
  Movement m = getMovement();
  // A compute's body reads its tables by index; to the loops around it they are no operands.
  bool hasTables = isa<ComputeOp>(getOperation());
  bool affine =
      !m.maps.empty() && !isa<SliceOp>(getOperation()) && llvm::all_of(m.maps, [&](AffineMap map) {
        return map ? map.getNumSymbols() == 0 : hasTables;
      });
  bool reduces = llvm::is_contained(m.iterators, utils::IteratorType::reduction);
  llvm::TypeSwitch<Operation *>(getOperation())
      .Case<ConvOp, ConvFilterOp, PoolOp, PoolIndexOp>([&](auto window) {
        affine &= llvm::all_of(window.getPads(), [](int64_t pad) { return pad == 0; });
      });
  return affine && (!reduces || getInitialValue());
}

Value MapOp::buildBody(OpBuilder &b, ValueRange scalars) {
  IRMapping mapping;
  Block &body = getBody().front();
  mapping.map(body.getArguments(), scalars.take_front(body.getNumArguments()));
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value TransposeOp::buildBody(OpBuilder &, ValueRange scalars) { return scalars.front(); }
Value BroadcastOp::buildBody(OpBuilder &, ValueRange scalars) { return scalars.front(); }

Value ReduceOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return combineValues(b, getLoc(), getKind(), scalars[1], scalars[0]);
}

TypedAttr ReduceOp::getInitialValue() {
  return getKind() == ReduceKind::Mean ? TypedAttr()
                                       : neutralValue(getKind(), elementOf(getResult()));
}

static Value multiplyAdd(OpBuilder &b, Location loc, ValueRange args) {
  if (!isa<FloatType>(args[2].getType()))
    return b.create<arith::AddIOp>(loc, args[2], b.create<arith::MulIOp>(loc, args[0], args[1]));
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::reassoc |
                                                                 arith::FastMathFlags::contract);
  Value product = b.create<arith::MulFOp>(loc, args[0], args[1], flags);
  return b.create<arith::AddFOp>(loc, args[2], product, flags);
}

Value ContractOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars);
}
TypedAttr ContractOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, elementOf(getResult()));
}

Value ConvOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars);
}
TypedAttr ConvOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, elementOf(getResult()));
}

Value ConvFilterOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars);
}
TypedAttr ConvFilterOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, elementOf(getResult()));
}

/// The least position of those that hold the maximum, or something that is no number.
Value PoolIndexOp::buildBody(OpBuilder &b, ValueRange scalars) {
  Value holds =
      b.create<arith::CmpFOp>(getLoc(), arith::CmpFPredicate::UEQ, scalars[0], scalars[1]);
  Value least = b.create<arith::MinSIOp>(getLoc(), scalars[3], scalars[2]);
  return b.create<arith::SelectOp>(getLoc(), holds, least, scalars[3]);
}
TypedAttr PoolIndexOp::getInitialValue() {
  return neutralValue(ReduceKind::Min, elementOf(getResult()));
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
  return neutralValue(combinationOf(getKind()), elementOf(getResult()));
}

//===--------------------------------------------------------------------------===//
// Operators with movement of their own kind
//===--------------------------------------------------------------------------===//

/// Backward steps: each element is fetched by its index.
static Value fetchSlice(OpBuilder &b, SliceOp op, Value input) {
  Movement m = op.getMovement();
  AffineMap source = m.maps[0];
  m.maps.erase(m.maps.begin());
  return generic(
      b, op.getLoc(), m, {}, emptyLike(b, op.getLoc(), op.getResult()),
      [&](OpBuilder &inner, Location loc, ValueRange) {
        SmallVector<Value> operands, indices;
        for (unsigned i = 0; i < m.domain.size(); ++i)
          operands.push_back(inner.create<linalg::IndexOp>(loc, i));
        for (unsigned i = 0; i < source.getNumSymbols(); ++i)
          operands.push_back(inner.create<SizeOp>(
              loc, AffineMap::get(0, i + 1, getAffineSymbolExpr(i, inner.getContext()))));
        for (unsigned i = 0; i < source.getNumResults(); ++i)
          indices.push_back(
              inner.create<affine::AffineApplyOp>(loc, source.getSubMap({i}), operands));
        return inner.create<tensor::ExtractOp>(loc, input, indices).getResult();
      });
}

FailureOr<Value> SliceOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  if (llvm::any_of(getSteps(), [](int64_t step) { return step <= 0; }))
    return fetchSlice(b, *this, inputs[0]);
  Location loc = getLoc();
  SmallVector<OpFoldResult> steps;
  for (int64_t step : getSteps())
    steps.push_back(b.getIndexAttr(step));
  Value part = b.create<tensor::ExtractSliceOp>(loc, plainType(getType()), inputs[0],
                                                sizeOperands(b, loc, getStarts().getResults()),
                                                sizeOperands(b, loc, shapeOf(getResult())), steps);
  // The part is a view; copying it is what the kernel does.
  Movement m = getMovement();
  m.maps[0] = m.maps[1];
  return generic(b, loc, m, {part}, emptyLike(b, loc, getResult()),
                 [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

FailureOr<Value> ConcatOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  Value joined = emptyLike(b, loc, getResult());
  AffineExpr offset = constantDim(0, b.getContext());
  for (auto [operand, input] : llvm::zip(getInputs(), inputs)) {
    SymbolicShape shape = shapeOf(operand);
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(shape.size(), b.getIndexAttr(1));
    offsets[getAxis()] = sizeOperand(b, loc, offset);
    joined = b.create<tensor::InsertSliceOp>(loc, input, joined, offsets,
                                             sizeOperands(b, loc, shape), strides);
    offset = offset + shape[getAxis()];
  }
  return joined;
}

FailureOr<Value> PadOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  SymbolicShape inside = shapeOf(getInput());
  SmallVector<OpFoldResult> offsets, low, high;
  for (auto [dim, lowPad, highPad] : llvm::zip(inside, getLow(), getHigh())) {
    // A negative pad cuts off.
    dim = dim + (std::min<int64_t>(lowPad, 0) + std::min<int64_t>(highPad, 0));
    offsets.push_back(b.getIndexAttr(std::max<int64_t>(-lowPad, 0)));
    low.push_back(b.getIndexAttr(std::max<int64_t>(lowPad, 0)));
    high.push_back(b.getIndexAttr(std::max<int64_t>(highPad, 0)));
  }
  Value kept = inputs[0];
  RankedTensorType keptType =
      plainType(tensorType(inside, cast<RankedTensorType>(getType()).getElementType()));
  if (keptType != kept.getType() || llvm::any_of(getLow(), [](int64_t pad) { return pad < 0; }) ||
      llvm::any_of(getHigh(), [](int64_t pad) { return pad < 0; }))
    kept = b.create<tensor::ExtractSliceOp>(
        loc, keptType, kept, offsets, sizeOperands(b, loc, inside),
        SmallVector<OpFoldResult>(offsets.size(), b.getIndexAttr(1)));
  Value value = b.create<arith::ConstantOp>(loc, cast<TypedAttr>(getValue()));
  return b.create<tensor::PadOp>(loc, plainType(getType()), kept, low, high, value).getResult();
}

FailureOr<Value> GatherOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Movement m = getMovement();
  Value data = inputs[0];
  m.maps.erase(m.maps.begin());
  int64_t axis = getAxis(), indexRank = m.maps[0].getNumResults();
  SymbolicShape shape = shapeOf(getData());
  if (constantValue(shape[axis]) == 0)
    return emitError("expected elements to pick along axis ") << axis << ", found none";
  return generic(
      b, getLoc(), m, {inputs[1]}, emptyLike(b, getLoc(), getResult()),
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        Value index = inner.create<arith::IndexCastOp>(loc, inner.getIndexType(), args[0]);
        Value size = inner.create<SizeOp>(loc, symbolMap({shape[axis]}, inner.getContext()));
        Value zero = inner.create<arith::ConstantIndexOp>(loc, 0);
        Value one = inner.create<arith::ConstantIndexOp>(loc, 1);
        Value negative = inner.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, zero);
        Value wrapped = inner.create<arith::SelectOp>(
            loc, negative, inner.create<arith::AddIOp>(loc, index, size), index);
        // An index out of range must not read outside the tensor, whatever the input says.
        Value last = inner.create<arith::SubIOp>(loc, size, one);
        wrapped = inner.create<arith::MaxSIOp>(
            loc, inner.create<arith::MinSIOp>(loc, wrapped, last), zero);
        SmallVector<Value> position;
        for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
          position.push_back(
              i == axis ? wrapped
                        : inner.create<linalg::IndexOp>(loc, i < axis ? i : i + indexRank - 1));
        return inner.create<tensor::ExtractOp>(loc, data, position).getResult();
      });
}

} // namespace headrace::hr
