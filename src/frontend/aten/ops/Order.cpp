// Operators that compare elements along a dimension, or accumulate them in order.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <functional>
#include <limits>

namespace headrace::aten {

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Node comparable(Call &c, Node x) {
  return c.type(x) == DType::Bool ? c.b.cast(x, DType::I32) : x;
}

/// 0, 1, 2, ... along a dimension of a tensor of this shape.
static Node places(Call &c, const Sizes &shape, int64_t axis) {
  Sizes ones(shape.size(), int64_t{1});
  ones[axis] = shape[axis];
  return c.b.reshape(c.iota(shape[axis]), ones);
}

//===--------------------------------------------------------------------------===//
// Sorting
//===--------------------------------------------------------------------------===//

namespace {
struct Ordered {
  Node values, positions;
};
} // namespace

/// The first elements in order, and their positions.
static Ordered ordered(Call &c, Node x, int64_t axis, bool descending, const Size &count) {
  Node positions = c.b.sort(c.b.detach(comparable(c, x)), axis, descending, count);
  return {takenAt(c, x, positions, axis), positions};
}

static Value pair(Node first, Node second) { return List{first, second}; }

static Value ofScalar(Call &c) { return pair(c.tensor("self"), c.full(0, DType::I64, {})); }

static Value sort(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return ofScalar(c);
  int64_t axis = c.axis("dim", c.rank(x), -1);
  auto found = ordered(c, x, axis, c.flag("descending", false), c.b.shape(x).at(axis));
  return pair(found.values, found.positions);
}

static Value argsort(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return c.full(0, DType::I64, {});
  int64_t axis = c.axis("dim", c.rank(x), -1);
  return c.b.sort(c.b.detach(comparable(c, x)), axis, c.flag("descending", false),
                  c.b.shape(x).at(axis));
}

static Value topK(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return ofScalar(c);
  int64_t axis = c.axis("dim", c.rank(x), -1);
  auto found = ordered(c, x, axis, c.flag("largest", true), c.size("k"));
  return pair(found.values, found.positions);
}

/// The element at this place of the order.
static Ordered atRank(Call &c, Node x, int64_t axis, int64_t place) {
  auto found = ordered(c, x, axis, false, place + 1);
  return {c.part(found.values, axis, place, int64_t{1}),
          c.part(found.positions, axis, place, int64_t{1})};
}

static Value kthValue(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return ofScalar(c);
  auto found = atRank(c, x, c.axis("dim", c.rank(x), -1), c.integer("k") - 1);
  return pair(c.b.reshape(found.values, c.shape()), c.b.reshape(found.positions, c.shape()));
}

static Node isNan(Call &c, Node x) { return c.b.cast(c.map("is_nan", {x}), DType::Bool); }

/// The lower one of two; NaN if there is one.
static Ordered medianAlong(Call &c, Node x, int64_t axis) {
  auto size = known(c.b.shape(x).at(axis));
  if (!size || *size == 0)
    c.unsupported("the median of a dynamic dimension");
  Ordered found = atRank(c, x, axis, (*size - 1) / 2);
  if (!isFloat(c.type(x)))
    return found;
  Node odd = c.b.reduce("max", c.b.cast(isNan(c, x), DType::I32), {axis}, true);
  Node last = atRank(c, x, axis, *size - 1).positions;
  return {c.select(odd, std::numeric_limits<double>::quiet_NaN(), found.values, c.type(x)),
          c.select(odd, last, found.positions, DType::I64)};
}

static Value median(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return ofScalar(c);
  auto found = medianAlong(c, x, c.axis("dim", c.rank(x), -1));
  return pair(c.b.reshape(found.values, c.shape()), c.b.reshape(found.positions, c.shape()));
}

static Value medianOfAll(Call &c) {
  return c.b.reshape(medianAlong(c, c.flat(c.tensor("self")), 0).values, c.shape());
}

/// The lower one of two among the elements that are not NaN, which are sorted first.
static Ordered nanMedianAlong(Call &c, Node x, int64_t axis) {
  if (!isFloat(c.type(x)))
    return medianAlong(c, x, axis);
  Size size = c.b.shape(x).at(axis);
  Node odd = isNan(c, x);
  Node keys = c.b.detach(c.select(odd, infinity, x, c.type(x)));
  Node order = c.b.sort(keys, axis, false, size);
  Node count = c.b.reduce("sum", c.b.cast(c.map("not", {odd}), DType::I64), {axis}, true);
  Node middle = c.map("max", {c.map("sub", {count, 1}), 0});
  Node place = takenAt(c, order, c.map("floor_divide", {middle, 2}), axis);
  return {takenAt(c, x, place, axis), place};
}

static Value nanMedian(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return ofScalar(c);
  auto found = nanMedianAlong(c, x, c.axis("dim", c.rank(x), -1));
  return pair(c.b.reshape(found.values, c.shape()), c.b.reshape(found.positions, c.shape()));
}

static Value nanMedianOfAll(Call &c) {
  return c.b.reshape(nanMedianAlong(c, c.flat(c.tensor("self")), 0).values, c.shape());
}

/// How many elements of the row are less than the value, or at most the value.
static Value searchSorted(Call &c) {
  bool isBucketize = c.name == "bucketize";
  Node rows = c.tensor(isBucketize ? "boundaries" : "sorted_sequence");
  Node values = c.tensor("self");
  if (auto sorter = c.optionalTensor("sorter"))
    rows = takenAt(c, rows, *sorter, c.rank(rows) - 1);
  if (c.rank(rows) == 1) {
    Sizes sizes(c.rank(values), int64_t{1});
    sizes.push_back(c.b.shape(rows).at(0));
    rows = c.b.reshape(rows, sizes);
  } else {
    rows = c.unsqueeze(rows, {c.rank(rows) - 1});
  }
  values = c.unsqueeze(values, {c.rank(values)});
  DType type = c.type(rows) == c.type(values) ? c.type(rows) : DType::F64;
  bool fromRight = c.flag("right", false) || c.text("side", "") == "right";
  Node before = c.mapAs(type, fromRight ? "less_equal" : "less", {rows, values});
  Node total = c.b.reduce("sum", c.b.cast(before, DType::I64), {c.rank(before) - 1}, false);
  return c.b.cast(c.b.reshape(total, c.shape()), c.type());
}

/// How many elements are in each of some bins of equal width between two bounds. Bounds that are
/// equal stand for the extrema of the elements.
static Value histogram(Call &c) {
  Node x = c.flat(c.tensor("self"));
  DType type = c.type(x);
  int64_t bins = c.integer("bins", 100);
  double low = c.number("min", 0), high = c.number("max", 0);
  if (!isFloat(type) || bins <= 0 || known(c.b.shape(x).at(0)) == 0)
    c.unsupported("a histogram of integers or of nothing");
  Node first = c.b.scalar(low, type), last = c.b.scalar(high, type);
  if (low == high) {
    Node least = c.b.reshape(c.b.reduce("min", x, {0}, false), {});
    Node most = c.b.reshape(c.b.reduce("max", x, {0}, false), {});
    Node isPoint = c.map("equal", {least, most});
    first = c.select(isPoint, c.map("sub", {least, 1}), least, type);
    last = c.select(isPoint, c.map("add", {most, 1}), most, type);
  }
  Node inside = c.map("and", {c.map("greater_equal", {x, first}), c.map("less_equal", {x, last})});
  Node place =
      c.map("div", {c.map("mul", {c.map("sub", {x, first}), bins}), c.map("sub", {last, first})});
  place = c.map("min", {c.map("floor", {c.select(inside, place, 0, type)}), bins - 1});
  Node ones = c.b.cast(inside, type);
  return put(c, ones, c.b.cast(place, DType::I64), c.full(0, type, {bins}), "sum");
}

//===--------------------------------------------------------------------------===//
// Extrema and where they are
//===--------------------------------------------------------------------------===//

Node extremumPosition(Call &c, Node x, const std::string &kind, int64_t axis) {
  x = c.b.detach(comparable(c, x));
  Node hits = c.map("equal", {x, c.b.reduce(kind, x, {axis}, true)});
  if (isFloat(c.type(x)))
    hits = c.mapAs(DType::Bool, "or", {hits, isNan(c, x)});
  Sizes shape = c.b.shape(x);
  Node beyond = c.b.sizeAsData(shape[axis], DType::I64);
  Node found = c.select(hits, places(c, shape, axis), beyond, DType::I64);
  return c.b.reduce("min", found, {axis}, true);
}

static Write argExtremum(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.tensor("self");
    if (c.rank(x) == 0)
      return c.full(0, DType::I64, c.shape());
    if (!c.has("dim"))
      return c.b.reshape(extremumPosition(c, c.flat(x), kind, 0), c.shape());
    return c.b.reshape(extremumPosition(c, x, kind, c.axis("dim", c.rank(x))), c.shape());
  };
}

