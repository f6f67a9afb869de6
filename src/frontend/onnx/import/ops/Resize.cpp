// Images in another resolution. Every axis is resized by itself: each place of the result sums a
// few elements of the input, which ones and with which weights being two small tables.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "runtime/system/Text.h"

#include <cmath>

using namespace mlir;

namespace headrace::onnx {

namespace {

struct ResizedAxis {
  int64_t axis;
  AffineExpr from, to;
  /// Of the result's size to the input's; where a size is free, their quotient as the model runs.
  std::optional<double> scale;
  /// The part of the input that is taken (tf_crop_and_resize), in units of its size less 1.
  double begin = 0, end = 1;
};

struct Interpolation {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  double cubicCoefficient = -0.75, extrapolated = 0;
  bool antialias = false, excludesOutside = false;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

/// Where a place of the result lies in the input.
class Coordinates {
public:
  Coordinates(PointMath &m, const ResizedAxis &axis, const Interpolation &how, Type wide)
      : m(m), axis(axis), how(how), wide(wide) {}

  Value scale() {
    if (axis.scale)
      return number(*axis.scale);
    return m.div(m.convert(m.size(axis.to), wide), m.convert(m.size(axis.from), wide));
  }

  Value source(Value place) {
    Value at = m.convert(place, wide), half = number(0.5);
    Value input = m.convert(m.size(axis.from), wide), output = m.mul(scale(), input);
    auto centered = [&] { return m.sub(m.div(m.add(at, half), scale()), half); };
    auto between = [&](Value steps) { // 0 where there is one place alone
      Value isOne = m.equal(output, number(1));
      Value distance = m.select(isOne, number(1), m.sub(output, number(1)));
      return m.select(isOne, number(0), m.div(m.mul(at, steps), distance));
    };
    Value last = m.sub(input, number(1));
    if (how.coordinates == "align_corners")
      return between(last);
    if (how.coordinates == "asymmetric")
      return m.div(at, scale());
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
  double stretch = 1; // how much wider than usual, where an image shrinks without aliasing
};

Taps tapsOf(NodeContext &c, const Interpolation &how, const ResizedAxis &axis) {
  if (how.mode == "nearest")
    return {1, 0};
  double reach = how.mode == "linear" ? 1 : 2;
  if (!how.antialias)
    return {static_cast<int64_t>(2 * reach), static_cast<int64_t>(1 - reach)};
  if (!axis.scale)
    c.fail(ErrorKind::Unsupported, "antialias over the free size {0} is not supported",
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
      return extrapolated(picked(input, axes), axes);
    Type computed = type.isF64() ? type : c.builder.getF32Type();
    Value result = c.cast(input, computed);
    for (const ResizedAxis &axis : axes)
      result = blended(result, axis);
    return c.cast(extrapolated(result, axes), type);
  }

private:
  Type wide() { return c.builder.getF64Type(); }

  Value nearestOf(PointMath &m, const ResizedAxis &axis, Value place) {
    Value at = Coordinates(m, axis, how, wide()).source(place), half = m.number(at, 0.5);
    if (how.nearest == "floor")
      return m.toInteger(m.floor(at));
    if (how.nearest == "ceil")
      return m.toInteger(m.op<math::CeilOp>(at));
    if (how.nearest == "round_prefer_ceil")
      return m.toInteger(m.floor(m.add(at, half)));
    return m.toInteger(m.op<math::CeilOp>(m.sub(at, half)));
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

  /// The element that a tap reads; it may lie outside.
  Value tapPlace(PointMath &m, const Taps &taps, Value source) {
    Value first = m.add(m.toInteger(m.floor(source)), m.integer(taps.first));
    return m.add(first, m.position(1));
  }

  Value weights(const ResizedAxis &axis, const Taps &taps, Type type) {
    SymbolicShape shape{axis.to, c.dim(taps.count)};
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
    Compute compute{
        domain, 1, hr::ReduceKind::Sum, {{places, at}, {weights(axis, taps, type), at}}, {input}};
    return writeCompute(c, compute, [&](PointMath &m) {
      SmallVector<Value> place;
      for (unsigned i = 0; i < rank; ++i)
        place.push_back(i == axis.axis ? m.read(0) : m.position(i));
      return m.mul(m.element(0, place), m.read(1));
    });
  }

  /// What lies outside of the input has a value of its own where a part is cropped.
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

/// floor(size * scale), where the size is free for scales that are fractions of small numbers.
AffineExpr scaledSize(NodeContext &c, AffineExpr size, double scale) {
  constexpr int64_t kMostDenominator = 64;
  if (!(scale > 0) || scale > 1e9)
    c.fail(ErrorKind::InvalidModel, "expected scales above 0, found {0}", scale);
  if (auto known = constantValue(size))
    return c.dim(static_cast<int64_t>(std::floor(static_cast<double>(*known) * scale)));
  for (int64_t denominator = 1; denominator <= kMostDenominator; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    if (std::abs(numerator - scale * static_cast<double>(denominator)) < 1e-6 && numerator < 1e6)
      return (size * static_cast<int64_t>(numerator)).floorDiv(denominator);
  }
  c.fail(ErrorKind::Unsupported, "a scale of {0} over the free size {1} is not supported", scale,
         c.text({size}));
}

/// One factor for all axes: sizes are an upper or lower bound.
void keepAspectRatio(NodeContext &c, SmallVectorImpl<ResizedAxis> &axes, bool isUpperBound) {
  std::optional<double> factor;
  for (const ResizedAxis &axis : axes) {
    if (!axis.scale)
      c.fail(ErrorKind::Unsupported,
             "keep_aspect_ratio_policy over the free size {0} is not supported",
             c.text({axis.from}));
    bool isFurther = factor && (isUpperBound ? *axis.scale < *factor : *axis.scale > *factor);
    if (!factor || isFurther)
      factor = axis.scale;
  }
  for (ResizedAxis &axis : axes) {
    axis.scale = factor;
    axis.to = c.dim(static_cast<int64_t>(
        std::floor(*factor * static_cast<double>(*constantValue(axis.from)) + 0.5)));
  }
}

SmallVector<ResizedAxis> readAxes(NodeContext &c, std::optional<size_t> scales,
                                  std::optional<size_t> sizes) {
  std::vector<int64_t> given = c.node.getInts("axes");
  SmallVector<int64_t> list = c.axes(given, c.rank(0));
  if (given.empty())
    list = llvm::to_vector(llvm::seq<int64_t>(0, c.rank(0)));
  std::vector<double> factors;
  SymbolicShape wanted;
  if (scales)
    factors = c.numbers(*scales);
  else if (sizes)
    wanted = c.sizes(*sizes).elements;
  else if (const Attribute *attribute = c.node.find("scales"))
    factors.assign(attribute->floats.begin(), attribute->floats.end());
  else
    c.fail(ErrorKind::InvalidModel, "expected scales or sizes, found neither");
  size_t count = wanted.empty() ? factors.size() : wanted.size();
  if (count != list.size())
    c.fail(ErrorKind::InvalidModel, "expected {0} scales or sizes, found {1}", list.size(), count);
  SmallVector<ResizedAxis> axes;
  for (auto [i, axis] : llvm::enumerate(list)) {
    ResizedAxis resized{axis, c.shape(0)[axis], {}, std::nullopt};
    if (!factors.empty()) {
      resized.scale = factors[i];
      resized.to = scaledSize(c, resized.from, factors[i]);
    } else {
      resized.to = wanted[i];
      auto from = constantValue(resized.from), to = constantValue(resized.to);
      if (from && to && *from > 0)
        resized.scale = static_cast<double>(*to) / static_cast<double>(*from);
    }
    if (constantValue(resized.from) == 0 && constantValue(resized.to) != 0)
      c.fail(ErrorKind::ShapeMismatch, "expected elements to resize, found {0}",
             c.text(c.shape(0)));
    axes.push_back(resized);
  }
  return axes;
}

Interpolation readInterpolation(NodeContext &c) {
  Interpolation how;
  how.mode = c.node.getString("mode", "nearest");
  how.coordinates = c.node.getString("coordinate_transformation_mode", "half_pixel");
  how.nearest = c.node.getString("nearest_mode", "round_prefer_floor");
  how.cubicCoefficient = c.node.getFloat("cubic_coeff_a", -0.75F);
  how.extrapolated = c.node.getFloat("extrapolation_value", 0);
  how.antialias = c.node.getInt("antialias", 0) != 0;
  how.excludesOutside = c.node.getInt("exclude_outside", 0) != 0;
  return how;
}

void check(NodeContext &c, const Interpolation &how) {
  constexpr StringRef kModes[] = {"nearest", "linear", "cubic"};
  constexpr StringRef kCoordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                        "asymmetric", "align_corners",        "tf_crop_and_resize"};
  constexpr StringRef kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  auto one = [&](const char *name, const std::string &found, ArrayRef<StringRef> known) {
    if (!llvm::is_contained(known, found))
      c.fail(ErrorKind::Unsupported, "attribute '{0}': expected one of {1}, found {2}", name,
             llvm::join(known, ", "), inQuotes(found));
  };
  one("mode", how.mode, kModes);
  one("coordinate_transformation_mode", how.coordinates, kCoordinates);
  one("nearest_mode", how.nearest, kNearest);
}

void resize(NodeContext &c, const Interpolation &how, SmallVector<ResizedAxis> axes) {
  check(c, how);
  Value input = c.input(0, how.mode == "nearest" ? Accepts::Any : Accepts::Numbers);
  if (!how.crops())
    llvm::erase_if(axes, [](const ResizedAxis &axis) {
      return sameSize(axis.from, axis.to) && axis.scale.value_or(1) == 1;
    });
  c.result(axes.empty() ? input : Resizer(c, how).run(input, axes));
}

/// Versions 10 and 11 differ: the first has scales as its second input, and one kind of
/// coordinates.
void importResize(NodeContext &c) {
  Interpolation how = readInterpolation(c);
  if (c.opset < 11) {
    how.coordinates = "asymmetric";
    how.nearest = "floor";
    return resize(c, how, readAxes(c, 1, std::nullopt));
  }
  auto given = [&](size_t i) -> std::optional<size_t> {
    bool isThere = c.has(i) && constantValue(c.product(c.shape(i))) != 0;
    return isThere ? std::optional(i) : std::nullopt;
  };
  SmallVector<ResizedAxis> axes = readAxes(c, given(2), given(2) ? std::nullopt : given(3));
  std::string policy = c.node.getString("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger" || policy == "not_smaller")
    keepAspectRatio(c, axes, policy == "not_larger");
  else if (policy != "stretch")
    c.fail(ErrorKind::InvalidModel,
           "attribute 'keep_aspect_ratio_policy': expected stretch, not_larger or not_smaller, "
           "found {0}",
           inQuotes(policy));
  if (how.crops()) {
    std::vector<double> part = c.numbers(1);
    if (part.size() != 2 * axes.size())
      c.fail(ErrorKind::InvalidModel, "{0}: expected {1} numbers, found {2}", c.nameOfInput(1),
             2 * axes.size(), part.size());
    for (auto [i, axis] : llvm::enumerate(axes)) {
      axis.begin = part[i];
      axis.end = part[axes.size() + i];
    }
  }
  resize(c, how, axes);
}

/// The ancestor of Resize: scales are an attribute first, then an input.
void importUpsample(NodeContext &c) {
  Interpolation how;
  how.mode = c.node.getString("mode", "nearest");
  how.coordinates = "asymmetric";
  how.nearest = "floor";
  std::optional<size_t> scales = c.has(1) ? std::optional<size_t>(1) : std::nullopt;
  resize(c, how, readAxes(c, scales, std::nullopt));
}

} // namespace

OperatorFamily resizeOperators() {
  static const Operator table[] = {
      {"Resize", 10, importResize},
      {"Upsample", 7, importUpsample},
  };
  return table;
}

} // namespace headrace::onnx
