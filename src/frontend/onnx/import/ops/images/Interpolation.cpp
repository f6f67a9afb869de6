// Every axis is resized by itself: each place of the result sums a few elements of the input, which
// ones and with which weights being two small tables.
#include "frontend/onnx/import/ops/images/Interpolation.h"

#include "frontend/common/Compute.h"

#include <cmath>

using namespace mlir;

namespace headrace::onnx {

namespace {

/// Where a place of the result is in the input.
class Coordinates {
public:
  Coordinates(PointMath &m, const ResizedAxis &axis, const Interpolation &how, Type wide)
      : m(m), axis(axis), how(how), wide(wide) {}

  Value source(Value place) {
    Value at = m.convert(place, wide), half = number(0.5);
    Value input = m.convert(m.size(axis.from), wide);
    Value output =
        axis.hasSize ? m.convert(m.size(axis.to), wide) : m.mul(number(*axis.scale), input);
    // A quotient of sizes is multiplied first: places that meet an element do so exactly.
    auto scaled = [&](Value place) {
      return axis.hasSize ? m.div(m.mul(place, input), output) : m.div(place, number(*axis.scale));
    };
    auto centered = [&] { return m.sub(scaled(m.add(at, half)), half); };
    auto between = [&](Value steps) { // 0 if there is one place alone
      Value isOne = m.equal(output, number(1));
      Value distance = m.select(isOne, number(1), m.sub(output, number(1)));
      return m.select(isOne, number(0), m.div(m.mul(at, steps), distance));
    };
    Value last = m.sub(input, number(1));
    if (how.coordinates == "align_corners")
      return between(last);
    if (how.coordinates == "asymmetric")
      return scaled(at);
    if (how.coordinates == "pytorch_half_pixel")
      return m.select(m.equal(output, number(1)), number(-0.5), centered());
    if (how.coordinates == "half_pixel_symmetric") {
      Value whole = m.convert(m.size(axis.to), wide);
      Value rest = m.sub(number(1), m.div(whole, output));
      return m.add(m.mul(m.mul(input, half), rest), centered());
    }
    if (how.crops()) {
      Value part = m.mul(number(axis.end - axis.begin), last);
      Value middle = m.mul(part, half);
      Value inside = m.select(m.equal(output, number(1)), middle, between(part));
      return m.add(inside, m.mul(number(axis.begin), last));
    }
    return centered();
  }

private:
  Value number(double value) { return m.numberOf(wide, value); }

  PointMath &m;
  const ResizedAxis &axis;
  const Interpolation &how;
  Type wide;
};

/// How many neighbours have a part in a result, and the first one's distance from it, rounded down.
struct Taps {
  int64_t count, first;
  double stretch = 1; // how much wider than usual, if an image shrinks without aliasing
};

Taps tapsOf(NodeContext &c, const Interpolation &how, const ResizedAxis &axis) {
  if (how.mode == "nearest")
    return {1, 0};
  double reach = how.mode == "linear" ? 1 : 2;
  if (!how.antialias)
    return {static_cast<int64_t>(2 * reach), static_cast<int64_t>(1 - reach)};
  if (!axis.scale)
    c.fail(ErrorKind::Unsupported, "antialias over the dynamic dimension {0} is not supported",
           c.text({axis.from}));
  double scale = std::min(*axis.scale, 1.0);
  double first = std::floor(-reach / scale) + 1;
  if (!(first > -1e6))
    c.fail(ErrorKind::Unsupported, "a scale of {0} is not supported", *axis.scale);
  return {static_cast<int64_t>(2 - 2 * first), static_cast<int64_t>(first), scale};
}

/// The weight of a neighbour at a distance.
Value weightAt(PointMath &m, const Interpolation &how, Value distance) {
  auto number = [&](double value) { return m.number(distance, value); };
  Value x = m.abs(distance), one = number(1);
  if (how.mode == "linear")
    return m.max(m.sub(one, x), number(0));
  double a = how.cubicCoefficient;
  Value square = m.mul(x, x), cube = m.mul(square, x);
  Value inner = m.add(m.sub(m.mul(number(a + 2), cube), m.mul(number(a + 3), square)), one);
  Value outer = m.add(m.sub(m.mul(number(a), cube), m.mul(number(5 * a), square)),
                      m.sub(m.mul(number(8 * a), x), number(4 * a)));
  Value beyond = m.select(m.less(x, number(2)), outer, number(0));
  return m.select(m.compare(ScalarMath::Compare::LessOrEqual, x, one), inner, beyond);
}

class Resizer {
public:
  Resizer(NodeContext &c, Interpolation how) : c(c), how(std::move(how)) {}

