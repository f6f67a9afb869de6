// Images read at the places of a grid, and grids of affine transforms.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/windows/Windows.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// The element at a place along each spatial axis, which may be outside of the image.
class GridSampler {
public:
  GridSampler(PointMath &m, ArrayRef<AffineExpr> sizes, StringRef padding, bool alignCorners,
              Type type)
      : m(m), sizes(sizes), padding(padding), alignCorners(alignCorners), type(type) {}

  Value run(StringRef mode, ArrayRef<Value> grid) {
    SmallVector<Value> places;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Value at = denormalized(grid[i], sizes[i]);
      if (mode == "nearest")
        at = m.op<math::RoundEvenOp>(at);
      // Cubic weights reach beyond the border from outside of it: there each element is clamped.
      bool clampsElements = mode == "cubic" && padding == "border";
      places.push_back(clampsElements ? at : broughtInside(at, sizes[i]));
    }
    if (mode == "nearest") {
      SmallVector<Value> whole;
      for (Value place : places)
        whole.push_back(m.toInteger(place));
      return pixel(whole);
    }
    SmallVector<SmallVector<std::pair<Value, Value>>> taps; // by axis: place and weight
    for (Value place : places)
      taps.push_back(mode == "linear" ? linearTaps(place) : cubicTaps(place));
    SmallVector<Value> chosen;
    return blended(taps, chosen);
  }

private:
  Value number(double value) { return m.numberOf(type, value); }
  Value length(AffineExpr size) { return m.convert(m.size(size), type); }

  /// From [-1, 1], the centers or the edges of the outermost elements.
  Value denormalized(Value at, AffineExpr size) {
    Value one = number(1), half = number(0.5), shifted = m.add(at, one);
    if (alignCorners)
      return m.mul(m.mul(shifted, half), m.sub(length(size), one));
    return m.mul(m.sub(m.mul(shifted, length(size)), one), half);
  }

  Value broughtInside(Value at, AffineExpr size) {
    if (padding == "zeros")
      return at;
    Value low = number(alignCorners ? 0 : -0.5);
    Value high = m.sub(length(size), number(alignCorners ? 1 : 0.5));
    Value isOutside = m.either(m.less(at, low), m.less(high, at));
    Value inside = at;
    if (padding == "border") {
      inside = m.max(m.min(at, m.sub(length(size), number(1))), number(0));
    } else {
      Value range = m.sub(high, low), period = m.add(range, range);
      Value distance = m.sub(at, low);
      Value turns = m.floor(m.div(distance, period));
      Value rest = m.sub(distance, m.mul(turns, period));
      Value mirrored = m.select(m.less(range, rest), m.sub(period, rest), rest);
      // With one element there is nowhere else to go.
      inside = m.select(m.isPositive(range), m.add(low, mirrored), low);
    }
    return m.select(isOutside, inside, at);
  }

  SmallVector<std::pair<Value, Value>> linearTaps(Value place) {
    Value low = m.floor(place), rest = m.sub(place, low), first = m.toInteger(low);
    return {{first, m.sub(number(1), rest)}, {m.add(first, m.integer(1)), rest}};
  }

  /// Keys' cubic convolution.
  SmallVector<std::pair<Value, Value>> cubicTaps(Value place) {
    constexpr double a = -0.75;
    Value low = m.floor(place), rest = m.sub(place, low), first = m.toInteger(low);
    auto near = [&](Value x) { // ((a + 2) x - (a + 3)) x^2 + 1
      Value inner = m.sub(m.mul(number(a + 2), x), number(a + 3));
      return m.add(m.mul(m.mul(inner, x), x), number(1));
    };
    auto far = [&](Value x) { // ((a x - 5a) x + 8a) x - 4a
      Value inner = m.add(m.mul(m.sub(m.mul(number(a), x), number(5 * a)), x), number(8 * a));
      return m.sub(m.mul(inner, x), number(4 * a));
    };
    Value other = m.sub(number(1), rest);
    return {{m.sub(first, m.integer(1)), far(m.add(rest, number(1)))},
            {first, near(rest)},
            {m.add(first, m.integer(1)), near(other)},
            {m.add(first, m.integer(2)), far(m.add(other, number(1)))}};
  }

  Value blended(ArrayRef<SmallVector<std::pair<Value, Value>>> taps,
                SmallVectorImpl<Value> &chosen) {
    if (chosen.size() == taps.size())
      return pixel(chosen);
    Value sum;
    for (auto [place, weight] : taps[chosen.size()]) {
      chosen.push_back(place);
      Value part = m.mul(weight, blended(taps, chosen));
      chosen.pop_back();
      sum = sum ? m.add(sum, part) : part;
    }
    return sum;
  }

  Value reflected(Value at, AffineExpr size) {
    Value count = m.size(size), one = m.integer(1);
    Value period = alignCorners ? m.max(m.mul(m.sub(count, one), m.integer(2)), one)
                                : m.mul(count, m.integer(2));
    Value rest = m.remainder(at, period);
    rest = m.select(m.isNegative(rest), m.add(rest, period), rest);
    Value back = m.sub(alignCorners ? period : m.sub(period, one), rest);
    return m.select(m.less(rest, count), rest, back);
  }

  Value pixel(ArrayRef<Value> places) {
    SmallVector<Value> index{m.position(0), m.position(1)};
    Value isInside;
    for (auto [place, size] : llvm::zip(places, sizes)) {
      if (padding == "zeros") {
        Value here = m.isInside(place, m.size(size));
        isInside = isInside ? m.both(isInside, here) : here;
      }
      index.push_back(padding == "reflection" ? reflected(place, size) : place);
    }
    Value element = m.convert(m.element(0, index), type);
    return isInside ? m.select(isInside, element, number(0)) : element;
  }

  PointMath &m;
  ArrayRef<AffineExpr> sizes;
  StringRef padding;
  bool alignCorners;
  Type type;
};

} // namespace

