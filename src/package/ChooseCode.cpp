#include "package/ChooseCode.h"

#include "runtime/program/Engine.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace headrace {

namespace {

// From 1; 0 if the name is not a level.
size_t rankOf(std::string_view level) {
  std::span<const std::string_view> levels = processorLevels();
  auto found = std::find(levels.begin(), levels.end(), level);
  return found == levels.end() ? 0 : static_cast<size_t>(found - levels.begin()) + 1;
}

std::string describe(const ProcessorNeeds &needs) {
  std::string text = needs.level.starts_with(needs.architecture)
                         ? needs.level
                         : needs.architecture + " " + needs.level;
  for (const std::string &feature : needs.features)
    text += "+" + feature;
  const Engine *engine = lookUpEngine(engineOf(needs));
  if (engine && engine->name() != hostEngine)
    text += " (" + engine->unsupportedReason(needs) + ")";
  return text;
}

} // namespace

size_t chooseCode(const std::vector<ProcessorNeeds> &code, const std::string &source) {
  std::optional<size_t> best;
  // Code for another engine than the host's was asked for: it comes first.
  auto forOther = [&](size_t i) { return engineOf(code[i]) != hostEngine; };
  auto merit = [&](size_t i) {
    return std::tuple(forOther(i), rankOf(code[i].level), code[i].level, code[i].features.size());
  };
  for (size_t i = 0; i < code.size(); ++i)
    if (runsHere(code[i]) && (!best || merit(i) > merit(*best)))
      best = i;
  if (best)
    return *best;
  std::string offered;
  for (const ProcessorNeeds &needs : code)
    offered += (offered.empty() ? "" : ", ") + describe(needs);
  std::string level(hostLevel());
  throw Error(ErrorKind::Unsupported,
              source + ": expected code that runs on this machine (" +
                  (level.empty() ? std::string(hostArchitecture()) : level) + "), got code for " +
                  (offered.empty() ? "none" : offered));
}

} // namespace headrace
