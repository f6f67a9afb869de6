#include "target/vta/fixed/Arithmetic.h"

#include "target/vta/fixed/Conversions.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

namespace {

Scalar onNumbers(const Scalar &a, const Scalar &b, Type type, double (*function)(double, double)) {
  Scalar result;
  size_t count = std::max(a.numbers.size(), b.numbers.size());
  for (size_t i = 0; i < count; ++i)
    result.numbers.push_back(
        rounded(function(a.numbers[i % a.numbers.size()], b.numbers[i % b.numbers.size()]), type));
  return result;
}

Numbers negated(Numbers numbers) {
  for (double &number : numbers)
    number = -number;
  return numbers;
}

} // namespace

Scalar sum(const Scalar &a, const Scalar &b, Type type, IntegerStages &integers) {
  using K = Scalar::Kind;
  if (a.kind == K::Numbers && b.kind == K::Numbers)
    return onNumbers(a, b, type, [](double x, double y) { return x + y; });
  if (a.kind == K::Numbers || (a.kind == K::Other && b.kind == K::Integers))
    return sum(b, a, type, integers);
  if (a.kind == K::Integers && b.kind == K::Numbers)
    return integers.add(a, b.numbers, type);
  if (a.kind == K::Integers && b.kind == K::Other)
    return integers.add(a, b, type);
  if (a.kind == K::Integers && b.kind == K::Integers) { // twice the same
    integers.requireCurrent(b);
    return integers.scale(a, {2}, /*divides=*/false, type);
  }
  if (a.kind == K::Other && b.isNumber()) {
    double integer = std::ldexp(b.numbers[0], -a.exponents[0]);
    if (integer != std::floor(integer) || std::abs(integer) > 1e6)
      throw Unsupported("adds a number to a value that it adds");
    Scalar result = a;
    result.offset += static_cast<int64_t>(integer);
    return result;
  }
  throw Unsupported("adds two values that it reads");
}

Scalar difference(const Scalar &a, const Scalar &b, Type type, IntegerStages &integers) {
  using K = Scalar::Kind;
  if (b.kind == K::Numbers)
    return sum(a, Scalar::constant(negated(b.numbers)), type, integers);
  if (b.kind == K::Integers && a.kind != K::Integers)
    return sum(integers.scale(b, {-1}, /*divides=*/false, type), a, type, integers);
  if (a.kind == K::Integers && b.kind == K::Other)
    return integers.scale(sum(integers.scale(a, {-1}, /*divides=*/false, type), b, type, integers),
                          {-1}, /*divides=*/false, type);
  throw Unsupported("subtracts two values that it computes");
}

Scalar product(const Scalar &a, const Scalar &b, Type type, IntegerStages &integers) {
  if (a.kind == Scalar::Kind::Numbers && b.kind == Scalar::Kind::Numbers)
    return onNumbers(a, b, type, [](double x, double y) { return x * y; });
  if (a.kind == Scalar::Kind::Numbers)
    return integers.scale(b, a.numbers, /*divides=*/false, type);
  if (b.kind == Scalar::Kind::Numbers)
    return integers.scale(a, b.numbers, /*divides=*/false, type);
  throw Unsupported("multiplies two values that it reads");
}

Scalar quotient(const Scalar &a, const Scalar &b, Type type, IntegerStages &integers) {
  if (b.kind != Scalar::Kind::Numbers)
    throw Unsupported("divides by a value that it reads");
  if (a.kind == Scalar::Kind::Numbers)
    return onNumbers(a, b, type, [](double x, double y) { return x / y; });
  return integers.scale(a, b.numbers, /*divides=*/true, type);
}

} // namespace headrace::vta
