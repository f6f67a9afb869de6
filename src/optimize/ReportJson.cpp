#include "optimize/ReportJson.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace headrace::optimize {

using Json = nlohmann::ordered_json;

Json json(const Figures &figures) {
  return {{"predicted_us", figures.microseconds},
          {"bytes", figures.bytes},
          {"operations", figures.operations},
          {"kernels", figures.kernels},
          {"peak_bytes", figures.peakBytes ? Json(*figures.peakBytes) : Json()}};
}

Json json(const Transformation &each) {
  bool isLegal = each.isLegal();
  Json result = {{"step", each.step},
                 {"verb", each.verb},
                 {"kernels", each.kernels},
                 {"legal", isLegal},
                 {"why_not", each.refused},
                 {"saved_us", isLegal ? Json(each.savedMicroseconds()) : Json()},
                 {"after", isLegal ? json(each.after) : Json()},
                 {"dropped", each.dropped},
                 {"added", each.added}};
  if (!each.recipe.empty())
    result["recipe"] = each.recipe;
  return result;
}

Json json(const std::vector<Transformation> &transformations) {
  Json all = Json::array();
  for (const Transformation &each : transformations)
    all.push_back(json(each));
  return all;
}

Json json(const MeasuredChange &change) {
  double factor = change.factor();
  return {{"step", change.step},
          {"predicted_us", {change.predictedBefore, change.predictedAfter}},
          {"measured_us", {change.measuredBefore, change.measuredAfter}},
          {"factor", std::isinf(factor) ? Json() : Json(factor)},
          {"clear", change.isClear()}};
}

Json json(const Blame &blame) {
  Json steps = Json::array(), left = Json::array();
  for (const BlamedStep &step : blame.steps)
    steps.push_back({{"step", step.step}, {"added_us", step.microseconds}});
  for (const auto &[step, reason] : blame.left)
    left.push_back({{"step", step}, {"why_not", reason}});
  return {{"before_us", blame.before},
          {"after_us", blame.after},
          {"steps", steps},
          {"left", left},
          {"unexplained_us", blame.unexplained()}};
}

Json historyJson(const Optimizer &optimizer) {
  Json states = Json::array();
  for (const State &state : optimizer.states())
    states.push_back({{"step", state.step}, {"figures", json(state.figures)}});
  return {{"position", optimizer.position()}, {"states", states}};
}

} // namespace headrace::optimize
