// Images read at places that a grid gives: every result is a sum of pixels around its place, each
// with a weight for each dimension.
#include "frontend/aten/Table.h"

#include <cmath>

namespace headrace::aten {

namespace {
enum class Interpolation : int64_t { Linear, Nearest, Cubic };
enum class Beyond : int64_t { Zeros, Border, Reflection };

/// One dimension of the image.
struct Line {
  Size size;
  DType type; // of places
  Beyond beyond;
  bool alignsCorners;
};

/// A pixel along one dimension, as an index that exists, and its weight, 0 for one outside.
struct Tap {
  Node index, weight;
};
using Taps = std::vector<Tap>;
} // namespace

static Node sizeNumber(Call &c, const Line &line) { return c.b.sizeAsData(line.size, line.type); }

/// From [-1, 1] to pixels.
static Node toPixels(Call &c, Node x, const Line &line) {
  Node size = sizeNumber(c, line), half = c.map("div", {c.map("add", {x, 1}), 2});
  if (line.alignsCorners)
    return c.map("mul", {half, c.map("sub", {size, 1})});
  return c.map("sub", {c.map("mul", {half, size}), 0.5});
}

/// The gradient is 0 at the bounds and beyond.
static Node clipped(Call &c, Node x, const Line &line) {
  Node last = c.map("sub", {sizeNumber(c, line), 1});
  x = c.select(c.map("greater", {x, 0}), x, 0, line.type);
  return c.select(c.map("less", {x, last}), x, last, line.type);
}

/// Mirrored at the first and the last pixel: at their centers or at their outer edges.
static Node reflected(Call &c, Node x, const Line &line) {
  double low = line.alignsCorners ? 0 : -0.5;
  Node span = sizeNumber(c, line);
  if (line.alignsCorners) // of a single pixel, all of it is at 0
    span = c.map("sub", {span, 1});
  Node isPoint = c.map("equal", {span, 0});
  Node divisor = c.select(isPoint, 1, span, line.type);
  Node way = c.map("abs", {c.map("sub", {x, low})});
  Node rest = c.map("remainder", {way, divisor});
  Node turns = c.map("floor", {c.map("div", {way, divisor})});
  Node isEven = c.map("equal", {c.map("remainder", {turns, 2}), 0});
  Node place = c.select(isEven, rest, c.map("sub", {divisor, rest}), line.type);
  return c.select(isPoint, 0, c.map("add", {place, low}), line.type);
}

static Node padded(Call &c, Node x, const Line &line) {
  if (line.beyond == Beyond::Zeros)
    return x;
  return clipped(c, line.beyond == Beyond::Border ? x : reflected(c, x, line), line);
}

static Tap tapAt(Call &c, Node place, Node weight, const Line &line) {
  Node last = c.map("sub", {sizeNumber(c, line), 1});
  Node inside =
      c.map("and", {c.map("greater_equal", {place, 0}), c.map("less_equal", {place, last})});
  Node existing = c.map("max", {c.map("min", {c.b.detach(place), last}), 0});
  return {c.b.cast(existing, DType::I64), c.select(inside, weight, 0, line.type)};
}

/// PyTorch's convolution by a cubic, of the distance to the first of four pixels.
static Node cubicWeight(Call &c, Node t, int64_t tap) {
  constexpr double a = -0.75;
  double offset = tap == 0 ? 1 : tap == 1 ? 0 : tap == 2 ? -1 : -2;
  Node x = c.map("add", {t, offset});
  if (tap >= 2)
    x = c.map("neg", {x});
  auto horner = [&](std::initializer_list<double> coefficients) {
    Node sum = c.map("mul", {x, *coefficients.begin()});
    for (const double *each = coefficients.begin() + 1; each + 1 < coefficients.end(); ++each)
      sum = c.map("mul", {c.map("add", {sum, *each}), x});
    return c.map("add", {sum, *(coefficients.end() - 1)});
  };
  bool isInner = tap == 1 || tap == 2;
  return isInner ? horner({a + 2, -(a + 3), 0, 1}) : horner({a, -5 * a, 8 * a, -4 * a});
}

static Taps tapsOf(Call &c, Node x, Interpolation kind, const Line &line) {
  x = toPixels(c, x, line);
  auto one = [&] { return c.full(1, line.type, c.b.shape(x)); };
  if (kind == Interpolation::Nearest)
    return {tapAt(c, c.map("round", {padded(c, x, line)}), one(), line)};
  if (kind == Interpolation::Linear) {
    x = padded(c, x, line);
    Node low = c.map("floor", {x}), part = c.map("sub", {x, low});
    return {tapAt(c, low, c.map("sub", {1, part}), line),
            tapAt(c, c.map("add", {low, 1}), part, line)};
  }
  Node low = c.map("floor", {x}), part = c.map("sub", {x, low});
  Taps taps;
  for (int64_t i = 0; i < 4; ++i) {
    Node place = padded(c, c.map("add", {low, i - 1}), line);
    taps.push_back(tapAt(c, place, cubicWeight(c, part, i), line));
  }
  return taps;
}

/// image: [N, C, H, W], grid: [N, H', W', 2], whose first coordinate is along W; or with a depth.
static Write sampler(size_t rank) {
  return [rank](Call &c) -> Value {
    Node image = c.tensor("input"), grid = c.tensor("grid");
    c.require(c.rank(image) == static_cast<int64_t>(rank) + 2 && c.rank(grid) == c.rank(image),
              "a batch of images and a grid for each");
    DType type = c.type(image);
    image = c.widened(image), grid = c.widened(grid);
    Sizes sizes = c.b.shape(image), wanted = c.shape();
    Size count = c.product(wanted.from(2)), pixels = c.product(sizes.from(2));
    auto kind = static_cast<Interpolation>(c.integer("interpolation_mode", 0));
    auto beyond = static_cast<Beyond>(c.integer("padding_mode", 0));
    auto axis = static_cast<int64_t>(rank);
    Node places = c.b.reshape(grid, {sizes[0], count, axis});
    // One pixel for each combination of taps: its number in the batch, and its weight.
    Node start = c.map("mul", {c.iota(sizes[0]), c.b.sizeAsData(pixels, DType::I64)});
    start = c.b.broadcast(c.b.reshape(start, {sizes[0], int64_t{1}, int64_t{1}}),
                          {sizes[0], count, int64_t{1}});
    Taps pixel{{c.full(0, DType::I64, {sizes[0], count, int64_t{1}}),
                c.full(1, c.type(grid), {sizes[0], count, int64_t{1}})}};
    for (size_t i = 0; i < rank; ++i) {
      Line line{sizes[2 + i], c.type(grid), beyond, c.flag("align_corners", false)};
      Node place = c.part(places, 2, axis - 1 - static_cast<int64_t>(i), int64_t{1});
      Node size = c.b.sizeAsData(line.size, DType::I64);
      Taps wider;
      for (const Tap &tap : tapsOf(c, place, kind, line))
        for (const Tap &each : pixel)
          wider.push_back({c.map("add", {c.map("mul", {each.index, size}), tap.index}),
                           c.map("mul", {each.weight, tap.weight})});
      pixel = wider;
    }
    Node channelsLast = c.b.transpose(c.b.reshape(image, {sizes[0], sizes[1], pixels}), {0, 2, 1});
    Node rows = c.b.reshape(channelsLast, {c.mul(sizes[0], pixels), sizes[1]});
    std::optional<Node> total;
    for (const Tap &each : pixel) {
      Node at = c.b.reshape(c.map("add", {each.index, start}), {sizes[0], count});
      Node part = c.mapAs(c.type(image), "mul", {c.b.gather(rows, at, 0, false), each.weight});
      total = total ? c.map("add", {*total, part}) : part;
    }
    return c.b.cast(c.b.reshape(c.b.transpose(*total, {0, 2, 1}), wanted), type);
  };
}

Operators samplingOperators() {
  return {
      {"grid_sampler_2d", sampler(2)},
      {"_grid_sampler_2d_cpu_fallback", sampler(2)},
      {"grid_sampler_3d", sampler(3)},
  };
}

} // namespace headrace::aten
