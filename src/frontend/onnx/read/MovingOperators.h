// Operators of ONNX that move data, and what holds of their results: one table for all that ask.
#pragma once

#include <string_view>

namespace headrace::onnx {

struct MovingOperator {
  std::string_view name;
  /// Elements of the result are elements of the inputs, so that integers instead of floats of one
  /// scale give integers of that scale.
  bool keepsIntegers;
  /// Elements of the result are elements of the first input, 0, or a limit that is kept: the scale
  /// of that input suits the result.
  bool keepsScale;
  /// The result has no more elements than the operator reads, and nothing is computed: of constants
  /// it takes neither time nor memory beyond theirs.
  bool onlyRearranges;
};

/// The row of an operator of the standard domain; null if it computes.
const MovingOperator *findMovingOperator(std::string_view opType);

} // namespace headrace::onnx
