// The gamma, error and Bessel functions. Series are of Chebyshev polynomials, whose coefficients
// were computed with 40 digits; f32 is computed in f64, in which they have about 15.
#include "dialect/scalar/SpecialFormulas.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace headrace {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Formulas over doubles, with their numbers as they are.
class Doubles {
public:
  explicit Doubles(ScalarMath &m) : m(m) {}
  ScalarMath &m;

  Value add(Value a, Value b) { return m.add(a, b); }
  Value add(Value a, double b) { return m.add(a, m.number(a, b)); }
  Value sub(Value a, Value b) { return m.sub(a, b); }
  Value sub(double a, Value b) { return m.sub(m.number(b, a), b); }
  Value mul(Value a, Value b) { return m.mul(a, b); }
  Value mul(Value a, double b) { return m.mul(a, m.number(a, b)); }
  Value div(Value a, Value b) { return m.div(a, b); }
  Value div(double a, Value b) { return m.div(m.number(b, a), b); }
  Value log(Value a) { return m.op<math::LogOp>(a); }
  Value sqrt(Value a) { return m.op<math::SqrtOp>(a); }
  Value less(Value a, double b) { return m.compare(ScalarMath::Compare::Less, a, m.number(a, b)); }
  Value equal(Value a, double b) {
    return m.compare(ScalarMath::Compare::Equal, a, m.number(a, b));
  }
  Value select(Value condition, Value yes, Value no) { return m.select(condition, yes, no); }
  Value select(Value condition, double yes, Value no) {
    return m.select(condition, m.number(no, yes), no);
  }

  /// The sum of coefficients[k] x^k.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = m.number(x, coefficients.back());
    for (double each : llvm::reverse(coefficients.drop_back()))
      sum = add(mul(sum, x), each);
    return sum;
  }

  /// Half the first coefficient, and the sum of the others times T_k(x).
  Value chebyshev(Value x, ArrayRef<double> coefficients) {
    Value later = m.number(x, 0), sum = m.number(x, coefficients.back()), twice = mul(x, 2);
    for (double each : llvm::reverse(coefficients.drop_front().drop_back())) {
      Value next = add(sub(mul(twice, sum), later), each);
      later = sum, sum = next;
    }
    return add(sub(mul(x, sum), later), coefficients.front() / 2);
  }

  /// The distance from the nearest integer, which decides the sine of pi x.
  Value fromInteger(Value x) { return sub(x, m.op<math::RoundEvenOp>(x)); }
};

using Function = Value (*)(Doubles &, Value);

template <Function function> Value inDouble(ScalarMath &m, ValueRange x) {
  Type type = x[0].getType();
  Doubles d(m);
  if (type.isF64())
    return function(d, x[0]);
  Value wide = m.convert(x[0], Float64Type::get(type.getContext()));
  return m.convert(function(d, wide), type);
}

//===--------------------------------------------------------------------------===//
// Gamma functions
//===--------------------------------------------------------------------------===//

/// For x >= 1/2: Stirling's series of x + n >= 8, less the logarithm of x (x + 1) ... (x + n - 1).
Value logGammaOfPositive(Doubles &d, Value x) {
  constexpr double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  Value z = x, skipped = d.m.number(x, 1);
  for (int i = 0; i < 8; ++i) {
    Value isSmall = d.less(z, 8);
    skipped = d.select(isSmall, d.mul(skipped, z), skipped);
    z = d.select(isSmall, d.add(z, 1), z);
  }
  Value inverse = d.div(1, z);
  Value rest = d.mul(inverse, d.polynomial(d.mul(inverse, inverse), series));
  Value main = d.sub(d.mul(d.add(z, -0.5), d.add(d.log(z), -1)), d.m.number(z, 0.5));
  Value whole = d.add(d.add(main, rest), 0.5 * std::log(2 * std::numbers::pi));
  return d.select(d.equal(x, infinity), infinity, d.sub(whole, d.log(skipped)));
}

/// Reflected at 1/2: log(pi / |sin(pi x)|) - lgamma(1 - x).
Value logGamma(Doubles &d, Value x) {
  Value isReflected = d.less(x, 0.5);
  Value positive = logGammaOfPositive(d, d.select(isReflected, d.sub(1, x), x));
  Value sine = d.m.abs(d.m.op<math::SinOp>(d.mul(d.fromInteger(x), std::numbers::pi)));
  Value mirrored = d.sub(d.log(d.div(std::numbers::pi, sine)), positive);
  mirrored = d.select(d.equal(x, -infinity), infinity, mirrored);
  return d.select(isReflected, mirrored, positive);
}

