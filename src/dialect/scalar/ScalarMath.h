// Scalar formulas in the body of a map, written once for floats and integers.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace headrace {

class ScalarMath {
public:
  ScalarMath(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  using Value = mlir::Value;

  /// An operation of the arith or math dialect.
  template <class Op, class... Args> Value op(Args &&...args) {
    return builder.create<Op>(loc, std::forward<Args>(args)...);
  }

  /// A number of the type of `like`.
  Value number(Value like, double value) { return numberOf(like.getType(), value); }
  Value numberOf(mlir::Type type, double value);

  Value add(Value a, Value b) { return choose<mlir::arith::AddFOp, mlir::arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return choose<mlir::arith::SubFOp, mlir::arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return choose<mlir::arith::MulFOp, mlir::arith::MulIOp>(a, b); }
  /// Integers: toward zero; the least one by -1 is itself, by zero gives zero (front ends check
  /// divisors, OperatorBuilder::checkedDivisor), where the machine would trap.
  Value div(Value a, Value b);
  /// The remainder of `div`: it has the sign of `a`.
  Value remainder(Value a, Value b);
  /// Integers: a negative exponent rounds toward zero, and 0 to the power of one is 0.
  Value integerPower(Value base, Value exponent);
  /// NaN wins, as it does in ONNX.
  Value max(Value a, Value b) {
    return choose<mlir::arith::MaximumFOp, mlir::arith::MaxSIOp>(a, b);
  }
  Value min(Value a, Value b) {
    return choose<mlir::arith::MinimumFOp, mlir::arith::MinSIOp>(a, b);
  }
  Value neg(Value a);
  Value abs(Value a);
  Value exp(Value a) { return op<mlir::math::ExpOp>(a); }

  enum class Compare { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };
  Value compare(Compare kind, Value a, Value b);
  Value isNegative(Value a) { return compare(Compare::Less, a, number(a, 0)); }
  Value isPositive(Value a) { return compare(Compare::Greater, a, number(a, 0)); }
  Value select(Value condition, Value yes, Value no) {
    return op<mlir::arith::SelectOp>(condition, yes, no);
  }

  /// The value in another element type.
  Value convert(Value a, mlir::Type type);

private:
  template <class FloatOp, class IntegerOp> Value choose(Value a, Value b) {
    return mlir::isa<mlir::FloatType>(a.getType()) ? op<FloatOp>(a, b) : op<IntegerOp>(a, b);
  }
  /// The divisor, or 1 where dividing by it would trap.
  Value safeDivisor(Value b);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace headrace
