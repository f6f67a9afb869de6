// The functions of device code, compiled for the host: errors in units of the last place against
// the C library's long double. What differs on a device is its 2^x, which is within 2 units there.
#include "target/cuda/code/MathCases.h"

#include <gtest/gtest.h>
#include <map>

extern "C" {
// Functions that the device has no code for are null.
#define HEADRACE_FUNCTION(Id, name, ...)                                                           \
  [[gnu::weak]] float hr_##name##_f32(float);                                                      \
  [[gnu::weak]] double hr_##name##_f64(double);
#include "runtime/scalar/Functions.def"
float hr_powf_f32(float, float);
double hr_powf_f64(double, double);
float hr_atan2_f32(float, float);
double hr_atan2_f64(double, double);
double hr_remf_f64(double, double);
long long hr_ipowi_i64(long long, long long);
}

namespace {

using namespace headrace::test;

struct Compiled {
  float (*f32)(float);
  double (*f64)(double);
};

const std::map<std::string, Compiled> functions = {
#define HEADRACE_FUNCTION(Id, name, ...) {#name, {hr_##name##_f32, hr_##name##_f64}},
#include "runtime/scalar/Functions.def"
};

class DeviceMath : public testing::TestWithParam<MathCase> {};

TEST_P(DeviceMath, IsWithinItsUnits) {
  const MathCase &c = GetParam();
  Compiled compiled = functions.at(c.name);
  double worst32 = 0, worst64 = 0;
  for (double x : mathPoints(c)) {
    auto single = static_cast<float>(x);
    worst32 = std::max(worst32, unitsBetween(compiled.f32(single), c.exact(single)));
    worst64 = std::max(worst64, unitsBetween(compiled.f64(x), c.exact(x)));
  }
  EXPECT_LE(worst32, c.units32);
  EXPECT_LE(worst64, c.units64);
}

INSTANTIATE_TEST_SUITE_P(Functions, DeviceMath, testing::ValuesIn(mathCases()),
                         [](const auto &info) { return info.param.name; });

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
