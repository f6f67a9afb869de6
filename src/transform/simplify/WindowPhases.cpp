// Windows over spread images: convolutions of zeros are computed phase by phase, without the zeros.
//
//   %p = hr.place %x from (.., 0) steps [.., 2]                    // zeros between the elements
//   %y = hr.conv %p, %w {strides = [1], pads = [2, 2]}             // 7 results, a window of 3
// becomes
//   %a = hr.conv %x, (every second tap of %w from 0 on)            // results 0, 2, 4, 6
//   %b = hr.conv %x, (every second tap of %w from 1 on)            // results 1, 3, 5
//   %y = %a and %b in turns: a hr.concat along a dimension next to that of %a
//
// A front end writes a transposed convolution, and a gradient the one of a convolution's input, as
// a convolution of an image whose elements are `stride` apart. Results that are a multiple of the
// stride apart, a phase, read the elements under the same taps, which are every `stride`-th tap.
// Neighbouring phases that read the same elements are one convolution with more features; if all
// results but those of one phase are zeros, that phase is spread instead.
//
// Why: of s strides in each of n dimensions, all but 1 / s^n of the products are with zeros.
// When it hurts: the phases are put in order in a further pass over the result.
#include "dialect/Hr.h"
#include "dialect/Permutation.h"
#include "dialect/SymbolicShape.h"
#include "transform/common/OperatorBuilders.h"
#include "transform/common/Patterns.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;

namespace headrace {
namespace {

/// More convolutions than this are not worth their kernels.
constexpr size_t kMaxParts = 64;
constexpr int64_t kMaxStride = 64;

/// Neighbouring phases that read the same elements, each under taps of its own.
struct PhaseGroup {
  SmallVector<int64_t> firstTaps; // of each phase
  int64_t taps, low;              // of all of them; padding in front of the image

  bool readsAs(const PhaseGroup &other) const { return taps == other.taps && low == other.low; }
};

/// One spatial dimension: the window at result `o` reads under tap `k` the placed position
/// o + k * dilation - shift, which holds element i if it is i * stride.
struct SpreadAxis {
  AffineExpr elements, results;
  int64_t stride, window, dilation, shift;

  int64_t common() const { return std::gcd(stride, dilation); }
  int64_t tapStep() const { return stride / common(); }
  int64_t tapDistance() const { return dilation / common(); } // in elements

  /// Phase `phase` holds the results q * stride + phase - skipped.
  PhaseGroup phaseAt(int64_t phase, int64_t skipped) const {
    for (int64_t tap = 0; tap < std::min(window, tapStep()); ++tap)
      if (int64_t position = phase - skipped + tap * dilation - shift; position % stride == 0)
        return {{tap}, (window - tap - 1) / tapStep() + 1, -position / stride};
    return {{0}, 0, 0};
  }
};

/// How the results of one dimension are divided.
struct AxisPlan {
  SmallVector<PhaseGroup> groups;
  int64_t skipped = 0;           // results in front of the first one
  int64_t phases = 1;            // of all groups
  std::optional<int64_t> spread; // the one phase that has taps; the groups are this one alone
  AffineExpr count;              // results of a phase
};

AxisPlan planWith(const SpreadAxis &axis, int64_t skipped, bool apart) {
  AxisPlan plan;
  plan.skipped = skipped;
  plan.phases = axis.stride;
  for (int64_t phase = 0; phase < axis.stride; ++phase) {
    PhaseGroup next = axis.phaseAt(phase, skipped);
    if (!apart && !plan.groups.empty() && plan.groups.back().readsAs(next))
      plan.groups.back().firstTaps.append(next.firstTaps);
    else
      plan.groups.push_back(next);
  }
  return plan;
}

/// The plan with the fewest convolutions; `apart` gives each phase its own.
AxisPlan planOf(const SpreadAxis &axis, bool apart) {
  AxisPlan best = planWith(axis, 0, apart);
  auto live = [](const PhaseGroup &group) { return group.taps > 0; };
  if (axis.stride > 1 && llvm::count_if(best.groups, live) == 1) {
    int64_t phase = 0;
    for (const PhaseGroup &group : best.groups) {
      if (live(group) && group.firstTaps.size() == 1) {
        AxisPlan alone;
        alone.groups = {group};
        alone.spread = phase;
        alone.count = normalized((axis.results + (axis.stride - 1 - phase)).floorDiv(axis.stride));
        if (constantValue(alone.count) != 0)
          return alone;
      }
      phase += static_cast<int64_t>(group.firstTaps.size());
    }
  }
  for (int64_t skipped = 1; skipped < axis.stride; ++skipped) {
    AxisPlan other = planWith(axis, skipped, apart);
    if (other.groups.size() < best.groups.size())
      best = other;
  }
  best.count = normalized((axis.results + (best.skipped + axis.stride - 1)).floorDiv(axis.stride));
  return best;
}

/// How many more results a phase has than the image elements; nothing if that depends on sizes.
std::optional<int64_t> moreResults(const SpreadAxis &axis, const AxisPlan &plan) {
  return constantValue(normalized(plan.count - axis.elements));
}

/// The image that is spread, and its axes; nothing if the operator does not read a spread image.
struct SpreadImage {
  Value image;
  SmallVector<SpreadAxis> axes;

