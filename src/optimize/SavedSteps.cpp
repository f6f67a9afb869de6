#include "optimize/SavedSteps.h"

#include "runtime/system/Error.h"

#include <string_view>

namespace headrace::optimize {

namespace {

constexpr std::string_view kStep = "# step: ", kOperator = "# operator ";

/// The rest of each line that begins like this.
std::vector<std::string> linesAfter(std::string_view beginning, const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    if (line.starts_with(beginning))
      lines.emplace_back(line.substr(beginning.size()));
    at = end + 1;
  }
  return lines;
}

} // namespace

std::string savedRecipe(const Optimizer &optimizer, const std::string &title) {
  std::vector<std::string> steps;
  for (size_t i = 1; i <= optimizer.position(); ++i)
    steps.push_back(optimizer.states()[i].step);
  std::string text = "# " + title + "\n";
  for (const std::string &step : steps)
    text += std::string(kStep) + step + "\n";
  for (const std::string &line : optimizer.structureOf(steps))
    text += std::string(kOperator) + line + "\n";
  return text + optimizer.recipe();
}

std::vector<RefusedStep> replaySteps(Optimizer &optimizer, const std::string &saved) {
  std::vector<std::string> steps = linesAfter(kStep, saved);
  std::vector<std::vector<std::string>> places =
      optimizer.stepsByStructure(steps, linesAfter(kOperator, saved));
  if (places.empty())
    throw Error(ErrorKind::InvalidArgument,
                "the program has no operators like those of the saved steps, the first of which is "
                "'" +
                    steps.front() + "'");
  bool isByName = places.front() == steps;
  std::vector<RefusedStep> refused;
  for (const std::vector<std::string> &place : places)
    for (const std::string &step : place) {
      if (isByName) {
        (void)optimizer.apply(step);
        continue;
      }
      Transformation predicted = optimizer.predict(step);
      if (predicted.isLegal())
        (void)optimizer.apply(step);
      else
        refused.push_back({step, predicted.refused});
    }
  return refused;
}

} // namespace headrace::optimize
