// Operators whose results have as many elements as the data say.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

//===--------------------------------------------------------------------------===//
// NonZero, Compress
//===--------------------------------------------------------------------------===//

/// Whether each element is something else than 0: NaN is, -0 is not.
static std::vector<bool> truths(const Tensor &tensor) {
  Tensor converted = tensor.converted(DType::Bool);
  const auto *data = std::as_const(converted).as<bool>();
  return std::vector<bool>(data, data + converted.elements());
}

/// The positions of what is not 0, a column each, in row-major order.
static Values nonZero(HostCall &c) {
  const Tensor &tensor = c.tensor(0);
  std::vector<bool> isSet = truths(tensor);
  // A scalar is a list of one element, but has no coordinate to give.
  const Shape &shape = tensor.shape();
  auto count = static_cast<int64_t>(std::count(isSet.begin(), isSet.end(), true));
  auto rank = static_cast<int64_t>(shape.size());
  Tensor result = Tensor::allocate(DType::I64, {rank, count});
  auto *out = result.as<int64_t>();
  int64_t column = 0;
  for (size_t i = 0; i < isSet.size(); ++i) {
    if (!isSet[i])
      continue;
    auto rest = static_cast<int64_t>(i);
    for (int64_t d = rank - 1; d >= 0; --d) {
      out[d * count + column] = rest % shape[d];
      rest /= shape[d];
    }
    ++column;
  }
  return {result};
}

static const Shape &shapeOfInput(HostCall &c, size_t i) {
  const Shape *shape = shapeOf(c.input(i));
  if (!shape)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(i) + ": expected a tensor, got " + describe(c.input(i)));
  return *shape;
}

/// The first input and the axis that the node names; without one, the flat tensor.
struct AlongAxis {
  RuntimeValue data;
  Shape shape;
  int64_t axis = 0;
};
static AlongAxis alongAxis(HostCall &c) {
  AlongAxis result{c.input(0), shapeOfInput(c, 0)};
  if (c.node.find("axis")) {
    result.axis = c.axis(c.node.getInt("axis", 0), static_cast<int64_t>(result.shape.size()));
  } else {
    result.shape = {elementCount(result.shape)};
    result.data = reshaped(result.data, result.shape);
  }
  return result;
}

/// The positions along an axis where the condition holds; without an axis, of the flat tensor.
static Values compress(HostCall &c) {
  auto [data, shape, axis] = alongAxis(c);
  if (c.tensor(1).dtype() != DType::Bool)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(1) + ": expected booleans, got " + describe(c.input(1)));
  std::vector<bool> condition = truths(c.tensor(1));
  std::vector<int64_t> positions;
  for (size_t i = 0; i < condition.size(); ++i)
    if (condition[i]) {
      if (static_cast<int64_t>(i) >= shape[axis])
        c.fail(ErrorKind::OutOfRange, c.nameOfInput(1) + ": position " + std::to_string(i) +
                                          " is outside a size of " + std::to_string(shape[axis]));
      positions.push_back(static_cast<int64_t>(i));
    }
  return {take(data, axis, positions)};
}

//===--------------------------------------------------------------------------===//
// Unique
//===--------------------------------------------------------------------------===//

namespace {

/// Elements of any type that can be ordered and compared; NaN is after every number and unlike any
/// other.
class Elements {
public:
  explicit Elements(const RuntimeValue &value) {
    if (const StringTensor *strings = value.strings()) {
      texts = &strings->elements;
      return;
    }
    const Tensor &tensor = *value.tensor();
    isFloating = tensor.dtype() >= DType::F16 && tensor.dtype() < DType::I4;
    isUnsigned = tensor.dtype() == DType::U64;
    numbers = tensor.converted(isFloating ? DType::F64 : isUnsigned ? DType::U64 : DType::I64);
  }

