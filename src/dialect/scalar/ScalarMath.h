// Scalar formulas in the body of a map, written once for floats and integers. Numbers of unsigned
// types are what their type says; operations see their bits (`hr.bits`).
#pragma once

#include "dialect/scalar/StorageType.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace headrace {

class ScalarMath {
public:
  ScalarMath(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  using Value = mlir::Value;

  /// An operation of the arith or math dialect. On unsigned numbers it works on their bits; a
  /// result as wide as they are is unsigned again.
  template <class Op, class... Args> Value op(Args &&...args) {
    mlir::Type stored;
    (noteStored(args, stored), ...);
    Value result = builder.create<Op>(loc, bits(std::forward<Args>(args))...);
    return stored && storageType(stored) == result.getType() ? fromBits(result, stored) : result;
  }

  /// The integer that stores a number, and the number that it stores.
  Value bits(Value a);
  Value fromBits(Value integer, mlir::Type type);

  /// A number of the type of `like`.
  Value number(Value like, double value) { return numberOf(like.getType(), value); }
  Value numberOf(mlir::Type type, double value);

  Value add(Value a, Value b) { return choose<mlir::arith::AddFOp, mlir::arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return choose<mlir::arith::SubFOp, mlir::arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return choose<mlir::arith::MulFOp, mlir::arith::MulIOp>(a, b); }
  /// Integers: toward zero; the least one by -1 is itself, by zero gives zero (front ends check
  /// divisors, OperatorBuilder::checkedDivisor), if the machine would trap.
  Value div(Value a, Value b);
  /// The remainder of `div`: it has the sign of `a`.
  Value remainder(Value a, Value b);
  /// Integers: a negative exponent rounds toward zero, and 0 to the power of one is 0.
  Value integerPower(Value base, Value exponent);
  /// NaN wins, as it does in ONNX.
  Value max(Value a, Value b) {
    return choose<mlir::arith::MaximumFOp, mlir::arith::MaxSIOp, mlir::arith::MaxUIOp>(a, b);
  }
  Value min(Value a, Value b) {
    return choose<mlir::arith::MinimumFOp, mlir::arith::MinSIOp, mlir::arith::MinUIOp>(a, b);
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

  /// The value in another element type. To nearest even between floats; what an 8-bit float
  /// cannot hold becomes the largest number if that `saturates`, else infinity or NaN. Floats
  /// become integers as `Tensor::converted` says.
  Value convert(Value a, mlir::Type type, bool saturates = true);

private:
  template <class FloatOp, class SignedOp, class UnsignedOp = SignedOp>
  Value choose(Value a, Value b) {
    if (mlir::isa<mlir::FloatType>(a.getType()))
      return op<FloatOp>(a, b);
    return a.getType().isUnsignedInteger() ? op<UnsignedOp>(a, b) : op<SignedOp>(a, b);
  }
  /// The divisor, or 1 if dividing by it would trap.
  Value safeDivisor(Value b);
  Value convertIntegers(Value a, mlir::Type type);

  llvm::SmallVector<Value> bits(mlir::ValueRange all) {
    return llvm::map_to_vector(all, [&](Value each) { return bits(each); });
  }
  template <class Other> Other &&bits(Other &&other) { return std::forward<Other>(other); }
  static void noteStored(Value a, mlir::Type &stored) {
    if (!stored && isStored(a.getType()))
      stored = a.getType();
  }
  static void noteStored(mlir::ValueRange all, mlir::Type &stored) {
    for (Value each : all)
      noteStored(each, stored);
  }
  template <class Other> static void noteStored(const Other &, mlir::Type &) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace headrace