  Value run(Value input, ArrayRef<ResizedAxis> axes) {
    Type type = cast<RankedTensorType>(input.getType()).getElementType();
    if (how.mode == "nearest")
      return repeatsPixels(axes) ? repeated(input, axes) : extrapolated(picked(input, axes), axes);
    Type computed = type.isF64() ? type : c.builder.getF32Type();
    Value result = c.cast(input, computed);
    if (hasPhases(axes))
      return c.cast(inPhases(result, axes), type);
    for (const ResizedAxis &axis : axes)
      result = blended(result, axis);
    return c.cast(extrapolated(result, axes), type);
  }

private:
  Type wide() { return c.builder.getF64Type(); }

  Value nearestOf(PointMath &m, const ResizedAxis &axis, Value place) {
    Value at = Coordinates(m, axis, how, wide()).source(place), half = m.number(at, 0.5);
    // A scale is rounded to f32: what it leads just beyond a pixel is that pixel.
    if (axis.takesNext)
      return m.toInteger(m.op<math::CeilOp>(m.mul(at, m.number(at, 1 - 0x1p-22))));
    if (how.nearest == "floor")
      return m.toInteger(m.floor(at));
    if (how.nearest == "ceil")
      return m.toInteger(m.op<math::CeilOp>(at));
    if (how.nearest == "round_prefer_ceil")
      return m.toInteger(m.floor(m.add(at, half)));
    return m.toInteger(m.op<math::CeilOp>(m.sub(at, half)));
  }

  /// Whether the result has each pixel of an image as many times as its scales say.
  bool repeatsPixels(ArrayRef<ResizedAxis> axes) const {
    bool isCentered = StringRef(how.coordinates).contains("half_pixel");
    bool isPlain = how.coordinates == "asymmetric" ? how.nearest == "floor"
                                                   : isCentered && how.nearest.starts_with("round");
    return isPlain && llvm::all_of(axes, [](const ResizedAxis &axis) {
             constexpr double kMaxTimes = 64;
             double times = axis.scale.value_or(0);
             return axis.axis >= 2 && times > 1 && times <= kMaxTimes &&
                    std::floor(times) == times &&
                    sameSize(axis.to, axis.from * static_cast<int64_t>(times));
           });
  }

  /// Channels last, where pixels are rows to copy.
  Value repeated(Value input, ArrayRef<ResizedAxis> axes) {
    SymbolicShape shape = shapeOf(input);
    auto rank = static_cast<int64_t>(shape.size());
    SmallVector<int64_t> toLast{0}, toFirst{0, rank - 1};
    SymbolicShape apart{shape[0]}, spread{shape[0]}, result{shape[0]};
    for (int64_t dim = 2; dim < rank; ++dim) {
      toLast.push_back(dim);
      toFirst.push_back(dim - 1);
      const auto *axis = llvm::find_if(axes, [&](const auto &each) { return each.axis == dim; });
      apart.push_back(shape[dim]);
      spread.push_back(shape[dim]);
      result.push_back(axis == axes.end() ? shape[dim] : axis->to);
      if (axis == axes.end())
        continue;
      apart.push_back(c.dim(1));
      spread.push_back(c.dim(static_cast<int64_t>(*axis->scale)));
    }
    toLast.push_back(1);
    for (SymbolicShape *each : {&apart, &spread, &result})
      each->push_back(shape[1]);
    Value pixels = c.reshape(c.transpose(input, toLast), apart);
    return c.transpose(c.reshape(c.broadcast(pixels, spread), result), toFirst);
  }

  /// All axes at once: nothing is computed.
  Value picked(Value input, ArrayRef<ResizedAxis> axes) {
    SymbolicShape domain = shapeOf(input);
    Compute compute{domain, 0, {}, {}, {input}};
    for (const ResizedAxis &axis : axes) {
      Value table = writeCompute(c, {{axis.to}, 0, {}, {}, {}},
                                 [&](PointMath &m) { return nearestOf(m, axis, m.position(0)); });
      compute.domain[axis.axis] = axis.to;
      compute.reads.push_back({table, {getAffineDimExpr(axis.axis, c.context)}});
    }
    return writeCompute(c, compute, [&](PointMath &m) {
      SmallVector<Value> place;
      for (size_t i = 0; i < domain.size(); ++i)
        place.push_back(m.position(i));
      for (auto [i, axis] : llvm::enumerate(axes))
        place[axis.axis] = m.read(i);
      return m.element(0, place);
    });
  }

