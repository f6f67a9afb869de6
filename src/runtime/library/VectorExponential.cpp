#include "runtime/library/VectorExponential.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace headrace {

namespace {

// Greatest numbers and sums side by side: vectors of any width combine the same ones in the same
// order.
constexpr int64_t kLanes = 32;

[[gnu::always_inline]] inline float exponential(float x) {
#pragma clang fp contract(fast)
  // x = n log(2) + r with |r| <= log(2) / 2. Adding 1.5 * 2^23 rounds to an integer.
  constexpr float log2e = 1.44269504F, rounding = 12582912.0F;
  constexpr float log2High = 0.693359375F, log2Low = -2.12194440e-4F;
  float shifted = x * log2e + rounding;
  float n = shifted - rounding;
  float r = x - n * log2High - n * log2Low;
  // A polynomial for (exp(r) - 1 - r) / r^2.
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  float y = p * r * r + r + 1.0F;
  uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127U) << 23;
  float scaled = y * std::bit_cast<float>(exponent);
  return x < -87.3365F ? 0.0F : scaled; // NaN is not less
}

[[gnu::always_inline]] inline float greatest(const float *numbers, int64_t count) {
  constexpr float least = -std::numeric_limits<float>::infinity();
  auto greater = [](float a, float b) { return b > a ? b : a; };
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, least);
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j)
      lanes[j] = greater(lanes[j], numbers[i + j]);
  for (int64_t i = whole; i < count; ++i)
    lanes[i - whole] = greater(lanes[i - whole], numbers[i]);
  float result = least;
  for (float lane : lanes)
    result = greater(result, lane);
  return result;
}

[[gnu::always_inline]] inline float inPlace(float *numbers, int64_t count, float reference) {
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = exponential(numbers[i] - reference);
  float lanes[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j)
      lanes[j] += numbers[i + j];
  for (int64_t i = whole; i < count; ++i)
    lanes[i - whole] += numbers[i];
  float sum = 0;
  for (float lane : lanes)
    sum += lane;
  return sum;
}

float anyGreatest(const float *n, int64_t count) { return greatest(n, count); }
float anyInPlace(float *n, int64_t count, float r) { return inPlace(n, count, r); }

struct Functions {
  float (*greatest)(const float *, int64_t);
  float (*inPlace)(float *, int64_t, float);
};

#if defined(__x86_64__)
#define HEADRACE_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,fma")))
#define HEADRACE_AVX2 __attribute__((target("avx2,fma")))

HEADRACE_AVX512 float greatest512(const float *n, int64_t count) { return greatest(n, count); }
HEADRACE_AVX512 float inPlace512(float *n, int64_t count, float r) { return inPlace(n, count, r); }
HEADRACE_AVX2 float greatest256(const float *n, int64_t count) { return greatest(n, count); }
HEADRACE_AVX2 float inPlace256(float *n, int64_t count, float r) { return inPlace(n, count, r); }

Functions choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return {greatest512, inPlace512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {greatest256, inPlace256};
  return {anyGreatest, anyInPlace};
}
#else
Functions choose() { return {anyGreatest, anyInPlace}; }
#endif

const Functions &functions() {
  static const Functions chosen = choose();
  return chosen;
}

} // namespace

float greatestOf(const float *numbers, int64_t count) {
  return functions().greatest(numbers, count);
}

float exponentials(float *numbers, int64_t count, float reference) {
  return functions().inPlace(numbers, count, reference);
}

} // namespace headrace
