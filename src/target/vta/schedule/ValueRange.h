// Bounds of results, from which follows that a stage changes none of them.
#pragma once

#include "target/vta/schedule/Operator.h"

#include <span>

namespace headrace::vta {

/// All values from `least` to `most`. If a sum or product might wrap, the range is all of int32.
struct ValueRange {
  int64_t least, most;
  bool operator==(const ValueRange &) const = default;
};

/// The range of the values that the first stage reads: for a convolution, by its weights and all
/// 8-bit inputs.
ValueRange rangeOfCore(const Operator &op);
ValueRange rangeOfImage(const FromImage &image);
ValueRange rangeOfNumbers(std::span<const int32_t> numbers);
ValueRange rangeAfter(AluStage::Op op, const ValueRange &value, const ValueRange &operand);

} // namespace headrace::vta
