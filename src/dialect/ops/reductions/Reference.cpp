// Reference evaluation of reductions and scans.
#include "dialect/reference/Reference.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// Maxima and minima of anything with a NaN among it are NaN.
static double reduceFloats(ReduceKind kind, ArrayRef<double> values) {
  double infinity = std::numeric_limits<double>::infinity();
  auto pick = [&](double neutral, auto better) {
    double best = neutral;
    for (double value : values)
      if (!std::isnan(best) && (std::isnan(value) || better(value, best)))
        best = value;
    return best;
  };
  switch (kind) {
  case ReduceKind::Sum:
    return std::accumulate(values.begin(), values.end(), 0.0);
  case ReduceKind::Mean:
    return reduceFloats(ReduceKind::Sum, values) / static_cast<double>(values.size());
  case ReduceKind::Prod:
    return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
  case ReduceKind::Max:
    return pick(-infinity, std::greater<>());
  case ReduceKind::Min:
    return pick(infinity, std::less<>());
  }
  throw InternalError("unknown kind of reduction");
}

/// The ends of an integer type's range; booleans are 0 and 1.
static std::pair<int64_t, int64_t> rangeOf(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return {0, 1};
  if (element.isUnsignedInteger())
    return {0, static_cast<int64_t>(llvm::maskTrailingOnes<uint64_t>(width))};
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

/// Sums and products wrap around; a mean is rounded toward zero and 0 if there is nothing.
static int64_t reduceIntegers(ReduceKind kind, ArrayRef<int64_t> values, Type element) {
  uint64_t sum = 0, factor = 1;
  auto [best, worst] = rangeOf(element);
  bool isUnsigned = element.isUnsignedInteger();
  auto less = [&](int64_t a, int64_t b) {
    return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  };
  for (int64_t value : values) {
    sum += static_cast<uint64_t>(value);
    factor *= static_cast<uint64_t>(value);
    best = less(best, value) ? value : best;
    worst = less(value, worst) ? value : worst;
  }
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<int64_t>(sum);
  case ReduceKind::Mean:
    if (values.empty())
      return 0;
    return isUnsigned ? static_cast<int64_t>(sum / values.size())
                      : static_cast<int64_t>(sum) / static_cast<int64_t>(values.size());
  case ReduceKind::Prod:
    return static_cast<int64_t>(factor);
  case ReduceKind::Max:
    return best;
  case ReduceKind::Min:
    return worst;
  }
  throw InternalError("unknown kind of reduction");
}

Tensor ReduceOp::evaluate(Tensors inputs, Sizes symbols) {
  // The reduced dimensions go last: each result is then a run of neighbours.
  Sizes shape = inputs[0].shape();
  SmallVector<int64_t> order, reduced;
  for (int64_t dim : llvm::seq<int64_t>(0, shape.size()))
    (llvm::is_contained(getAxes(), dim) ? reduced : order).push_back(dim);
  int64_t length = 1;
  for (int64_t dim : reduced)
    length *= shape[dim];
  llvm::append_range(order, reduced);
  Tensor lines = permuted(inputs[0], order);

  Tensor result = allocateResult(getResult(), symbols);
  if (result.dtype() == DType::F64) {
    for (int64_t i = 0; i < result.elements(); ++i)
      result.as<double>()[i] =
          reduceFloats(getKind(), {lines.as<double>() + i * length, static_cast<size_t>(length)});
    return result;
  }
  Type element = cast<RankedTensorType>(getType()).getElementType();
  Tensor wide = lines.converted(DType::I64),
         integers = Tensor::allocate(DType::I64, result.shape());
  for (int64_t i = 0; i < result.elements(); ++i)
    integers.as<int64_t>()[i] = reduceIntegers(
        getKind(), {wide.as<int64_t>() + i * length, static_cast<size_t>(length)}, element);
  return wrapped(integers, element);
}

Tensor ScanOp::evaluate(Tensors inputs, Sizes symbols) {
  Sizes shape = inputs[0].shape();
  int64_t size = shape[getAxis()], inner = product(shape.drop_front(getAxis() + 1));
  Type element = cast<RankedTensorType>(getType()).getElementType();
  bool isSum = getKind() == ReduceKind::Sum;
  auto run = [&](auto *from, auto *to, auto neutral) {
    for (int64_t line = 0; size > 0 && line < inputs[0].elements() / size; ++line) {
      int64_t first = line / inner * size * inner + line % inner;
      auto sum = neutral;
      for (int64_t i = 0; i < size; ++i) {
        int64_t place = first + (getReverse() ? size - 1 - i : i) * inner;
        decltype(sum) next = isSum ? sum + from[place] : sum * from[place];
        to[place] = getExclusive() ? sum : next;
        sum = next;
      }
    }
  };
  Tensor result = allocateResult(getResult(), symbols);
  if (result.dtype() == DType::F64) {
    run(inputs[0].as<double>(), result.as<double>(), isSum ? 0.0 : 1.0);
    return result;
  }
  // Unsigned in between: sums and products wrap around.
  Tensor wide = inputs[0].converted(DType::I64),
         integers = Tensor::allocate(DType::I64, wide.shape());
  run(reinterpret_cast<const uint64_t *>(wide.as<int64_t>()),
      reinterpret_cast<uint64_t *>(integers.as<int64_t>()), uint64_t{isSum ? 0U : 1U});
  return wrapped(integers, element);
}

} // namespace headrace::hr
