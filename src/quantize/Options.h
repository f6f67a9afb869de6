// Options of quantization.
#pragma once

#include <map>
#include <set>
#include <string>

namespace headrace::quantize {

/// Whether a weight has one scale, or one for each output channel.
enum class WeightScales { Tensor, Channel };

/// Any single-precision number, or powers of two only: then every change of scale is a shift.
enum class ScaleKind { Float, PowerOfTwo };

/// How far numbers reach before they are clipped: as far as the samples do; as far as a share of
/// them does; or where the squared error of rounding and clipping is least.
enum class RangeMethod { MinMax, Percentile, SquaredError };

/// The options of `headrace quantize`.
struct Options {
  WeightScales weights = WeightScales::Channel;
  ScaleKind scales = ScaleKind::Float;
  RangeMethod ranges = RangeMethod::SquaredError;
  /// The share for RangeMethod::Percentile, in percent.
  double percentile = 99.99;
  /// Names of nodes that stay as they are.
  std::set<std::string> keptFloat;
};

// The choices as users write them.
const std::map<std::string, WeightScales> &weightChoices();
const std::map<std::string, ScaleKind> &scaleChoices();
const std::map<std::string, RangeMethod> &rangeChoices();

} // namespace headrace::quantize