/// The value and its position, which alone has the gradient.
static Write extremumAlong(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.tensor("self");
    if (c.rank(x) == 0)
      return ofScalar(c);
    int64_t axis = c.axis("dim", c.rank(x));
    Node position = extremumPosition(c, x, kind, axis);
    Node value = takenAt(c, x, position, axis);
    return pair(c.b.reshape(value, c.shape()), c.b.reshape(position, c.shape()));
  };
}

//===--------------------------------------------------------------------------===//
// Cumulative
//===--------------------------------------------------------------------------===//

using Nodes = std::vector<Node>;

/// All results of an associative function up to each element: by steps of 1, 2, 4, ...
static Nodes cumulated(Call &c, Nodes values, int64_t axis, const std::vector<Value> &neutral,
                       const std::function<Nodes(const Nodes &, const Nodes &)> &combine) {
  auto size = known(c.b.shape(values[0])[axis]);
  if (!size)
    c.unsupported(c.name + " of a dynamic dimension");
  for (int64_t step = 1; step < *size; step *= 2) {
    Nodes earlier;
    for (size_t i = 0; i < values.size(); ++i) {
      Sizes shape = c.b.shape(values[i]);
      shape[axis] = step;
      Node start = c.full(neutral[i], c.type(values[i]), shape);
      Node rest = c.part(values[i], axis, int64_t{0}, *size - step);
      earlier.push_back(c.b.concat({start, rest}, axis));
    }
    values = combine(earlier, values);
  }
  return values;
}