  static std::optional<SpreadImage> under(hr::ConvOp op) {
    Value input = op.getInput();
    auto cut = input.getDefiningOp<hr::SliceOp>();
    bool isCut = cut && llvm::all_of(cut.getSteps(), [](int64_t step) { return step == 1; });
    auto place = (isCut ? cut.getInput() : input).getDefiningOp<hr::PlaceOp>();
    size_t offset = op.getLayout() == hr::ChannelLayout::First ? 2 : 1;
    size_t spatial = op.getStrides().size();
    auto isOne = [](int64_t step) { return step == 1; };
    // What a slice cuts off reads as zeros in padding.
    if (!place || !llvm::all_of(op.getStrides(), isOne) || llvm::all_of(place.getSteps(), isOne) ||
        (isCut && llvm::any_of(op.getPads(), [](int64_t pad) { return pad > 0; })))
      return std::nullopt;
    SymbolicShape from = shapeOf(place.getInput()), to = shapeOf(place.getResult());
    SymbolicShape results = shapeOf(op.getResult()), filter = shapeOf(op.getFilter());
    SpreadImage spread{place.getInput(), {}};
    for (size_t i = 0; i < from.size(); ++i) {
      auto start = constantValue(place.getStarts().getResult(i));
      auto skipped =
          isCut ? constantValue(cut.getStarts().getResult(i)) : std::optional<int64_t>(0);
      if (!start || !skipped || constantValue(from[i]) == 0 || constantValue(results[i]) == 0)
        return std::nullopt;
      if (i < offset || i >= offset + spatial) {
        if (*start != 0 || *skipped != 0 || place.getSteps()[i] != 1 || !sameSize(from[i], to[i]))
          return std::nullopt;
        continue;
      }
      size_t dim = i - offset;
      if (place.getSteps()[i] > kMaxStride)
        return std::nullopt;
      spread.axes.push_back({from[i], results[i], place.getSteps()[i],
                             *constantValue(filter[offset == 2 ? i : dim]), op.getDilations()[dim],
                             op.getPads()[dim] + *start - *skipped});
    }
    return spread;
  }
};

/// Writes the phases, channels last: [N, count, phases, count, phases, ..., F] is the result but
/// for what is skipped.
class PhaseWriter {
public:
  PhaseWriter(PatternRewriter &b, hr::ConvOp op, const SpreadImage &spread,
              ArrayRef<AxisPlan> plans)
      : b(b), op(op), loc(op.getLoc()), axes(spread.axes), plans(plans),
        isFirst(op.getLayout() == hr::ChannelLayout::First),
        rank(static_cast<int64_t>(plans.size()) + 2), toLast(channelsLastPermutation(rank)) {
    image = isFirst ? transposed(b, loc, spread.image, toLast) : spread.image;
    filter = op.getFilter();
    if (isFirst) { // [F, C, window...]
      Permutation order = llvm::to_vector(llvm::seq<int64_t>(2, rank));
      order.append({1, 0});
      filter = transposed(b, loc, filter, order);
    }
    padImage();
  }

  Value run() {
    SmallVector<const PhaseGroup *> chosen;
    Value parts = join(chosen);
    SymbolicShape all{shapeOf(parts).front()};
    for (const AxisPlan &plan : plans)
      all.push_back(normalized(plan.count * plan.phases));
    all.push_back(shapeOf(parts).back());
    Value result = wanted(reshaped(b, loc, parts, all));
    return isFirst ? transposed(b, loc, result, inverse(toLast)) : result;
  }

private:
  /// The phases of the dimensions from `chosen.size()` on.
  Value join(SmallVector<const PhaseGroup *> &chosen) {
    size_t dim = chosen.size();
    if (dim == plans.size())
      return part(chosen);
    SmallVector<Value> values;
    for (const PhaseGroup &group : plans[dim].groups) {
      chosen.push_back(&group);
      values.push_back(join(chosen));
      chosen.pop_back();
    }
    if (values.size() == 1)
      return values.front();
    return b.create<hr::ConcatOp>(loc, values, static_cast<int64_t>(2 + 2 * dim));
  }

