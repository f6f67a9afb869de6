#include "runtime/program/RuntimeFunctions.h"

#include "runtime/tensor/Half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace headrace {

namespace {

// f16 and bf16 if the CPU has no instruction for it: what a compiler's runtime library
// would bring along. Values travel in vector registers, hence the types.
__bf16 truncateToBf16(float value) { return std::bit_cast<__bf16>(floatToBf16(value)); }
__bf16 truncateDoubleToBf16(double value) { return truncateToBf16(narrowToOdd(value)); }
_Float16 truncateToF16(float value) { return std::bit_cast<_Float16>(floatToF16(value)); }
_Float16 truncateDoubleToF16(double value) { return truncateToF16(narrowToOdd(value)); }
float extendF16(_Float16 value) { return f16ToFloat(std::bit_cast<uint16_t>(value)); }

template <class Result, class... Arguments>
RuntimeFunction entry(std::string_view name, Result (*function)(Arguments...)) {
  return {name, reinterpret_cast<void *>(function)};
}

std::vector<RuntimeFunction> makeTable() {
  using F = float (*)(float);
  using D = double (*)(double);
  using F2 = float (*)(float, float);
  using D2 = double (*)(double, double);
  using F3 = float (*)(float, float, float);
  using D3 = double (*)(double, double, double);
#define HEADRACE_BOTH(name, F, D)                                                                  \
  entry(#name "f", static_cast<F>(::name##f)), entry(#name, static_cast<D>(::name))
  std::vector<RuntimeFunction> table = {
#define HEADRACE_FUNCTION(Id, name, ...) HEADRACE_BOTH(name, F, D),
#include "runtime/scalar/Functions.def"
      HEADRACE_BOTH(roundeven, F, D),
      HEADRACE_BOTH(pow, F2, D2),
      HEADRACE_BOTH(fmod, F2, D2),
      HEADRACE_BOTH(atan2, F2, D2),
      HEADRACE_BOTH(fma, F3, D3),
      entry("__truncsfbf2", truncateToBf16),
      entry("__truncdfbf2", truncateDoubleToBf16),
      entry("__truncsfhf2", truncateToF16),
      entry("__truncdfhf2", truncateDoubleToF16),
      entry("__extendhfsf2", extendF16),
      entry("malloc", ::malloc),
      entry("free", ::free),
      entry("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(::memcpy)),
      entry("memset", static_cast<void *(*)(void *, int, size_t)>(::memset)),
      entry("memmove", static_cast<void *(*)(void *, const void *, size_t)>(::memmove)),
  };
#undef HEADRACE_BOTH
  std::sort(table.begin(), table.end(),
            [](const RuntimeFunction &a, const RuntimeFunction &b) { return a.name < b.name; });
  return table;
}

} // namespace

std::span<const RuntimeFunction> runtimeFunctions() {
  static const std::vector<RuntimeFunction> table = makeTable();
  return table;
}

void *findRuntimeFunction(std::string_view name) {
  std::span<const RuntimeFunction> table = runtimeFunctions();
  auto found = std::lower_bound(table.begin(), table.end(), name,
                                [](const RuntimeFunction &function, std::string_view wanted) {
                                  return function.name < wanted;
                                });
  return found != table.end() && found->name == name ? found->address : nullptr;
}

} // namespace headrace