static Write cumulative(const std::string &kind) {
  return [kind](Call &c) -> Value {
    Node x = c.b.cast(c.tensor("self"), c.type());
    if (c.rank(x) == 0)
      return x;
    int64_t axis = c.axis("dim", c.rank(x));
    Node wide = c.widened(x);
    if (kind == "prod" && c.differentiates) {
      auto times = [&](const Nodes &a, const Nodes &b) {
        return Nodes{c.map("mul", {a[0], b[0]})};
      };
      return c.b.cast(cumulated(c, {wide}, axis, {1}, times)[0], c.type());
    }
    return c.b.cast(c.b.scan(kind, wide, axis, false, false), c.type());
  };
}

static Value logCumSumExp(Call &c) {
  Node x = c.tensor("self");
  if (c.rank(x) == 0)
    return x;
  auto add = [&](const Nodes &a, const Nodes &b) {
    Node most = c.b.detach(c.map("max", {a[0], b[0]}));
    Node finite = c.map("equal", {c.map("sub", {most, most}), 0});
    most = c.select(finite, most, 0, c.type(most));
    Node total = c.map("add", {c.map("exp", {c.map("sub", {a[0], most})}),
                               c.map("exp", {c.map("sub", {b[0], most})})});
    return Nodes{c.map("add", {c.map("log", {total}), most})};
  };
  int64_t axis = c.axis("dim", c.rank(x));
  return c.b.cast(cumulated(c, {c.widened(x)}, axis, {-infinity}, add)[0], c.type());
}

/// The last of equal extrema counts; NaN is the extremum.
static Write cumulativeExtremum(const std::string &wins) {
  return [wins](Call &c) -> Value {
    Node x = c.tensor("self");
    if (c.rank(x) == 0)
      return ofScalar(c);
    int64_t axis = c.axis("dim", c.rank(x));
    Node keys = c.b.detach(comparable(c, x));
    Sizes shape = c.b.shape(x);
    Node place = c.b.broadcast(places(c, shape, axis), shape);
    auto later = [&](const Nodes &a, const Nodes &b) {
      Node isSecond =
          c.mapAs(DType::Bool, "or", {c.map(wins, {b[0], a[0]}), c.map("less", {a[1], 0})});
      if (isFloat(c.type(b[0]))) {
        Node isNumber = c.map("not", {isNan(c, a[0])});
        isSecond = c.map("or", {isNan(c, b[0]), c.mapAs(DType::Bool, "and", {isSecond, isNumber})});
      }
      return Nodes{c.select(isSecond, b[0], a[0], c.type(b[0])),
                   c.select(isSecond, b[1], a[1], DType::I64)};
    };
    Node position = cumulated(c, {keys, place}, axis, {0, -1}, later)[1];
    return pair(takenAt(c, x, position, axis), position);
  };
}

Operators orderOperators() {
  return {
      {"sort.default", sort},
      {"sort.stable", sort},
      {"argsort", argsort},
      {"topk.default", topK},
      {"kthvalue", kthValue},
      {"median.dim", median},
      {"median.default", medianOfAll},
      {"nanmedian.dim", nanMedian},
      {"nanmedian.default", nanMedianOfAll},
      {"searchsorted.Tensor", searchSorted},
      {"bucketize.Tensor", searchSorted},
      {"histc", histogram},
      {"argmax", argExtremum("max")},
      {"argmin", argExtremum("min")},
      {"max.dim", extremumAlong("max")},
      {"min.dim", extremumAlong("min")},
      {"cumsum", cumulative("sum")},
      {"cumprod", cumulative("prod")},
      {"logcumsumexp", logCumSumExp},
      {"cummax", cumulativeExtremum("greater_equal")},
      {"cummin", cumulativeExtremum("less_equal")},
  };
}

} // namespace headrace::aten
