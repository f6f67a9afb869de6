#include "Functions.h"

#include <cmath>

namespace headrace::accuracy {
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atanh, std::cbrt, std::ceil,
    std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::fabs,
    std::floor, std::log, std::log10, std::log1p, std::log2, std::nearbyint, std::sin, std::sinh,
    std::sqrt, std::tan, std::tanh, std::trunc;
} // namespace headrace::accuracy

#include "Formulas.h"

namespace headrace::accuracy {
namespace {

constexpr Function kFunctions[] = {
#define HEADRACE_FUNCTION(name, formula, small)                                                    \
  {#name, [](double x) -> double { return formula; },                                              \
   [](long double x) -> long double { return formula; }, Smallest::small},
    HEADRACE_FUNCTIONS(HEADRACE_FUNCTION)
#undef HEADRACE_FUNCTION
};

#define HEADRACE_FUNCTION2(name, formula)                                                          \
  Function2 {                                                                                      \
    #name, [](double x, double y) -> double { return formula; },                                   \
        [](long double x, long double y) -> long double { return formula; }                        \
  }

constexpr Function2 kFunctions2[] = {
    HEADRACE_FUNCTION2(power, std::pow(x, y)),
    HEADRACE_FUNCTION2(atan2, std::atan2(x, y)),
    HEADRACE_FUNCTION2(remainder, std::fmod(x, y)),
    HEADRACE_FUNCTION2(div, x / y),
};

} // namespace

std::span<const Function> functions() { return kFunctions; }
std::span<const Function2> functions2() { return kFunctions2; }

} // namespace headrace::accuracy
