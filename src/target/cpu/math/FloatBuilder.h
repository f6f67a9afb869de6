// Arithmetic on floats or vectors of them, as math functions are written with it.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Writes arithmetic on f32, f64 or vectors of either; integers are as wide as the floats.
class FloatBuilder {
public:
  using Value = mlir::Value;
  using Compare = mlir::arith::CmpFPredicate;

  FloatBuilder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type)
      : b(b), loc(loc), type(type), isSingle(mlir::getElementTypeOrSelf(type).isF32()) {}

  Value constant(double value) {
    mlir::TypedAttr attr = b.getFloatAttr(mlir::getElementTypeOrSelf(type), value);
    return op<mlir::arith::ConstantOp>(spread(attr, type));
  }
  Value integer(int64_t value) {
    mlir::TypedAttr attr = b.getIntegerAttr(mlir::getElementTypeOrSelf(bitsType()), value);
    return op<mlir::arith::ConstantOp>(spread(attr, bitsType()));
  }
  Value add(Value x, Value y) { return op<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return op<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return op<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return op<mlir::arith::DivFOp>(x, y); }
  Value add(Value x, double y) { return add(x, constant(y)); }
  Value sub(Value x, double y) { return sub(x, constant(y)); }
  Value mul(Value x, double y) { return mul(x, constant(y)); }
  Value fma(Value x, Value y, Value z) { return op<mlir::math::FmaOp>(x, y, z); }
  Value fma(Value x, double y, Value z) { return fma(x, constant(y), z); }
  Value sqrt(Value x) { return op<mlir::math::SqrtOp>(x); }
  Value abs(Value x) { return op<mlir::math::AbsFOp>(x); }
  Value copySign(Value x, Value sign) { return op<mlir::math::CopySignOp>(x, sign); }
  Value is(Compare predicate, Value x, double y) {
    return op<mlir::arith::CmpFOp>(predicate, x, constant(y));
  }
  Value select(Value condition, Value ifTrue, Value ifFalse) {
    return op<mlir::arith::SelectOp>(condition, ifTrue, ifFalse);
  }
  Value select(Compare predicate, Value x, double y, Value ifTrue, Value ifFalse) {
    return select(is(predicate, x, y), ifTrue, ifFalse);
  }
  /// NaN stays NaN.
  Value atLeast(Value x, double low) { return select(Compare::OLT, x, low, constant(low), x); }
  Value atMost(Value x, double high) { return select(Compare::OGT, x, high, constant(high), x); }
  Value clamp(Value x, double low, double high) { return atMost(atLeast(x, low), high); }
  Value bits(Value x) { return op<mlir::arith::BitcastOp>(bitsType(), x); }
  Value fromBits(Value x) { return op<mlir::arith::BitcastOp>(type, x); }
  Value toFloat(Value integer) { return op<mlir::arith::SIToFPOp>(type, integer); }
  Value andBits(Value x, int64_t y) { return op<mlir::arith::AndIOp>(x, integer(y)); }
  Value orBits(Value x, Value y) { return op<mlir::arith::OrIOp>(x, y); }
  Value xorBits(Value x, Value y) { return op<mlir::arith::XOrIOp>(x, y); }
  Value addBits(Value x, Value y) { return op<mlir::arith::AddIOp>(x, y); }
  Value addBits(Value x, int64_t y) { return addBits(x, integer(y)); }
  Value subBits(Value x, Value y) { return op<mlir::arith::SubIOp>(x, y); }
  Value shiftLeft(Value x, int64_t by) { return op<mlir::arith::ShLIOp>(x, integer(by)); }
  Value shiftRight(Value x, int64_t by) { return op<mlir::arith::ShRUIOp>(x, integer(by)); }
  Value isBelow(Value x, int64_t y) { // as unsigned numbers
    return op<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ult, x, integer(y));
  }

  /// Adding it to a number of moderate size rounds that to an integer, which is then in the last
  /// bits.
  double rounder() const { return isSingle ? 0x1.8p23 : 0x1.8p52; }
  /// The nearest integer, as a number.
  Value round(Value x) { return sub(add(x, rounder()), rounder()); }
  /// 2^k for an integer k such that it is a normal number.
  Value powerOfTwo(Value k) {
    return fromBits(shiftLeft(bits(add(k, rounder() + bias())), mantissaBits()));
  }
  /// x * 2^k, in two steps, since the type may not represent 2^k alone.
  Value scale(Value x, Value k) {
    Value half = round(mul(k, 0.5));
    return mul(mul(x, powerOfTwo(half)), powerOfTwo(sub(k, half)));
  }

  /// c[0] + c[1] x + c[2] x^2 ..., pairwise, which is shorter than one after the other.
  Value polynomial(Value x, llvm::ArrayRef<double> c) {
    llvm::SmallVector<Value> terms;
    for (size_t i = 0; i < c.size(); i += 2)
      terms.push_back(i + 1 < c.size() ? fma(x, c[i + 1], constant(c[i])) : constant(c[i]));
    for (Value power = mul(x, x); terms.size() > 1; power = mul(power, power)) {
      llvm::SmallVector<Value> next;
      for (size_t i = 0; i < terms.size(); i += 2)
        next.push_back(i + 1 < terms.size() ? fma(power, terms[i + 1], terms[i]) : terms[i]);
      terms = next;
    }
    return terms.front();
  }

  /// The polynomial by Horner's rule: fewer operations, for high degrees.
  Value horner(Value x, llvm::ArrayRef<double> c) {
    Value sum = constant(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  template <class Op, class... Args> Value op(Args &&...args) {
    return b.create<Op>(loc, std::forward<Args>(args)...);
  }
  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() { return loc; }

private:
  int64_t mantissaBits() const { return isSingle ? 23 : 52; }
  double bias() const { return isSingle ? 127 : 1023; }
  mlir::Type bitsType() {
    mlir::Type element = isSingle ? b.getI32Type() : b.getI64Type();
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return vector.clone(element);
    return element;
  }
  static mlir::TypedAttr spread(mlir::TypedAttr value, mlir::Type type) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      return mlir::DenseElementsAttr::get(vector, value);
    return value;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;
  bool isSingle;
};

/// Writes a function of one number of type `Float` as `build` does.
template <class Op, class Float, mlir::Value (*build)(FloatBuilder &, mlir::Value)>
struct WriteFunction : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    if (!mlir::isa<Float>(mlir::getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "of another precision");
    FloatBuilder builder(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, build(builder, op.getOperand()));
    return mlir::success();
  }
};

} // namespace headrace
