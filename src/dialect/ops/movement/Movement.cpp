// Elements moved, none computed.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  SmallVector<int64_t> sorted(adaptor.getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, type.getRank())))
    return emitOptionalError(loc, "expected a permutation of ", type.getRank(), " dimensions");
  SymbolicShape input = shapeOf(type), result;
  for (int64_t dim : adaptor.getPermutation())
    result.push_back(input[dim]);
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  return {};
}

Movement TransposeOp::getMovement() {
  Movement m = overResult(getResult());
  AffineMap read = identityMap(getResult());
  // MLIR has no permutation of no dimensions.
  if (!getPermutation().empty()) {
    SmallVector<unsigned> permutation(getPermutation().begin(), getPermutation().end());
    read = inversePermutation(AffineMap::getPermutationMap(permutation, getContext()));
  }
  m.maps = {read, identityMap(getResult())};
  return m;
}

Value TransposeOp::buildBody(OpBuilder &, ValueRange scalars) { return scalars.front(); }

LogicalResult ReshapeOp::verify() {
  auto from = typeOf(getInput()), to = typeOf(getResult());
  AffineExpr have = elementCount(shapeOf(from), getContext());
  AffineExpr want = elementCount(shapeOf(to), getContext());
  if (from.getElementType() != to.getElementType() || !sameSize(have, want))
    return emitOpError("cannot give ")
           << shapeText(shapeOf(from)) << " the shape " << shapeText(shapeOf(to));
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}

Movement ReshapeOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
}

LogicalResult BroadcastOp::verify() {
  auto joined = broadcastShapes(shapeOf(getInput()), shapeOf(getResult()));
  if (!joined || !llvm::equal(*joined, shapeOf(getResult())))
    return emitOpError("cannot broadcast ")
           << shapeText(shapeOf(getInput())) << " to " << shapeText(shapeOf(getResult()));
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

Movement BroadcastOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {broadcastMap(getInput(), m.domain.size()), identityMap(getResult())};
  return m;
}

Value BroadcastOp::buildBody(OpBuilder &, ValueRange scalars) { return scalars.front(); }

LogicalResult SliceOp::verify() {
  size_t rank = typeOf(getInput()).getRank();
  if (getStarts().getNumResults() != rank || getSteps().size() != rank ||
      static_cast<size_t>(typeOf(getResult()).getRank()) != rank)
    return emitOpError("expected a start and a step for each of ") << rank << " dimensions";
  SymbolicShape input = shapeOf(getInput()), result = shapeOf(getResult());
  for (size_t i = 0; i < rank; ++i) {
    auto have = constantValue(input[i]), want = constantValue(result[i]),
         start = constantValue(getStarts().getResult(i));
    if (!have || !want || !start || *want == 0)
      continue;
    int64_t last;
    if (llvm::MulOverflow(*want - 1, getSteps()[i], last) ||
        llvm::AddOverflow(last, *start, last) || std::min(*start, last) < 0 ||
        std::max(*start, last) >= *have)
      return emitOpError("takes ") << *want << " elements from " << *start << " in steps of "
                                   << getSteps()[i] << " of a dimension of size " << *have;
  }
  return success();
}

Movement SliceOp::getMovement() {
  Movement m = overResult(getResult());
  SmallVector<AffineExpr> exprs;
  unsigned symbols = getStarts().getNumSymbols();
  for (auto [i, start] : llvm::enumerate(getStarts().getResults()))
    exprs.push_back(getAffineDimExpr(i, getContext()) * getSteps()[i] + start);
  m.maps = {AffineMap::get(m.domain.size(), symbols, exprs, getContext()),
            identityMap(getResult())};
  return m;
}

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

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "expected at least one tensor to concatenate");
  auto type = typeOf(adaptor.getInputs().front());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  SymbolicShape result = shapeOf(type);
  for (Value input : llvm::drop_begin(adaptor.getInputs())) {
    SymbolicShape shape = shapeOf(input);
    if (shape.size() != result.size() || typeOf(input).getElementType() != type.getElementType())
      return emitOptionalError(loc, "expected tensors of one rank and type");
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) == axis)
        result[i] = result[i] + shape[i];
      else if (!sameSize(result[i], shape[i]))
        return emitOptionalError(loc, "shapes ", shapeText(result), " and ", shapeText(shape),
                                 " differ outside axis ", axis);
  }
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

Movement ConcatOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  return m;
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

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  SymbolicShape result = shapeOf(type);
  if (adaptor.getLow().size() != result.size() || adaptor.getHigh().size() != result.size())
    return emitOptionalError(loc, "expected a low and a high pad for each of ", result.size(),
                             " dimensions");
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = result[i] + (adaptor.getLow()[i] + adaptor.getHigh()[i]);
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

Movement PadOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
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

LogicalResult PlaceOp::verify() {
  size_t rank = typeOf(getInput()).getRank();
  if (getStarts().getNumResults() != rank || getSteps().size() != rank ||
      static_cast<size_t>(typeOf(getResult()).getRank()) != rank)
    return emitOpError("expected a start and a step for each of ") << rank << " dimensions";
  if (!allPositive(getSteps()))
    return emitOpError("expected steps of 1 or more");
  SymbolicShape input = shapeOf(getInput()), result = shapeOf(getResult());
  for (size_t i = 0; i < rank; ++i) {
    auto have = constantValue(input[i]), room = constantValue(result[i]),
         start = constantValue(getStarts().getResult(i));
    if (have && room && start && *have > 0 &&
        (*start < 0 || *start + (*have - 1) * getSteps()[i] >= *room))
      return emitOpError("places ") << *have << " elements from " << *start << " in steps of "
                                    << getSteps()[i] << " in a dimension of size " << *room;
  }
  return success();
}

/// The result is walked as zeros, and the input's part of it once more.
Movement PlaceOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
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

} // namespace headrace::hr
