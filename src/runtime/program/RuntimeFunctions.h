#pragma once

#include <span>
#include <string_view>

namespace headrace {

/// A function that generated code calls, by its name in the code.
struct RuntimeFunction {
  std::string_view name;
  void *address;
};

/// The functions that generated code may call, by the names code generators use for them: those of
/// <math.h> and <string.h>, and conversions to and from f16 and bf16. Sorted by name.
std::span<const RuntimeFunction> runtimeFunctions();

/// Null if there is none of that name.
void *findRuntimeFunction(std::string_view name);

} // namespace headrace
