#include "runtime/system/Processor.h"

#include <algorithm>
#include <array>

namespace headrace {

namespace {

constexpr std::array<std::string_view, 3> levels = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

struct Feature {
  std::string_view name;
  bool present;
};

// The compiler takes only literals here. The names are LLVM's too.
const std::array<Feature, 13> &features() {
#define HEADRACE_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
  static const std::array<Feature, 13> table = {{
      HEADRACE_FEATURE("x86-64-v2"),
      HEADRACE_FEATURE("x86-64-v3"),
      HEADRACE_FEATURE("x86-64-v4"),
      HEADRACE_FEATURE("avx512bf16"),
      HEADRACE_FEATURE("avx512bitalg"),
      HEADRACE_FEATURE("avx512fp16"),
      HEADRACE_FEATURE("avx512ifma"),
      HEADRACE_FEATURE("avx512vbmi"),
      HEADRACE_FEATURE("avx512vbmi2"),
      HEADRACE_FEATURE("avx512vnni"),
      HEADRACE_FEATURE("avx512vpopcntdq"),
      HEADRACE_FEATURE("avxvnni"),
      HEADRACE_FEATURE("gfni"),
  }};
#undef HEADRACE_FEATURE
  return table;
}

bool isLevel(std::string_view name) {
  return std::find(levels.begin(), levels.end(), name) != levels.end();
}

} // namespace

std::span<const std::string_view> processorLevels() { return levels; }

std::string_view hostLevel() {
  std::string_view highest;
  for (std::string_view level : levels)
    if (hostHas(level))
      highest = level;
  return highest;
}

std::vector<std::string> hostFeatures() {
  std::vector<std::string> found;
  for (const Feature &feature : features())
    if (feature.present && !isLevel(feature.name))
      found.emplace_back(feature.name);
  return found;
}

bool hostHas(std::string_view name) {
  for (const Feature &feature : features())
    if (feature.name == name)
      return feature.present;
  return false;
}

bool hostHas(const ProcessorNeeds &needs) {
  return needs.architecture == hostArchitecture() && hostHas(needs.level) &&
         std::all_of(needs.features.begin(), needs.features.end(),
                     [](const std::string &feature) { return hostHas(feature); });
}

std::string_view hostArchitecture() { return "x86-64"; }

} // namespace headrace
