// Shape rules: the result type of every operator, with symbolic sizes.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::hr {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

LogicalResult MapOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  SymbolicShape shape;
  for (Value input : adaptor.getInputs()) {
    auto joined = broadcastShapes(shape, shapeOf(input));
    if (!joined)
      return emitOptionalError(loc, "shapes ", shapeText(shape), " and ", shapeText(shapeOf(input)),
                               " do not broadcast");
    shape = *joined;
  }
  if (adaptor.getBody().empty() || adaptor.getBody().front().empty())
    return emitOptionalError(loc, "a map needs a body");
  Operation *yield = adaptor.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1)
    return emitOptionalError(loc, "a map's body yields one value");
  inferred.push_back(tensorType(shape, yield->getOperand(0).getType()));
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError("expected one body argument per input, got ") << body.getNumArguments();
  for (auto [input, argument] : llvm::zip(getInputs(), body.getArguments()))
    if (typeOf(input).getElementType() != argument.getType())
      return emitOpError("expected a body argument of type ")
             << typeOf(input).getElementType() << ", got " << argument.getType();
  for (Operation &op : body.without_terminator())
    if (!isa<SizeOp>(op) && !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return emitOpError("a map's body holds scalar arithmetic only, got ") << op.getName();
  return success();
}

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

LogicalResult ContractOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto maps = adaptor.getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> all(maps.begin(), maps.end());
  if (all.size() != 3)
    return emitOptionalError(loc, "a contraction has three maps, got ", all.size());
  if (llvm::any_of(all, [&](AffineMap map) {
        return !map.isProjectedPermutation() || map.getNumDims() != all[0].getNumDims();
      }))
    return emitOptionalError(loc, "a contraction's maps must each pick dimensions of one domain");
  SymbolicShape sizes(all[0].getNumDims());
  Value operands[] = {adaptor.getLhs(), adaptor.getRhs()};
  for (auto [map, operand] : llvm::zip(all, operands)) {
    if (map.getNumResults() != typeOf(operand).getRank())
      return emitOptionalError(loc, "a contraction's map must name each dimension of its operand");
    for (auto [expr, dim] : llvm::zip(map.getResults(), shapeOf(operand))) {
      AffineExpr &size = sizes[cast<AffineDimExpr>(expr).getPosition()];
      if (size && !sameSize(size, dim))
        return emitOptionalError(loc, "the operands ", shapeText(shapeOf(operands[0])), " and ",
                                 shapeText(shapeOf(operands[1])),
                                 " differ in a dimension they share");
      size = dim;
    }
  }
  SymbolicShape result;
  for (AffineExpr expr : all[2].getResults()) {
    AffineExpr size = sizes[cast<AffineDimExpr>(expr).getPosition()];
    if (!size)
      return emitOptionalError(loc, "a result dimension comes from neither operand");
    result.push_back(size);
  }
  inferred.push_back(tensorType(result, typeOf(operands[0]).getElementType()));
  return success();
}

/// Size of one spatial dimension after a window has slid over it.
static AffineExpr slide(AffineExpr size, int64_t low, int64_t high, int64_t window,
                        int64_t dilation, int64_t stride) {
  return (size + (low + high - dilation * (window - 1) - 1)).floorDiv(stride) + 1;
}

