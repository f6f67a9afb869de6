#include "optimize/Blame.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include "optimize/Measure.h"
#include "optimize/Step.h"
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace headrace::optimize {

double Blame::unexplained() const {
  double sum = after - before;
  for (const BlamedStep &step : steps)
    sum -= step.microseconds;
  return sum;
}

namespace {

/// Leads the optimizer's program to the goal.
class Path {
public:
  Path(Optimizer &optimizer, const std::string &recipe) : optimizer(optimizer), goal(recipe) {}

  /// A step may need another one first: again, until none can be done.
  void follow() {
    while (std::optional<std::string> step = next()) {
      (void)optimizer.applyUnchecked(*step);
      done.insert(*step);
    }
  }

  /// Steps that could not be done, with the reason.
  std::vector<std::pair<std::string, std::string>> left;

private:
  /// The step after which the fewest are left. What it brings along, such as the ends of fusions
  /// that a layout makes impossible, is its effect. Of many steps, only the first ones are
  /// compared.
  std::optional<std::string> next() {
    constexpr size_t maxCompared = 12;
    left.clear();
    std::optional<std::string> best;
    size_t fewest = 0, compared = 0;
    for (const Step &step : stepsBetween(CompleteRecipe(optimizer.recipe()), goal)) {
      if (done.contains(step.line()))
        continue; // another step took it back
      Transformation predicted = optimizer.predict(step.line());
      if (!predicted.isLegal())
        left.emplace_back(step.line(), predicted.refused);
      if (!predicted.isLegal() || (predicted.dropped.empty() && predicted.added.empty()))
        continue;
      size_t rest = stepsBetween(CompleteRecipe(predicted.recipe), goal).size();
      if (!best || rest < fewest) {
        best = step.line();
        fewest = rest;
      }
      if (fewest == 0 || ++compared == maxCompared)
        break;
    }
    return best;
  }

  Optimizer &optimizer;
  CompleteRecipe goal;
  std::set<std::string> done;
};

} // namespace

Blame blame(Optimizer &optimizer, const std::string &recipe, double seconds) {
  size_t begin = optimizer.position();
  Path path(optimizer, recipe);
  path.follow();
  Blame result;
  result.left = std::move(path.left);
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
    result.steps.push_back({optimizer.states()[i].step, times[i - begin] - times[i - begin - 1]});
  // Steps of which each needs another one, such as two operators that join a kernel, go together.
  if (!result.left.empty())
    result.steps.push_back({llvm::join(llvm::make_first_range(result.left), "; "),
                            times.back() - times[times.size() - 2]});
  std::ranges::sort(result.steps, [](const BlamedStep &a, const BlamedStep &b) {
    return std::tuple(-a.microseconds, a.step) < std::tuple(-b.microseconds, b.step);
  });
  return result;
}

} // namespace headrace::optimize
