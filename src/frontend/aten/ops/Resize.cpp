// Operators that resize images: each result is a weighted sum of a few elements of each dimension.
// Places and weights are constants, computed with PyTorch's own formulas and types.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>
#include <cmath>

namespace headrace::aten {

Node blended(Call &c, Node x, int64_t axis, const Taps &taps) {
  Shape shape(c.rank(x), 1);
  shape[axis] = taps.results;
  std::optional<Node> total;
  for (int64_t k = 0; k < taps.count; ++k) {
    Integers places;
    std::vector<double> weights;
    for (int64_t i = 0; i < taps.results; ++i) {
      places.push_back(taps.places[i * taps.count + k]);
      weights.push_back(taps.weights[i * taps.count + k]);
    }
    Node part = c.b.gather(x, c.integers(places, {taps.results}), axis, false);
    if (std::ranges::any_of(weights, [](double weight) { return weight != 1; }))
      part = c.map("mul", {part, c.numbers(weights, shape, c.type(x))});
    total = total ? c.map("add", {*total, part}) : part;
  }
  return *total;
}

namespace {
/// One dimension that is resized.
struct Axis {
  int64_t size, wanted;
  bool alignsCorners;
  std::optional<double> given; // the scale that the user gave

  double scale() const {
    if (alignsCorners)
      return wanted > 1 ? static_cast<double>(size - 1) / static_cast<double>(wanted - 1) : 0;
    return given && *given > 0 ? 1 / *given
                               : static_cast<double>(size) / static_cast<double>(wanted);
  }
};
} // namespace

/// The place in the source of each place of the result, computed in the type T.
template <class T> static std::vector<T> sourcePlaces(const Axis &axis, bool isCubic) {
  auto scale = static_cast<T>(axis.scale());
  std::vector<T> places;
  for (int64_t i = 0; i < axis.wanted; ++i) {
    auto at = static_cast<T>(i);
    T place = axis.alignsCorners ? at * scale : (at + T(0.5)) * scale - T(0.5);
    places.push_back(axis.alignsCorners || isCubic ? place : std::max(place, T(0)));
  }
  return places;
}

template <class T> static Taps linearTaps(const Axis &axis) {
  Taps taps{axis.wanted, 2, {}, {}};
  for (T place : sourcePlaces<T>(axis, false)) {
    int64_t low = std::min(static_cast<int64_t>(std::floor(place)), axis.size - 1);
    T part = std::clamp(place - static_cast<T>(low), T(0), T(1));
    taps.places.insert(taps.places.end(), {low, std::min(low + 1, axis.size - 1)});
    taps.weights.insert(taps.weights.end(), {T(1) - part, part});
  }
  return taps;
}

template <class T> static T cubicWeight(T x, T a) {
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
}

template <class T> static Taps cubicTaps(const Axis &axis) {
  Taps taps{axis.wanted, 4, {}, {}};
  for (T place : sourcePlaces<T>(axis, true)) {
    T low = std::floor(place), part = place - low;
    T distances[] = {part + 1, part, 1 - part, 2 - part};
    for (int64_t k = 0; k < 4; ++k) {
      taps.places.push_back(
          std::clamp(static_cast<int64_t>(low) + k - 1, int64_t{0}, axis.size - 1));
      taps.weights.push_back(cubicWeight(distances[k], T(-0.75)));
    }
  }
  return taps;
}

/// Without aliasing: as many elements as the image shrinks by, and more.
static Taps smoothTaps(const Axis &axis, int reach) {
  double scale = axis.scale(), support = scale >= 1 ? reach * scale : reach;
  double stretch = scale >= 1 ? 1 / scale : 1;
  auto count = static_cast<int64_t>(std::ceil(static_cast<float>(support))) * 2 + 1;
  Taps taps{axis.wanted, count, {}, {}};
  for (int64_t i = 0; i < axis.wanted; ++i) {
    double center = scale * (static_cast<double>(i) + 0.5), total = 0;
    int64_t first = std::max(static_cast<int64_t>(center - support + 0.5), int64_t{0});
    int64_t last = std::min(static_cast<int64_t>(center + support + 0.5), axis.size);
    size_t start = taps.weights.size();
    for (int64_t k = 0; k < count; ++k) {
      double distance = std::abs(static_cast<double>(first + k) - center + 0.5) * stretch;
      double weight = reach == 1 ? std::max(1 - distance, 0.0) : cubicWeight(distance, -0.5);
      weight = first + k < last ? weight : 0;
      taps.places.push_back(std::min(first + k, axis.size - 1));
      taps.weights.push_back(weight);
      total += weight;
    }
    for (size_t k = start; k < taps.weights.size(); ++k)
      taps.weights[k] /= total;
  }
  return taps;
}

static Taps nearestTaps(const Axis &axis, bool isExact) {
  Taps taps{axis.wanted, 1, {}, std::vector<double>(axis.wanted, 1)};
  auto scale = static_cast<float>(axis.scale());
  for (int64_t i = 0; i < axis.wanted; ++i) {
    float at = static_cast<float>(i) + (isExact ? 0.5F : 0.0F);
    taps.places.push_back(std::min(static_cast<int64_t>(std::floor(at * scale)), axis.size - 1));
  }
  return taps;
}

static Node image(Call &c) { return c.tensor(c.has("self") ? "self" : "input"); }

/// The scale that the user gave for spatial dimension `i` of `rank`.
static std::optional<double> givenScale(Call &c, size_t i, size_t rank) {
  if (const auto *list = c["scale_factors"].as<List>())
    return i < list->size() ? numberIn((*list)[i]) : std::nullopt;
  static const std::vector<std::string> names{"scales_d", "scales_h", "scales_w"};
  return numberIn(c[rank == 1 ? "scales" : names[3 - rank + i]]);
}

using MakeTaps = std::function<Taps(const Axis &)>;

/// All dimensions of an image, one by one.
static Node resized(Call &c, const MakeTaps &tapsOf) {
  Node x = image(c);
  Sizes from = c.b.shape(x), to = c.shape();
  c.require(to.size() >= 3 && from.size() == to.size(), "a batch of images");
  size_t rank = to.size() - 2;
  Node result = c.widened(x);
  for (size_t i = 0; i < rank; ++i) {
    auto size = known(from[i + 2]), wanted = known(to[i + 2]);
    if (!size || !wanted)
      c.unsupported(c.name + " of a dynamic dimension");
    Axis axis{*size, *wanted, c.flag("align_corners", false), givenScale(c, i, rank)};
    result = blended(c, result, static_cast<int64_t>(i) + 2, tapsOf(axis));
  }
  return c.b.cast(result, c.type());
}

/// Every element as often as its dimension grows; nothing if a dimension does not grow by an
/// integer.
static std::optional<Node> repeated(Call &c) {
  Node x = image(c);
  Sizes from = c.b.shape(x), to = c.shape();
  c.require(to.size() >= 3 && from.size() == to.size(), "a batch of images");
  Sizes apart{from[0], from[1]}, wide = apart;
  size_t rank = to.size() - 2;
  for (size_t i = 0; i < rank; ++i) {
    auto size = known(from[i + 2]), wanted = known(to[i + 2]);
    if (!size || !wanted || !*size || !*wanted || *wanted % *size)
      return {};
    int64_t factor = *wanted / *size;
    if (auto given = givenScale(c, i, rank); given && *given != static_cast<double>(factor))
      return {};
    apart.insert(apart.end(), {from[i + 2], int64_t{1}});
    wide.insert(wide.end(), {from[i + 2], factor});
  }
  return c.b.reshape(c.b.broadcast(c.b.reshape(x, apart), wide), to);
}

static Value nearest(Call &c) {
  if (auto result = repeated(c))
    return *result;
  bool isExact = c.name.find("exact") != std::string::npos;
  return resized(c, [&](const Axis &axis) { return nearestTaps(axis, isExact); });
}

static bool isDouble(Call &c) { return c.type() == DType::F64; }

static Value linear(Call &c) {
  return resized(c, isDouble(c) ? MakeTaps(linearTaps<double>) : MakeTaps(linearTaps<float>));
}

static Value cubic(Call &c) {
  return resized(c, isDouble(c) ? MakeTaps(cubicTaps<double>) : MakeTaps(cubicTaps<float>));
}

static Write smooth(int reach) {
  return [reach](Call &c) -> Value {
    return resized(c, [&](const Axis &axis) { return smoothTaps(axis, reach); });
  };
}

Operators resizeOperators() {
  Operators table{
      {"upsample_linear1d", linear},          {"upsample_bilinear2d", linear},
      {"upsample_trilinear3d", linear},       {"upsample_bicubic2d", cubic},
      {"_upsample_bilinear2d_aa", smooth(1)}, {"_upsample_bicubic2d_aa", smooth(2)},
  };
  for (const char *rank : {"1d", "2d", "3d"}) {
    table.push_back({std::string("upsample_nearest") + rank, nearest});
    table.push_back({std::string("_upsample_nearest_exact") + rank, nearest});
  }
  return table;
}

} // namespace headrace::aten
