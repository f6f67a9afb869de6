#include "quantize/Options.h"

namespace headrace::quantize {

const std::map<std::string, WeightScales> &weightChoices() {
  static const std::map<std::string, WeightScales> choices = {{"tensor", WeightScales::Tensor},
                                                              {"channel", WeightScales::Channel}};
  return choices;
}

const std::map<std::string, ScaleKind> &scaleChoices() {
  static const std::map<std::string, ScaleKind> choices = {{"float", ScaleKind::Float},
                                                           {"po2", ScaleKind::PowerOfTwo}};
  return choices;
}

const std::map<std::string, RangeMethod> &rangeChoices() {
  static const std::map<std::string, RangeMethod> choices = {
      {"minmax", RangeMethod::MinMax},
      {"percentile", RangeMethod::Percentile},
      {"mse", RangeMethod::SquaredError}};
  return choices;
}

} // namespace headrace::quantize
