#include "target/cpu/calls/MatchEpilogue.h"

#include "target/cpu/calls/ChainBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace headrace {
namespace {

/// Reads what a value computes, from the bytes at the end back to the sums.
class Reader {
public:
  explicit Reader(const ChainBodies &bodies) : bodies(bodies) {
    finish.addends.assign(bodies.columns(), 0);
  }

  bool readResult(Value bytes) {
    std::optional<Rounded> rounded = readRounding(bytes);
    if (!rounded)
      return false;
    finish.head.result = rounded->rounding;
    return readSum(rounded->number);
  }

  Int8Epilogue finish;
  Value other;

private:
  struct Rounded {
    Value number;
    ByteRounding rounding;
  };

  /// The number that is rounded, before it is clipped: limits are those of the byte.
  std::optional<Rounded> readRounding(Value bytes) const;
  Value readClips(Value x, ByteRounding &result) const;
  Value readLimit(Value x, double &limit, bool isUpper) const;
  bool readSum(Value x);
  bool readThroughByte(Value x);
  bool readBiased(Value x);
  bool readScaled(Value x);
  bool readIntegers(Value sum);
  bool readOther(Value x);
  /// (byte - zero) * scale
  struct Dequantized {
    Value byte;
    double zero, scale;
    bool isUnsigned;
  };
  std::optional<Dequantized> readDequantized(Value x) const;
  /// The factor and the constant that it is multiplied by.
  std::optional<std::pair<Value, SmallVector<double>>> readProduct(Value x) const;
  static bool isScale(double scale) { return scale > 0 && std::isfinite(scale); }

