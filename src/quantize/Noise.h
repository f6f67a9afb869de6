// How far the values of two models are from each other.
#pragma once

#include "quantize/Probe.h"

namespace headrace::quantize {

/// For values of the float model, each with its name in the quantized one: 10 log10 of their power
/// over that of the difference, in all samples; infinite if there is none, NaN if both are 0.
/// Values that never have the same shape are left out.
std::map<std::string, double> signalToNoise(Probe &exact, Probe &quantized,
                                            const std::map<std::string, std::string> &names,
                                            const Samples &samples);

} // namespace headrace::quantize
