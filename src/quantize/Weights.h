// Weights and biases as integers.
#pragma once

#include "quantize/QuantizationPlan.h"

namespace headrace::quantize {

struct QuantizedWeight {
  Tensor integers;           // int8, from -127 to 127
  std::vector<float> scales; // one, or one for each channel
};

/// The weight of a unit that reads activations of that scale, which the scale of the bias depends
/// on: a bias has 32 bits.
QuantizedWeight quantizedWeight(const Unit &unit, float inputScale, const Options &options);

struct QuantizedBias {
  Tensor integers;           // int32
  std::vector<float> scales; // as many as the weight has
};
QuantizedBias quantizedBias(const Bias &bias, const QuantizedWeight &weight, float inputScale);

} // namespace headrace::quantize
