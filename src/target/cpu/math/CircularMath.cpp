// Sine and cosine: moderate arguments less a multiple of pi / 2, which is subtracted in three
// parts. If a vector has a larger one, the library's function is called for it; a branch sees to
// that.
#include "target/cpu/math/CircularMath.h"

#include "target/cpu/math/FloatBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numbers>

using namespace mlir;

namespace headrace {
namespace {

using Compare = FloatBuilder::Compare;

/// Up to here the multiple of pi / 2 has 16 bits, and what its parts leave is exact enough.
constexpr double kModerate = 1e5;
/// On a function that stays a call of the library.
constexpr StringLiteral kLibrary = "hr.library";

struct Angle {
  Value quadrant; // in the last bits
  Value rest;     // at most pi / 4
};

Angle splitAngle(FloatBuilder &f, Value x) {
  Value rounded = f.fma(x, 2 * std::numbers::inv_pi, f.constant(f.rounder()));
  Value k = f.sub(rounded, f.rounder());
  // The first difference is exact: both sides are multiples of 2^-23.
  Value rest = f.fma(k, -0x1.921fb6p+0, x);
  rest = f.fma(k, 0x1.777a5cp-25, rest);
  return {f.bits(rounded), f.fma(k, 0x1.ee59dap-50, rest)};
}

Value sineNear0(FloatBuilder &f, Value x, Value square) {
  Value series =
      f.polynomial(square, {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f32p-13, 0x1.6cbecap-19});
  return f.fma(f.mul(series, square), x, x);
}

Value cosineNear0(FloatBuilder &f, Value square) {
  Value series =
      f.polynomial(square, {0x1.555556p-5, -0x1.6c16b8p-10, 0x1.a010c4p-16, -0x1.2417dap-22});
  return f.fma(series, f.mul(square, square), f.fma(square, -0.5, f.constant(1)));
}

/// The sine `quarters` quarters of a turn ahead of the angle.
Value sineAhead(FloatBuilder &f, Value x, int64_t quarters) {
  auto [quadrant, rest] = splitAngle(f, x);
  if (quarters != 0)
    quadrant = f.addBits(quadrant, quarters);
  Value square = f.mul(rest, rest);
  Value isOdd = f.op<arith::CmpIOp>(arith::CmpIPredicate::ne, f.andBits(quadrant, 1), f.integer(0));
  Value result = f.select(isOdd, cosineNear0(f, square), sineNear0(f, rest, square));
  Value sign = f.shiftLeft(f.andBits(quadrant, 2), 30);
  return f.fromBits(f.xorBits(f.bits(result), sign));
}

/// Calls of the library, an element at a time.
template <class Op> Value called(OpBuilder &b, Location loc, Value x) {
  auto ofElement = [&](OpBuilder &inner, Value element) -> Value {
    auto call = inner.create<Op>(loc, element);
    call->setDiscardableAttr(kLibrary, inner.getUnitAttr());
    return call;
  };
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return ofElement(b, x);
  auto index = [&](int64_t value) -> Value { return b.create<arith::ConstantIndexOp>(loc, value); };
  auto loop = b.create<scf::ForOp>(loc, index(0), index(type.getNumElements()), index(1), x,
                                   [&](OpBuilder &inner, Location, Value i, ValueRange vector) {
                                     Value element =
                                         inner.create<vector::ExtractElementOp>(loc, x, i);
                                     Value next = inner.create<vector::InsertElementOp>(
                                         loc, ofElement(inner, element), vector[0], i);
                                     inner.create<scf::YieldOp>(loc, next);
                                   });
  return loop.getResult(0);
}

template <class Op, int64_t quarters> struct WriteCircular : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() || op->hasAttr(kLibrary))
      return rewriter.notifyMatchFailure(op, "of another precision, or a call of the library");
    Location loc = op.getLoc();
    Value x = op.getOperand();
    auto type = dyn_cast<VectorType>(x.getType());
    if (type && type.getRank() != 1) { // lanes are counted below
      Type flat = VectorType::get(type.getNumElements(), type.getElementType());
      x = rewriter.create<vector::ShapeCastOp>(loc, flat, x);
    }
    Value result = write(rewriter, loc, x);
    if (result.getType() != op.getType())
      result = rewriter.create<vector::ShapeCastOp>(loc, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }

  static Value write(OpBuilder &b, Location loc, Value x) {
    FloatBuilder f(b, loc, x.getType());
    Value fast = sineAhead(f, x, quarters);
    if constexpr (quarters == 0) // 0 keeps its sign
      fast = f.select(Compare::OEQ, x, 0, x, fast);
    Value isLarge = f.is(Compare::OGE, f.abs(x), kModerate), any = isLarge;
    if (isa<VectorType>(x.getType()))
      any = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, isLarge);
    auto branch = b.create<scf::IfOp>(
        loc, any,
        [&](OpBuilder &inner, Location) {
          Value exact = called<Op>(inner, loc, x);
          inner.create<scf::YieldOp>(
              loc, inner.create<arith::SelectOp>(loc, isLarge, exact, fast).getResult());
        },
        [&](OpBuilder &inner, Location) { inner.create<scf::YieldOp>(loc, fast); });
    return branch.getResult(0);
  }
};

//===--------------------------------------------------------------------------===//
// Inverse functions
//===--------------------------------------------------------------------------===//

/// asin(|x|) up to 1/2; above, asin(sqrt((1 - |x|) / 2)), from which both functions follow.
struct Arc {
  Value isNear; // |x| <= 1/2
  Value sine;
};

Arc splitArc(FloatBuilder &f, Value magnitude) {
  Value isNear = f.is(Compare::OLE, magnitude, 0.5);
  Value square =
      f.select(isNear, f.mul(magnitude, magnitude), f.fma(magnitude, -0.5, f.constant(0.5)));
  Value s = f.select(isNear, magnitude, f.sqrt(square));
  Value series = f.polynomial(square, {0x1.55554cp-3, 0x1.333896p-4, 0x1.6cab3p-5, 0x1.04af98p-5,
                                       0x1.d75ec4p-7, 0x1.33f20cp-5});
  return {isNear, f.fma(f.mul(s, square), series, s)};
}

constexpr double kHalfPiHigh = 0x1.921fb6p+0, kHalfPiLow = -0x1.777a5cp-25;

Value buildAsin(FloatBuilder &f, Value x) {
  auto [isNear, sine] = splitArc(f, f.abs(x));
  Value far = f.add(f.fma(sine, -2, f.constant(kHalfPiLow)), kHalfPiHigh);
  return f.copySign(f.select(isNear, sine, far), x);
}

Value buildAcos(FloatBuilder &f, Value x) {
  auto [isNear, sine] = splitArc(f, f.abs(x));
  Value signedSine = f.copySign(sine, x);
  Value near = f.sub(f.constant(kHalfPiHigh), f.sub(signedSine, kHalfPiLow));
  Value twice = f.add(sine, sine);
  Value beyond = f.sub(f.constant(2 * kHalfPiHigh), f.sub(twice, 2 * kHalfPiLow));
  Value far = f.select(Compare::OLT, x, 0, beyond, twice);
  return f.select(isNear, near, far);
}

} // namespace

void populateCircularMathPatterns(RewritePatternSet &patterns) {
  patterns.add<WriteCircular<math::SinOp, 0>, WriteCircular<math::CosOp, 1>,
               WriteFunction<math::AsinOp, Float32Type, buildAsin>,
               WriteFunction<math::AcosOp, Float32Type, buildAcos>>(patterns.getContext());
}

} // namespace headrace
