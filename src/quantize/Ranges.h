// Scales of activations, from runs of the float model.
#pragma once

#include "quantize/Probe.h"
#include "quantize/QuantizationPlan.h"

namespace headrace::quantize {

struct ActivationScale {
  float scale = 1;
  double least = 0, greatest = 0; // in the samples
};

/// One for each group of the plan. Throws Error if a value is infinite or NaN.
std::vector<ActivationScale> calibrate(const QuantizationPlan &plan, const onnx::GraphView &view,
                                       Probe &probe, const Samples &samples,
                                       const Options &options);

} // namespace headrace::quantize
