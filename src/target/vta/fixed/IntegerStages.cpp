#include "target/vta/fixed/IntegerStages.h"

#include "target/vta/fixed/BinaryNumber.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace headrace::vta {

namespace {

/// Floats whose exponents leave room for every 32-bit integer are never rounded by scaling.
constexpr int maxExponent = 90;

std::string textOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

[[noreturn]] void refuseScale(double number) {
  throw Unsupported("scale " + textOf(number) +
                    " is not a power of two: requantization cannot be a shift");
}

} // namespace

double inUnits(double number, const Scalar &scalar) {
  if (number == 0)
    return 0;
  if (scalar.exponents.size() != 1)
    throw Unsupported("compares channels of different scales with " + textOf(number));
  return std::ldexp(number, -scalar.exponents[0]);
}

Scalar IntegerStages::current(std::vector<int> exponents) const {
  Scalar scalar;
  scalar.kind = Scalar::Kind::Integers;
  scalar.version = latest;
  scalar.exponents = std::move(exponents);
  scalar.outcomes = Piecewise<Outcome>(Outcome());
  return scalar;
}

void IntegerStages::requireCurrent(const Scalar &scalar) const {
  if (scalar.version != latest)
    throw Unsupported("uses a number from before and after it was rounded, clipped or added to");
}

Chain IntegerStages::endingIn(Scalar result) && {
  resolve(result);
  chain.exponents = result.exponents;
  return std::move(chain);
}

Scalar IntegerStages::add(Scalar scalar, const Numbers &numbers, Type type) {
  resolve(scalar);
  size_t count = std::max(numbers.size(), scalar.exponents.size());
  auto exponent = [&](size_t i) { return scalar.exponents[i % scalar.exponents.size()]; };
  // A number between two integers: finer ones.
  int finer = 0;
  for (size_t i = 0; i < count; ++i) {
    double number = numbers[i % numbers.size()];
    if (!std::isfinite(number))
      throw Unsupported("adds " + textOf(number));
    if (number != 0)
      finer = std::max(finer, exponent(i) - lowestDigit(number));
  }
  chain.shiftLeft(finer);
  for (int &e : scalar.exponents)
    e -= finer;
  std::vector<int64_t> integers;
  for (size_t i = 0; i < count; ++i) {
    double integer = std::ldexp(numbers[i % numbers.size()], -exponent(i));
    if (std::abs(integer) > 1e12)
      throw Unsupported("adds " + textOf(numbers[i % numbers.size()]) +
                        ", beyond 32 bits in the scale of the sum");
    integers.push_back(static_cast<int64_t>(integer));
  }
  if (count == 1)
    chain.add(integers[0]);
  else
    chain.add(std::move(integers));
  chain.computeIn(type);
  return changed(scalar.exponents);
}

Scalar IntegerStages::add(Scalar scalar, const Scalar &other, Type type) {
  resolve(scalar);
  align(scalar);
  const Chain &source = *other.other;
  int own = scalar.exponents[0], its = other.exponents[0];
  if (source.result != chain.result)
    throw Unsupported("adds a value of other sizes");
  chain.shiftLeft(std::max(0, own - its));
  int shift = std::max(0, its - own);
  Range range = source.range;
  int64_t offset = source.offsetOfCells().value();
  chain.add(source.sources[0], {range.low - offset, range.high - offset}, shift);
  chain.add(other.offset << shift);
  chain.computeIn(type);
  return changed({std::min(own, its)});
}