Value isPole(Doubles &d, Value x) {
  return d.m.op<arith::AndIOp>(d.less(x, 0.5), d.equal(d.fromInteger(x), 0));
}

/// For x >= 1/2: the asymptotic series of x + n >= 10, less 1 / x + ... + 1 / (x + n - 1).
Value digammaOfPositive(Doubles &d, Value x) {
  constexpr double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
  Value z = x, skipped = d.m.number(x, 0);
  for (int i = 0; i < 10; ++i) {
    Value isSmall = d.less(z, 10);
    skipped = d.select(isSmall, d.add(skipped, d.div(1, z)), skipped);
    z = d.select(isSmall, d.add(z, 1), z);
  }
  Value inverse = d.div(1, z), square = d.mul(inverse, inverse);
  Value rest = d.add(d.mul(inverse, 0.5), d.mul(square, d.polynomial(square, series)));
  return d.sub(d.sub(d.log(z), rest), skipped);
}

/// Reflected at 1/2: digamma(1 - x) - pi / tan(pi x). It has no value at negative integers.
Value digamma(Doubles &d, Value x) {
  Value isReflected = d.less(x, 0.5);
  Value positive = digammaOfPositive(d, d.select(isReflected, d.sub(1, x), x));
  Value tangent = d.m.op<math::TanOp>(d.mul(d.fromInteger(x), std::numbers::pi));
  Value mirrored = d.sub(positive, d.div(std::numbers::pi, tangent));
  Value result = d.select(isReflected, mirrored, positive);
  result = d.select(isPole(d, x), nan, result);
  return d.select(d.equal(x, 0), d.div(-1, x), result);
}

/// The derivative of digamma, reflected at 1/2: (pi / sin(pi x))^2 - trigamma(1 - x).
Value trigamma(Doubles &d, Value x) {
  constexpr double series[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                               5.0 / 66, -691.0 / 2730, 7.0 / 6};
  Value isReflected = d.less(x, 0.5);
  Value z = d.select(isReflected, d.sub(1, x), x), skipped = d.m.number(x, 0);
  for (int i = 0; i < 10; ++i) {
    Value isSmall = d.less(z, 10);
    skipped = d.select(isSmall, d.add(skipped, d.div(1, d.mul(z, z))), skipped);
    z = d.select(isSmall, d.add(z, 1), z);
  }
  Value inverse = d.div(1, z), square = d.mul(inverse, inverse);
  Value rest = d.mul(d.mul(square, inverse), d.polynomial(square, series));
  Value positive = d.add(d.add(d.add(inverse, d.mul(square, 0.5)), rest), skipped);
  Value sine = d.m.op<math::SinOp>(d.mul(d.fromInteger(x), std::numbers::pi));
  Value root = d.div(std::numbers::pi, sine);
  return d.select(isReflected, d.sub(d.mul(root, root), positive), positive);
}

//===--------------------------------------------------------------------------===//
// Error functions
//===--------------------------------------------------------------------------===//

/// log(exp(x^2) erfc(x) / t) over 2 t - 1, with t = 2 / (2 + x).
constexpr double kLogErfcx[] = {
    -1.302653719781709434,     0.6419697923564902603,      0.01947647320418583631,
    -0.009561514786808631642,  -0.0009465953444820368663,  0.0003668394978527614519,
    0.00004252332480690777164, -0.00002027857811253424315, -1.624290004647025513e-6,
    1.303655835580523202e-6,   1.56264417220661432e-8,     -8.523809591492654254e-8,
    6.529054439098851501e-9,   5.059343495551468944e-9,    -9.913641564930330966e-10,
    -2.273651222931835698e-10, 9.646791102015524848e-11,   2.394038083039135362e-12,
    -6.886027526497572272e-12, 8.944879273090871202e-13,   3.130921399342875714e-13,
    -1.127082236136717185e-13, 3.810905255256487298e-16,   7.10609761359591354e-15,
    -1.523028201439018813e-15, -9.457494573327378498e-17,  1.210237189422707874e-16,
    -2.816663089407687589e-17};

