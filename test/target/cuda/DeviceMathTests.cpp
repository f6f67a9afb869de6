// The functions of device code, compiled for the host: errors in units of the last place against
// the C library's long double. What differs on a device is its 2^x, which is within 2 units there.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

extern "C" {
#define UNARY(name)                                                                                \
  float hr_##name##_f32(float);                                                                    \
  double hr_##name##_f64(double)
UNARY(exp);
UNARY(exp2);
UNARY(expm1);
UNARY(log);
UNARY(log2);
UNARY(log10);
UNARY(log1p);
UNARY(tanh);
UNARY(erf);
UNARY(sin);
UNARY(cos);
UNARY(tan);
UNARY(asin);
UNARY(acos);
UNARY(atan);
UNARY(sinh);
UNARY(cosh);
UNARY(asinh);
UNARY(acosh);
UNARY(atanh);
UNARY(cbrt);
#undef UNARY
float hr_powf_f32(float, float);
double hr_powf_f64(double, double);
float hr_atan2_f32(float, float);
double hr_atan2_f64(double, double);
double hr_remf_f64(double, double);
long long hr_ipowi_i64(long long, long long);
}

namespace {

using Reference = long double (*)(long double);

struct UnaryCase {
  const char *name;
  float (*f32)(float);
  double (*f64)(double);
  Reference reference;
  double low, high; // where it is tested, besides around zero
  double units32, units64;
};

template <class T> double unitsBetween(T value, long double exact) {
  T nearest = static_cast<T>(exact);
  if (std::isinf(nearest) || nearest == 0)
    return value == nearest ? 0 : INFINITY;
  long double unit = std::nextafter(std::fabs(nearest), T(INFINITY)) - std::fabs(nearest);
  return static_cast<double>(std::fabs(value - exact) / unit);
}

class DeviceMath : public testing::TestWithParam<UnaryCase> {};

TEST_P(DeviceMath, IsWithinItsUnits) {
  const UnaryCase &c = GetParam();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> range(c.low, c.high);
  std::uniform_real_distribution<double> near(std::max(c.low, -1.0), std::min(c.high, 1.5));
  double worst32 = 0, worst64 = 0;
  for (int i = 0; i < 20000; ++i) {
    double x = i % 2 ? range(random) : near(random);
    auto single = static_cast<float>(x);
    worst32 = std::max(worst32, unitsBetween(c.f32(single), c.reference(single)));
    worst64 = std::max(worst64, unitsBetween(c.f64(x), c.reference(x)));
  }
  EXPECT_LE(worst32, c.units32);
  EXPECT_LE(worst64, c.units64);
}

#define CASE(name, low, high, units32, units64)                                                    \
  UnaryCase { #name, hr_##name##_f32, hr_##name##_f64, name##l, low, high, units32, units64 }

INSTANTIATE_TEST_SUITE_P(
    Functions, DeviceMath,
    testing::Values(CASE(exp, -80, 80, 3, 2), CASE(exp2, -120, 120, 3, 2),
                    CASE(expm1, -20, 80, 3, 4), CASE(log, 1e-30, 1e30, 3, 2),
                    CASE(log2, 1e-30, 1e30, 3, 2), CASE(log10, 1e-30, 1e30, 3, 4),
                    CASE(log1p, -0.99, 1e6, 3, 4), CASE(tanh, -20, 20, 3, 4),
                    CASE(erf, -6, 6, 3, 4), CASE(sin, -1e5, 1e5, 3, 2), CASE(cos, -1e5, 1e5, 3, 2),
                    CASE(tan, -1e5, 1e5, 1, 4), CASE(asin, -1, 1, 1, 4), CASE(acos, -1, 1, 1, 4),
                    CASE(atan, -50, 50, 1, 2), CASE(sinh, -80, 80, 1, 4), CASE(cosh, -80, 80, 1, 4),
                    CASE(asinh, -1e6, 1e6, 1, 4), CASE(acosh, 1, 1e6, 1, 4),
                    CASE(atanh, -0.9999, 0.9999, 1, 4), CASE(cbrt, -1e9, 1e9, 1, 4)),
    [](const auto &info) { return std::string(info.param.name); });

TEST(DeviceMathValues, CircularFunctionsOfLargeNumbers) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(26, 60);
  for (int i = 0; i < 2000; ++i) {
    double x = std::exp2(exponent(random));
    EXPECT_LE(unitsBetween(hr_sin_f64(x), sinl(x)), 2) << x;
    auto single = static_cast<float>(x);
    EXPECT_LE(unitsBetween(hr_cos_f32(single), cosl(single)), 3) << single;
  }
}

TEST(DeviceMathValues, PowersAndAngles) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> number(0.01, 20), power(-20, 20);
  for (int i = 0; i < 5000; ++i) {
    double x = number(random), y = power(random);
    EXPECT_LE(unitsBetween(hr_powf_f64(x, y), powl(x, y)), 16) << x << " " << y;
    EXPECT_LE(unitsBetween(hr_atan2_f64(y, -x), atan2l(y, -x)), 4) << x << " " << y;
    EXPECT_EQ(hr_remf_f64(y * 1e6, x), std::fmod(y * 1e6, x));
  }
  EXPECT_EQ(hr_powf_f64(-2, 3), -8);
  EXPECT_EQ(hr_powf_f64(0, 0), 1);
  EXPECT_TRUE(std::isnan(hr_powf_f64(-2, 0.5)));
  EXPECT_EQ(hr_ipowi_i64(-3, 5), -243);
  EXPECT_EQ(hr_ipowi_i64(2, -1), 0);
}

TEST(DeviceMathValues, Limits) {
  EXPECT_EQ(hr_exp_f32(INFINITY), INFINITY);
  EXPECT_EQ(hr_exp_f32(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(hr_exp_f32(NAN)));
  EXPECT_EQ(hr_log_f32(0), -INFINITY);
  EXPECT_TRUE(std::isnan(hr_log_f32(-1)));
  EXPECT_EQ(hr_tanh_f32(INFINITY), 1);
  EXPECT_EQ(hr_tanh_f32(-INFINITY), -1);
  EXPECT_EQ(hr_erf_f32(-INFINITY), -1);
  EXPECT_TRUE(std::isnan(hr_erf_f32(NAN)));
  EXPECT_TRUE(std::isnan(hr_sin_f32(INFINITY)));
  EXPECT_TRUE(std::isnan(hr_tanh_f32(NAN)));
}

} // namespace
