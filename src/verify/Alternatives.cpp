#include "verify/Alternatives.h"

#include <sstream>

namespace headrace::verify {

namespace {

// Every kernel of a recipe with loops over single elements. The first line below a kernel's name is
// of the stage that computes its result, which has the schedule.
std::string plainLoops(const std::string &recipe) {
  std::string plain;
  std::istringstream lines(recipe);
  bool isFirst = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("kernel ") && line.ends_with(":")) {
      plain += line + "\n";
      isFirst = true;
    } else if (size_t colon = line.find(':'); isFirst && colon != std::string::npos) {
      plain += line.substr(0, colon) + ": plain\n";
      isFirst = false;
    }
  }
  return plain;
}

} // namespace

std::vector<Alternative> alternatives(const Settings &settings, const std::string &recipe) {
  std::vector<Alternative> all;
  auto add = [&](const std::string &name, const std::string &steps) -> Settings & {
    Settings own = settings;
    if (!steps.empty())
      own.recipe = "follow recipe where-possible\n" + steps + settings.recipe;
    return all.emplace_back(Alternative{name, own}).settings;
  };
  const Settings defaults;
  if (settings.target != defaults.target)
    add("the target cpu", "").target = defaults.target;
  add("generated code instead of libraries", "").expansion = "generated";
  add("loops over single elements in all kernels", plainLoops(recipe));
  add("every map and reduction in a separate kernel",
      "separate every map\nseparate every reduce\nwalk every reduce along nothing\n");
  add("kernels planned greedily", "plan kernels greedily\n");
  add("channels first", "layout every conv channels-first\nlayout every pool channels-first\n");
  return all;
}

} // namespace headrace::verify