  /// Negative, 0 or positive.
  int compare(int64_t a, int64_t b) const {
    if (texts)
      return (*texts)[a].compare((*texts)[b]);
    if (isFloating)
      return compareFloats(numbers.as<double>()[a], numbers.as<double>()[b]);
    return isUnsigned ? order(numbers.as<uint64_t>()[a], numbers.as<uint64_t>()[b])
                      : order(numbers.as<int64_t>()[a], numbers.as<int64_t>()[b]);
  }

  bool isNan(int64_t at) const {
    return !texts && isFloating && std::isnan(numbers.as<double>()[at]);
  }

private:
  template <class T> static int order(T a, T b) { return a < b ? -1 : a > b ? 1 : 0; }
  static int compareFloats(double a, double b) {
    if (std::isnan(a) || std::isnan(b))
      return order(std::isnan(a), std::isnan(b));
    return order(a, b);
  }

  const std::vector<std::string> *texts = nullptr;
  Tensor numbers;
  bool isFloating = false, isUnsigned = false;
};

/// The slices of a tensor along an axis.
class Slices {
public:
  Slices(const RuntimeValue &value, const Shape &shape, int64_t axis) : elements(value) {
    for (int64_t i = 0; i < axis; ++i)
      outer *= shape[i];
    size = shape[axis];
    for (size_t i = axis + 1; i < shape.size(); ++i)
      inner *= shape[i];
  }

  int64_t count() const { return size; }

  int compare(int64_t a, int64_t b) const {
    for (int64_t row = 0; row < outer; ++row)
      for (int64_t i = 0; i < inner; ++i)
        if (int result = elements.compare(at(row, a, i), at(row, b, i)))
          return result;
    return 0;
  }

  bool areSame(int64_t a, int64_t b) const {
    if (compare(a, b) != 0)
      return false;
    for (int64_t row = 0; row < outer; ++row)
      for (int64_t i = 0; i < inner; ++i)
        if (elements.isNan(at(row, a, i)))
          return false;
    return true;
  }

private:
  int64_t at(int64_t row, int64_t position, int64_t i) const {
    return (row * size + position) * inner + i;
  }

  Elements elements;
  int64_t outer = 1, size = 0, inner = 1;
};

} // namespace

/// The distinct slices, where each is first, which of them each slice is, and how often.
static Values unique(HostCall &c) {
  auto [data, shape, axis] = alongAxis(c);
  Slices slices(data, shape, axis);
  std::vector<int64_t> order(slices.count());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    int result = slices.compare(a, b);
    return result != 0 ? result < 0 : a < b;
  });
  std::vector<int64_t> firsts, groupOf(order.size()), counts;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !slices.areSame(order[i - 1], order[i])) {
      firsts.push_back(order[i]);
      counts.push_back(0);
    }
    groupOf[order[i]] = static_cast<int64_t>(firsts.size()) - 1;
    ++counts.back();
  }
  if (c.node.getInt("sorted", 1) == 0) {
    std::vector<int64_t> ranks(firsts.size()), places(firsts.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::sort(ranks.begin(), ranks.end(),
              [&](int64_t a, int64_t b) { return firsts[a] < firsts[b]; });
    std::vector<int64_t> sortedFirsts, sortedCounts;
    for (size_t i = 0; i < ranks.size(); ++i) {
      places[ranks[i]] = static_cast<int64_t>(i);
      sortedFirsts.push_back(firsts[ranks[i]]);
      sortedCounts.push_back(counts[ranks[i]]);
    }
    for (int64_t &group : groupOf)
      group = places[group];
    firsts = sortedFirsts;
    counts = sortedCounts;
  }
  return {take(data, axis, firsts), tensorOf(firsts), tensorOf(groupOf), tensorOf(counts)};
}

HostFamily selectionOperators() {
  static const HostOperator table[] = {
      {"", "NonZero", 9, nonZero},
      {"", "Compress", 9, compress},
      {"", "Unique", 11, unique},
  };
  return table;
}

} // namespace headrace::operators
