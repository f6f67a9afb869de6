// Elementary functions of device code: hr_NAME_f32, hr_NAME_f64. Compiled to LLVM when Headrace is
// built and linked into the kernels that call them, so that no toolkit is needed at run time; and,
// for tests, compiled for the host.
//
// Largest errors, in units of the last place (test/target/cuda checks them):
//   f32: expm1 4; exp, exp2, log, log2, log1p, tanh, erf, sin, cos 3; all others 1 (computed in
//   double) f64: exp, exp2, log, sin, cos, atan 2; all others 4; pow 6
// Polynomials are interpolations at Chebyshev points, of our own making.
typedef unsigned long long u64;
typedef unsigned u32;

#ifdef __NVPTX__
float hr_ex2(float x) __asm("llvm.nvvm.ex2.approx.f");
static inline float pow2f(float x) { return hr_ex2(x); }
#else
static inline float pow2f(float x) { return __builtin_exp2f(x); }
#endif

#define INLINE static inline __attribute__((always_inline))
#define INF32 __builtin_inff()
#define INF64 __builtin_inf()
#define NAN64 __builtin_nan("")

INLINE double fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
INLINE float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE u64 bits64(double x) { return __builtin_bit_cast(u64, x); }
INLINE double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }
INLINE u32 bits32(float x) { return __builtin_bit_cast(u32, x); }
INLINE float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }
INLINE double poly64(double x, const double *c, int n) {
  double r = c[n - 1];
#pragma clang loop unroll(full)
  for (int i = n - 2; i >= 0; --i)
    r = fma64(r, x, c[i]);
  return r;
}
#define POLY(x, ...)                                                                               \
  ({                                                                                               \
    const double c_[] = {__VA_ARGS__};                                                             \
    poly64(x, c_, sizeof(c_) / sizeof(double));                                                    \
  })

// ---- What is an instruction ----
float hr_absf_f32(float x) { return __builtin_fabsf(x); }
double hr_absf_f64(double x) { return __builtin_fabs(x); }
float hr_floor_f32(float x) { return __builtin_floorf(x); }
double hr_floor_f64(double x) { return __builtin_floor(x); }
float hr_ceil_f32(float x) { return __builtin_ceilf(x); }
double hr_ceil_f64(double x) { return __builtin_ceil(x); }
float hr_sqrt_f32(float x) { return __builtin_elementwise_sqrt(x); }
double hr_sqrt_f64(double x) { return __builtin_elementwise_sqrt(x); }
float hr_rsqrt_f32(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }
double hr_rsqrt_f64(double x) { return 1.0 / __builtin_elementwise_sqrt(x); }

// ---- f64: exponentials ----

/// x * 2^k, for any k that an exponential may need.
INLINE double scale64(double x, int k) {
  int half = k >> 1;
  return x * double_of((u64)(half + 1023) << 52) * double_of((u64)(k - half + 1023) << 52);
}

/// exp(x + low) for |low| far less than |x|.
INLINE double exp_sum(double x, double low) {
  if (x != x)
    return x;
  if (x > 709.8)
    return INF64;
  if (x < -745.2)
    return 0.0;
  double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  double r = fma64(k, -0x1.62e42fefa39efp-1, x);
  r = fma64(k, -0x1.abc9e3b39803fp-56, r) + low;
  double p = POLY(r, 0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555557p-5,
                  0x1.1111111111111p-7, 0x1.6c16c16c158fap-10, 0x1.a01a01a0195e9p-13,
                  0x1.a01a01aa80c24p-16, 0x1.71de3a5af8595p-19, 0x1.27e4d288d6672p-22,
                  0x1.ae642ad7b698cp-26, 0x1.1f820532b5a27p-29, 0x1.61c2b89c2d16dp-33);
  return scale64(1.0 + fma64(p, r * r, r), (int)k);
}
double hr_exp_f64(double x) { return exp_sum(x, 0.0); }
double hr_exp2_f64(double x) {
  if (x > 1025.0)
    return INF64;
  if (x < -1076.0)
    return 0.0;
  double high = x * 0x1.62e42fefa39efp-1;
  return exp_sum(high, fma64(x, 0x1.62e42fefa39efp-1, -high) + x * 0x1.abc9e3b39803fp-56);
}
double hr_expm1_f64(double x) {
  if (__builtin_fabs(x) >= 0.5)
    return hr_exp_f64(x) - 1.0;
  double p = POLY(x, 0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5,
                  0x1.1111111111111p-7, 0x1.6c16c16c16c40p-10, 0x1.a01a01a01a02dp-13,
                  0x1.a01a01a00a83ap-16, 0x1.71de3a5565297p-19, 0x1.27e4fba3cba0cp-22,
                  0x1.ae6456a8f8a26p-26, 0x1.1eed0d36dd3adp-29, 0x1.6123e71bcf409p-33,
                  0x1.9510a17c5ac1cp-37, 0x1.afe2527aaba13p-41);
  return x == 0.0 ? x : fma64(p, x * x, x);
}

