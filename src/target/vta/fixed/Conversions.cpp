#include "target/vta/fixed/Conversions.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

namespace {

/// The integers that can be in a piece.
Range integersOf(const std::vector<Piecewise<Outcome>::Piece> &pieces, size_t i,
                 const Range &possible) {
  int64_t last = i + 1 < pieces.size() ? pieces[i + 1].from - 1 : INT64_MAX;
  return {std::max(pieces[i].from, possible.low), std::min(last, possible.high)};
}

} // namespace

double rounded(double number, Type type) {
  return type.isF32() ? static_cast<double>(static_cast<float>(number)) : number;
}

Scalar normalized(Scalar scalar, Type type, bool isSigned, const IntegerStages &integers) {
  if (type.getIntOrFloatBitWidth() >= 32 && isSigned)
    return scalar;
  double span = std::ldexp(1.0, static_cast<int>(type.getIntOrFloatBitWidth()));
  double low = isSigned ? -span / 2 : 0, high = low + span - 1;
  auto wrapped = [&](double number) { return number - span * std::floor((number - low) / span); };
  for (double &number : scalar.numbers)
    number = wrapped(number);
  if (scalar.kind != Scalar::Kind::Integers)
    return scalar;
  const auto &pieces = scalar.outcomes.all();
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    auto [least, most] = integersOf(pieces, i, integers.range());
    if (!piece.value && least <= most &&
        (static_cast<double>(least) < low || static_cast<double>(most) > high))
      throw Unsupported("integers from " + std::to_string(least) + " to " + std::to_string(most) +
                        " wrap around in " + std::to_string(type.getIntOrFloatBitWidth()) +
                        " bits");
  }
  scalar.outcomes = scalar.outcomes.map(
      [&](const Outcome &value) { return value ? Outcome(wrapped(*value)) : value; });
  return scalar;
}

Scalar toFloat(Scalar scalar, Type type, IntegerStages &integers) {
  if (scalar.kind == Scalar::Kind::Integers)
    integers.computeIn(type);
  for (double &number : scalar.numbers)
    number = rounded(number, type);
  return scalar;
}

Scalar toIntegerType(Scalar scalar, Type type, IntegerStages &integers) {
  if (scalar.kind == Scalar::Kind::Numbers) {
    for (double &number : scalar.numbers)
      number = std::trunc(number);
    return scalar;
  }
  if (scalar.kind != Scalar::Kind::Integers)
    throw Unsupported("converts a value that it adds");
  scalar = integers.truncate(std::move(scalar));
  scalar.outcomes = scalar.outcomes.map(
      [](const Outcome &value) { return value ? Outcome(std::trunc(*value)) : value; });
  return normalized(std::move(scalar), type, /*isSigned=*/true, integers);
}

} // namespace headrace::vta
