#include "dialect/scalar/Combine.h"

#include "dialect/scalar/StorageType.h"

using namespace mlir;

namespace headrace::hr {

/// Vector accumulators change the order of a floating-point sum; saying so lets every later stage
/// vectorize reductions, and nothing else.
static arith::FastMathFlagsAttr reassociate(OpBuilder &b) {
  return arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::reassoc);
}

Value combineValues(OpBuilder &b, Location loc, ReduceKind kind, Value acc, Value value) {
  bool isFloat = isa<FloatType>(acc.getType());
  // As a signed number of one bit, true is less than false.
  if (acc.getType().isInteger(1) && kind == ReduceKind::Max)
    return b.create<arith::OrIOp>(loc, acc, value);
  if (acc.getType().isInteger(1) && kind == ReduceKind::Min)
    return b.create<arith::AndIOp>(loc, acc, value);
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    if (isFloat)
      return b.create<arith::AddFOp>(loc, acc, value, reassociate(b));
    return b.create<arith::AddIOp>(loc, acc, value);
  case ReduceKind::Prod:
    if (isFloat)
      return b.create<arith::MulFOp>(loc, acc, value, reassociate(b));
    return b.create<arith::MulIOp>(loc, acc, value);
  case ReduceKind::Max:
    return isFloat ? b.create<arith::MaximumFOp>(loc, acc, value).getResult()
                   : b.create<arith::MaxSIOp>(loc, acc, value).getResult();
  case ReduceKind::Min:
    return isFloat ? b.create<arith::MinimumFOp>(loc, acc, value).getResult()
                   : b.create<arith::MinSIOp>(loc, acc, value).getResult();
  }
  llvm_unreachable("all kinds are handled");
}

static Value widened(OpBuilder &b, Location loc, Value value, Type type, bool isUnsigned) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return b.create<arith::ExtFOp>(loc, type, value);
  return isUnsigned ? b.create<arith::ExtUIOp>(loc, type, value).getResult()
                    : b.create<arith::ExtSIOp>(loc, type, value).getResult();
}

Value multiplyAdd(OpBuilder &b, Location loc, ValueRange args, UnsignedFactors areUnsigned) {
  Type type = args[2].getType();
  Value first = widened(b, loc, args[0], type, areUnsigned.first);
  Value second = widened(b, loc, args[1], type, areUnsigned.second);
  if (!isa<FloatType>(type))
    return b.create<arith::AddIOp>(loc, args[2], b.create<arith::MulIOp>(loc, first, second));
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::reassoc |
                                                                 arith::FastMathFlags::contract);
  Value product = b.create<arith::MulFOp>(loc, first, second, flags);
  return b.create<arith::AddFOp>(loc, args[2], product, flags);
}

FailureOr<Type> accumulatorOf(std::optional<Location> loc, Type first, Type second,
                              std::optional<Type> accumulator) {
  if (!accumulator) {
    if (first != second)
      return emitOptionalError(loc, "expected factors of one element type or an accumulator, got ",
                               first, " and ", second);
    return first;
  }
  bool isFloat = isPlainFloat(*accumulator);
  if (!isFloat && !accumulator->isSignlessInteger())
    return emitOptionalError(loc, "expected a float or a signless integer as accumulator, got ",
                             *accumulator);
  for (Type factor : {first, second}) {
    bool isKind = isFloat ? isPlainFloat(factor) : isa<IntegerType>(factor);
    if (!isKind || factor.getIntOrFloatBitWidth() > accumulator->getIntOrFloatBitWidth() ||
        (isFloat && factor != *accumulator &&
         factor.getIntOrFloatBitWidth() == accumulator->getIntOrFloatBitWidth()))
      return emitOptionalError(loc, "an accumulator of type ", *accumulator,
                               " cannot hold factors of type ", factor);
  }
  return *accumulator;
}

TypedAttr neutralValue(ReduceKind kind, Type type) {
  Builder b(type.getContext());
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const auto &semantics = floatType.getFloatSemantics();
    APFloat number = APFloat::getZero(semantics);
    if (kind == ReduceKind::Prod)
      number = APFloat::getOne(semantics);
    else if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      number = APFloat::getInf(semantics, /*Negative=*/kind == ReduceKind::Max);
    return b.getFloatAttr(type, number);
  }
  if (type.isInteger(1))
    return b.getBoolAttr(kind == ReduceKind::Prod || kind == ReduceKind::Min);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt number = APInt::getZero(width);
  if (kind == ReduceKind::Prod)
    number = APInt(width, 1);
  else if (kind == ReduceKind::Max)
    number = APInt::getSignedMinValue(width);
  else if (kind == ReduceKind::Min)
    number = APInt::getSignedMaxValue(width);
  return b.getIntegerAttr(type, number);
}

} // namespace headrace::hr
