#include "target/vta/schedule/ValueRange.h"

#include <algorithm>
#include <limits>

namespace headrace::vta {

namespace {

constexpr ValueRange everything = {std::numeric_limits<int32_t>::min(),
                                   std::numeric_limits<int32_t>::max()};

ValueRange unlessItWraps(int64_t least, int64_t most) {
  return least < everything.least || most > everything.most ? everything : ValueRange{least, most};
}

ValueRange rangeOfType(DType type) {
  return type == DType::I8 ? ValueRange{-128, 127} : everything;
}

ValueRange rangeOfSums(const Tensor &weights) {
  int64_t channels = weights.shape()[0],
          count = weights.elements() / std::max<int64_t>(1, channels);
  int64_t least = 0, most = 0;
  for (int64_t c = 0; c < channels; ++c) {
    std::span of(weights.as<int8_t>() + c * count, static_cast<size_t>(count));
    int64_t positive = 0, negative = 0;
    for (int8_t weight : of) {
      positive += std::max<int8_t>(weight, 0);
      negative += std::min<int8_t>(weight, 0);
    }
    least = std::min(least, -128 * positive + 127 * negative);
    most = std::max(most, 127 * positive - 128 * negative);
  }
  return unlessItWraps(least, most);
}

ValueRange shifted(const ValueRange &value, const ValueRange &amount) {
  if (amount.least < 0) // to the left
    return everything;
  int64_t few = std::min<int64_t>(amount.least, 31), many = std::min<int64_t>(amount.most, 31);
  return {std::min(value.least >> few, value.least >> many),
          std::max(value.most >> few, value.most >> many)};
}

} // namespace

ValueRange rangeOfCore(const Operator &op) {
  if (const auto *convolution = std::get_if<Convolution>(&op.core))
    return rangeOfSums(convolution->weights);
  if (const auto *cells = std::get_if<Cells>(&op.core))
    return rangeOfType(cells->input);
  return rangeOfType(DType::I8);
}

ValueRange rangeOfImage(const FromImage &image) {
  ValueRange range = rangeOfType(image.type);
  return unlessItWraps(range.least << image.shift, range.most << image.shift);
}

ValueRange rangeOfNumbers(std::span<const int32_t> numbers) {
  auto [least, most] = std::ranges::minmax(numbers);
  return {least, most};
}

ValueRange rangeAfter(AluStage::Op op, const ValueRange &value, const ValueRange &operand) {
  switch (op) {
  case AluStage::Op::Add:
    return unlessItWraps(value.least + operand.least, value.most + operand.most);
  case AluStage::Op::Mul: {
    auto [least, most] = std::minmax({value.least * operand.least, value.least * operand.most,
                                      value.most * operand.least, value.most * operand.most});
    return unlessItWraps(least, most);
  }
  case AluStage::Op::Min:
    return {std::min(value.least, operand.least), std::min(value.most, operand.most)};
  case AluStage::Op::Max:
    return {std::max(value.least, operand.least), std::max(value.most, operand.most)};
  case AluStage::Op::ShiftRight:
    return shifted(value, operand);
  case AluStage::Op::RoundShiftRight: {
    // Half of the divisor is in the value already; the bit that is taken off lowers it by one.
    ValueRange lower = {std::max(value.least - 1, everything.least), value.most};
    return shifted(lower, operand);
  }
  }
  return everything;
}

} // namespace headrace::vta
