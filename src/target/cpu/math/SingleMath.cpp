#include "target/cpu/math/SingleMath.h"

#include "target/cpu/math/CircularMath.h"
#include "target/cpu/math/FloatBuilder.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace headrace {
namespace {

using Compare = FloatBuilder::Compare;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// ln 2 in two parts; the first has zeros at its end, so that small multiples of it are exact.
constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cp-20;
constexpr int64_t kOneBits = 0x3f800000;

//===--------------------------------------------------------------------------===//
// Exponentials
//===--------------------------------------------------------------------------===//

/// exp(x) = 2^k (1 + fraction).
struct Exponential {
  Value exponent; // k where the exponent of a float is, in bits
  Value fraction; // exp(r) - 1 for |r| <= ln(2) / 2
};

/// Splits the exponential of x, or of -x, with `more` added to the exponent; neither costs
/// anything.
Exponential splitExponential(FloatBuilder &f, Value x, bool ofNegative = false, double more = 0) {
  double rounder = f.rounder() + more, sign = ofNegative ? -1 : 1;
  Value rounded = f.fma(x, sign * std::numbers::log2e, f.constant(rounder));
  Value k = f.sub(rounded, rounder);
  Value argument = ofNegative ? f.op<arith::NegFOp>(x) : x;
  Value r = f.fma(k, -kLn2Low, f.fma(k, -kLn2High, argument));
  // The best approximation to (exp(r) - 1 - r) / r^2.
  Value series =
      f.horner(r, {0x1.0p-1, 0x1.55548cp-3, 0x1.55545cp-5, 0x1.123d14p-7, 0x1.6db67ep-10});
  return {f.shiftLeft(f.bits(rounded), 23), f.fma(f.mul(r, r), series, r)};
}

/// Replaces the result by infinity if the exponential overflows, and by NaN for NaN.
Value withOverflow(FloatBuilder &f, Value x, Value result) {
  constexpr double kGreatest = 0x1.62e42ep+6;
  return f.select(Compare::UGT, x, kGreatest, f.add(x, kInfinity), result);
}

Value buildExp(FloatBuilder &f, Value x) {
  auto [exponent, fraction] = splitExponential(f, f.atLeast(x, -104));
  Value result = f.addBits(f.bits(f.add(fraction, 1)), exponent);
  // Below the smallest normal number the exponent has no room: it goes down in two steps.
  Value isSmall = f.is(Compare::OLT, x, -86);
  result = f.fromBits(f.select(isSmall, f.addBits(result, int64_t{64} << 23), result));
  result = f.select(isSmall, f.mul(result, 0x1p-64), result);
  return withOverflow(f, x, result);
}

/// If only 1 + exp(x) is requested, as in a sigmoid, small exponentials need no digits, and those
/// whose 2^k is infinite are so themselves.
///   exp ; addf 1 -> fma 2^k, exp(r), 1
struct OnePlusExp : OpRewritePattern<math::ExpOp> {
  explicit OnePlusExp(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    auto sum = op->hasOneUse() ? dyn_cast<arith::AddFOp>(*op->user_begin()) : arith::AddFOp();
    if (!getElementTypeOrSelf(op.getType()).isF32() || !sum ||
        !(matchPattern(sum.getLhs(), m_OneFloat()) || matchPattern(sum.getRhs(), m_OneFloat())))
      return rewriter.notifyMatchFailure(op, "no sum of 1 and an exponential of single precision");
    rewriter.setInsertionPoint(sum);
    FloatBuilder f(rewriter, op.getLoc(), op.getType());
    // 2^k is a normal number from here, and up to here an exponent at least.
    constexpr double low = -86, high = 89, bias = 127;
    auto negative = op.getOperand().getDefiningOp<arith::NegFOp>();
    Value x = negative ? f.clamp(negative.getOperand(), -high, -low)
                       : f.clamp(op.getOperand(), low, high);
    auto [exponent, fraction] =
        splitExponential(f, x, /*ofNegative=*/static_cast<bool>(negative), /*more=*/bias);
    rewriter.replaceOp(sum, f.fma(f.fromBits(exponent), f.add(fraction, 1), f.constant(1)));
    rewriter.eraseOp(op);
    return success();
  }
};

Value buildExpM1(FloatBuilder &f, Value x) {
  auto [exponent, fraction] = splitExponential(f, f.atLeast(x, -18));
  // Half of the power, since f32 does not represent 2^128.
  Value power = f.fromBits(f.addBits(exponent, kOneBits - (1 << 23)));
  Value half = f.fma(power, fraction, f.sub(power, 0.5));
  Value result = withOverflow(f, x, f.add(half, half));
  return f.select(Compare::OLT, f.abs(x), 0x1p-25, x, result);
}

/// With |x| = k ln(2) / 2 + r and t = tanh(r), the sum's hyperbolic tangent is
/// (2^k - 1 + t (2^k + 1)) / (2^k + 1 + t (2^k - 1)).
Value buildTanh(FloatBuilder &f, Value x) {
  Value magnitude = f.atMost(f.abs(x), 10);
  constexpr double kBiased = 0x1.8p23 + 127;
  Value rounded = f.fma(magnitude, 2 * std::numbers::log2e, f.constant(kBiased));
  Value r = f.fma(f.sub(rounded, kBiased), -0x1.62e43p-2, magnitude);
  Value power = f.fromBits(f.shiftLeft(f.bits(rounded), 23)); // 2^k
  Value square = f.mul(r, r);
  Value series = f.fma(square, 0x1.0c8038p-3, f.constant(-0x1.554fecp-2));
  Value t = f.fma(f.mul(square, series), r, r);
  Value less = f.sub(power, 1), more = f.add(power, 1);
  return f.copySign(f.div(f.fma(t, more, less), f.fma(t, less, more)), x);
}

/// Up to 1 a polynomial; above, 1 - erfc, whose logarithm is one.
Value buildErf(FloatBuilder &f, Value x) {
  Value magnitude = f.abs(x);
  Value inner = f.horner(f.mul(x, x), {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf8p-4, -0x1.b7f90cp-6,
                                       0x1.5405aep-8, -0x1.a3f6eap-11, 0x1.4969fap-14});
  Value logarithm = f.horner(f.atMost(magnitude, 4),
                             {-0x1.02476ap-11, -0x1.a04492p+0, -0x1.d75f26p-1, -0x1.30a4f8p-3,
                              0x1.0218bcp-5, -0x1.16b37cp-8, 0x1.19f52p-12});
  // 2^(k + r), negative: k is read off the last bits, where 256 is the sign.
  constexpr double kBiased = 0x1.8p23 + 127 + 256;
  Value rounded = f.add(logarithm, kBiased);
  Value r = f.sub(logarithm, f.sub(rounded, kBiased));
  Value power = f.fromBits(f.shiftLeft(f.bits(rounded), 23));
  Value fraction = f.mul(
      r, f.horner(r, {0x1.62e432p-1, 0x1.ebf9a8p-3, 0x1.c6ae5ep-5, 0x1.3cf134p-7, 0x1.5f7a6ep-10}));
  Value outer = f.fma(power, fraction, f.add(power, 1));
  Value isInner = f.is(Compare::OLT, magnitude, 1);
  return f.copySign(f.select(isInner, f.fma(inner, magnitude, magnitude), outer), x);
}

//===--------------------------------------------------------------------------===//
// Logarithms
//===--------------------------------------------------------------------------===//

/// A positive number as 2^exponent (1 + fraction), with 1 + fraction in [sqrt(1/2), sqrt(2)).
struct Logarithm {
  Value biased; // the exponent, as bits, and 127
  Value fraction;
};

constexpr int64_t kHalfRoot = 0x3f3504f3;

Logarithm splitPositive(FloatBuilder &f, Value x) {
  // Counted from sqrt(1/2), exponents step where the fraction is smallest.
  Value shifted = f.addBits(f.bits(x), kOneBits - kHalfRoot);
  Value mantissa = f.addBits(f.andBits(shifted, 0x007fffff), kHalfRoot);
  return {f.shiftRight(shifted, 23), f.sub(f.fromBits(mantissa), 1)};
}

/// log(1 + f) - f
Value logRest(FloatBuilder &f, Value fraction) {
  Value square = f.mul(fraction, fraction);
  Value series = f.polynomial(fraction, {0x1.555546p-2, -0x1.ffffeep-3, 0x1.99a54cp-3,
                                         -0x1.5562eap-3, 0x1.23322ep-3, -0x1.fb415ap-4,
                                         0x1.e657bap-4, -0x1.e2f86ep-4, 0x1.1b44a4p-4});
  return f.fma(f.mul(square, fraction), series, f.mul(square, -0.5));
}

/// The logarithm of arguments that are not positive finite numbers.
Value withSpecialLogs(FloatBuilder &f, Value x, Value result) {
  Value negative = f.select(Compare::OLT, x, 0, f.constant(std::nan("")), x);
  Value special = f.select(Compare::OEQ, x, 0, f.constant(-kInfinity), negative);
  Value isOrdinary = f.isBelow(f.addBits(f.bits(x), -1), 0x7f7fffff);
  return f.select(isOrdinary, result, special);
}

/// A logarithm's base b: log(2) and 1 / log(b) in two parts each.
struct Base {
  double twoHigh, twoLow, high, low;
};
constexpr Base kNatural{kLn2High, kLn2Low, 1, 0};
constexpr Base kTwo{1, 0, 0x1.715476p+0, 0x1.4ae0cp-26};
constexpr Base kTen{0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27};

/// exponent * log(2) + log(1 + fraction), to the base.
Value sumOfLogs(FloatBuilder &f, Value exponent, Value fraction, const Base &base) {
  Value small = logRest(f, fraction), large = fraction;
  if (base.high != 1) {
    small = f.fma(fraction, base.low, f.mul(small, base.high));
    large = nullptr;
  }
  if (base.twoLow != 0)
    small = f.fma(exponent, base.twoLow, small);
  small = large ? f.add(small, large) : f.fma(fraction, base.high, small);
  return base.twoHigh == 1 ? f.add(exponent, small) : f.fma(exponent, base.twoHigh, small);
}

template <const Base &base> Value buildLog(FloatBuilder &f, Value x) {
  // Numbers below the smallest normal one are scaled up first.
  Value isSmall = f.is(Compare::OLT, x, std::numeric_limits<float>::min());
  Value normal = f.select(isSmall, f.mul(x, 0x1p24), x);
  auto [biased, fraction] = splitPositive(f, normal);
  Value exponent =
      f.sub(f.toFloat(biased), f.select(isSmall, f.constant(127 + 24), f.constant(127)));
  return withSpecialLogs(f, x, sumOfLogs(f, exponent, fraction, base));
}

/// log(u) for u = 1 + x rounded, what the rounding took away being given back to the fraction.
Value buildLog1p(FloatBuilder &f, Value x) {
  Value u = f.add(x, 1);
  Value lost = f.sub(x, f.sub(u, 1));
  auto [biased, fraction] = splitPositive(f, u);
  // 2^(1 - exponent), since 2^-128 is not a normal number.
  Value inverse = f.fromBits(f.shiftLeft(f.subBits(f.integer(255), biased), 23));
  Value whole = f.fma(f.mul(lost, 0.5), inverse, fraction);
  Value result = sumOfLogs(f, f.sub(f.toFloat(biased), 127), whole, kNatural);
  return f.select(Compare::OLT, f.abs(x), 0x1p-25, x, withSpecialLogs(f, u, result));
}

template <class Op, Value (*build)(FloatBuilder &, Value)>
using Write = WriteFunction<Op, Float32Type, build>;

} // namespace

void populateSingleMathPatterns(RewritePatternSet &patterns) {
  patterns.add<OnePlusExp, Write<math::ExpOp, buildExp>, Write<math::ExpM1Op, buildExpM1>,
               Write<math::TanhOp, buildTanh>, Write<math::ErfOp, buildErf>,
               Write<math::LogOp, buildLog<kNatural>>, Write<math::Log2Op, buildLog<kTwo>>,
               Write<math::Log10Op, buildLog<kTen>>, Write<math::Log1pOp, buildLog1p>>(
      patterns.getContext());
  populateCircularMathPatterns(patterns);
}

} // namespace headrace