  const ChainBodies &bodies;
};

/// x < limit ? x : limit, or the other way round.
Value Reader::readLimit(Value x, double &limit, bool isUpper) const {
  auto select = bodies.opOf<arith::SelectOp>(x);
  auto compare = select ? bodies.opOf<arith::CmpFOp>(select.getCondition()) : arith::CmpFOp();
  auto wanted = isUpper ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
  if (!compare || compare.getPredicate() != wanted)
    return {};
  std::optional<double> number = bodies.numberOf(select.getFalseValue());
  Value inner = bodies.sourceOf(select.getTrueValue());
  if (!number || bodies.sourceOf(compare.getLhs()) != inner ||
      bodies.numberOf(compare.getRhs()) != number)
    return {};
  limit = *number;
  return inner;
}

/// The byte that QuantizeLinear makes of a number.
std::optional<Reader::Rounded> Reader::readRounding(Value bytes) const {
  auto narrow = bodies.opOf<arith::TruncIOp>(bytes);
  auto integer = narrow ? bodies.opOf<arith::FPToSIOp>(narrow.getIn()) : arith::FPToSIOp();
  if (!integer || !narrow.getType().isInteger(8))
    return std::nullopt;
  double low, high;
  Value below = readLimit(integer.getIn(), low, false);
  Value x = below ? readLimit(below, high, true) : Value();
  if (!x)
    return std::nullopt;
  // NaN becomes 0; there is none.
  if (auto select = bodies.opOf<arith::SelectOp>(x)) {
    auto compare = bodies.opOf<arith::CmpFOp>(select.getCondition());
    if (!compare || compare.getPredicate() != arith::CmpFPredicate::UNE ||
        bodies.sourceOf(compare.getLhs()) != bodies.sourceOf(select.getFalseValue()) ||
        bodies.sourceOf(compare.getRhs()) != bodies.sourceOf(select.getFalseValue()))
      return std::nullopt;
    x = bodies.sourceOf(select.getFalseValue());
  }
  double zero = 0;
  if (auto sum = bodies.opOf<arith::AddFOp>(x)) {
    std::optional<double> point = bodies.numberOf(sum.getRhs());
    if (!point)
      return std::nullopt;
    zero = *point;
    x = sum.getLhs();
  }
  auto nearest = bodies.opOf<math::RoundEvenOp>(x);
  auto quotient = nearest ? bodies.opOf<arith::DivFOp>(nearest.getOperand()) : arith::DivFOp();
  std::optional<double> scale = quotient ? bodies.numberOf(quotient.getRhs()) : std::nullopt;
  if (!scale || !isScale(*scale) || !quotient.getType().isF32() || zero < low || zero > high ||
      zero != std::rint(zero))
    return std::nullopt;
  ByteRounding rounding{static_cast<float>(*scale), static_cast<float>(zero),
                        static_cast<float>(low), static_cast<float>(high)};
  Value number = readClips(quotient.getLhs(), rounding);
  return Rounded{number, rounding};
}

/// Rounding keeps the order of numbers: a limit of them is one of the bytes.
Value Reader::readClips(Value x, ByteRounding &result) const {
  auto byteOf = [&](double limit) {
    float quotient = static_cast<float>(limit) / result.scale;
    return std::clamp(std::nearbyint(quotient) + result.zero, result.low, result.high);
  };
  while (true) {
    auto most = bodies.opOf<arith::MinimumFOp>(x);
    auto least = bodies.opOf<arith::MaximumFOp>(x);
    Operation *clip = most ? most.getOperation() : least.getOperation();
    if (!clip)
      return x;
    std::optional<double> limit = bodies.numberOf(clip->getOperand(1));
    if (!limit || std::isnan(*limit))
      return x;
    // The last clip wins over those before it, whose limits are moved into its own.
    if (most)
      result.high = std::max(std::min(result.high, byteOf(*limit)), result.low);
    else
      result.low = std::min(std::max(result.low, byteOf(*limit)), result.high);
    x = clip->getOperand(0);
  }
}

/// The sums as numbers, plus another tensor's numbers.
bool Reader::readSum(Value x) {
  if (auto sum = bodies.opOf<arith::AddFOp>(x))
    for (auto [first, second] :
         {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
      Int8Epilogue before = finish;
      if (readOther(second) && readThroughByte(first))
        return true;
      finish = before;
      other = nullptr;
    }
  return readThroughByte(x);
}

std::optional<std::pair<Value, SmallVector<double>>> Reader::readProduct(Value x) const {
  auto product = bodies.opOf<arith::MulFOp>(x);
  if (!product || !product.getType().isF32())
    return std::nullopt;
  if (auto factor = bodies.constantOf(product.getRhs()))
    return std::pair(product.getLhs(), *factor);
  if (auto factor = bodies.constantOf(product.getLhs()))
    return std::pair(product.getRhs(), *factor);
  return std::nullopt;
}

std::optional<Reader::Dequantized> Reader::readDequantized(Value x) const {
  auto product = readProduct(x);
  if (!product || product->second.size() != 1 || !isScale(product->second.front()))
    return std::nullopt;
  Dequantized result{{}, 0, product->second.front(), false};
  Value integer;
  if (auto number = bodies.opOf<arith::SIToFPOp>(product->first)) {
    integer = number.getIn();
  } else if (auto number = bodies.opOf<arith::UIToFPOp>(product->first)) {
    integer = number.getIn();
    result.isUnsigned = true;
  } else {
    return std::nullopt;
  }
  if (auto difference = bodies.opOf<arith::SubIOp>(integer)) {
    std::optional<double> zero = bodies.numberOf(difference.getRhs());
    if (!zero)
      return std::nullopt;
    result.zero = *zero;
    integer = difference.getLhs();
  }
  if (auto wide = bodies.opOf<arith::ExtSIOp>(integer)) {
    integer = wide.getIn();
    result.isUnsigned = false;
  } else if (auto wide = bodies.opOf<arith::ExtUIOp>(integer)) {
    integer = wide.getIn();
    result.isUnsigned = true;
  }
  if (!integer.getType().isInteger(8))
    return std::nullopt;
  result.byte = bodies.sourceOf(integer);
  return result;
}

bool Reader::readOther(Value x) {
  std::optional<Dequantized> number = readDequantized(x);
  Value tensor = number ? bodies.operandOf(number->byte) : Value();
  if (!tensor || !bodies.hasShapeOfSums(tensor))
    return false;
  other = tensor;
  finish.form |= Int8Epilogue::AddsOther | (number->isUnsigned ? Int8Epilogue::OtherIsUnsigned : 0);
  finish.head.otherScale = static_cast<float>(number->scale);
  finish.head.otherZero = static_cast<float>(number->zero);
  return true;
}

bool Reader::readThroughByte(Value x) {
  std::optional<Dequantized> byte = readDequantized(x);
  if (!byte)
    return readBiased(x);
  std::optional<Rounded> inner = readRounding(byte->byte);
  if (!inner || inner->rounding.low < (byte->isUnsigned ? 0 : -128) ||
      inner->rounding.high > (byte->isUnsigned ? 255 : 127) ||
      inner->rounding.zero != static_cast<float>(byte->zero) ||
      inner->rounding.scale != static_cast<float>(byte->scale))
    return false;
  finish.form |= Int8Epilogue::ThroughByte;
  finish.head.inner = inner->rounding;
  return readBiased(inner->number);
}

bool Reader::readBiased(Value x) {
  auto sum = bodies.opOf<arith::AddFOp>(x);
  if (!sum)
    return readScaled(x);
  for (auto [first, second] :
       {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
    if (auto row = bodies.constantOf(second)) {
      finish.form |= Int8Epilogue::Biased;
      for (int64_t j = 0; j < bodies.columns(); ++j)
        finish.biases.push_back(static_cast<float>((*row)[row->size() == 1 ? 0 : j]));
      return readScaled(first);
    }
  return false;
}

bool Reader::readScaled(Value x) {
  auto product = readProduct(x);
  auto number = product ? bodies.opOf<arith::SIToFPOp>(product->first) : arith::SIToFPOp();
  if (!number || !llvm::all_of(product->second, isScale))
    return false;
  for (int64_t j = 0; j < bodies.columns(); ++j)
    finish.scales.push_back(
        static_cast<float>(product->second[product->second.size() == 1 ? 0 : j]));
  return readIntegers(number.getIn());
}

bool Reader::readIntegers(Value sum) {
  if (!sum.getType().isInteger(32))
    return false;
  if (bodies.isSums(sum))
    return true;
  auto add = [&](ArrayRef<double> row, bool isNegative) {
    for (int64_t j = 0; j < bodies.columns(); ++j) {
      auto number = static_cast<uint32_t>(static_cast<int64_t>(row[row.size() == 1 ? 0 : j]));
      auto &addend = finish.addends[static_cast<size_t>(j)];
      addend = static_cast<int32_t>(static_cast<uint32_t>(addend) +
                                    (isNegative ? uint32_t{0} - number : number));
    }
  };
  if (auto difference = bodies.opOf<arith::SubIOp>(sum)) {
    auto row = bodies.constantOf(difference.getRhs());
    if (!row)
      return false;
    add(*row, true);
    return readIntegers(difference.getLhs());
  }
  auto both = bodies.opOf<arith::AddIOp>(sum);
  if (!both)
    return false;
  for (auto [first, second] :
       {std::pair(both.getLhs(), both.getRhs()), std::pair(both.getRhs(), both.getLhs())})
    if (auto row = bodies.constantOf(second)) {
      add(*row, false);
      return readIntegers(first);
    }
  return false;
}

/// Multiplies by one factor instead of a product and a quotient, if that is the same of every
/// sum.
void multiplyOnce(Int8Epilogue &finish) {
  if (finish.form & Int8Epilogue::Biased)
    return;
  const ByteRounding &first =
      finish.form & Int8Epilogue::ThroughByte ? finish.head.inner : finish.head.result;
  if ((finish.form & Int8Epilogue::AddsOther) && !(finish.form & Int8Epilogue::ThroughByte))
    return;
  std::map<float, float> found;
  for (float scale : finish.scales) {
    auto [factor, isNew] = found.try_emplace(scale, 0.0F);
    if (isNew)
      factor->second = equalMultiplier(scale, first);
    if (factor->second == 0)
      return;
  }
  for (float &scale : finish.scales)
    scale = found.at(scale);
  finish.form |= Int8Epilogue::Multiplies;
}

} // namespace

std::optional<MatchedFinish> matchFinish(Value sums) {
  std::optional<MatchedFinish> best;
  auto type = cast<RankedTensorType>(sums.getType());
  if (!type.getElementType().isInteger(32) || type.getRank() == 0 ||
      ShapedType::isDynamic(type.getShape().back()))
    return best;
  SmallVector<hr::MapOp> chain;
  for (Value value = sums; !value.use_empty();) {
    auto map = dyn_cast<hr::MapOp>(*value.getUsers().begin());
    if (!map || !llvm::equal(shapeOf(map.getResult()), shapeOf(sums)) ||
        !llvm::all_of(value.getUsers(), [&](Operation *user) { return user == map; }))
      break;
    chain.push_back(map);
    value = map.getResult();
    if (!cast<RankedTensorType>(value.getType()).getElementType().isInteger(8))
      continue;
    ChainBodies bodies(sums, chain);
    Reader reader(bodies);
    if (!reader.readResult(map.getBody().front().getTerminator()->getOperand(0)))
      break;
    best = MatchedFinish{reader.finish, value, reader.other, chain};
  }
  if (best)
    multiplyOnce(best->finish);
  return best;
}

} // namespace headrace