// ---- f64: logarithms ----

struct Sum {
  double high, low;
};

/// (2 artanh(s) - 2 s) / s^3 of z = s^2 for |s| <= 0.172.
INLINE double artanh_rest(double z) {
  return POLY(z, 0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.249249249296cp-2,
              0x1.c71c71c649d29p-3, 0x1.745d17d4e023ep-3, 0x1.3b137abacbd15p-3,
              0x1.111d3bc7f927ap-3, 0x1.debb4432155e1p-4, 0x1.e6d04c9e3c20ep-4);
}

/// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)], in two parts.
INLINE struct Sum log_near_one(double f) {
  double d = 2.0 + f, dlow = f - (d - 2.0);
  double s = f / d;
  double slow = (fma64(-s, d, f) - s * dlow) / d;
  double z = s * s, high = 2.0 * s;
  return (struct Sum){high, fma64(z * s, artanh_rest(z), 2.0 * slow)};
}

/// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); x is positive and finite.
INLINE double split64(double x, int *e) {
  int extra = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    extra = -54;
  }
  u64 b = bits64(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  *e = (int)(b >> 52) - 1023 + extra;
  return double_of((b & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
}

INLINE struct Sum log_sum(double x) {
  int e;
  double m = split64(x, &e);
  struct Sum l = log_near_one(m - 1.0);
  double big = e * 0x1.62e42fefa3800p-1; // exact: the constant ends in zeros
  double high = big + l.high;
  double rest = e == 0 ? 0.0 : (big - high) + l.high;
  return (struct Sum){high, rest + fma64(e, 0x1.ef35793c76730p-45, l.low)};
}

double hr_log_f64(double x) {
  if (!(x > 0.0))
    return x == 0.0 ? -INF64 : NAN64;
  if (x == INF64)
    return x;
  struct Sum l = log_sum(x);
  return l.high + l.low;
}
INLINE double log_in_base(double x, double high, double low) {
  if (!(x > 0.0) || x == INF64)
    return hr_log_f64(x);
  struct Sum l = log_sum(x);
  double p = l.high * high;
  return p + (fma64(l.high, high, -p) + fma64(l.high, low, l.low * high));
}
double hr_log2_f64(double x) { return log_in_base(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56); }
double hr_log10_f64(double x) {
  return log_in_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
}
double hr_log1p_f64(double x) {
  if (x > -0.29 && x < 0.41) {
    struct Sum l = log_near_one(x);
    return x == 0.0 ? x : l.high + l.low;
  }
  double u = 1.0 + x;
  if (!(u > 0.0) || u == INF64)
    return hr_log_f64(u);
  struct Sum l = log_sum(u);
  double missing = u > x ? x - (u - 1.0) : (x - u) + 1.0;
  return l.high + (l.low + missing / u);
}

double hr_powf_f64(double x, double y) {
  double a = __builtin_fabs(x);
  if (y == 0.0 || x == 1.0)
    return 1.0;
  if (x != x || y != y)
    return x + y;
  double magnitude = __builtin_fabs(y);
  int is_integer = magnitude >= 0x1p52 || __builtin_floor(y) == y;
  int is_odd = magnitude < 0x1p53 && is_integer && __builtin_floor(y * 0.5) != y * 0.5;
  double sign = is_odd ? __builtin_copysign(1.0, x) : 1.0;
  if (magnitude == INF64)
    return a == 1.0 ? 1.0 : ((a > 1.0) == (y > 0.0) ? INF64 : 0.0);
  if (a == 0.0)
    return sign * (y > 0.0 ? 0.0 : INF64);
  if (a == INF64)
    return sign * (y > 0.0 ? INF64 : 0.0);
  if (x < 0.0 && !is_integer)
    return NAN64;
  struct Sum l = log_sum(a);
  // The parts overlap by far; times a large power, the second must be small.
  double high = l.high + l.low;
  l = (struct Sum){high, l.low - (high - l.high)};
  double p = y * l.high;
  if (p > 800.0)
    return sign * INF64;
  if (p < -800.0)
    return sign * 0.0;
  return sign * exp_sum(p, fma64(y, l.high, -p) + y * l.low);
}

double hr_cbrt_f64(double x) {
  double a = __builtin_fabs(x);
  if (a == 0.0 || !(a < INF64))
    return x;
  double r = exp_sum(hr_log_f64(a) / 3.0, 0.0);
  r -= (r - a / (r * r)) / 3.0;
  return __builtin_copysign(r, x);
}

// ---- f64: circular functions ----

/// The nearest multiple of pi / 2 and what is left, for numbers too large to subtract it from:
/// x / (pi / 2) modulo 4 from the bits of 2 / pi.
INLINE int reduce_large(double x, double *left) {
  static const u64 kTwoOverPi[] = {
      0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
      0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
      0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
      0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
      0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
  u64 bits = bits64(x);
  int e = (int)((bits >> 52) & 0x7ff) - 1075; // x = m * 2^e
  u64 m = (bits & 0x000fffffffffffffull) | 0x0010000000000000ull;
  // Bits of 2 / pi from 2^(1 - e) downwards: what is above only adds multiples of four.
  int from = e + 62; // of them, counted from the beginning of the first word, which is zero
  int word = from >> 6, shift = from & 63;
  u64 w[4];
  for (int i = 0; i < 4; ++i) {
    u64 a = word + i >= 0 && word + i < 20 ? kTwoOverPi[word + i] : 0;
    u64 b = word + i + 1 >= 0 && word + i + 1 < 20 ? kTwoOverPi[word + i + 1] : 0;
    w[i] = shift ? (a << shift) | (b >> (64 - shift)) : a;
  }
  // m * w without its last word, with the point after two bits.
  unsigned __int128 low = (unsigned __int128)m * w[2] + (u64)(((unsigned __int128)m * w[3]) >> 64);
  unsigned __int128 middle = (unsigned __int128)m * w[1] + (u64)(low >> 64);
  u64 p0 = m * w[0] + (u64)(middle >> 64), p1 = (u64)middle, p2 = (u64)low;
  int quadrant = (int)(p0 >> 62);
  u64 f0 = (p0 << 2) | (p1 >> 62), f1 = (p1 << 2) | (p2 >> 62);
  int negate = (int)(f0 >> 63);
  if (negate) {
    quadrant += 1;
    f1 = ~f1 + 1;
    f0 = ~f0 + (f1 == 0);
  }
  double fraction = (double)f0 * 0x1p-64, rest = (double)f1 * 0x1p-128;
  double low_part = (double)(long long)(f0 - (u64)(double)f0) * 0x1p-64;
  if ((double)f0 >= 0x1p64)
    low_part = 0.0;
  double r = fraction * 0x1.921fb54442d18p+0;
  r += fma64(fraction, 0x1.921fb54442d18p+0, -r) + fraction * 0x1.1a62633145c07p-54 +
       (low_part + rest) * 0x1.921fb54442d18p+0;
  *left = negate != (x < 0.0) ? -r : r;
  return x < 0.0 ? -quadrant : quadrant;
}

INLINE int reduce64(double x, double *left, double *low) {
  *low = 0.0;
  if (__builtin_fabs(x) >= 0x1p26)
    return reduce_large(x, left);
  double k = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  double a = fma64(k, -0x1.921fb54442d18p+0, x);
  double b = k * 0x1.1a62633145c07p-54, berr = fma64(k, 0x1.1a62633145c07p-54, -b);
  *left = a - b;
  *low = ((a - *left) - b) - fma64(k, -0x1.f1976b7ed8fbcp-110, berr);
  return (int)k;
}

INLINE double sin_kernel(double x, double low) {
  double z = x * x;
  double p = POLY(z, -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a019p-13,
                  0x1.71de3a556c2abp-19, -0x1.ae64567e6e80dp-26, 0x1.61245faf0adb6p-33,
                  -0x1.ae7c4c2c919d2p-41, 0x1.923ef1239b37ep-49);
  return x + fma64(p * z, x, low);
}
INLINE double cos_kernel(double x, double low) {
  double z = x * x, h = 0.5 * z, w = 1.0 - h;
  double p = POLY(z, 0x1.5555555555555p-5, -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a019p-16,
                  -0x1.27e4fb7789d8cp-22, 0x1.1eed8eff3191ep-29, -0x1.9397494f7e3a7p-37,
                  0x1.ae7ce2c61e9dcp-45, -0x1.65cfb70a7258dp-53);
  return w + (((1.0 - w) - h) + fma64(p, z * z, -x * low));
}
double hr_sin_f64(double x) {
  if (!(__builtin_fabs(x) < INF64))
    return NAN64;
  double r, low;
  int q = reduce64(x, &r, &low);
  double v = q & 1 ? cos_kernel(r, low) : sin_kernel(r, low);
  return x == 0.0 ? x : q & 2 ? -v : v;
}
double hr_cos_f64(double x) {
  if (!(__builtin_fabs(x) < INF64))
    return NAN64;
  double r, low;
  int q = reduce64(x, &r, &low);
  double v = q & 1 ? sin_kernel(r, low) : cos_kernel(r, low);
  return (q + 1) & 2 ? -v : v;
}
double hr_tan_f64(double x) {
  if (!(__builtin_fabs(x) < INF64))
    return NAN64;
  double r, low;
  int q = reduce64(x, &r, &low);
  double s = sin_kernel(r, low), c = cos_kernel(r, low);
  return x == 0.0 ? x : q & 1 ? -c / s : s / c;
}

/// atan of a number in [0, 1], as a sum with the offset.
INLINE double atan_unit(double a) {
  // tan(pi / 8) splits the range: atan(a) = pi / 4 + atan((a - 1) / (a + 1)).
  int upper = a > 0x1.a827999fcef32p-2;
  double x = upper ? (a - 1.0) / (a + 1.0) : a, z = x * x;
  double p =
      POLY(z, -0x1.5555555555555p-2, 0x1.9999999999999p-3, -0x1.2492492492461p-3,
           0x1.c71c71c718cdfp-4, -0x1.745d1744b47c2p-4, 0x1.3b13b106c2871p-4, -0x1.11110ad3bdff1p-4,
           0x1.e1e0de50f7941p-5, -0x1.af19a5ad09f85p-5, 0x1.857f89fcb7900p-5, -0x1.5fc8cbeac1d10p-5,
           0x1.3104133e54b8dp-5, -0x1.bed65e23a7d9dp-6, 0x1.87d44588e639fp-7);
  double r = fma64(p * z, x, x);
  return upper ? 0x1.921fb54442d18p-1 + (r + 0x1.1a62633145c07p-55) : r;
}
double hr_atan_f64(double x) {
  double a = __builtin_fabs(x);
  if (x != x)
    return x;
  double r =
      a > 1.0 ? 0x1.921fb54442d18p+0 - (atan_unit(1.0 / a) - 0x1.1a62633145c07p-54) : atan_unit(a);
  return __builtin_copysign(r, x);
}
double hr_atan2_f64(double y, double x) {
  if (x != x || y != y)
    return x + y;
  double a = __builtin_fabs(y), c = __builtin_fabs(x), r;
  if (a == 0.0 && c == 0.0)
    r = 0.0;
  else if (a == INF64 && c == INF64)
    r = 0x1.921fb54442d18p-1;
  else if (a > c)
    r = 0x1.921fb54442d18p+0 - (atan_unit(c / a) - 0x1.1a62633145c07p-54);
  else
    r = atan_unit(a / c);
  if (__builtin_signbit(x))
    r = 0x1.921fb54442d18p+1 - (r - 0x1.1a62633145c07p-53);
  return __builtin_copysign(r, y);
}
double hr_asin_f64(double x) {
  double a = __builtin_fabs(x);
  if (a > 1.0)
    return NAN64;
  return hr_atan2_f64(x, __builtin_elementwise_sqrt((1.0 - a) * (1.0 + a)));
}
double hr_acos_f64(double x) {
  if (__builtin_fabs(x) > 1.0)
    return NAN64;
  return 2.0 *
         hr_atan2_f64(__builtin_elementwise_sqrt(1.0 - x), __builtin_elementwise_sqrt(1.0 + x));
}

// ---- f64: hyperbolic functions, error function, remainder ----
double hr_tanh_f64(double x) {
  double a = __builtin_fabs(x);
  if (a > 22.0)
    return __builtin_copysign(1.0, x);
  if (a < 0.56) {
    double z = x * x;
    double p = POLY(z, -0x1.5555555555555p-2, 0x1.1111111111111p-3, -0x1.ba1ba1ba1b8c4p-5,
                    0x1.664f4882b57eep-6, -0x1.226e355b2d828p-7, 0x1.d6d3cfcb66994p-9,
                    -0x1.7da34664a18e6p-10, 0x1.3555f9851028cp-11, -0x1.f5461f7cd4563p-13,
                    0x1.9494a1fd928cap-14, -0x1.3de2c9910da7dp-15, 0x1.b840b19c3da9cp-17,
                    -0x1.8341acf4f9484p-19);
    return x == 0.0 ? x : fma64(p * z, x, x);
  }
  return __builtin_copysign(1.0 - 2.0 / (hr_exp_f64(2.0 * a) + 1.0), x);
}
double hr_sinh_f64(double x) {
  double a = __builtin_fabs(x);
  if (a > 709.0) {
    double h = hr_exp_f64(0.5 * a);
    return __builtin_copysign(0.5 * h * h, x);
  }
  double t = hr_expm1_f64(a);
  return x == 0.0 ? x : __builtin_copysign(0.5 * (t + t / (t + 1.0)), x);
}
double hr_cosh_f64(double x) {
  double a = __builtin_fabs(x);
  if (a > 709.0) {
    double h = hr_exp_f64(0.5 * a);
    return 0.5 * h * h;
  }
  double e = hr_exp_f64(a);
  return 0.5 * (e + 1.0 / e);
}
double hr_asinh_f64(double x) {
  double a = __builtin_fabs(x);
  if (a > 0x1p28)
    return __builtin_copysign(hr_log_f64(a) + 0x1.62e42fefa39efp-1, x);
  return x == 0.0
             ? x
             : __builtin_copysign(
                   hr_log1p_f64(a + a * a / (1.0 + __builtin_elementwise_sqrt(fma64(a, a, 1.0)))),
                   x);
}
double hr_acosh_f64(double x) {
  if (!(x >= 1.0))
    return NAN64;
  if (x > 0x1p28)
    return hr_log_f64(x) + 0x1.62e42fefa39efp-1;
  double t = x - 1.0;
  return hr_log1p_f64(t + __builtin_elementwise_sqrt(fma64(t, t, 2.0 * t)));
}
double hr_atanh_f64(double x) {
  double a = __builtin_fabs(x);
  return x == 0.0 ? x : __builtin_copysign(0.5 * hr_log1p_f64(2.0 * a / (1.0 - a)), x);
}
double hr_erf_f64(double x) {
  double a = __builtin_fabs(x);
  if (x != x)
    return x;
  if (a < 1.0)
    return x * POLY(x * x, 0x1.20dd750429b6dp+0, -0x1.812746b0379e7p-2, 0x1.ce2f21a042be2p-4,
                    -0x1.b82ce31288b51p-6, 0x1.565bcd0e6a530p-8, -0x1.c02db400406a3p-11,
                    0x1.f9a326f9a7769p-14, -0x1.f4d25c3b729a6p-17, 0x1.b9e6c9944bd7ep-20,
                    -0x1.5f74291398641p-23, 0x1.fcc4c8ec29638p-27, -0x1.51cfe00be885fp-30,
                    0x1.9df7fd0b39a12p-34, -0x1.d332e777f7344p-38, 0x1.cf915d8f3c685p-42,
                    -0x1.3aa422cc5d833p-46);
  if (a >= 6.0)
    return __builtin_copysign(1.0, x);
  double t = 1.0 / a, q; // exp(a^2) erfc(a) = q(t) * t
  if (a < 2.0)
    q = POLY(t - 0.75, 0x1.df6a7891d7325p-2, -0x1.5a4720afb6ebcp-3, 0x1.3cfedc0bfe6dbp-6,
             0x1.4a14f6e4a6decp-5, -0x1.9d6a514f55cdcp-5, 0x1.34bef97c0e9f3p-5,
             -0x1.28d3f1c9e1f99p-6, 0x1.2606c88c55973p-11, 0x1.6cac095b76bfep-7,
             -0x1.09dee193c9b99p-6, 0x1.02691c858716bp-6, -0x1.7bb91c16a4328p-7,
             0x1.70ebc63beed5cp-8, 0x1.881cf9a70eb7fp-12, -0x1.4a592f10bf895p-8,
             0x1.0a8cc8b5b9f42p-7, -0x1.59ece07a1ef2fp-7, 0x1.168ab801387bep-7);
  else
    q = POLY(
        t - 0x1.5555555555555p-2, 0x1.12f21ddd9f5e2p-1, -0x1.24c7dddebd8e7p-3,
        -0x1.d89132e7f3774p-4, 0x1.90c0c93618d25p-3, -0x1.a4570814078aep-4, -0x1.8be8eab51592ep-4,
        0x1.1a9fbd6574ba9p-2, -0x1.239af0bcaaf42p-2, 0x1.354d521b0510cp-6, 0x1.eeb8272f9bc19p-2,
        -0x1.ea5a26ceec099p-1, 0x1.d6e2942e759c8p-1, 0x1.39d0f926b6d83p-3, -0x1.36bca373cb70fp+1,
        0x1.53f6e676ad717p+2, -0x1.80c27ec64cb6dp+2, -0x1.ea24f361b16ebp+1, 0x1.2f95ba2d86ecbp+4);
  return __builtin_copysign(1.0 - hr_exp_f64(-a * a) * q * t, x);
}
double hr_fpowi_f64(double x, double n) { return hr_powf_f64(x, n); }

/// The digits of a positive number before its exponent, from the 52nd bit down.
INLINE u64 digits64(double x, int *exponent) {
  u64 bits = bits64(x), mantissa = bits & 0x000fffffffffffffull;
  *exponent = (int)(bits >> 52);
  if (*exponent != 0)
    return mantissa | 0x0010000000000000ull;
  int shift = __builtin_clzll(mantissa) - 11;
  *exponent = 1 - shift;
  return mantissa << shift;
}

/// The remainder of x / y, exact: a division by hand, a binary digit at a time.
double hr_remf_f64(double x, double y) {
  double a = __builtin_fabs(x), d = __builtin_fabs(y);
  if (!(a < INF64) || d == 0.0 || d != d)
    return NAN64;
  if (a < d)
    return x;
  int e, last;
  u64 rest = digits64(a, &e), divisor = digits64(d, &last);
  for (; e > last; --e) {
    if (rest >= divisor)
      rest -= divisor;
    rest <<= 1;
  }
  if (rest >= divisor)
    rest -= divisor;
  if (rest == 0)
    return __builtin_copysign(0.0, x);
  int shift = __builtin_clzll(rest) - 11;
  rest <<= shift;
  e -= shift;
  u64 bits = e > 0 ? (rest & 0x000fffffffffffffull) | ((u64)e << 52) : rest >> (1 - e);
  return __builtin_copysign(double_of(bits), x);
}
float hr_remf_f32(float x, float y) { return (float)hr_remf_f64(x, y); }

long long hr_ipowi_i64(long long base, long long power) {
  if (power < 0)
    return base == 1 ? 1 : base == -1 ? (power & 1 ? -1 : 1) : 0;
  long long result = 1;
  for (; power; power >>= 1, base *= base)
    if (power & 1)
      result *= base;
  return result;
}

// ---- f32: what networks are made of ----
float hr_exp_f32(float x) {
  if (x > 88.72284f)
    return x == x ? INF32 : x;
  x = x < -104.0f ? -104.0f : x;
  float t = x * 0x1.715476p+0f;
  float rest = fma32(x, 0x1.4ae0bep-26f, fma32(x, 0x1.715476p+0f, -t));
  float e = pow2f(t);
  return fma32(e, rest * 0x1.62e43p-1f, e);
}
float hr_exp2_f32(float x) { return pow2f(x); }
float hr_expm1_f32(float x) {
  if (!(x > -0.7f && x < 1.1f)) // above, e^x has as many bits before the point as e^x - 1
    return hr_exp_f32(x) - 1.0f;
  float p = 0x1.ae6456p-26f;
  p = fma32(p, x, 0x1.27e4fcp-22f);
  p = fma32(p, x, 0x1.71de3ap-19f);
  p = fma32(p, x, 0x1.a01a02p-16f);
  p = fma32(p, x, 0x1.a01a02p-13f);
  p = fma32(p, x, 0x1.6c16c2p-10f);
  p = fma32(p, x, 0x1.111112p-7f);
  p = fma32(p, x, 0x1.555556p-5f);
  p = fma32(p, x, 0x1.555556p-3f);
  p = fma32(p, x, 0.5f);
  return x == 0.0f ? x : fma32(p, x * x, x);
}

/// log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)].
INLINE float log_rest32(float f) {
  float s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
  float r =
      fma32(z, fma32(z, fma32(z, 0x1.c71c72p-3f, 0x1.24924ap-2f), 0x1.99999ap-2f), 0x1.555556p-1f) *
      z;
  return s * (h + r) - h;
}
INLINE float split32(float x, int *e) {
  int extra = 0;
  if (x < 0x1p-126f) {
    x *= 0x1p24f;
    extra = -24;
  }
  u32 b = bits32(x) + (0x3f800000u - 0x3f3504f3u);
  *e = (int)(b >> 23) - 127 + extra;
  return float_of((b & 0x007fffffu) + 0x3f3504f3u);
}
INLINE float log_special32(float x) { return x == 0.0f ? -INF32 : x > 0.0f ? x : (float)NAN64; }
float hr_log_f32(float x) {
  if (!(x > 0.0f) || x == INF32)
    return log_special32(x);
  int e;
  float f = split32(x, &e) - 1.0f;
  return fma32((float)e, 0x1.62e4p-1f, f + fma32((float)e, 0x1.7f7d1cp-20f, log_rest32(f)));
}
float hr_log2_f32(float x) {
  if (!(x > 0.0f) || x == INF32)
    return log_special32(x);
  int e;
  float f = split32(x, &e) - 1.0f, r = log_rest32(f);
  float low = fma32(f, 0x1.4ae0cp-26f, r * 0x1.715476p+0f);
  return (float)e + fma32(f, 0x1.715476p+0f, low);
}
float hr_log10_f32(float x) { return (float)hr_log10_f64(x); }
float hr_log1p_f32(float x) {
  if (x > -0.29f && x < 0.41f)
    return x == 0.0f ? x : x + log_rest32(x);
  float u = 1.0f + x;
  if (!(u > 0.0f) || u == INF32)
    return log_special32(u);
  int e;
  float f = split32(u, &e) - 1.0f;
  float missing = (u > x ? x - (u - 1.0f) : (x - u) + 1.0f) / u;
  return fma32((float)e, 0x1.62e4p-1f,
               f + fma32((float)e, 0x1.7f7d1cp-20f, log_rest32(f) + missing));
}
float hr_tanh_f32(float x) {
  float a = __builtin_fabsf(x);
  if (a < 0.6f) {
    float z = x * x, p = 0.00237076564f;
    p = fma32(p, z, -0.008410070802f);
    p = fma32(p, z, 0.021788322f);
    p = fma32(p, z, -0.05396155178f);
    p = fma32(p, z, 0.1333331287f);
    p = fma32(p, z, -0.3333333323f);
    return x == 0.0f ? x : fma32(p * z, x, x);
  }
  float e = hr_exp_f32(2.0f * a);
  return __builtin_copysignf(1.0f - 2.0f / (e + 1.0f), x);
}
float hr_erf_f32(float x) {
  float a = __builtin_fabsf(x);
  if (a < 1.0f) {
    float z = x * x, p = -9.667044571e-6f;
    p = fma32(p, z, 0.0001126595903f);
    p = fma32(p, z, -0.0008484080406f);
    p = fma32(p, z, 0.005221031808f);
    p = fma32(p, z, -0.02686543073f);
    p = fma32(p, z, 0.112837825f);
    p = fma32(p, z, -0.3761263847f);
    p = fma32(p, z, 0x1.06eba8p-3f); // 2 / sqrt(pi) - 1
    return fma32(p, x, x);
  }
  float c = a > 4.0f ? 4.0f : a, p = 1.642678968e-6f;
  p = fma32(p, c, -4.616478516e-5f);
  p = fma32(p, c, 0.0005976772749f);
  p = fma32(p, c, -0.004763509663f);
  p = fma32(p, c, 0.02643164328f);
  p = fma32(p, c, -0.1100972425f);
  p = fma32(p, c, -0.6318095501f);
  p = fma32(p, c, -1.130241877f);
  p = fma32(p, c, 0.0003218662575f);
  float r = 1.0f - hr_exp_f32(p);
  return x == x ? __builtin_copysignf(r, x) : x;
}

INLINE int reduce32(float x, float *left) {
  double r;
  int q;
  if (__builtin_fabsf(x) < 0x1p26f) {
    double k = __builtin_rint((double)x * 0x1.45f306dc9c883p-1);
    r = fma64(k, -0x1.1a62633145c07p-54, fma64(k, -0x1.921fb54442d18p+0, x));
    q = (int)k;
  } else {
    q = reduce_large(x, &r);
  }
  *left = (float)r;
  return q;
}
INLINE float sin_kernel32(float x) {
  float z = x * x, p = 2.724836477e-6f;
  p = fma32(p, z, -0.0001984007467f);
  p = fma32(p, z, 0.008333331852f);
  p = fma32(p, z, -0.1666666666f);
  return fma32(p * z, x, x);
}
INLINE float cos_kernel32(float x) {
  float z = x * x, p = -2.729965632e-7f;
  p = fma32(p, z, 2.48005903e-5f);
  p = fma32(p, z, -0.001388888765f);
  p = fma32(p, z, 0.04166666666f);
  return fma32(p, z * z, fma32(-0.5f, z, 1.0f));
}
float hr_sin_f32(float x) {
  if (!(__builtin_fabsf(x) < INF32))
    return (float)NAN64;
  float r;
  int q = reduce32(x, &r);
  float v = q & 1 ? cos_kernel32(r) : sin_kernel32(r);
  return x == 0.0f ? x : q & 2 ? -v : v;
}
float hr_cos_f32(float x) {
  if (!(__builtin_fabsf(x) < INF32))
    return (float)NAN64;
  float r;
  int q = reduce32(x, &r);
  float v = q & 1 ? sin_kernel32(r) : cos_kernel32(r);
  return (q + 1) & 2 ? -v : v;
}

// ---- f32: the others, computed in double ----
float hr_powf_f32(float x, float y) { return (float)hr_powf_f64(x, y); }
float hr_fpowi_f32(float x, float n) { return (float)hr_powf_f64(x, n); }
float hr_cbrt_f32(float x) { return (float)hr_cbrt_f64(x); }
float hr_tan_f32(float x) { return (float)hr_tan_f64(x); }
float hr_asin_f32(float x) { return (float)hr_asin_f64(x); }
float hr_acos_f32(float x) { return (float)hr_acos_f64(x); }
float hr_atan_f32(float x) { return (float)hr_atan_f64(x); }
float hr_atan2_f32(float y, float x) { return (float)hr_atan2_f64(y, x); }
float hr_sinh_f32(float x) { return (float)hr_sinh_f64(x); }
float hr_cosh_f32(float x) { return (float)hr_cosh_f64(x); }
float hr_asinh_f32(float x) { return (float)hr_asinh_f64(x); }
float hr_acosh_f32(float x) { return (float)hr_acosh_f64(x); }
float hr_atanh_f32(float x) { return (float)hr_atanh_f64(x); }
