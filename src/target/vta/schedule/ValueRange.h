// Bounds of results, from which follows that a stage changes none of them.
#pragma once

#include "target/vta/schedule/Operator.h"

#include <span>

namespace headrace::vta {

/// All values between two, both included. Where a sum or product might wrap, it is all of 32 bits.
struct ValueRange {
  int64_t least, most;
  bool operator==(const ValueRange &) const = default;
};

/// Of what stages begin with: for a convolution, from its weights and all inputs of 8 bits.
ValueRange rangeOfCore(const Operator &op);
ValueRange rangeOfImage(const FromImage &image);
ValueRange rangeOfNumbers(std::span<const int32_t> numbers);
ValueRange rangeAfter(AluStage::Op op, const ValueRange &value, const ValueRange &operand);

} // namespace headrace::vta