/// exp(x^2) erfc(x) for x >= 0.
Value scaledErfcOfPositive(Doubles &d, Value x) {
  Value t = d.div(2, d.add(x, 2));
  return d.mul(t, d.m.exp(d.chebyshev(d.add(d.mul(t, 2), -1), kLogErfcx)));
}

/// 2 exp(x^2) - erfcx(-x) for negative numbers.
Value scaledErfc(Doubles &d, Value x) {
  Value positive = scaledErfcOfPositive(d, d.m.abs(x));
  Value mirrored = d.sub(d.mul(d.m.exp(d.mul(x, x)), 2), positive);
  return d.select(d.less(x, 0), mirrored, positive);
}

/// 1 - erf(x), where that is small by its own series.
Value complementaryError(Doubles &d, Value x) {
  Value isSmall = d.less(x, 0.5);
  Value large = d.select(isSmall, 1, x);
  Value tail = d.mul(d.m.exp(d.m.neg(d.mul(large, large))), scaledErfcOfPositive(d, large));
  tail = d.select(d.equal(x, infinity), 0, tail);
  return d.select(isSmall, d.sub(1, d.m.op<math::ErfOp>(x)), tail);
}

/// Polynomials of log(1 - x^2) with seven digits, and two of Newton's steps.
Value inverseError(Doubles &d, Value x) {
  constexpr double central[] = {1.50140941,     0.246640727,    -0.00417768164,
                                -0.00125372503, 0.00021858087,  -4.39150654e-06,
                                -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
  constexpr double outer[] = {2.83297682,    1.00167406,     0.00943887047,
                              -0.0076224613, 0.00573950773,  -0.00367342844,
                              0.00134934322, 0.000100950558, -0.000200214257};
  Value w = d.m.neg(d.log(d.mul(d.sub(1, x), d.add(x, 1))));
  Value isCentral = d.less(w, 5);
  Value far = d.add(d.sqrt(d.select(isCentral, 5, w)), -3);
  Value factor =
      d.select(isCentral, d.polynomial(d.add(w, -2.5), central), d.polynomial(far, outer));
  Value y = d.mul(factor, x);
  for (int i = 0; i < 2; ++i) {
    Value slope = d.mul(d.m.exp(d.m.neg(d.mul(y, y))), 2 * std::numbers::inv_sqrtpi);
    y = d.sub(y, d.div(d.sub(d.m.op<math::ErfOp>(y), x), slope));
  }
  y = d.select(d.equal(x, 1), infinity, d.select(d.equal(x, -1), -infinity, y));
  return y;
}

//===--------------------------------------------------------------------------===//
// Modified Bessel functions
//===--------------------------------------------------------------------------===//

/// exp(-x) I0(x) over x / 4 - 1.
constexpr double kSmallI0[] = {
    0.676795274409476085,      -0.3046826723431983987,    0.1716209015222087753,
    -0.09490109704804764442,   0.04930528423967070849,    -0.02373741480589946882,
    0.01054646039459499832,    -0.004324309995050575944,  0.001639475616941335798,
    -0.0005763755745385823659, 0.0001885028850958416557,  -0.00005754195010082103704,
    0.00001644844807072889709, -4.416738358458750564e-6,  1.117387539120103718e-6,
    -2.670793853940611734e-7,  6.046995022541918949e-8,   -1.300025009986248042e-8,
    2.65982372468238665e-9,    -5.189795601635262907e-10, 9.675809035373236912e-11,
    -1.726826291441555707e-11, 2.955052663129639835e-12,  -4.856446783111929461e-13,
    7.676185498604935617e-14,  -1.168533287799345168e-14, 1.715391285555133031e-15,
    -2.431279846547954694e-16, 3.330794518822238098e-17,  -4.415341646479339379e-18};
/// exp(-x) sqrt(x) I0(x) over 16 / x - 1.
constexpr double kLargeI0[] = {
    0.8044904110141088316,     0.00336911647825569409,    0.00006889758346916823984,
    2.891370520834756483e-6,   2.048918589469063742e-7,   2.266668990498178065e-8,
    3.396232025708386345e-9,   4.940602388224969589e-10,  1.188914710784643834e-11,
    -3.149916527963241365e-11, -1.321581184044771312e-11, -1.794178531506806118e-12,
    7.180124451383666234e-13,  3.852778382742142701e-13,  1.540086217521409827e-14,
    -4.150569347287222087e-14, -9.554846698828307649e-15, 3.811680669352622421e-15,
    1.772560133056526384e-15,  -3.425485619677219135e-16, -2.827623980516583485e-16,
    3.461222867697461093e-17,  4.465621420296759999e-17,  -4.830504485944182071e-18,
    -7.233180487874753955e-18};
/// exp(-x) I1(x) / x over x / 4 - 1.
constexpr double kSmallI1[] = {
    0.2525871864436336548,     -0.1764165183578340552,    0.1026436586898470954,
    -0.05294598120809499143,   0.02472644903062651683,    -0.01056408489462619816,
    0.004156422944312888157,   -0.001513572450631253149,  0.0005122859561685757729,
    -0.0001617608158258967456, 0.00004781565107550054226, -0.00001327316365603943583,
    3.470251308137678477e-6,   -8.568720264695454741e-7,  2.003294753552135262e-7,
    -4.445059128796328081e-8,  9.381537386495771784e-9,   -1.887249751722829288e-9,
    3.625590281552117037e-10,  -6.663489723502027742e-11, 1.173618629889090163e-11,
    -1.983974397764943715e-12, 3.22379336594557471e-13,   -5.042185504727911687e-14,
    7.600684294735406934e-15,  -1.105596947735386308e-15, 1.553631957736200469e-16,
    -2.111421214358166078e-17, 2.77791411276104637e-18};
/// exp(-x) sqrt(x) I1(x) over 16 / x - 1.
constexpr double kLargeI1[] = {
    0.7785762350182801205,     -0.009761097491361468408,  -0.0001105889387626237163,
    -3.882564808877690393e-6,  -2.512236237870208925e-7,  -2.631468846889519507e-8,
    -3.835380385964237022e-9,  -5.589743462196583807e-10, -1.897495812350541234e-11,
    3.252603583015488239e-11,  1.412580743661378133e-11,  2.035628544147089507e-12,
    -7.198551776245908512e-13, -4.083551111092197318e-13, -2.101541842772664313e-14,
    4.272440016711951354e-14,  1.042027698412880276e-14,  -3.814403072437007805e-15,
    -1.880354775510782449e-15, 3.308202310920928283e-16,  2.962628997645950139e-16,
    -3.209525921993423959e-17, -4.650305368489358326e-17, 4.41434832307170795e-18,
    7.517296310842104805e-18};

/// Both series at |x|, up to 8 and from there on.
Value scaledBessel(Doubles &d, Value size, ArrayRef<double> small, Value factor,
                   ArrayRef<double> large, Value sign) {
  Value isSmall = d.less(size, 8);
  Value low = d.mul(d.chebyshev(d.add(d.mul(size, 0.25), -1), small), factor);
  Value far = d.select(isSmall, 8, size);
  Value high = d.div(d.chebyshev(d.add(d.div(16, far), -1), large), d.sqrt(far));
  return d.select(isSmall, low, d.mul(high, sign));
}

/// exp(-|x|) I0(x).
Value scaledI0(Doubles &d, Value x) {
  Value one = d.m.number(x, 1);
  return scaledBessel(d, d.m.abs(x), kSmallI0, one, kLargeI0, one);
}

/// exp(-|x|) I1(x), which is odd.
Value scaledI1(Doubles &d, Value x) {
  Value sign = d.select(d.less(x, 0), -1, d.m.number(x, 1));
  return scaledBessel(d, d.m.abs(x), kSmallI1, x, kLargeI1, sign);
}

template <Function scaled> Value unscaled(Doubles &d, Value x) {
  return d.mul(d.m.exp(d.m.abs(x)), scaled(d, x));
}

constexpr NamedFormula kSpecial[] = {
    {"lgamma", 1, true, inDouble<logGamma>},       {"digamma", 1, true, inDouble<digamma>},
    {"trigamma", 1, true, inDouble<trigamma>},     {"erfc", 1, true, inDouble<complementaryError>},
    {"erfcx", 1, true, inDouble<scaledErfc>},      {"erfinv", 1, true, inDouble<inverseError>},
    {"i0", 1, true, inDouble<unscaled<scaledI0>>}, {"i0e", 1, true, inDouble<scaledI0>},
    {"i1", 1, true, inDouble<unscaled<scaledI1>>}, {"i1e", 1, true, inDouble<scaledI1>},
};

} // namespace

ArrayRef<NamedFormula> specialFormulas() { return kSpecial; }

} // namespace headrace
