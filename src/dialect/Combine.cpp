#include "dialect/Combine.h"

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

Value multiplyAdd(OpBuilder &b, Location loc, ValueRange args) {
  if (!isa<FloatType>(args[2].getType()))
    return b.create<arith::AddIOp>(loc, args[2], b.create<arith::MulIOp>(loc, args[0], args[1]));
  auto flags = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::reassoc |
                                                                 arith::FastMathFlags::contract);
  Value product = b.create<arith::MulFOp>(loc, args[0], args[1], flags);
  return b.create<arith::AddFOp>(loc, args[2], product, flags);
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
