#include "Functions.h"

#include <cmath>

namespace headrace::accuracy {
namespace {

using std::erfc, std::fabs;
#define HEADRACE_FUNCTION(Id, name, value, ...)                                                    \
  inline double name(double x) { return value; }                                                   \
  inline long double name(long double x) { return value; }
#include "runtime/scalar/Functions.def"

} // namespace
} // namespace headrace::accuracy

#include "Formulas.h"

namespace headrace::accuracy {
namespace {

constexpr Function kFunctions[] = {
#define HEADRACE_MEASURED(name, formula, smallest)                                                 \
  {#name, [](double x) -> double { return formula; },                                              \
   [](long double x) -> long double { return formula; }, Smallest::smallest},
#include "MeasuredFunctions.def"
};

constexpr Function2 kFunctions2[] = {
#define HEADRACE_MEASURED2(name, operation, formula)                                               \
  {#name, [](double x, double y) -> double { return formula; },                                    \
   [](long double x, long double y) -> long double { return formula; }},
#include "MeasuredFunctions.def"
};

} // namespace

std::span<const Function> functions() { return kFunctions; }
std::span<const Function2> functions2() { return kFunctions2; }

} // namespace headrace::accuracy
