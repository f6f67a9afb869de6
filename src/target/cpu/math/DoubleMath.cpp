#include "target/cpu/math/DoubleMath.h"

#include "target/cpu/math/FloatBuilder.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace headrace {
namespace {

using Compare = FloatBuilder::Compare;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// ln 2 in two parts; the first has zeros at its end, so that small multiples of it are exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

//===--------------------------------------------------------------------------===//
// Exponentials
//===--------------------------------------------------------------------------===//

/// exp(r) - 1 for |r| <= ln(2) / 2, by its series: r + r^2 (1/2! + r/3! + ... + r^11/13!).
Value expm1Near0(FloatBuilder &d, Value r) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int n = 2; n <= 13; ++n)
    coefficients.push_back(1 / (factorial *= n));
  return d.fma(d.mul(r, r), d.polynomial(r, coefficients), r);
}

/// x = k ln 2 + r with an integer k and a small r.
std::pair<Value, Value> splitByLn2(FloatBuilder &d, Value x) {
  Value k = d.round(d.mul(x, d.constant(std::numbers::log2e)));
  Value r = d.fma(k, -kLn2High, x);
  return {k, d.fma(k, -kLn2Low, r)};
}

Value buildExp(FloatBuilder &d, Value x) {
  // Beyond these ends it is 0 and infinity.
  auto [k, r] = splitByLn2(d, d.clamp(x, -746, 710));
  return d.scale(d.add(d.constant(1), expm1Near0(d, r)), k);
}

Value buildExp2(FloatBuilder &d, Value x) {
  Value inside = d.clamp(x, -1076, 1025);
  Value k = d.round(inside);
  Value r = d.mul(d.sub(inside, k), d.constant(std::numbers::ln2));
  return d.scale(d.add(d.constant(1), expm1Near0(d, r)), k);
}

/// 2^k (exp(r) - 1 + 1 - 2^-k): nothing cancels, and nothing overflows before the result does.
Value buildExpM1(FloatBuilder &d, Value x) {
  auto [k, r] = splitByLn2(d, d.clamp(x, -40, 710));
  Value missing = d.sub(d.constant(1), d.powerOfTwo(d.sub(d.constant(0), d.clamp(k, -100, 1000))));
  Value result = d.scale(d.add(expm1Near0(d, r), missing), k);
  // Also keeps the sign of zero.
  return d.select(Compare::OEQ, x, 0, x, result);
}

/// (exp(2|x|) - 1) / (exp(2|x|) + 1), with the sign of x.
Value buildTanh(FloatBuilder &d, Value x) {
  Value magnitude = d.clamp(d.abs(x), 0, 22);
  Value e = buildExpM1(d, d.add(magnitude, magnitude));
  return d.copySign(d.div(e, d.add(e, d.constant(2))), x);
}

//===--------------------------------------------------------------------------===//
// Logarithms
//===--------------------------------------------------------------------------===//

/// A positive number as 2^exponent (1 + fraction), with 1 + fraction in [sqrt(1/2), sqrt(2)).
struct Logarithm {
  Value exponent, fraction;
};

Logarithm splitPositive(FloatBuilder &d, Value x) {
  // Numbers below the smallest normal one are scaled up first.
  constexpr double kSmallest = std::numeric_limits<double>::min();
  Value normal = d.select(Compare::OLT, x, kSmallest, d.mul(x, d.constant(0x1p54)), x);
  Value bias = d.select(Compare::OLT, x, kSmallest, d.constant(1023 + 54), d.constant(1023));
  // Counted from sqrt(1/2), exponents step where the fraction is smallest.
  constexpr int64_t kHalfRoot = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  Value shifted = d.addBits(d.bits(normal), d.integer(kOne - kHalfRoot));
  Value biased = d.shiftRight(shifted, 52);
  Value mantissa = d.addBits(d.andBits(shifted, 0x000fffffffffffff), d.integer(kHalfRoot));
  constexpr int64_t kTwo52 = 0x4330000000000000;
  Value exponent =
      d.sub(d.sub(d.fromBits(d.orBits(biased, d.integer(kTwo52))), d.constant(0x1p52)), bias);
  return {exponent, d.sub(d.fromBits(mantissa), d.constant(1))};
}