/// f16 and bf16 are computed in f32.
static Type computedType(NodeContext &c, Type type) {
  return type.isF64() ? type : c.builder.getF32Type();
}

static void importGridSample(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), grid = c.input(1, Accepts::Floats);
  size_t spatial = spatialRank(c);
  c.checkRank(1, c.rank(0));
  SymbolicShape shape = c.shape(0), gridShape = c.shape(1);
  if (constantValue(gridShape.back()) != static_cast<int64_t>(spatial) ||
      !sameSize(gridShape[0], shape[0]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} points of {2} coordinates, got {3}",
           c.nameOfInput(1), c.text({shape[0]}), spatial, c.text(gridShape));
  std::string mode = c.node.getString("mode", "linear");
  std::string padding = c.node.getString("padding_mode", "zeros");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2);
  if ((mode != "linear" && mode != "cubic" && mode != "nearest") ||
      (padding != "zeros" && padding != "border" && padding != "reflection"))
    c.fail(ErrorKind::InvalidModel,
           "expected the mode linear, cubic or nearest and the padding zeros, border or "
           "reflection, got {0} and {1}",
           inQuotes(mode), inQuotes(padding));
  bool alignCorners = c.node.getInt("align_corners", 0) != 0;
  Type type = computedType(c, c.type(0).getElementType());
  grid = c.cast(grid, type);
  Compute compute{{shape[0], shape[1]}, 0, {}, {}, {input}};
  for (size_t i = 0; i < spatial; ++i)
    compute.domain.push_back(gridShape[i + 1]);
  // The grid's last dimension has the coordinates from the innermost axis on.
  for (size_t i = 0; i < spatial; ++i) {
    SmallVector<AffineExpr> at{getAffineDimExpr(0, c.context)};
    llvm::append_range(at, dimensions(c, 2, 2 + spatial));
    at.push_back(c.dim(static_cast<int64_t>(spatial - 1 - i)));
    compute.reads.push_back({grid, at});
  }
  ArrayRef<AffineExpr> sizes = ArrayRef(shape).drop_front(2);
  Value result = writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> places;
    for (size_t i = 0; i < spatial; ++i)
      places.push_back(m.read(i));
    return GridSampler(m, sizes, padding, alignCorners, type).run(mode, places);
  });
  c.result(c.cast(result, c.type(0).getElementType()));
}

static void importAffineGrid(NodeContext &c) {
  Value theta = c.input(0, Accepts::Floats);
  c.checkRank(0, 3);
  SymbolicShape size = c.sizes(1).elements;
  auto spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial != 2 && spatial != 3)
    c.fail(ErrorKind::InvalidModel, "{0}: expected 4 or 5 sizes, got {1}", c.nameOfInput(1),
           size.size());
  if (constantValue(c.shape(0)[1]) != spatial || constantValue(c.shape(0)[2]) != spatial + 1)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected matrices {1}x{2}, got {3}", c.nameOfInput(0),
           spatial, spatial + 1, c.text(c.shape(0)));
  bool alignCorners = c.node.getInt("align_corners", 0) != 0;
  Type type = c.type(0).getElementType(), wide = computedType(c, type);
  theta = c.cast(theta, wide);
  SymbolicShape domain{c.shape(0)[0]};
  domain.append(size.begin() + 2, size.end());
  domain.push_back(c.dim(spatial));
  Compute compute{domain, 0, {}, {}, {}};
  for (int64_t i = 0; i <= spatial; ++i)
    compute.reads.push_back(
        {theta,
         {getAffineDimExpr(0, c.context), getAffineDimExpr(spatial + 1, c.context), c.dim(i)}});
  Value grid = writeCompute(c, compute, [&](PointMath &m) {
    Value sum = m.read(spatial);
    for (int64_t i = 0; i < spatial; ++i) {
      int64_t axis = spatial - i; // x is the innermost one
      Value at = m.convert(m.position(axis), wide), two = m.numberOf(wide, 2);
      Value length = m.convert(m.size(domain[axis]), wide), one = m.numberOf(wide, 1);
      Value place;
      if (alignCorners)
        place = m.sub(m.div(m.mul(at, two), m.sub(length, one)), one);
      else
        place = m.sub(m.div(m.add(m.mul(at, two), one), length), one);
      sum = m.add(sum, m.mul(m.read(i), place));
    }
    return sum;
  });
  c.result(c.cast(grid, type));
}

OperatorFamily gridOperators() {
  static const Operator table[] = {
      {"GridSample", 16, importGridSample},
      {"AffineGrid", 20, importAffineGrid},
  };
  return table;
}

} // namespace headrace::onnx
