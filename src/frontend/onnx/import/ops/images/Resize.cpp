// Images in another resolution: which axes get which size, and how.
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/images/Interpolation.h"
#include "runtime/system/Text.h"

#include <cmath>

using namespace mlir;

namespace headrace::onnx {

namespace {

/// A size that was computed in double precision.
AffineExpr sizeOf(NodeContext &c, double size) {
  constexpr double kMax = 1e15; // beyond, no tensor has such a size, and numbers are not exact
  if (!(size >= 0 && size < kMax))
    c.fail(ErrorKind::InvalidModel, "expected a size that a tensor can have, got {0}", size);
  return c.dim(static_cast<int64_t>(size));
}

/// floor(size * scale) in f32, in which 20 * 1.3 is 26; if the size is dynamic, for
/// scales that are fractions of small numbers.
AffineExpr scaledSize(NodeContext &c, AffineExpr size, double scale) {
  constexpr int64_t kMaxDenominator = 64;
  if (!(scale > 0) || scale > 1e9)
    c.fail(ErrorKind::InvalidModel, "expected scales above 0, got {0}", scale);
  if (auto known = constantValue(size))
    return sizeOf(c, std::floor(static_cast<float>(*known) * static_cast<float>(scale)));
  for (int64_t denominator = 1; denominator <= kMaxDenominator; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    if (std::abs(numerator - scale * static_cast<double>(denominator)) < 1e-6 && numerator < 1e6)
      return (size * static_cast<int64_t>(numerator)).floorDiv(denominator);
  }
  c.fail(ErrorKind::Unsupported, "a scale of {0} over the dynamic dimension {1} is not supported",
         scale, c.text({size}));
}

/// One factor for all axes: sizes are an upper or lower bound.
void keepAspectRatio(NodeContext &c, SmallVectorImpl<ResizedAxis> &axes, bool isUpperBound) {
  std::optional<double> factor;
  for (const ResizedAxis &axis : axes) {
    if (!axis.scale)
      c.fail(ErrorKind::Unsupported,
             "keep_aspect_ratio_policy over the dynamic dimension {0} is not supported",
             c.text({axis.from}));
    bool isFurther = factor && (isUpperBound ? *axis.scale < *factor : *axis.scale > *factor);
    if (!factor || isFurther)
      factor = axis.scale;
  }
  for (ResizedAxis &axis : axes) {
    axis.scale = factor;
    axis.hasSize = false;
    axis.to = sizeOf(c, std::floor(*factor * static_cast<double>(*constantValue(axis.from)) + 0.5));
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
  if (scales) {
    factors = c.numbers(*scales);
  } else if (sizes) {
    wanted = c.sizes(*sizes).elements;
  } else if (const Attribute *attribute = c.node.find("scales")) {
    factors.assign(attribute->floats.begin(), attribute->floats.end());
  } else if (c.node.find("height_scale") && list.size() >= 2) { // Upsample of the first version
    factors.assign(list.size(), 1);
    factors[list.size() - 2] = c.node.getFloat("height_scale", 1);
    factors.back() = c.node.getFloat("width_scale", 1);
  } else {
    c.fail(ErrorKind::InvalidModel, "expected scales or sizes, got neither");
  }
  size_t count = wanted.empty() ? factors.size() : wanted.size();
  if (count != list.size())
    c.fail(ErrorKind::InvalidModel, "expected {0} scales or sizes, got {1}", list.size(), count);
  SmallVector<ResizedAxis> axes;
  for (auto [i, axis] : llvm::enumerate(list)) {
    ResizedAxis resized{axis, c.shape(0)[axis], {}, std::nullopt};
    if (!factors.empty()) {
      resized.scale = factors[i];
      resized.to = scaledSize(c, resized.from, factors[i]);
    } else {
      resized.to = wanted[i];
      resized.hasSize = true;
      auto from = constantValue(resized.from), to = constantValue(resized.to);
      if (from && to && *from > 0)
        resized.scale = static_cast<double>(*to) / static_cast<double>(*from);
    }
    if (constantValue(resized.from) == 0 && constantValue(resized.to) != 0)
      c.fail(ErrorKind::ShapeMismatch,
             "cannot resize an empty dimension to a non-empty one, got shape {0}",
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
      c.fail(ErrorKind::Unsupported, "attribute '{0}': expected one of {1}, got {2}", name,
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
  c.result(axes.empty() ? input : interpolate(c, how, input, axes));
}

/// Versions 10 and 11 differ: the first has scales as its second input, one kind of coordinates,
/// and takes the next pixel if an image becomes smaller, the one before if it grows.
void importResize(NodeContext &c) {
  Interpolation how = readInterpolation(c);
  if (c.opset < 11) {
    how.coordinates = "asymmetric";
    how.nearest = "floor";
    SmallVector<ResizedAxis> axes = readAxes(c, 1, std::nullopt);
    for (ResizedAxis &axis : axes)
      axis.takesNext = axis.scale.value_or(1) < 1;
    return resize(c, how, axes);
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
           "got {0}",
           inQuotes(policy));
  if (how.crops()) {
    std::vector<double> part = c.numbers(1);
    if (part.size() != 2 * axes.size())
      c.fail(ErrorKind::InvalidModel, "{0}: expected {1} values, got {2}", c.nameOfInput(1),
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
