// Operators that compute: functions of scalars, products, and the layers of a network.
#include "rewrite/tensor/Functions.h"
#include "rewrite/tensor/Operators.h"
#include "runtime/system/Text.h"

#include <limits>

namespace headrace::rewrite {

namespace {

using Operands = std::span<const Array *const>;
using Shapes = std::span<const Shape>;
using Kind = Language::Kind;

ShapeResult mapShape(const OperatorCall &call, Shapes operands) {
  const ScalarFunction *function = scalarFunction(call.names[0]);
  if (!function || !function->unary)
    return ShapeResult::none(inQuotes(call.names[0]) + " is not a function of one scalar");
  return operands[0];
}

Array mapMeaning(const OperatorCall &call, Operands operands, const Shape &) {
  Array array = *operands[0];
  const ScalarFunction *function = scalarFunction(call.names[0]);
  for (double &value : array.values)
    value = function->unary(value);
  return array;
}

ShapeResult zipShape(const OperatorCall &call, Shapes operands) {
  const ScalarFunction *function = scalarFunction(call.names[0]);
  if (!function || !function->binary)
    return ShapeResult::none(inQuotes(call.names[0]) + " is not a function of two scalars");
  if (operands[0] != operands[1])
    return ShapeResult::none("operands of shapes " + textOf(operands[0]) + " and " +
                             textOf(operands[1]));
  return operands[0];
}

Array zipMeaning(const OperatorCall &call, Operands operands, const Shape &) {
  Array array = *operands[0];
  const ScalarFunction *function = scalarFunction(call.names[0]);
  for (size_t i = 0; i < array.values.size(); ++i)
    array.values[i] = function->binary(array.values[i], operands[1]->values[i]);
  return array;
}

ShapeResult reduceShape(const OperatorCall &call, Shapes operands) {
  const ScalarFunction *function = scalarFunction(call.names[0]);
  if (!function || !function->reorders)
    return ShapeResult::none(inQuotes(call.names[0]) +
                             " is not a function of two scalars whose order does not matter");
  Shape result = operands[0];
  if (!hasAxis(result, call.numbers[0]))
    return ShapeResult::none("there is no axis " + std::to_string(call.numbers[0]) + " in " +
                             textOf(result));
  result.erase(result.end() - call.numbers[0]);
  return result;
}

Array reduceMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  const ScalarFunction *function = scalarFunction(call.names[0]);
  AxisView from(operands[0]->shape, call.numbers[0]);
  Array array(result);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t n = 0; n < from.inner; ++n) {
      double sum = function->neutral;
      for (int64_t i = 0; i < from.size; ++i)
        sum = function->binary(
            sum, operands[0]->values[static_cast<size_t>((o * from.size + i) * from.inner + n)]);
      array.values[static_cast<size_t>(o * from.inner + n)] = sum;
    }
  return array;
}

ShapeResult mismatch(Shapes operands) {
  std::string text = "operands of shapes ";
  for (size_t i = 0; i < operands.size(); ++i)
    text += (i == 0 ? "" : i + 1 == operands.size() ? " and " : ", ") + textOf(operands[i]);
  return ShapeResult::none(text);
}

bool sameLeading(const Shape &a, size_t lastOfA, const Shape &b, size_t lastOfB) {
  return std::equal(a.begin(), a.end() - static_cast<ptrdiff_t>(lastOfA), b.begin(),
                    b.end() - static_cast<ptrdiff_t>(lastOfB));
}

ShapeResult mvShape(const OperatorCall &, Shapes operands) {
  const Shape &w = operands[0], &x = operands[1];
  if (w.size() < 2 || x.empty() || sizeOf(w, 1) != sizeOf(x, 1) || !sameLeading(w, 2, x, 1))
    return mismatch(operands);
  return Shape(w.begin(), w.end() - 1);
}

Array mvMeaning(const OperatorCall &, Operands operands, const Shape &result) {
  int64_t m = sizeOf(operands[0]->shape, 2), k = sizeOf(operands[0]->shape, 1);
  Array array(result);
  for (size_t at = 0; at < array.values.size(); ++at) {
    const double *w = operands[0]->values.data() + at * static_cast<size_t>(k);
    const double *x =
        operands[1]->values.data() + at / static_cast<size_t>(m) * static_cast<size_t>(k);
    for (int64_t i = 0; i < k; ++i)
      array.values[at] += w[i] * x[i];
  }
  return array;
}

ShapeResult contractShape(const OperatorCall &, Shapes operands) {
  const Shape &a = operands[0], &b = operands[1];
  if (a.size() < 2 || b.size() < 2 || sizeOf(a, 1) != sizeOf(b, 1) || !sameLeading(a, 2, b, 2))
    return mismatch(operands);
  Shape result = a;
  result.back() = sizeOf(b, 2);
  return result;
}