Scalar IntegerStages::scale(Scalar scalar, const Numbers &numbers, bool divides, Type type) {
  if (scalar.kind == Scalar::Kind::Integers)
    resolve(scalar);
  size_t count = std::max(numbers.size(), scalar.exponents.size());
  std::vector<int> exponents;
  std::vector<int64_t> factors;
  for (size_t i = 0; i < count; ++i) {
    double number = numbers[i % numbers.size()];
    if (number == 0 || !std::isfinite(number))
      throw Unsupported("scales by " + textOf(number));
    // Integers have no scales.
    BinaryNumber scaled = isa<FloatType>(type) ? binaryNumberOf(number) : BinaryNumber{number, 0};
    // More digits than a 16-bit integer has: the product would not fit 32.
    if (std::abs(scaled.factor) > 32767 || (divides && std::abs(scaled.factor) != 1))
      refuseScale(number);
    int exponent = scalar.exponents[i % scalar.exponents.size()] +
                   (divides ? -scaled.exponent : scaled.exponent);
    if (std::abs(exponent) > maxExponent)
      throw Unsupported("scale " + textOf(number) + " exceeds the range of exponents");
    exponents.push_back(exponent);
    factors.push_back(static_cast<int64_t>(scaled.factor));
  }
  if (llvm::all_equal(exponents))
    exponents.resize(1);
  bool multiplies = llvm::any_of(factors, [](int64_t factor) { return factor != 1; });
  if (scalar.kind == Scalar::Kind::Other) {
    if (multiplies || exponents.size() != 1)
      throw Unsupported("scales a value that it adds by more than a power of two");
    scalar.exponents = exponents;
    return scalar;
  }
  if (!multiplies) {
    scalar.exponents = std::move(exponents);
    return scalar;
  }
  try {
    chain.multiply(std::move(factors));
  } catch (const Unsupported &) {
    refuseScale(numbers[0]);
  }
  chain.computeIn(type);
  return changed(std::move(exponents));
}

Scalar IntegerStages::toInteger(Scalar scalar, Rounding rounding) {
  resolve(scalar);
  if (llvm::all_of(scalar.exponents, [](int exponent) { return exponent >= 0; }))
    return scalar;
  align(scalar);
  int bits = -scalar.exponents[0];
  rounding == Rounding::Down ? chain.floorShift(bits) : chain.roundShift(bits);
  return changed({0});
}

Scalar IntegerStages::truncate(Scalar scalar) {
  if (scalar.exponents == std::vector<int>{0})
    return scalar;
  resolve(scalar);
  align(scalar);
  int exponent = scalar.exponents[0];
  if (exponent < 0 && chain.range.low < 0)
    throw Unsupported("rounds toward 0, where the accelerator rounds down");
  exponent < 0 ? chain.floorShift(-exponent) : chain.shiftLeft(exponent);
  return changed({0});
}

Scalar IntegerStages::shiftRight(Scalar scalar, int bits) {
  if (scalar.kind != Scalar::Kind::Integers)
    throw Unsupported("shifts a value that it adds");
  resolve(scalar);
  chain.floorShift(bits);
  return changed({0});
}

Scalar IntegerStages::changed(std::vector<int> exponents) {
  ++latest;
  return current(std::move(exponents));
}

void IntegerStages::resolve(Scalar &scalar) {
  requireCurrent(scalar);
  const auto &pieces = scalar.outcomes.all();
  if (pieces.size() == 1 && !pieces[0].value)
    return;
  std::optional<int64_t> least, most;
  bool isClip = true, seen = false;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    int64_t last = i + 1 < pieces.size() ? pieces[i + 1].from - 1 : INT64_MAX;
    if (chain.exactBelow == INT64_MAX && (last < chain.range.low || piece.from > chain.range.high))
      continue; // never happens
    if (!piece.value) {
      isClip &= !seen;
      seen = true;
      continue;
    }
    double level = inUnits(*piece.value, scalar);
    if (level != std::floor(level) || std::abs(level) > 1e12) {
      isClip = false;
      continue;
    }
    auto integer = static_cast<int64_t>(level);
    if (!seen) {
      isClip &= !least && (last == integer || last == integer - 1);
      least = integer;
    } else {
      isClip &= !most && (piece.from == integer || piece.from == integer + 1);
      most = integer;
    }
  }
  if (!isClip || !seen)
    throw Unsupported("selects values in a way that is not a clip");
  chain.clip(least, most);
  scalar = changed(scalar.exponents);
}

void IntegerStages::align(Scalar &scalar) {
  if (scalar.exponents.size() == 1)
    return;
  int least = *std::ranges::min_element(scalar.exponents);
  std::vector<int64_t> factors;
  for (int exponent : scalar.exponents) {
    if (exponent - least > 30)
      throw Unsupported("scales of channels are more than 30 bits apart");
    factors.push_back(INT64_C(1) << (exponent - least));
  }
  chain.multiply(std::move(factors));
  scalar = changed({least});
}

} // namespace headrace::vta
