#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Levels of x86-64 that code is compiled for, lowest first: "x86-64-v2" (SSE 4.2), "x86-64-v3"
/// (AVX2, FMA), "x86-64-v4" (AVX-512).
std::span<const std::string_view> processorLevels();

/// The level in HEADRACE_CPU_LEVEL; empty if it is not set. Throws Error if it is not one of the
/// levels. What this CPU has above that level counts as absent in the functions below.
std::string_view highestLevelToUse();

/// The highest level this CPU has; empty if it has none.
std::string_view hostLevel();

/// Features of this CPU beyond its level that matter to generated code ("avx512bf16").
std::vector<std::string> hostFeatures();

/// Whether this CPU has the level or feature; false for a name that is not listed here.
bool hostHas(std::string_view feature);

/// The CPU or device that code needs.
struct ProcessorNeeds {
  std::string architecture = "x86-64"; // of a CPU, or the name of another engine
  std::string level;                   // "x86-64-v3", "sm_90a"
  std::vector<std::string> features;   // beyond the level
};

/// Whether this CPU has all of it.
bool hostHas(const ProcessorNeeds &needs);

/// "x86-64": what this process was compiled for.
std::string_view hostArchitecture();

} // namespace headrace