Array contractMeaning(const OperatorCall &, Operands operands, const Shape &result) {
  const Shape &a = operands[0]->shape, &b = operands[1]->shape;
  int64_t m = sizeOf(a, 2), n = sizeOf(b, 2), k = sizeOf(a, 1);
  Array array(result);
  int64_t batches = m * n == 0 ? 0 : static_cast<int64_t>(array.values.size()) / (m * n);
  double *to = array.values.data();
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j, ++to) {
        const double *x = operands[0]->values.data() + (batch * m + i) * k;
        const double *y = operands[1]->values.data() + (batch * n + j) * k;
        for (int64_t l = 0; l < k; ++l)
          *to += x[l] * y[l];
      }
  return array;
}

ShapeResult denseShape(const OperatorCall &call, Shapes operands) {
  ShapeResult product = mvShape(call, operands.first(2));
  return product.shape && *product.shape == operands[2] ? product : mismatch(operands);
}

Array denseMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  Array array = mvMeaning(call, operands.first(2), result);
  for (size_t i = 0; i < array.values.size(); ++i)
    array.values[i] += operands[2]->values[i];
  return array;
}

ShapeResult convShape(const OperatorCall &call, Shapes operands) {
  const Shape &x = operands[0], &w = operands[1];
  if (x.size() < 3 || w.size() < 4 || sizeOf(x, 3) != sizeOf(w, 3) || !sameLeading(x, 3, w, 4))
    return mismatch(operands);
  Shape result(x.begin(), x.end() - 3);
  result.push_back(sizeOf(w, 4));
  for (int64_t axis : {2, 1}) {
    int64_t step = call.numbers[static_cast<size_t>(2 - axis)], n = sizeOf(w, axis);
    if (step < 1 || n < 1 || n > sizeOf(x, axis))
      return mismatch(operands);
    result.push_back((sizeOf(x, axis) - n) / step + 1);
  }
  return result;
}

Array convMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  const Array &x = *operands[0], &w = *operands[1];
  int64_t channels = sizeOf(x.shape, 3), height = sizeOf(x.shape, 2), width = sizeOf(x.shape, 1);
  int64_t filters = sizeOf(w.shape, 4), rows = sizeOf(w.shape, 2), columns = sizeOf(w.shape, 1);
  int64_t outHeight = sizeOf(result, 2), outWidth = sizeOf(result, 1);
  Array array(result);
  for (int64_t at = 0; at < static_cast<int64_t>(array.values.size()); ++at) {
    int64_t column = at % outWidth, row = at / outWidth % outHeight;
    int64_t filter = at / (outWidth * outHeight) % filters;
    int64_t batch = at / (outWidth * outHeight * filters);
    double sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          int64_t from = ((batch * channels + c) * height + row * call.numbers[0] + i) * width +
                         column * call.numbers[1] + j;
          int64_t weight = (((batch * filters + filter) * channels + c) * rows + i) * columns + j;
          sum += x.values[static_cast<size_t>(from)] * w.values[static_cast<size_t>(weight)];
        }
    array.values[static_cast<size_t>(at)] = sum;
  }
  return array;
}

ShapeResult maxpoolShape(const OperatorCall &call, Shapes operands) {
  Shape result = operands[0];
  int64_t n = call.numbers[0], step = call.numbers[1];
  for (int64_t axis : {1, 2}) {
    if (!hasAxis(result, axis) || n < 1 || step < 1 || n > sizeOf(result, axis))
      return ShapeResult::none("no window of " + std::to_string(n) + " fits " +
                               textOf(operands[0]));
    int64_t &size = result[positionOf(result, axis)];
    size = (size - n) / step + 1;
  }
  return result;
}

Array maxpoolMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  const Array &x = *operands[0];
  const ScalarFunction *maximum = scalarFunction("max");
  int64_t height = sizeOf(x.shape, 2), width = sizeOf(x.shape, 1), n = call.numbers[0];
  int64_t outHeight = sizeOf(result, 2), outWidth = sizeOf(result, 1);
  Array array(result);
  for (int64_t at = 0; at < static_cast<int64_t>(array.values.size()); ++at) {
    int64_t row = at / outWidth % outHeight * call.numbers[1];
    int64_t column = at % outWidth * call.numbers[1], batch = at / (outWidth * outHeight);
    double best = maximum->neutral;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t from = (batch * height + row + i) * width + column + j;
        best = maximum->binary(best, x.values[static_cast<size_t>(from)]);
      }
    array.values[static_cast<size_t>(at)] = best;
  }
  return array;
}

} // namespace

std::span<const TensorOperator> computationOperators() {
  static const std::vector<TensorOperator> operators = {
      {"map", {{Kind::Name}, false, 1}, mapShape, mapMeaning},
      {"zip", {{Kind::Name}, false, 2}, zipShape, zipMeaning},
      {"reduce", {{Kind::Name, Kind::Number}, false, 1}, reduceShape, reduceMeaning},
      {"mv", {{}, false, 2}, mvShape, mvMeaning},
      {"contract", {{}, false, 2}, contractShape, contractMeaning},
      {"dense", {{}, false, 3}, denseShape, denseMeaning},
      {"conv", {{Kind::Number, Kind::Number}, false, 2}, convShape, convMeaning},
      {"maxpool", {{Kind::Number, Kind::Number}, false, 1}, maxpoolShape, maxpoolMeaning},
  };
  return operators;
}

} // namespace headrace::rewrite