  /// [N, count, phases, ..., F] of one group of each dimension.
  Value part(ArrayRef<const PhaseGroup *> groups) {
    SymbolicShape apart{shapeOf(image).front()}, inOrder(apart);
    Permutation order{0};
    auto spatial = static_cast<int64_t>(groups.size());
    for (int64_t i = 0; i < spatial; ++i) {
      AffineExpr phases = constantDim(groups[i]->firstTaps.size(), b.getContext());
      apart.push_back(plans[i].count);
      inOrder.append({plans[i].count, phases});
      order.append({1 + i, 1 + spatial + i});
    }
    for (const PhaseGroup *group : groups)
      apart.push_back(constantDim(group->firstTaps.size(), b.getContext()));
    order.push_back(1 + 2 * spatial);
    AffineExpr features = shapeOf(filter).back();
    apart.push_back(features);
    inOrder.push_back(features);
    if (llvm::any_of(groups, [](const PhaseGroup *group) { return group->taps == 0; }))
      return zeros(inOrder);
    return transposed(b, loc, reshaped(b, loc, convolved(groups), apart), order);
  }

  Value zeros(ArrayRef<AffineExpr> shape) {
    Type element = getElementTypeOrSelf(op.getResult());
    auto unit = RankedTensorType::get(SmallVector<int64_t>(shape.size(), 1), element);
    Value zero =
        b.create<hr::ConstantOp>(loc, DenseElementsAttr::get(unit, b.getZeroAttr(element)));
    return b.create<hr::BroadcastOp>(loc, tensorType(shape, element), zero);
  }

  int64_t highOf(size_t dim, const PhaseGroup &group) const {
    int64_t more = *moreResults(axes[dim], plans[dim]);
    return more - group.low + (group.taps - 1) * axes[dim].tapDistance();
  }

  /// Several convolutions read parts of one padded image.
  void padImage() {
    SmallVector<int64_t> low(rank, 0), high(rank, 0);
    bool isShared = false;
    for (auto [i, plan] : llvm::enumerate(plans)) {
      isShared |= llvm::count_if(plan.groups, [](auto &group) { return group.taps > 0; }) > 1;
      for (const PhaseGroup &group : plan.groups) {
        low[i + 1] = std::max(low[i + 1], group.low);
        high[i + 1] = std::max(high[i + 1], highOf(i, group));
      }
    }
    auto isNone = [](int64_t pad) { return pad == 0; };
    padding = low;
    if (!isShared)
      padding.assign(rank, 0);
    else if (!llvm::all_of(low, isNone) || !llvm::all_of(high, isNone))
      image =
          b.create<hr::PadOp>(loc, image, low, high, b.getZeroAttr(getElementTypeOrSelf(image)));
    isPadded = isShared;
  }

  Value convolved(ArrayRef<const PhaseGroup *> groups) {
    SmallVector<int64_t> ones(groups.size(), 1), dilations, low, high;
    SymbolicShape part = shapeOf(image);
    SmallVector<AffineExpr> starts(rank, constantDim(0, b.getContext()));
    for (auto [i, group] : llvm::enumerate(groups)) {
      dilations.push_back(group->taps > 1 ? axes[i].tapDistance() : 1);
      low.push_back(isPadded ? 0 : group->low);
      high.push_back(isPadded ? 0 : highOf(i, *group));
      starts[i + 1] = constantDim(padding[i + 1] - group->low, b.getContext());
      part[i + 1] = normalized(axes[i].elements + (group->low + highOf(i, *group)));
    }
    low.append(high);
    Value read = image;
    auto type = tensorType(part, getElementTypeOrSelf(image));
    if (isPadded && type != image.getType())
      read = b.create<hr::SliceOp>(loc, type, image, symbolMap(starts, b.getContext()),
                                   SmallVector<int64_t>(rank, 1));
    return b.create<hr::ConvOp>(loc, read, filterOf(groups), ones, dilations, low, op.getGroups(),
                                hr::ChannelLayout::Last, op.getAccumulatorAttr(),
                                op.getUnsignedInput(), op.getUnsignedFilter());
  }

