// Gradients of convolutions and poolings.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

/// The windows of convolutions and poolings, and where they are.
namespace {
struct Window {
  SymbolicShape image; // of all dimensions
  ChannelLayout layout;
  SmallVector<int64_t> extents, strides, dilations, pads;

  size_t spatial() const { return extents.size(); }
  size_t offset() const { return layout == ChannelLayout::First ? 2 : 1; }
  int64_t low(size_t i) const { return pads[i]; }
  int64_t high(size_t i) const { return pads[spatial() + i]; }
  /// From the first to the last element under a window.
  int64_t reach(size_t i) const { return dilations[i] * (extents[i] - 1); }
};
} // namespace

static bool isEmpty(Value value) {
  return llvm::any_of(shapeOf(value), [](AffineExpr dim) { return constantValue(dim) == 0; });
}

/// [F, C/groups, window...] as [C, F/groups, window...] with the window turned around; channels
/// last, [window..., C/groups, F] as [window..., F/groups, C].
static Value turnedFilter(OpBuilder &b, Location loc, Value filter, int64_t groups,
                          ChannelLayout layout) {
  MLIRContext *context = b.getContext();
  SymbolicShape shape = shapeOf(filter);
  int64_t rank = static_cast<int64_t>(shape.size()), spatial = rank - 2;
  bool first = layout == ChannelLayout::First;
  int64_t windowAt = first ? 2 : 0;
  AffineExpr channels = first ? shape[1] : shape[spatial];
  AffineExpr features = (first ? shape[0] : shape.back()).floorDiv(groups);
  AffineExpr count = constantDim(groups, context);
  SymbolicShape grouped, turned(shape);
  SmallVector<int64_t> order;
  auto window = [&](int64_t at) {
    llvm::append_range(grouped, ArrayRef(shape).slice(windowAt, spatial));
    llvm::append_range(order, llvm::seq<int64_t>(at, at + spatial));
  };
  if (first) { // g f c w -> g c f w
    grouped.append({count, features, channels});
    order.append({0, 2, 1});
    window(3);
    turned[0] = channels * groups;
    turned[1] = features;
  } else { // w c g f -> w f g c
    window(0);
    grouped.append({channels, count, features});
    order.append({spatial + 2, spatial + 1, spatial});
    turned[spatial] = features;
    turned[spatial + 1] = channels * groups;
  }
  Value exchanged = b.create<TransposeOp>(loc, reshaped(b, loc, filter, grouped), order);
  Value result = reshaped(b, loc, exchanged, turned);
  SmallVector<AffineExpr> starts(rank, constantDim(0, context));
  SmallVector<int64_t> steps(rank, 1);
  for (int64_t i = windowAt; i < windowAt + spatial; ++i) {
    starts[i] = shape[i] - 1;
    steps[i] = *constantValue(shape[i]) > 1 ? -1 : 1;
  }
  return b.create<SliceOp>(loc, result.getType(), result, symbolMap(starts, context), steps);
}

/// Every window gives its gradient, times the filter, to the elements under it. Seen from an
/// element: a convolution, of stride 1, of the gradients placed where their windows begin, with the
/// filter turned around.
static Value convolvedBack(OpBuilder &b, Location loc, const Window &window, Value dy, Value filter,
                           int64_t groups) {
  MLIRContext *context = b.getContext();
  SymbolicShape begins = shapeOf(dy);
  SmallVector<int64_t> steps(begins.size(), 1), ones(window.spatial(), 1);
  SmallVector<int64_t> pads(2 * window.spatial());
  for (size_t i = 0; i < window.spatial(); ++i) {
    // Positions at which a window of stride 1 would begin.
    begins[window.offset() + i] =
        window.image[window.offset() + i] + (window.low(i) + window.high(i) - window.reach(i));
    steps[window.offset() + i] = window.strides[i];
    pads[i] = window.reach(i) - window.low(i);
    pads[window.spatial() + i] = window.reach(i) - window.high(i);
  }
  if (llvm::any_of(window.strides, [](int64_t stride) { return stride != 1; })) {
    SmallVector<AffineExpr> starts(begins.size(), constantDim(0, context));
    dy = b.create<PlaceOp>(loc, tensorType(begins, typeOf(dy).getElementType()), dy,
                           symbolMap(starts, context), steps);
  }
  Value turned = turnedFilter(b, loc, filter, groups, window.layout);
  return b.create<ConvOp>(loc, dy, turned, ones, window.dilations, pads, groups, window.layout,
                          TypeAttr());
}