static bool allPositive(ArrayRef<int64_t> values) {
  return llvm::all_of(values, [](int64_t value) { return value > 0; });
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                       Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  SymbolicShape input = shapeOf(type), filter = shapeOf(adaptor.getFilter());
  int64_t spatial = type.getRank() - 2;
  if (spatial < 1 || filter.size() != input.size())
    return emitOptionalError(loc,
                             "expected an image of rank 3 or more and a filter of the same, got ",
                             shapeText(input), " and ", shapeText(filter));
  if (static_cast<int64_t>(adaptor.getStrides().size()) != spatial ||
      static_cast<int64_t>(adaptor.getDilations().size()) != spatial ||
      static_cast<int64_t>(adaptor.getPads().size()) != 2 * spatial)
    return emitOptionalError(loc, "expected ", spatial, " strides and dilations and ", 2 * spatial,
                             " pads");
  if (!allPositive(adaptor.getStrides()) || !allPositive(adaptor.getDilations()) ||
      adaptor.getGroups() < 1)
    return emitOptionalError(loc, "expected strides, dilations and groups of 1 or more");
  bool first = adaptor.getLayout() == ChannelLayout::First;
  AffineExpr channels = first ? input[1] : input.back();
  AffineExpr filterChannels = first ? filter[1] : filter[spatial];
  AffineExpr features = first ? filter[0] : filter.back();
  if (!sameSize(channels, filterChannels * adaptor.getGroups()))
    return emitOptionalError(loc, "the input ", shapeText(input), " has ", shapeText({channels}),
                             " channels, the filter ", shapeText(filter), " expects ",
                             shapeText({filterChannels * adaptor.getGroups()}));
  if (auto count = constantValue(features); count && *count % adaptor.getGroups() != 0)
    return emitOptionalError(loc, "the filter's ", *count, " features do not divide into ",
                             adaptor.getGroups(), " groups");
  SymbolicShape window;
  for (int64_t i = 0; i < spatial; ++i) {
    auto size = constantValue(filter[first ? i + 2 : i]);
    if (!size)
      return emitOptionalError(loc, "a filter's window must have a constant size");
    window.push_back(slide(input[first ? i + 2 : i + 1], adaptor.getPads()[i],
                           adaptor.getPads()[spatial + i], *size, adaptor.getDilations()[i],
                           adaptor.getStrides()[i]));
  }
  SymbolicShape result{input[0]};
  if (first)
    result.push_back(features);
  result.append(window);
  if (!first)
    result.push_back(features);
  for (AffineExpr dim : result)
    if (auto size = constantValue(dim); size && *size < 0)
      return emitOptionalError(loc, "the window is larger than the padded input ",
                               shapeText(input));
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

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

LogicalResult DetachOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  inferred.push_back(type);
  return success();
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

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "expected at least one tensor to join");
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

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto type = typeOf(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", type.getRank());
  SymbolicShape data = shapeOf(type);
  SymbolicShape result(ArrayRef(data).take_front(axis));
  result.append(shapeOf(adaptor.getIndices()));
  result.append(data.begin() + axis + 1, data.end());
  inferred.push_back(tensorType(result, type.getElementType()));
  return success();
}

LogicalResult SizeOp::verify() {
  AffineMap map = getExpr();
  if (map.getNumDims() != 0 || map.getNumResults() != 1)
    return emitOpError("expected one expression of symbols only");
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto from = typeOf(getInput()), to = typeOf(getResult());
  AffineExpr have = elementCount(shapeOf(from), getContext());
  AffineExpr want = elementCount(shapeOf(to), getContext());
  if (from.getElementType() != to.getElementType() || !sameSize(have, want))
    return emitOpError("cannot give ")
           << shapeText(shapeOf(from)) << " the shape " << shapeText(shapeOf(to));
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto joined = broadcastShapes(shapeOf(getInput()), shapeOf(getResult()));
  if (!joined || !llvm::equal(*joined, shapeOf(getResult())))
    return emitOpError("cannot broadcast ")
           << shapeText(shapeOf(getInput())) << " to " << shapeText(shapeOf(getResult()));
  return success();
}

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

/// The output's shape must be the one the convolution of the input with such a filter has.
LogicalResult ConvFilterOp::verify() {
  SmallVector<Type> inferred;
  OpBuilder b(getContext());
  auto probe = [&](Value filter) {
    OperationState state(getLoc(), ConvOp::getOperationName());
    ConvOp::build(b, state, getInput(), filter, getStrides(), getDilations(), getPads(),
                  getGroups(), getLayout());
    return state.types.empty() ? Type() : state.types.front();
  };
  auto type = probe(getResult());
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  if (!tensor || !llvm::equal(shapeOf(tensor), shapeOf(getOutput())))
    return emitOpError("expected an output of the shape its convolution has, got ")
           << shapeText(shapeOf(getOutput()));
  return success();
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

LogicalResult ScatterAddOp::verify() {
  SymbolicShape updates = shapeOf(getUpdates()), indices = shapeOf(getIndices());
  SymbolicShape result = shapeOf(getResult());
  if (updates.size() != 3 || indices.size() != 1 || result.size() != 3 ||
      !sameSize(updates[1], indices[0]) || !sameSize(updates[0], result[0]) ||
      !sameSize(updates[2], result[2]))
    return emitOpError("expected updates [outer, T, inner], indices [T] and a result [outer, size, "
                       "inner], got ")
           << shapeText(updates) << ", " << shapeText(indices) << " and " << shapeText(result);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  return {};
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

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

} // namespace headrace::hr
