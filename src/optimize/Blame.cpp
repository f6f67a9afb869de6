#include "optimize/Blame.h"

#include "optimize/Measure.h"
#include "optimize/Step.h"

#include <algorithm>

namespace headrace::optimize {

double Blame::unexplained() const {
  double sum = after - before;
  for (const BlamedStep &step : steps)
    sum -= step.microseconds;
  return sum;
}

Blame blame(Optimizer &optimizer, const std::string &recipe, double seconds) {
  size_t begin = optimizer.position();
  std::vector<Step> left =
      stepsBetween(CompleteRecipe(optimizer.recipe()), CompleteRecipe(recipe));
  Blame result;
  // A step may need another one first: again, until none can be done.
  for (bool isDone = true; isDone && !left.empty();) {
    isDone = false;
    result.left.clear();
    std::vector<Step> later;
    for (const Step &step : left) {
      Transformation predicted = optimizer.predict(step.line());
      if (!predicted.isLegal()) {
        result.left.emplace_back(step.line(), predicted.refused);
        later.push_back(step);
      } else if (!predicted.dropped.empty() || !predicted.added.empty()) {
        (void)optimizer.applyUnchecked(step.line());
        isDone = true;
      }
    }
    left = std::move(later);
  }
  std::vector<std::string> recipes;
  std::vector<double> times;
  for (size_t i = begin; i <= optimizer.position(); ++i) {
    recipes.push_back(optimizer.states()[i].recipe);
    times.push_back(optimizer.states()[i].figures.microseconds);
  }
  recipes.push_back(recipe);
  if (seconds > 0)
    times = optimizer.compiled(recipes)->microseconds(seconds);
  else
    times.push_back(optimizer.predictedMicroseconds(recipe));
  result.before = times.front();
  result.after = times.back();
  for (size_t i = begin + 1; i <= optimizer.position(); ++i)
    result.steps.push_back(
        {optimizer.states()[i].step, times[i - begin] - times[i - begin - 1]});
  std::ranges::stable_sort(result.steps, [](const BlamedStep &a, const BlamedStep &b) {
    return a.microseconds > b.microseconds;
  });
  return result;
}

} // namespace headrace::optimize