  /// The element that a tap reads; it may be outside.
  Value tapPlace(PointMath &m, const Taps &taps, Value source) {
    Value first = m.add(m.toInteger(m.floor(source)), m.integer(taps.first));
    return m.add(first, m.position(1));
  }

  /// The weights of the first `places` places of the result.
  Value weights(const ResizedAxis &axis, const Taps &taps, Type type, AffineExpr places) {
    SymbolicShape shape{places, c.dim(taps.count)};
    Value raw = writeCompute(c, {shape, 0, {}, {}, {}}, [&](PointMath &m) {
      Value source = Coordinates(m, axis, how, wide()).source(m.position(0));
      Value place = tapPlace(m, taps, source);
      Value distance = m.sub(m.convert(place, wide()), source);
      Value weight = weightAt(m, how, m.mul(distance, m.number(distance, taps.stretch)));
      if (how.excludesOutside)
        weight = m.select(m.isInside(place, m.size(axis.from)), weight, m.number(weight, 0));
      return weight;
    });
    if (how.excludesOutside || how.antialias) {
      Value sum = c.reduce(hr::ReduceKind::Sum, raw, 1, /*keepDims=*/true);
      raw = c.map({raw, sum}, [](ScalarMath &m, ValueRange x) {
        Value isNone = m.compare(ScalarMath::Compare::Equal, x[1], m.number(x[1], 0));
        return m.div(x[0], m.select(isNone, m.number(x[1], 1), x[1]));
      });
    }
    return c.cast(raw, type);
  }

  Value blended(Value input, const ResizedAxis &axis) {
    SymbolicShape domain = shapeOf(input);
    auto rank = static_cast<unsigned>(domain.size());
    Taps taps = tapsOf(c, how, axis);
    SymbolicShape shape{axis.to, c.dim(taps.count)};
    Value places = writeCompute(c, {shape, 0, {}, {}, {}}, [&](PointMath &m) {
      return tapPlace(m, taps, Coordinates(m, axis, how, wide()).source(m.position(0)));
    });
    Type type = cast<RankedTensorType>(input.getType()).getElementType();
    domain[axis.axis] = axis.to;
    domain.push_back(c.dim(taps.count));
    SmallVector<AffineExpr> at{getAffineDimExpr(axis.axis, c.context),
                               getAffineDimExpr(rank, c.context)};
    Compute compute{domain,
                    1,
                    hr::ReduceKind::Sum,
                    {{places, at}, {weights(axis, taps, type, axis.to), at}},
                    {input}};
    return writeCompute(c, compute, [&](PointMath &m) {
      SmallVector<Value> place;
      for (unsigned i = 0; i < rank; ++i)
        place.push_back(i == axis.axis ? m.read(0) : m.position(i));
      return m.mul(m.element(0, place), m.read(1));
    });
  }

  /// Whether places a multiple of the scale apart have the same weights, and neighbours as far
  /// apart: the places of a phase.
  bool hasPhases(ArrayRef<ResizedAxis> axes) const {
    bool isCentered = StringRef(how.coordinates).contains("half_pixel");
    if (how.antialias || how.excludesOutside || (!isCentered && how.coordinates != "asymmetric"))
      return false;
    return llvm::all_of(axes, [](const ResizedAxis &axis) {
      constexpr double kMaxTimes = 64;
      double times = axis.scale.value_or(0);
      int64_t from = constantValue(axis.from).value_or(0);
      return axis.axis >= 2 && from > 0 && times > 1 && times <= kMaxTimes &&
             std::floor(times) == times &&
             constantValue(axis.to) == from * static_cast<int64_t>(times);
    });
  }

  /// y[i, p] = sum over k of x[i + k - 1 or i + k] * w[p, k]: channels last, where vectors run over
  /// channels, and no place has to be looked up.
  Value inPhases(Value input, ArrayRef<ResizedAxis> axes) {
    auto rank = static_cast<int64_t>(shapeOf(input).size());
    SmallVector<int64_t> toLast{0}, toFirst{0, rank - 1};
    for (int64_t dim = 2; dim < rank; ++dim) {
      toLast.push_back(dim);
      toFirst.push_back(dim - 1);
    }
    toLast.push_back(1);
    Value result = c.transpose(input, toLast);
    // The first and the last pixel go on outside. The small image has less of them.
    for (const ResizedAxis &axis : axes) {
      Taps taps = tapsOf(c, how, axis);
      result =
          continued(result, axis.axis - 1, before(axis) - taps.first, taps.first + taps.count - 1);
    }
    for (const ResizedAxis &axis : axes)
      result = blendedPhases(result, axis);
    return c.transpose(result, toFirst);
  }

