// Convolutions and the gradient of their filters.
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/ops/windows/SlidingSize.h"
#include "dialect/scalar/Combine.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

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
  auto element =
      accumulatorOf(loc, type.getElementType(), typeOf(adaptor.getFilter()).getElementType(),
                    adaptor.getAccumulator());
  if (failed(element))
    return failure();
  inferred.push_back(tensorType(result, *element));
  return success();
}

/// A convolution's movement, its maps those of input, filter and result. Domain: batch, outputs...,
/// group, feature of the group, window..., channel.
template <class Conv> static Movement convMovement(Conv op, Value filterValue, Value resultValue) {
  MLIRContext *context = op.getContext();
  SymbolicShape input = shapeOf(op.getInput()), filter = shapeOf(filterValue);
  SymbolicShape result = shapeOf(resultValue);
  unsigned spatial = input.size() - 2;
  bool first = op.getLayout() == ChannelLayout::First;
  int64_t groups = op.getGroups();
  AffineExpr groupChannels = first ? filter[1] : filter[spatial];
  AffineExpr features = first ? filter[0] : filter.back();

  Movement m;
  m.operationsPerPoint = 2;
  auto dim = [&](AffineExpr size, IteratorType kind) {
    m.domain.push_back(size);
    m.iterators.push_back(kind);
    return getAffineDimExpr(m.domain.size() - 1, context);
  };
  AffineExpr n = dim(input[0], IteratorType::parallel);
  SmallVector<AffineExpr> outputs, windows, positions;
  for (unsigned i = 0; i < spatial; ++i)
    outputs.push_back(dim(result[(first ? 2 : 1) + i], IteratorType::parallel));
  AffineExpr g = groups > 1 ? dim(constantDim(groups, context), IteratorType::parallel)
                            : constantDim(0, context);
  // Depthwise: the group is the feature.
  int64_t groupFeatures = *constantValue(features) / groups;
  AffineExpr f = groups > 1 && groupFeatures == 1
                     ? constantDim(0, context)
                     : dim(constantDim(groupFeatures, context), IteratorType::parallel);
  for (unsigned i = 0; i < spatial; ++i)
    windows.push_back(dim(filter[(first ? 2 : 0) + i], IteratorType::reduction));
  AffineExpr c = dim(groupChannels, IteratorType::reduction);
  for (unsigned i = 0; i < spatial; ++i)
    positions.push_back(outputs[i] * op.getStrides()[i] + windows[i] * op.getDilations()[i] -
                        op.getPads()[i]);

  AffineExpr channel = g * *constantValue(groupChannels) + c;
  AffineExpr feature = g * groupFeatures + f;
  SmallVector<AffineExpr> in{n}, weights, out{n};
  if (first) {
    in.push_back(channel);
    in.append(positions);
    weights.assign({feature, c});
    weights.append(windows);
    out.push_back(feature);
    out.append(outputs);
  } else {
    in.append(positions);
    in.push_back(channel);
    weights = windows;
    weights.append({c, feature});
    out.append(outputs);
    out.push_back(feature);
  }
  for (ArrayRef<AffineExpr> exprs : {ArrayRef(in), ArrayRef(weights), ArrayRef(out)})
    m.maps.push_back(AffineMap::get(m.domain.size(), 0, exprs, context));
  return m;
}

Movement ConvOp::getMovement() { return convMovement(*this, getFilter(), getResult()); }

Value ConvOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars, {getUnsignedInput(), getUnsignedFilter()});
}

TypedAttr ConvOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, getElementTypeOrSelf(getResult()));
}

/// The output's shape must be the one the convolution of the input with such a filter has.
LogicalResult ConvFilterOp::verify() {
  SmallVector<Type> inferred;
  OpBuilder b(getContext());
  auto probe = [&](Value filter) {
    OperationState state(getLoc(), ConvOp::getOperationName());
    ConvOp::build(b, state, getInput(), filter, getStrides(), getDilations(), getPads(),
                  getGroups(), getLayout(), TypeAttr());
    return state.types.empty() ? Type() : state.types.front();
  };
  auto type = probe(getResult());
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  if (!tensor || !llvm::equal(shapeOf(tensor), shapeOf(getOutput())))
    return emitOpError("expected an output of the shape its convolution has, got ")
           << shapeText(shapeOf(getOutput()));
  return success();
}

/// Pairs the same elements as the convolution does; dimensions that the filter lacks are reduced.
Movement ConvFilterOp::getMovement() {
  Movement m = convMovement(*this, getResult(), getOutput());
  std::swap(m.maps[1], m.maps[2]);
  for (auto [i, kind] : llvm::enumerate(m.iterators))
    kind = m.maps[2].isFunctionOfDim(i) ? IteratorType::parallel : IteratorType::reduction;
  return m;
}

Value ConvFilterOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars);
}

TypedAttr ConvFilterOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, getElementTypeOrSelf(getResult()));
}

bool ConvOp::isPadded() { return isAnyNonZero(getPads()); }
bool ConvFilterOp::isPadded() { return isAnyNonZero(getPads()); }

FusionRole ConvOp::getFusionRole() { return FusionRole::Anchor; }
FusionRole ConvFilterOp::getFusionRole() { return FusionRole::Anchor; }

/// One feature does not fill a vector; with channels first, vectors run along rows. A window of
/// one position becomes a matmul instead, whose sums run along the channels.
static bool isBetterAlongRows(ConvOp op) {
  SymbolicShape filter = shapeOf(op.getFilter());
  return constantValue(filter.front()) == 1 &&
         llvm::any_of(ArrayRef(filter).drop_front(2),
                      [](AffineExpr size) { return constantValue(size) != 1; });
}

LayoutRole ConvOp::getLayoutRole() {
  return isBetterAlongRows(*this) ? LayoutRole{} : wantsChannelsLast(*this, getLayout());
}

LayoutRole ConvFilterOp::getLayoutRole() {
  LayoutRole role = wantsChannelsLast(*this, getLayout());
  role.resultIsImage = false;
  return role;
}

bool ConvOp::isImageOperand(unsigned index) { return index == 0; }

void ConvOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }
void ConvFilterOp::permute(ArrayRef<int64_t>) { setLayout(ChannelLayout::Last); }

} // namespace headrace::hr
