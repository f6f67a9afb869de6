#include "target/vta/fixed/Product.h"

using namespace mlir;

namespace headrace::vta {

namespace {

struct Sums {
  Range range;                    ///< of the results, those with padding included
  std::vector<int64_t> ofWeights; ///< for each channel of results
};

Sums sumsOf(const Tensor &weights, Range stored) {
  int64_t channels = weights.shape()[0], count = weights.elements() / channels;
  Sums sums{{0, 0}, {}};
  for (int64_t channel = 0; channel < channels; ++channel) {
    int64_t low = 0, high = 0, sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t weight{weights.as<int8_t>()[channel * count + i]};
      auto [least, most] = std::minmax({weight * stored.low, weight * stored.high});
      low += std::min<int64_t>(least, 0);
      high += std::max<int64_t>(most, 0);
      sum += weight;
    }
    sums.range = {std::min(sums.range.low, low), std::max(sums.range.high, high)};
    sums.ofWeights.push_back(sum);
  }
  return sums;
}

} // namespace

Chain productOf(Chain input, Convolution convolution, const std::vector<int> &exponents,
                Type accumulator, bool padsWithZero) {
  std::optional<int64_t> offset = input.offsetOfCells();
  if (!offset)
    throw Unsupported("its left operand is not stored as 8-bit integers before");
  // The accelerator pads with integers that are 0 in DRAM.
  if (*offset != 0 && padsWithZero && convolution.isPadded())
    throw Unsupported("its padding is not stored as 0: expected zero point 0 for i8, 128 for u8");
  Sums sums = sumsOf(convolution.weights, {input.range.low - *offset, input.range.high - *offset});
  if (sums.range.magnitude() >= INT64_C(1) << 31)
    throw Unsupported("sums reach " + std::to_string(sums.range.magnitude()) + ", beyond 32 bits");
  Chain chain = std::move(input);
  int scale = chain.exponents[0];
  Operator op{"", chain.sources[0].image, convolution, {}};
  chain.result = op.result();
  chain.core = std::move(convolution);
  chain.stages.clear();
  chain.range = sums.range;
  chain.exponents.clear();
  for (int exponent : exponents)
    chain.exponents.push_back(exponent + scale);
  for (int64_t &sum : sums.ofWeights)
    sum *= *offset;
  chain.add(std::move(sums.ofWeights));
  chain.computeIn(accumulator);
  return chain;
}

} // namespace headrace::vta