  /// 1 if the first places of the result are before the first pixel's.
  int64_t before(const ResizedAxis &axis) const { return phasesBefore(axis) > 0; }
  int64_t phasesBefore(const ResizedAxis &axis) const {
    return how.coordinates == "asymmetric" ? 0 : static_cast<int64_t>(*axis.scale) / 2;
  }

  Value continued(Value image, int64_t dim, int64_t low, int64_t high) {
    SymbolicShape shape = shapeOf(image), pixel = shape;
    pixel[dim] = c.dim(1);
    auto at = [&](AffineExpr place) {
      SymbolicShape starts(shape.size(), c.dim(0));
      starts[dim] = place;
      return c.slice(image, starts, pixel, SmallVector<int64_t>(shape.size(), 1));
    };
    SmallVector<Value> parts(low, at(c.dim(0)));
    parts.push_back(image);
    parts.append(high, at(shape[dim] - 1));
    return c.infer<hr::ConcatOp>(parts, dim);
  }

  Value blendedPhases(Value image, const ResizedAxis &axis) {
    SymbolicShape result = shapeOf(image), domain = result;
    auto rank = static_cast<unsigned>(domain.size());
    auto dim = static_cast<unsigned>(axis.axis - 1), phase = dim + 1, tap = rank + 1;
    Taps taps = tapsOf(c, how, axis);
    AffineExpr times = c.dim(static_cast<int64_t>(*axis.scale));
    domain[dim] = axis.from;
    domain.insert(domain.begin() + phase, times);
    domain.push_back(c.dim(taps.count));
    Type type = cast<RankedTensorType>(image.getType()).getElementType();
    SmallVector<AffineExpr> at = dimensions(c, 0, rank + 1);
    at.erase(at.begin() + phase);
    at[dim] = at[dim] + getAffineDimExpr(tap, c.context);
    auto pixelsFrom = [&](int64_t first) {
      SymbolicShape starts(rank, c.dim(0)), sizes = result;
      starts[dim] = c.dim(first);
      sizes[dim] = axis.from + (taps.count - 1);
      return Read{c.slice(image, starts, sizes, SmallVector<int64_t>(rank, 1)), at};
    };
    Compute compute{domain, 1, hr::ReduceKind::Sum, {}, {}};
    compute.reads.push_back(
        {weights(axis, taps, type, times),
         {getAffineDimExpr(phase, c.context), getAffineDimExpr(tap, c.context)}});
    for (int64_t first = 0; first <= before(axis); ++first)
      compute.reads.push_back(pixelsFrom(first));
    Value phases = writeCompute(c, compute, [&](PointMath &m) {
      Value isBefore = m.less(m.position(phase), m.integer(phasesBefore(axis)));
      Value pixel = before(axis) ? m.select(isBefore, m.read(1), m.read(2)) : m.read(1);
      return m.mul(pixel, m.read(0));
    });
    result[dim] = axis.to;
    return c.reshape(phases, result);
  }

  /// Points outside of the input have a value of their own if a part is cropped.
  Value extrapolated(Value result, ArrayRef<ResizedAxis> axes) {
    if (!how.crops())
      return result;
    for (const ResizedAxis &axis : axes) {
      SymbolicShape shape(shapeOf(result).size(), c.dim(1));
      shape[axis.axis] = axis.to;
      Value isOutside = writeCompute(c, {{axis.to}, 0, {}, {}, {}}, [&](PointMath &m) {
        Value source = Coordinates(m, axis, how, wide()).source(m.position(0));
        Value last = m.convert(m.sub(m.size(axis.from), m.integer(1)), wide());
        return m.either(m.isNegative(source), m.less(last, source));
      });
      result = c.map({c.reshape(isOutside, shape), result}, [&](ScalarMath &m, ValueRange x) {
        return m.select(x[0], m.number(x[1], how.extrapolated), x[1]);
      });
    }
    return result;
  }

  NodeContext &c;
  Interpolation how;
};

} // namespace

Value interpolate(NodeContext &c, const Interpolation &how, Value input,
                  ArrayRef<ResizedAxis> axes) {
  return Resizer(c, how).run(input, axes);
}

} // namespace headrace::onnx
