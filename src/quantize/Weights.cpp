#include "quantize/Weights.h"

#include "quantize/Scale.h"
#include <algorithm>
#include <cmath>

namespace headrace::quantize {

/// Leaves room for the sum of products next to it.
static constexpr int32_t kMaxBias = 1 << 30;
/// Steps that the largest bias has if weights tell nothing about a scale.
static constexpr double kBiasSteps = 1 << 20;

/// The channel of each element: channels lie along one axis.
static int64_t channelOf(int64_t element, const Shape &shape, int64_t axis) {
  for (auto i = static_cast<int64_t>(shape.size()) - 1; i > axis; --i)
    element /= shape[i];
  return element % shape[axis];
}

/// The largest magnitude of the bias of each channel; of all if there is one scale.
static std::vector<double> largestBiases(const std::optional<Bias> &bias, size_t scales) {
  std::vector<double> result(scales, 0);
  if (!bias)
    return result;
  for (int64_t i = 0; i < bias->numbers.elements(); ++i) {
    double &largest = result[scales == 1 ? 0 : static_cast<size_t>(i)];
    largest = std::max(largest, std::fabs(static_cast<double>(bias->numbers.as<float>()[i])));
  }
  return result;
}

static float rounded(double scale, ScaleKind kind) {
  return kind == ScaleKind::PowerOfTwo ? powerOfTwo(scale) : static_cast<float>(scale);
}

/// Scales that weights of 0 alone leave open, and those that would take the bias beyond 32 bits.
static void fitBias(std::vector<float> &scales, const std::optional<Bias> &bias, float inputScale,
                    ScaleKind kind) {
  std::vector<double> biases = largestBiases(bias, scales.size());
  float known = *std::ranges::max_element(scales);
  double largest = *std::ranges::max_element(biases);
  if (known == 0)
    known = largest == 0 ? 1 : rounded(largest / inputScale / kBiasSteps, kind);
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] == 0)
      scales[i] = known;
    double least = biases[i] / inputScale / kMaxBias;
    if (scales[i] < least)
      scales[i] = rounded(least, kind);
  }
}

QuantizedWeight quantizedWeight(const Unit &unit, float inputScale, const Options &options) {
  const Weight &weight = *unit.weight;
  const Tensor &tensor = weight.numbers;
  const float *numbers = tensor.as<float>();
  int64_t channels =
      options.weights == WeightScales::Channel ? tensor.shape()[weight.channelAxis] : 1;
  auto channel = [&](int64_t i) {
    return static_cast<size_t>(channels == 1 ? 0
                                             : channelOf(i, tensor.shape(), weight.channelAxis));
  };
  std::vector<std::vector<float>> parts(static_cast<size_t>(channels));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    parts[channel(i)].push_back(numbers[i]);
  QuantizedWeight result;
  for (const std::vector<float> &part : parts)
    result.scales.push_back(scaleOfWeights(part, options.scales));
  fitBias(result.scales, unit.bias, inputScale, options.scales);
  result.integers = Tensor::allocate(DType::I8, tensor.shape());
  auto *integers = result.integers.as<int8_t>();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    integers[i] = static_cast<int8_t>(quantized(numbers[i], result.scales[channel(i)]));
  return result;
}

QuantizedBias quantizedBias(const Bias &bias, const QuantizedWeight &weight, float inputScale) {
  QuantizedBias result;
  for (float scale : weight.scales)
    result.scales.push_back(inputScale * scale);
  result.integers = Tensor::allocate(DType::I32, bias.numbers.shape());
  for (int64_t i = 0; i < bias.numbers.elements(); ++i) {
    float scale = result.scales[result.scales.size() == 1 ? 0 : static_cast<size_t>(i)];
    result.integers.as<int32_t>()[i] = quantized(bias.numbers.as<float>()[i], scale, kMaxBias);
  }
  return result;
}

} // namespace headrace::quantize
