#include "target/vta/fixed/Weights.h"

#include "llvm/Support/FormatVariadic.h"

#include <bit>
#include <cmath>

namespace headrace::vta {

namespace {

/// The power of two of the lowest digit of a normal number.
int lowestDigit(double number) {
  constexpr int fraction = 52, bias = 1023;
  auto bits = std::bit_cast<uint64_t>(number);
  auto exponent = static_cast<int>(bits >> fraction & 2047) - bias;
  return exponent - fraction + std::countr_zero(bits | uint64_t{1} << fraction);
}

/// The scale of so many numbers; nothing where all are 0.
std::optional<int> scaleOf(const double *numbers, int64_t count) {
  std::optional<int> least;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(numbers[i]) || std::fpclassify(numbers[i]) == FP_SUBNORMAL)
      throw Refusal("its weights are not finite, or too small to be told apart from 0");
    if (numbers[i] != 0)
      least = std::min(least.value_or(INT32_MAX), lowestDigit(numbers[i]));
  }
  return least;
}

bool fits(const double *numbers, int64_t count, int exponent) {
  double unit = std::ldexp(1.0, exponent);
  return std::all_of(numbers, numbers + count,
                     [&](double number) { return number >= -128 * unit && number <= 127 * unit; });
}

} // namespace

Weights weightsOf(const Tensor &tensor, bool isInteger) {
  Tensor numbers = tensor.converted(DType::F64);
  int64_t channels = tensor.shape()[0], count = tensor.elements() / std::max<int64_t>(channels, 1);
  const double *all = numbers.as<double>();
  Weights result{Tensor::allocate(DType::I8, tensor.shape()), {}};
  int common = isInteger ? 0 : scaleOf(all, tensor.elements()).value_or(0);
  if (fits(all, tensor.elements(), common)) {
    result.exponents = {common};
  } else if (isInteger) {
    throw Refusal("its weights are beyond 8 bits with a sign");
  } else {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double *own = all + channel * count;
      int exponent = scaleOf(own, count).value_or(common);
      if (!fits(own, count, exponent)) {
        double first = *std::find_if(own, own + count,
                                     [&](double number) { return !fits(&number, 1, exponent); });
        throw Refusal(llvm::formatv("a weight of {0} in channel {1} is no integer of 8 bits times "
                                    "the power of two of the others",
                                    first, channel)
                          .str());
      }
      result.exponents.push_back(exponent);
    }
  }
  auto *to = result.integers.as<int8_t>();
  for (int64_t channel = 0; channel < channels; ++channel) {
    size_t own = result.exponents.size() == 1 ? 0 : static_cast<size_t>(channel);
    double scale = std::ldexp(1.0, -result.exponents[own]);
    for (int64_t i = channel * count; i < (channel + 1) * count; ++i)
      to[i] = static_cast<int8_t>(all[i] * scale);
  }
  return result;
}

} // namespace headrace::vta
