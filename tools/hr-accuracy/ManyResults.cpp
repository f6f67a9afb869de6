#include "ManyResults.h"

#ifdef HEADRACE_VECTOR_MATH
#include <cmath>

// Passed in registers, which takes the instructions that this unit is compiled for.
using Double4 = double __attribute__((vector_size(32)));

// The vector half of the C library: errors of 4 units at most. Functions that it lacks are null.
#define HEADRACE_FUNCTION(Id, name, ...) extern "C" [[gnu::weak]] Double4 _ZGVdN4v_##name(Double4);
#include "runtime/scalar/Functions.def"
extern "C" Double4 _ZGVdN4v_erfc(Double4); // CMake looks for it

namespace headrace::accuracy {
namespace {

using Float4 = float __attribute__((vector_size(16)));
using Bits4 = int64_t __attribute__((vector_size(32)));

#define HEADRACE_FUNCTION(Id, name, value, ...)                                                    \
  inline Double4 name(Double4 four) {                                                              \
    if (_ZGVdN4v_##name)                                                                           \
      return _ZGVdN4v_##name(four);                                                                \
    auto one = [](double x) { return value; };                                                     \
    return Double4{one(four[0]), one(four[1]), one(four[2]), one(four[3])};                        \
  }
#include "runtime/scalar/Functions.def"
inline Double4 erfc(Double4 x) { return _ZGVdN4v_erfc(x); }
inline Double4 fabs(Double4 x) { return __builtin_elementwise_abs(x); }

} // namespace
} // namespace headrace::accuracy

#include "Formulas.h"

namespace headrace::accuracy {
namespace {

template <> struct ScalarOf<Double4> {
  using Type = double;
};

template <class Element, class Vector> Vector load(const Element *from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(Vector));
  return vector;
}

template <Double4 (*formula)(Double4)>
void applyToMany(const float *x, double *exact, int64_t count) {
  for (int64_t i = 0; i + 4 <= count; i += 4) {
    Double4 four = formula(__builtin_convertvector((load<float, Float4>(x + i)), Double4));
    __builtin_memcpy(exact + i, &four, sizeof(four));
  }
  for (int64_t i = count / 4 * 4; i < count; ++i)
    exact[i] = formula(Double4{} + static_cast<double>(x[i]))[0];
}

#define HEADRACE_MEASURED(name, formula, smallest)                                                 \
  Double4 formula_##name(Double4 x) { return formula; }
#include "MeasuredFunctions.def"

/// Whether each of four is to be looked at; the same rules as unitsBetween, on the safe side.
Bits4 areSuspect(Double4 got, Double4 exact, int64_t smallest, double units) {
  constexpr int64_t kBias = 1023, kMantissa = 23;
  Bits4 exponents = (__builtin_bit_cast(Bits4, exact) >> 52) & 0x7ff;
  Bits4 least = Bits4{} + (smallest + kBias);
  exponents = exponents > least ? exponents : least;
  // 1 / unit in the last place; of what is not finite it does not matter.
  Bits4 inverse = (2 * kBias + kMantissa - exponents) << 52;
  Double4 distance = fabs(got - exact) * __builtin_bit_cast(Double4, inverse);
  Bits4 otherSign = (__builtin_bit_cast(Bits4, got) ^ __builtin_bit_cast(Bits4, exact)) < 0;
  Bits4 bothNan = (got != got) & (exact != exact);
  Bits4 same = (got == exact) & ~otherSign;
  return (~(distance <= units) | otherSign) & ~bothNan & ~same;
}

int64_t findSuspects(const float *got, const double *exact, int64_t count, int smallest,
                     double units, int64_t *suspects) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i += 4) {
    Float4 results{};
    Double4 wanted{};
    int64_t rest = count - i < 4 ? count - i : 4;
    __builtin_memcpy(&results, got + i, rest * sizeof(float));
    __builtin_memcpy(&wanted, exact + i, rest * sizeof(double));
    Bits4 suspect = areSuspect(__builtin_convertvector(results, Double4), wanted, smallest, units);
    if (__builtin_reduce_or(suspect) != 0)
      for (int64_t j = 0; j < rest; ++j)
        if (suspect[j])
          suspects[found++] = i + j;
  }
  return found;
}

} // namespace

std::optional<ManyResults> manyResults(std::string_view function) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return std::nullopt;
#define HEADRACE_MEASURED(name, formula, smallest)                                                 \
  if (function == #name)                                                                           \
    return ManyResults{applyToMany<formula_##name>, findSuspects};
#include "MeasuredFunctions.def"
  return std::nullopt;
}

} // namespace headrace::accuracy

#else

namespace headrace::accuracy {
std::optional<ManyResults> manyResults(std::string_view) { return std::nullopt; }
} // namespace headrace::accuracy

#endif