static Window windowOf(ConvOp op) {
  SymbolicShape filter = shapeOf(op.getFilter());
  Window window{shapeOf(op.getInput()),
                op.getLayout(),
                {},
                SmallVector<int64_t>(op.getStrides()),
                SmallVector<int64_t>(op.getDilations()),
                SmallVector<int64_t>(op.getPads())};
  size_t at = op.getLayout() == ChannelLayout::First ? 2 : 0;
  for (size_t i = 0; i < op.getStrides().size(); ++i)
    window.extents.push_back(*constantValue(filter[at + i]));
  return window;
}

Gradients ConvOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  Type element = typeOf(dy).getElementType();
  if (isEmpty(dy) || isEmpty(getInput()) || isEmpty(getFilter()))
    return gradientsOf({filled(b, loc, tensorType(shapeOf(getInput()), element), 0),
                        filled(b, loc, tensorType(shapeOf(getFilter()), element), 0)});
  Value input = castTo(b, loc, getInput(), element), filter = castTo(b, loc, getFilter(), element);
  Value dx = convolvedBack(b, loc, windowOf(*this), dy, filter, getGroups());
  Value dw = b.create<ConvFilterOp>(loc, filter.getType(), input, dy, getStrides(), getDilations(),
                                    getPads(), getGroups(), getLayout());
  return gradientsOf({castTo(b, loc, dx, typeOf(getInput()).getElementType()),
                      castTo(b, loc, dw, typeOf(getFilter()).getElementType())});
}

/// Both operands enter as products, as those of the convolution do.
Gradients ConvFilterOp::gradient(OpBuilder &b, Value dw) {
  Location loc = getLoc();
  Value dOutput = b.create<ConvOp>(loc, getInput(), dw, getStrides(), getDilations(), getPads(),
                                   getGroups(), getLayout(), TypeAttr());
  auto conv = dOutput.getDefiningOp<ConvOp>();
  Value dInput = convolvedBack(b, loc, windowOf(conv), getOutput(), dw, getGroups());
  return gradientsOf({dInput, dOutput});
}

static bool isPadded(ArrayRef<int64_t> pads) {
  return llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
}

/// The gradient of a window's sum if the window yields its average.
static Value shareOfAverage(OpBuilder &b, PoolOp op, Value dy) {
  Location loc = op.getLoc();
  if (op.getIncludePad() || !isPadded(op.getPads())) {
    double size = 1;
    for (int64_t extent : op.getWindow())
      size *= static_cast<double>(extent);
    return scaled(b, loc, dy, 1 / size);
  }
  // How many elements are under each window: the sums of an image of ones.
  SymbolicShape shape = shapeOf(op.getInput());
  shape.front() = constantDim(1, op.getContext());
  (op.getLayout() == ChannelLayout::First ? shape[1] : shape.back()) = shape.front();
  Value ones = filled(b, loc, tensorType(shape, typeOf(dy).getElementType()), 1);
  Value counts =
      b.create<PoolOp>(loc, ones, PoolKind::Sum, op.getWindow(), op.getStrides(), op.getDilations(),
                       op.getPads(), /*include_pad=*/false, op.getLayout());
  return createMap(b, loc, {dy, counts}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::DivFOp>(loc, v[0], v[1]);
  });
}

static Value indicesOfMaximum(OpBuilder &b, PoolOp op) {
  int64_t taps = 1;
  for (int64_t extent : op.getWindow())
    taps *= extent;
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(taps)));
  auto type = RankedTensorType::get(op.getWindow(), b.getI32Type());
  Value positions =
      b.create<ConstantOp>(op.getLoc(), DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  return b.create<PoolIndexOp>(op.getLoc(), tensorType(shapeOf(op.getResult()), b.getI32Type()),
                               op.getInput(), op.getResult(), positions, op.getStrides(),
                               op.getDilations(), op.getPads(), op.getLayout());
}

Gradients PoolOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  if (isEmpty(dy) || isEmpty(getInput()))
    return gradientsOf({filled(b, loc, type, 0)});
  Value indices;
  if (getKind() == PoolKind::Max)
    indices = indicesOfMaximum(b, *this);
  if (getKind() == PoolKind::Average)
    dy = shareOfAverage(b, *this, dy);
  return gradientsOf({b.create<UnpoolOp>(loc, type, dy, indices, getWindow(), getStrides(),
                                         getDilations(), getPads(), getLayout())});
}

/// Without indices, the sum over each window; with them the operator picks, which has no operator
/// of its own.
Gradients UnpoolOp::gradient(OpBuilder &b, Value dy) {
  if (getIndices())
    return failure();
  return gradientsOf(
      {b.create<PoolOp>(getLoc(), dy, PoolKind::Sum, getWindow(), getStrides(), getDilations(),
                        getPads(), /*include_pad=*/false, getLayout())});
}

} // namespace headrace::hr