/// log(1 + f) - (f - f^2 / 2) by s = f / (2 + f): 2 atanh(s) = log(1 + f).
Value logRest(FloatBuilder &d, Value f, Value halfSquare) {
  Value s = d.div(f, d.add(d.constant(2), f));
  Value z = d.mul(s, s);
  // The best approximation of degree 7 in z to (log(1 + f) - 2 s) / s on the interval.
  Value series = d.mul(z, d.polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                                           2.857142874366239149e-01, 2.222219843214978396e-01,
                                           1.818357216161805012e-01, 1.531383769920937332e-01,
                                           1.479819860511658591e-01}));
  return d.mul(s, d.add(halfSquare, series));
}

/// The logarithm of arguments that are not positive finite numbers.
Value withSpecialLogs(FloatBuilder &d, Value x, Value result) {
  result = d.select(Compare::OLT, x, 0, d.constant(std::nan("")), result);
  result = d.select(Compare::OEQ, x, 0, d.constant(-kInfinity), result);
  // Infinity and NaN are their own logarithms.
  return d.select(Compare::ULT, x, kInfinity, d.select(Compare::UNO, x, 0, x, result), x);
}

/// exponent * (high + low) + log(1 + fraction) * factor
Value buildLogTo(FloatBuilder &d, Value x, double high, double low, double factor) {
  auto [exponent, f] = splitPositive(d, x);
  Value halfSquare = d.mul(d.mul(f, d.constant(0.5)), f);
  Value rest = logRest(d, f, halfSquare);
  if (factor == 1) {
    Value small = d.sub(halfSquare, d.fma(exponent, low, rest));
    Value result = d.sub(d.mul(exponent, d.constant(high)), d.sub(small, f));
    return withSpecialLogs(d, x, result);
  }
  Value natural = d.sub(f, d.sub(halfSquare, rest));
  Value result = d.fma(exponent, high, d.fma(exponent, low, d.mul(natural, d.constant(factor))));
  return withSpecialLogs(d, x, result);
}

Value buildLog(FloatBuilder &d, Value x) { return buildLogTo(d, x, kLn2High, kLn2Low, 1); }
Value buildLog2(FloatBuilder &d, Value x) { return buildLogTo(d, x, 1, 0, std::numbers::log2e); }
Value buildLog10(FloatBuilder &d, Value x) {
  return buildLogTo(d, x, 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42, std::numbers::log10e);
}

/// log(u) for u = 1 + x rounded, plus what the rounding took away.
Value buildLog1p(FloatBuilder &d, Value x) {
  Value u = d.add(d.constant(1), x);
  Value lost = d.div(d.sub(x, d.sub(u, d.constant(1))), u);
  Value log = buildLog(d, u);
  Value result = d.add(log, lost);
  // If the logarithm is infinite or no number, nothing was lost; 0 keeps its sign.
  result = d.select(Compare::OLE, u, 0, log, result);
  result = d.select(Compare::OEQ, u, kInfinity, log, result);
  return d.select(Compare::OEQ, x, 0, x, result);
}

} // namespace

void populateDoubleMathPatterns(RewritePatternSet &patterns) {
  patterns.add<WriteFunction<math::ExpOp, Float64Type, buildExp>,
               WriteFunction<math::Exp2Op, Float64Type, buildExp2>,
               WriteFunction<math::ExpM1Op, Float64Type, buildExpM1>,
               WriteFunction<math::TanhOp, Float64Type, buildTanh>,
               WriteFunction<math::LogOp, Float64Type, buildLog>,
               WriteFunction<math::Log2Op, Float64Type, buildLog2>,
               WriteFunction<math::Log10Op, Float64Type, buildLog10>,
               WriteFunction<math::Log1pOp, Float64Type, buildLog1p>>(patterns.getContext());
}

} // namespace headrace
