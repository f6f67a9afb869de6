#pragma once

#include "script/host/Frame.h"

namespace headrace::script {

/// Cells that do not follow the pattern of most of their column's texts are replaced. Patterns are
/// sequences of classes of characters, from fine to coarse: with the lengths of runs, without them,
/// without case, with dots within numbers, with spaces between words, without signs. The finest
/// one that more than a share of `threshold` follows decides.
Frame withoutDisguisedValues(Frame frame, double threshold, const std::string &instead);

/// Exponential smoothing, in which a value that is missing (NaN) is the one fitted before it.
struct Smoothing {
  std::string mode; ///< "single", or "double" with a trend
  double alpha, beta;
};
Frame smoothed(const Frame &frame, const Smoothing &how);

} // namespace headrace::script