  /// The features of all phases of the groups, those of the last dimension's next to each other.
  Value filterOf(ArrayRef<const PhaseGroup *> groups) {
    SmallVector<SmallVector<int64_t>> starts{{}};
    for (const PhaseGroup *group : groups) {
      SmallVector<SmallVector<int64_t>> longer;
      for (const SmallVector<int64_t> &start : starts)
        for (int64_t tap : group->firstTaps) {
          longer.push_back(start);
          longer.back().push_back(tap);
        }
      starts = std::move(longer);
    }
    SmallVector<Value> parts;
    for (const SmallVector<int64_t> &start : starts)
      parts.push_back(tapsFrom(start, groups));
    return parts.size() == 1 ? parts.front() : b.create<hr::ConcatOp>(loc, parts, rank - 1);
  }

  Value tapsFrom(ArrayRef<int64_t> start, ArrayRef<const PhaseGroup *> groups) {
    SymbolicShape shape = shapeOf(filter);
    SmallVector<AffineExpr> starts(rank, constantDim(0, b.getContext()));
    SmallVector<int64_t> steps(rank, 1);
    for (size_t i = 0; i < groups.size(); ++i) {
      shape[i] = constantDim(groups[i]->taps, b.getContext());
      starts[i] = constantDim(start[i], b.getContext());
      steps[i] = groups[i]->taps > 1 ? axes[i].tapStep() : 1;
    }
    auto type = tensorType(shape, getElementTypeOrSelf(filter));
    if (type == filter.getType())
      return filter;
    return b.create<hr::SliceOp>(loc, type, filter, symbolMap(starts, b.getContext()), steps);
  }

  /// Phases in order, spread if only one has taps, and without what is skipped.
  Value wanted(Value value) {
    SymbolicShape spread = shapeOf(value), results(spread);
    SmallVector<AffineExpr> places(rank, constantDim(0, b.getContext())), starts(places);
    SmallVector<int64_t> steps(rank, 1);
    for (auto [i, plan] : llvm::enumerate(plans)) {
      results[i + 1] = axes[i].results;
      if (plan.spread) {
        places[i + 1] = constantDim(*plan.spread, b.getContext());
        steps[i + 1] = axes[i].stride;
        spread[i + 1] = axes[i].results;
      } else {
        starts[i + 1] = constantDim(plan.skipped, b.getContext());
      }
    }
    Type element = getElementTypeOrSelf(value);
    if (tensorType(spread, element) != value.getType())
      value = b.create<hr::PlaceOp>(loc, tensorType(spread, element), value,
                                    symbolMap(places, b.getContext()), steps);
    if (tensorType(results, element) != value.getType())
      value =
          b.create<hr::SliceOp>(loc, tensorType(results, element), value,
                                symbolMap(starts, b.getContext()), SmallVector<int64_t>(rank, 1));
    return value;
  }

  PatternRewriter &b;
  hr::ConvOp op;
  Location loc;
  ArrayRef<SpreadAxis> axes;
  ArrayRef<AxisPlan> plans;
  const bool isFirst;
  const int64_t rank;
  const Permutation toLast;
  Value image, filter;
  bool isPadded = false;
  SmallVector<int64_t> padding; // in front of the image
};

struct ConvolvePhases : OpRewritePattern<hr::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvOp op, PatternRewriter &rewriter) const override {
    std::optional<SpreadImage> spread = SpreadImage::under(op);
    if (!spread)
      return rewriter.notifyMatchFailure(op, "reads no spread image");
    SmallVector<AxisPlan> plans;
    size_t parts = 1;
    for (const SpreadAxis &axis : spread->axes) {
      plans.push_back(planOf(axis, op.getGroups() > 1));
      parts *= plans.back().groups.size();
    }
    if (parts > kMaxParts)
      return rewriter.notifyMatchFailure(op, "has too many phases");
    for (auto [axis, plan] : llvm::zip(spread->axes, plans))
      if (!moreResults(axis, plan))
        return rewriter.notifyMatchFailure(op, "has phases of sizes that are not known");
    rewriter.replaceOp(op, PhaseWriter(rewriter, op, *spread, plans).run());
    return success();
  }
};

} // namespace

void populateWindowPhases(RewritePatternSet &patterns) {
  patterns.add<ConvolvePhases>(patterns.getContext());
}

} // namespace headrace
