#include "target/vta/fixed/Chain.h"

#include <algorithm>

using namespace mlir;

namespace headrace::vta {

namespace {

constexpr int64_t wordLimit = INT64_C(1) << 31;
/// Rounding adds to the integers first.
constexpr int64_t roundLimit = INT64_C(1) << 30;

AluStage immediate(AluStage::Op op, int64_t value) {
  return {op, Immediate{static_cast<int32_t>(value)}};
}

int64_t roundedShift(int64_t value, int bits) {
  int64_t floor = value >> bits, rest = value - (floor << bits), half = INT64_C(1) << (bits - 1);
  return floor + (rest > half || (rest == half && (floor & 1)) ? 1 : 0);
}

} // namespace

Chain Chain::of(const Source &source, int64_t channelDim, bool isUnsigned,
                std::optional<Range> known) {
  Chain chain;
  chain.core = Cells{DType::I8};
  chain.sources = {source};
  chain.result = source.image;
  chain.channelDim = channelDim;
  chain.range = {-128, 127};
  if (isUnsigned)
    chain.add(128);
  if (known)
    chain.range = *known;
  return chain;
}

std::optional<int64_t> Chain::offsetOfCells() const {
  if (!std::holds_alternative<Cells>(core) || !isUniform() || stages.size() > 1)
    return std::nullopt;
  if (stages.empty())
    return 0;
  const auto *number = std::get_if<Immediate>(&stages[0].operand);
  if (stages[0].op != AluStage::Op::Add || !number)
    return std::nullopt;
  return number->value;
}

void Chain::note(Range next) {
  if (next.low < -wordLimit || next.high >= wordLimit)
    throw Unsupported("integers reach " + std::to_string(std::max(next.high, -next.low)) +
                      ", beyond 32 bits");
  range = next;
}

void Chain::add(int64_t number) {
  if (number == 0)
    return;
  note({range.low + number, range.high + number});
  if (exactBelow != INT64_MAX)
    exactBelow -= std::abs(number);
  if (!stages.empty() && stages.back().op == AluStage::Op::Add)
    if (auto *last = std::get_if<Immediate>(&stages.back().operand)) {
      number += last->value;
      stages.pop_back();
      if (number == 0)
        return;
    }
  if (std::abs(number) >= wordLimit)
    throw Unsupported("a number of " + std::to_string(number) + " is beyond 32 bits");
  stages.push_back(immediate(AluStage::Op::Add, number));
}

void Chain::add(std::vector<int64_t> numbers) {
  auto [least, most] = std::ranges::minmax(numbers);
  if (least == most)
    return add(least);
  note({range.low + least, range.high + most});
  if (exactBelow != INT64_MAX)
    exactBelow -= std::max(std::abs(least), std::abs(most));
  PerChannel values;
  for (int64_t number : numbers) {
    if (std::abs(number) >= wordLimit)
      throw Unsupported("a number of " + std::to_string(number) + " is beyond 32 bits");
    values.values.push_back(static_cast<int32_t>(number));
  }
  // Two sums in a row are one.
  if (!stages.empty() && stages.back().op == AluStage::Op::Add)
    if (auto *last = std::get_if<PerChannel>(&stages.back().operand)) {
      bool isZero = true;
      for (auto [sum, value] : llvm::zip_equal(last->values, values.values)) {
        int64_t both = int64_t{sum} + value;
        if (std::abs(both) >= wordLimit)
          throw Unsupported("a number of " + std::to_string(both) + " is beyond 32 bits");
        sum = static_cast<int32_t>(both);
        isZero &= sum == 0;
      }
      if (isZero)
        stages.pop_back();
      return;
    }
  stages.push_back({AluStage::Op::Add, std::move(values)});
}

void Chain::add(const Source &other, Range of, int shift) {
  if (shift > 30)
    throw Unsupported("a shift by " + std::to_string(shift) + " bits is beyond 32 bits");
  Range shifted{of.low << shift, of.high << shift};
  note({range.low + shifted.low, range.high + shifted.high});
  if (exactBelow != INT64_MAX)
    exactBelow -= shifted.magnitude();
  stages.push_back({AluStage::Op::Add, FromImage{sources.size(), DType::I8, shift}});
  sources.push_back(other);
}

void Chain::multiply(std::vector<int64_t> factors) {
  if (llvm::all_of(factors, [](int64_t factor) { return factor == 1; }))
    return;
  Range next{INT64_MAX, INT64_MIN};
  int64_t least = INT64_MAX;
  for (int64_t factor : factors) {
    if (std::abs(factor) >= wordLimit)
      throw Unsupported("a factor of " + std::to_string(factor) + " is beyond 32 bits");
    auto [low, high] = std::minmax({range.low * factor, range.high * factor});
    next = {std::min(next.low, low), std::max(next.high, high)};
    least = std::min(least, std::abs(factor));
  }
  note(next);
  if (exactBelow != INT64_MAX)
    exactBelow *= std::min<int64_t>(least, 1);
  if (llvm::all_equal(factors)) {
    stages.push_back(immediate(AluStage::Op::Mul, factors[0]));
    return;
  }
  PerChannel values;
  for (int64_t factor : factors)
    values.values.push_back(static_cast<int32_t>(factor));
  stages.push_back({AluStage::Op::Mul, std::move(values)});
}

void Chain::clip(std::optional<int64_t> least, std::optional<int64_t> most) {
  if (least && *least > range.low) {
    stages.push_back(immediate(AluStage::Op::Max, *least));
    range = {*least, std::max(*least, range.high)};
  }
  if (most && *most < range.high) {
    stages.push_back(immediate(AluStage::Op::Min, *most));
    range = {std::min(*most, range.low), *most};
  }
  if (isExact())
    exactBelow = INT64_MAX;
}

void Chain::shiftLeft(int bits) {
  if (bits == 0)
    return;
  if (bits > 30)
    throw Unsupported("a shift by " + std::to_string(bits) + " bits is beyond 32 bits");
  note({range.low << bits, range.high << bits});
  if (exactBelow != INT64_MAX)
    exactBelow <<= bits;
  stages.push_back(immediate(AluStage::Op::ShiftRight, -bits));
}

void Chain::roundShift(int bits) {
  if (bits == 0)
    return;
  if (range.magnitude() >= roundLimit)
    throw Unsupported("integers reach " + std::to_string(range.magnitude()) +
                      ", too many to be rounded in 32 bits");
  if (bits > 30) // everything is less than a half
    return clip(0, 0);
  range = {roundedShift(range.low, bits), roundedShift(range.high, bits)};
  if (exactBelow != INT64_MAX)
    exactBelow >>= bits;
  stages.push_back(immediate(AluStage::Op::RoundShiftRight, bits));
}

void Chain::floorShift(int bits) {
  if (bits == 0)
    return;
  bits = std::min(bits, 31);
  range = {range.low >> bits, range.high >> bits};
  if (exactBelow != INT64_MAX)
    exactBelow >>= bits;
  stages.push_back(immediate(AluStage::Op::ShiftRight, bits));
}

void Chain::computeIn(Type type) {
  auto real = dyn_cast<FloatType>(type);
  if (!real)
    return;
  int digits = static_cast<int>(real.getFPMantissaWidth());
  if (digits < 24)
    throw Unsupported("16-bit floats round what the accelerator does not");
  int64_t limit = INT64_C(1) << digits;
  if (range.magnitude() > limit)
    exactBelow = std::min(exactBelow, limit);
}

Image imageOf(RankedTensorType type) {
  if (!type.hasStaticShape())
    throw Unsupported("it has dynamic dimensions, and the accelerator needs static ones (--size)");
  ArrayRef<int64_t> shape = type.getShape();
  if (type.getNumElements() == 0)
    throw Unsupported("there are no elements");
  switch (shape.size()) {
  case 1:
    return {1, shape[0], 1, 1};
  case 2:
    return {shape[0], shape[1], 1, 1};
  case 3:
    return {shape[0], shape[1], 1, shape[2]};
  case 4:
    return {shape[0], shape[1], shape[2], shape[3]};
  default:
    throw Unsupported("a tensor of rank " + std::to_string(shape.size()) +
                      " is neither an image nor a matrix");
  }
}

} // namespace headrace::vta
