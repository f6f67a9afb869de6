#include "runtime/system/Processor.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace headrace {

namespace {

constexpr std::array<std::string_view, 3> levels = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

struct Feature {
  std::string_view name;
  bool present;
  std::string_view level; // the lowest with it
};

// The compiler takes only literals here. The names are LLVM's too.
const std::array<Feature, 13> &features() {
#define HEADRACE_FEATURE(name, level) {name, __builtin_cpu_supports(name) != 0, level}
  static const std::array<Feature, 13> table = {{
      HEADRACE_FEATURE("x86-64-v2", "x86-64-v2"),
      HEADRACE_FEATURE("x86-64-v3", "x86-64-v3"),
      HEADRACE_FEATURE("x86-64-v4", "x86-64-v4"),
      HEADRACE_FEATURE("avx512bf16", "x86-64-v4"),
      HEADRACE_FEATURE("avx512bitalg", "x86-64-v4"),
      HEADRACE_FEATURE("avx512fp16", "x86-64-v4"),
      HEADRACE_FEATURE("avx512ifma", "x86-64-v4"),
      HEADRACE_FEATURE("avx512vbmi", "x86-64-v4"),
      HEADRACE_FEATURE("avx512vbmi2", "x86-64-v4"),
      HEADRACE_FEATURE("avx512vnni", "x86-64-v4"),
      HEADRACE_FEATURE("avx512vpopcntdq", "x86-64-v4"),
      HEADRACE_FEATURE("avxvnni", "x86-64-v3"),
      HEADRACE_FEATURE("gfni", "x86-64-v2"),
  }};
#undef HEADRACE_FEATURE
  return table;
}

bool isLevel(std::string_view name) {
  return std::find(levels.begin(), levels.end(), name) != levels.end();
}

bool mayUse(const Feature &feature) {
  std::string_view highest = highestLevelToUse();
  // The names of levels ascend in alphabetical order.
  return feature.present && (highest.empty() || feature.level <= highest);
}

} // namespace

std::span<const std::string_view> processorLevels() { return levels; }

std::string_view highestLevelToUse() {
  const char *level = std::getenv("HEADRACE_CPU_LEVEL");
  if (!level || !*level)
    return "";
  if (auto found = std::find(levels.begin(), levels.end(), level); found != levels.end())
    return *found;
  throw Error(ErrorKind::InvalidArgument,
              "HEADRACE_CPU_LEVEL: expected x86-64-v2, x86-64-v3 or x86-64-v4, got '" +
                  std::string(level) + "'");
}

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
    if (mayUse(feature) && !isLevel(feature.name))
      found.emplace_back(feature.name);
  return found;
}

bool hostHas(std::string_view name) {
  for (const Feature &feature : features())
    if (feature.name == name)
      return mayUse(feature);
  return false;
}

bool hostHas(const ProcessorNeeds &needs) {
  return needs.architecture == hostArchitecture() && hostHas(needs.level) &&
         std::all_of(needs.features.begin(), needs.features.end(),
                     [](const std::string &feature) { return hostHas(feature); });
}

std::string_view hostArchitecture() { return "x86-64"; }

} // namespace headrace
