// Convolutions and poolings.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace headrace::aten {

/// One number may stand for every dimension.
static Integers spread(Integers numbers, size_t rank, int64_t otherwise) {
  if (numbers.empty())
    numbers = {otherwise};
  if (numbers.size() != 1 && numbers.size() != rank)
    throw Unsupported("a window of another rank than the image");
  // Sums and products of two of them fit into 64 bits.
  constexpr int64_t most = std::numeric_limits<int32_t>::max() / 2;
  if (std::ranges::any_of(numbers, [](int64_t each) { return each < -most || each > most; }))
    throw Unsupported("a window of more than 2^30 positions");
  return numbers.size() == 1 ? Integers(rank, numbers[0]) : numbers;
}

static Integers concatenated(Integers a, const Integers &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// An image may come without a batch.
static Node batched(Call &c, Node x, size_t rank) {
  auto own = static_cast<size_t>(c.rank(x));
  c.require(own == rank + 1 || own == rank + 2, "an image with channels");
  return c.rank(x) == static_cast<int64_t>(rank) + 2 ? x : c.unsqueeze(x, {0});
}

//===--------------------------------------------------------------------------===//
// Convolutions
//===--------------------------------------------------------------------------===//

namespace {
struct Convolution {
  Integers strides, pads, dilations, extra;
  int64_t groups;
};
} // namespace

/// [C, M / groups, window] as the filter [M, C / groups, window] that reads backwards.
static Node turnedFilter(Call &c, Node weight, int64_t groups) {
  Integers sizes = c.fixed(c.b.shape(weight), "a transposed convolution with a filter");
  int64_t channels = sizes[0], results = sizes[1];
  c.require(groups > 0 && channels % groups == 0, "channels in whole groups");
  Sizes apart{groups, channels / groups, results}, shape{groups * results, channels / groups};
  Sizes starts{int64_t{0}, int64_t{0}};
  Integers order{0, 2, 1}, steps{1, 1};
  for (size_t i = 2; i < sizes.size(); ++i) {
    apart.emplace_back(sizes[i]), shape.emplace_back(sizes[i]), starts.emplace_back(sizes[i] - 1);
    order.push_back(static_cast<int64_t>(i) + 1), steps.push_back(-1);
  }
  Node together = c.b.reshape(c.b.transpose(c.b.reshape(weight, apart), order), shape);
  return c.b.slice(together, starts, shape, steps);
}

/// A convolution of the elements a stride apart with the filter turned around.
static Node transposedConvolution(Call &c, Node x, Node weight, const Convolution &k) {
  Sizes sizes = c.b.shape(x);
  Integers window = c.fixed(c.b.shape(weight), "a transposed convolution with a filter");
  Sizes spaced{sizes[0], sizes[1]}, kept = spaced;
  Integers starts{0, 0}, steps{1, 1};
  Sizes cutStarts{int64_t{0}, int64_t{0}};
  bool isCut = false;
  for (size_t i = 0; i < k.strides.size(); ++i) {
    int64_t low = k.dilations[i] * (window[i + 2] - 1) - k.pads[i];
    int64_t high = low + k.extra[i];
    Size length = c.mul(c.sub(sizes[i + 2], int64_t{1}), k.strides[i]);
    length = c.add(length, 1 + std::max(low, int64_t{0}) + std::max(high, int64_t{0}));
    starts.push_back(std::max(low, int64_t{0})), steps.push_back(k.strides[i]);
    int64_t cutLow = std::max(-low, int64_t{0}), cut = cutLow + std::max(-high, int64_t{0});
    isCut |= cut > 0;
    spaced.push_back(length), cutStarts.emplace_back(cutLow), kept.push_back(c.sub(length, cut));
  }
  Node wide = c.b.place(x, starts, spaced, steps);
  if (isCut)
    wide = c.b.slice(wide, cutStarts, kept, Integers(kept.size(), 1));
  Integers ones(k.strides.size(), 1), none(2 * k.strides.size(), 0);
  return c.b.convolution(wide, turnedFilter(c, weight, k.groups), {ones, k.dilations, none},
                         k.groups);
}

/// The number of spatial dimensions.
static size_t windowRank(Call &c) {
  c.require(c.rank(c.tensor("weight")) >= 3, "a filter with channels");
  return c.rank(c.tensor("weight")) - 2;
}

static Node convolved(Call &c, bool isTransposed, const Integers &low, const Integers &high) {
  Node x = c.tensor("input"), weight = c.tensor("weight");
  size_t rank = windowRank(c);
  // PyTorch's result has no channels either, whatever the filter says.
  c.require(known(c.b.shape(weight)[1]) != 0, "channels to convolve");
  bool isBatched = c.rank(x) == static_cast<int64_t>(rank) + 2;
  x = batched(c, x, rank);
  Convolution k{spread(c.integers("stride"), rank, 1), low, spread(c.integers("dilation"), rank, 1),
                spread(c.integers("output_padding"), rank, 0), c.integer("groups", 1)};
  Node result =
      isTransposed
          ? transposedConvolution(c, x, weight, k)
          : c.b.convolution(x, weight, {k.strides, k.dilations, concatenated(low, high)}, k.groups);
  if (auto bias = c.optionalTensor("bias"))
    result = c.map("add", {result, c.perChannel(*bias, c.rank(result))});
  return isBatched ? result : c.b.reshape(result, c.shape());
}

static Value convolution(Call &c) {
  size_t rank = windowRank(c);
  Integers pads = spread(c.integers("padding"), rank, 0);
  return convolved(c, c.flag("transposed", false), pads, pads);
}

/// `padding` may also be "same" or "valid".
static Value plainConvolution(Call &c) {
  Node weight = c.tensor("weight");
  size_t rank = windowRank(c);
  if (!c["padding"].as<std::string>())
    return convolution(c);
  Integers low(rank, 0), high(rank, 0), dilations = spread(c.integers("dilation"), rank, 1);
  Integers window = c.fixed(c.b.shape(weight), "a convolution with a filter");
  if (c.text("padding", "") == "same")
    for (size_t i = 0; i < rank; ++i) {
      int64_t total = dilations[i] * (window[i + 2] - 1);
      low[i] = total / 2, high[i] = total - total / 2;
    }
  return convolved(c, false, low, high);
}

static Value plainTransposed(Call &c) {
  size_t rank = windowRank(c);
  Integers pads = spread(c.integers("padding"), rank, 0);
  return convolved(c, true, pads, pads);
}

//===--------------------------------------------------------------------------===//
// Poolings
//===--------------------------------------------------------------------------===//

namespace {
struct Pooling {
  Integers window, strides, dilations, low, high;
  Integers overhang; // how much further than its high pad the last window reaches
};
} // namespace

static Pooling poolingOf(Call &c, size_t rank) {
  c.require(c.rank(c.tensor("self")) > static_cast<int64_t>(rank) && c.shape().size() > rank,
            "an image with channels");
  Integers window = spread(c.integers("kernel_size"), rank, 1);
  Integers given = c.integers("stride");
  Pooling p{window,
            given.empty() ? window : spread(given, rank, 1),
            spread(c.integers("dilation"), rank, 1),
            spread(c.integers("padding"), rank, 0),
            {},
            {}};
  p.high = p.low, p.overhang = Integers(rank, 0);
  if (!c.flag("ceil_mode", false))
    return p;
  Sizes from = c.b.shape(c.tensor("self")), to = c.shape();
  Integers sizes = c.fixed(from.last(rank), "ceil_mode");
  Integers results = c.fixed(to.last(rank), "ceil_mode");
  for (size_t i = 0; i < rank; ++i) {
    int64_t reach = (results[i] - 1) * p.strides[i] + (window[i] - 1) * p.dilations[i] + 1;
    p.overhang[i] = std::max(reach - (sizes[i] + 2 * p.low[i]), int64_t{0});
    p.high[i] += p.overhang[i];
  }
  return p;
}

static Node maxPooled(Call &c, size_t rank) {
  Pooling p = poolingOf(c, rank);
  Node x = batched(c, c.tensor("self"), rank);
  Node result =
      c.b.pool("max", x, p.window, {p.strides, p.dilations, concatenated(p.low, p.high)}, false);
  return c.b.reshape(result, c.shape());
}

/// The place of each window's maximum in its image: the first one in the window's order, or NaN.
static Node maxPlaces(Call &c, size_t rank) {
  Pooling p = poolingOf(c, rank);
  Node x = c.tensor("self");
  Sizes shape = c.b.shape(x), result = c.shape();
  Integers sizes = c.fixed(shape.last(rank), "places of maxima");
  Integers wanted = c.fixed(result.last(rank), "places of maxima");
  Integers at;
  std::vector<bool> inside;
  Integers index(2 * rank, 0), limits = concatenated(wanted, p.window);
  int64_t total = c.listed(limits), windows = c.listed(wanted), pixels = c.listed(sizes);
  for (int64_t n = 0; n < total; ++n) {
    int64_t rest = n, place = 0, stride = 1;
    bool holds = true;
    for (size_t i = 2 * rank; i-- > 0; rest /= limits[i])
      index[i] = rest % limits[i];
    for (size_t i = rank; i-- > 0; stride *= sizes[i]) {
      int64_t k = index[i] * p.strides[i] + index[rank + i] * p.dilations[i] - p.low[i];
      holds &= k >= 0 && k < sizes[i];
      place += std::clamp(k, int64_t{0}, sizes[i] - 1) * stride;
    }
    at.push_back(place), inside.push_back(holds);
  }
  int64_t each = windows ? total / windows : 1;
  Size lead = c.product(shape.first(shape.size() - rank));
  Node rows = c.b.detach(c.b.reshape(x, {lead, pixels}));
  Node parts = c.b.gather(rows, c.integers(at, {windows, each}), 1, false);
  double least = -std::numeric_limits<double>::infinity();
  parts = c.select(c.flags(inside, {windows, each}), parts, least, c.type(x));
  Node position = extremumPosition(c, parts, "max", 2);
  Integers starts(windows);
  for (int64_t i = 0; i < windows; ++i)
    starts[i] = i * each;
  Node found = c.map("add", {position, c.integers(starts, {1, windows, 1})});
  Node place = c.b.gather(c.integers(at, {total}), found, 0, false);
  return c.b.reshape(place, result);
}

static Write maxPool(size_t rank) {
  return [rank](Call &c) -> Value { return maxPooled(c, rank); };
}

static Write maxPoolWithPlaces(size_t rank) {
  return [rank](Call &c) -> Value {
    Sizes sizes = c.b.shape(c.tensor("self"));
    c.require(sizes.size() > rank, "an image with channels");
    auto spatial = sizes.last(rank);
    bool isKnown = std::ranges::all_of(spatial, [](const Size &s) { return known(s).has_value(); });
    Value places;
    if (isKnown && c.resultIsUsed(1))
      places = maxPlaces(c, rank);
    return List{maxPooled(c, rank), places};
  };
}

/// Each window's gradient goes to its maximum, by the place of that in its image.
static Value maxUnpooled(Call &c) {
  Sizes shape = c.shape();
  c.require(shape.size() > 2, "an image with channels");
  Size lead = c.product(shape.first(shape.size() - 2)), pixels = c.product(shape.last(2));
  Sizes from = c.b.shape(c.tensor("indices"));
  c.require(from.size() == shape.size(), "an index for each window");
  Size windows = c.product(from.last(2));
  Node image = c.b.reshape(c.map("mul", {c.iota(lead), c.b.sizeAsData(pixels, DType::I64)}),
                           {lead, int64_t{1}});
  Node places =
      c.b.checkedIndices(c.b.reshape(c.tensor("indices"), {lead, windows}), pixels, false);
  Node positions = c.flat(c.map("add", {image, places}));
  return put(c, c.tensor("grad_output"), positions, c.full(0, c.type(), shape), "sum");
}

static Write averagePool(size_t rank) {
  return [rank](Call &c) -> Value {
    Pooling p = poolingOf(c, rank);
    Node x = batched(c, c.tensor("self"), rank);
    bool countsPad = c.flag("count_include_pad", true);
    if (countsPad && std::ranges::any_of(p.overhang, [](int64_t n) { return n > 0; })) {
      // The stated padding counts, what is beyond does not: the padding becomes part of the image.
      Integers pads = concatenated({0, 0}, p.low);
      x = c.b.pad(x, pads, pads, 0);
      p.low = Integers(rank, 0), p.high = p.overhang, countsPad = false;
    }
    bool isSum = c.has("divisor_override");
    Node result = c.b.pool(isSum ? "sum" : "average", x, p.window,
                           {p.strides, p.dilations, concatenated(p.low, p.high)}, countsPad);
    if (isSum)
      result = c.map("div", {result, c["divisor_override"]});
    return c.b.reshape(result, c.shape());
  };
}

//===--------------------------------------------------------------------------===//
// Poolings to given sizes
//===--------------------------------------------------------------------------===//

/// The elements of each window, a range, with the weights of their average.
static Taps windowRanges(Call &c, int64_t size, int64_t results) {
  c.require(size > 0 && results > 0 && c.listed({size, results}), "images that are not empty");
  Taps taps{results, 0, {}, {}};
  auto first = [&](int64_t i) { return i * size / results; };
  auto last = [&](int64_t i) { return ((i + 1) * size + results - 1) / results; };
  for (int64_t i = 0; i < results; ++i)
    taps.count = std::max(taps.count, last(i) - first(i));
  for (int64_t i = 0; i < results; ++i)
    for (int64_t k = 0; k < taps.count; ++k) {
      taps.places.push_back(std::min(first(i) + k, size - 1));
      bool isInside = first(i) + k < last(i);
      taps.weights.push_back(isInside ? 1.0 / static_cast<double>(last(i) - first(i)) : 0.0);
    }
  return taps;
}

static Value adaptiveAverage(Call &c) {
  Node x = c.tensor("self");
  size_t rank = c.integers("output_size").size();
  Sizes from = c.b.shape(x), to = c.shape();
  c.require(from.size() > rank && to.size() == from.size(), "an image with channels");
  auto source = from.last(rank), result = to.last(rank);
  if (std::ranges::all_of(result, [](const Size &size) { return known(size) == 1; })) {
    Integers axes(rank);
    std::iota(axes.begin(), axes.end(), c.rank(x) - static_cast<int64_t>(rank));
    return c.b.reduce("mean", x, axes, true);
  }
  Integers sizes = c.fixed(source, "adaptive pooling"),
           wanted = c.fixed(result, "adaptive pooling");
  Integers window;
  bool isEven = true;
  for (size_t i = 0; i < rank; ++i) {
    c.require(wanted[i] > 0, "results that are not empty");
    isEven &= sizes[i] % wanted[i] == 0;
    window.push_back(sizes[i] / wanted[i]);
  }
  if (!isEven) {
    Node y = c.widened(x);
    for (size_t i = 0; i < rank; ++i)
      y = blended(c, y, static_cast<int64_t>(from.size() - rank + i),
                  windowRanges(c, sizes[i], wanted[i]));
    return c.b.cast(y, c.type());
  }
  Node pooled = c.b.pool("average", batched(c, x, rank), window,
                         {window, Integers(rank, 1), Integers(2 * rank, 0)}, false);
  return c.b.reshape(pooled, c.shape());
}

/// The maximum of each window and its place in the image, by all elements of the windows.
static Value adaptiveMax(Call &c) {
  Node x = c.tensor("self");
  size_t rank = c.integers("output_size").size();
  Sizes from = c.b.shape(x), to = c.shape();
  c.require(from.size() > rank && to.size() == from.size(), "an image with channels");
  Integers sizes = c.fixed(from.last(rank), "adaptive pooling");
  Integers wanted = c.fixed(to.last(rank), "adaptive pooling");
  Integers places{0};
  std::vector<bool> inside{true};
  // [windows so far, elements so far] grows by one dimension after the other.
  int64_t windows = 1, each = 1;
  for (size_t i = 0; i < rank; ++i) {
    Taps taps = windowRanges(c, sizes[i], wanted[i]);
    Integers morePlaces(c.listed({windows, taps.results, each, taps.count}));
    std::vector<bool> moreInside(morePlaces.size());
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t r = 0; r < taps.results; ++r)
        for (int64_t e = 0; e < each; ++e)
          for (int64_t k = 0; k < taps.count; ++k) {
            size_t to = ((w * taps.results + r) * each + e) * taps.count + k;
            morePlaces[to] = places[w * each + e] * sizes[i] + taps.places[r * taps.count + k];
            moreInside[to] = inside[w * each + e] && taps.weights[r * taps.count + k] > 0;
          }
    places = morePlaces, inside = moreInside;
    windows *= taps.results, each *= taps.count;
  }
  Size lead = c.product(from.first(from.size() - rank));
  int64_t pixels = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  Node rows = c.b.reshape(x, {lead, pixels});
  Node parts = c.b.gather(rows, c.integers(places, {windows, each}), 1, false);
  double least = -std::numeric_limits<double>::infinity();
  parts = c.select(c.flags(inside, {windows, each}), parts, least, c.type(x));
  Node position = extremumPosition(c, parts, "max", 2);
  Node value = takenAt(c, parts, position, 2);
  Integers starts(windows);
  for (int64_t i = 0; i < windows; ++i)
    starts[i] = i * each;
  Node found = c.map("add", {position, c.integers(starts, {1, windows, 1})});
  Node place = c.b.gather(c.integers(places, {windows * each}), found, 0, false);
  return List{c.b.reshape(value, to), c.b.reshape(place, to)};
}

Operators windowOperators() {
  Operators table{
      {"convolution", convolution},
      {"conv1d", plainConvolution},
      {"conv2d", plainConvolution},
      {"conv3d", plainConvolution},
      {"conv_transpose1d", plainTransposed},
      {"conv_transpose2d", plainTransposed},
      {"conv_transpose3d", plainTransposed},
      {"max_pool1d", maxPool(1)},
      {"max_pool2d", maxPool(2)},
      {"max_pool3d", maxPool(3)},
      {"max_pool2d_with_indices", maxPoolWithPlaces(2)},
      {"max_pool3d_with_indices", maxPoolWithPlaces(3)},
      {"max_pool2d_with_indices_backward", maxUnpooled},
      {"avg_pool1d", averagePool(1)},
      {"avg_pool2d", averagePool(2)},
      {"avg_pool3d", averagePool(3)},
      {"adaptive_max_pool2d", adaptiveMax},
      {"adaptive_max_pool3d", adaptiveMax},
  };
  for (const char *name : {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
                           "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"})
    table.push_back({name, adaptiveAverage});
  return table;
}

} // namespace headrace::aten
