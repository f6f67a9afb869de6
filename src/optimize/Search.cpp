#include "optimize/Search.h"

#include "runtime/system/Interruption.h"

#include "verify/RandomValues.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace headrace::optimize {

namespace {

/// A step that is predicted to save less than this share of the time saves none.
constexpr double kWorthwhile = 1e-3;
/// How many of the best steps a search chooses among, and how much worse a state may be, as a share
/// of the time, for the chance of one in e that the search goes on from there.
constexpr size_t kChoices = 8;
constexpr double kTolerated = 0.03;

class Deadline {
public:
  explicit Deadline(double seconds) : seconds(seconds) {}
  bool isOver() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
           seconds;
  }

private:
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  double seconds;
};

std::vector<Transformation> legalSteps(Optimizer &optimizer) {
  std::vector<Transformation> steps = optimizer.list();
  std::erase_if(steps, [](const Transformation &step) { return !step.isLegal(); });
  return steps;
}

} // namespace

void optimizeGreedily(Optimizer &optimizer, const SearchLimits &limits,
                      const SearchProgress &progress) {
  Deadline deadline(limits.seconds);
  for (size_t done = 0; done < limits.steps && !deadline.isOver(); ++done) {
    std::vector<Transformation> steps = legalSteps(optimizer);
    double least = kWorthwhile * optimizer.figures().microseconds;
    if (steps.empty() || steps.front().savedMicroseconds() < least)
      return;
    (void)optimizer.apply(steps.front().step);
    if (progress)
      progress(done + 1, optimizer.figures().microseconds);
  }
}

/// Simulated annealing: a step among the best ones that leads to a recipe which was not seen yet,
/// or back if there is none or the state became too bad.
void searchSteps(Optimizer &optimizer, const SearchLimits &limits, const SearchProgress &progress) {
  Deadline deadline(limits.seconds);
  verify::RandomNumbers random(limits.seed);
  size_t begin = optimizer.position(), length = 0;
  double best = optimizer.figures().microseconds;
  std::vector<std::string> bestSteps;
  std::set<uint64_t> seen{optimizer.state()};
  for (size_t done = 0; done < limits.steps && !deadline.isOver(); ++done) {
    pollInterruption();
    std::vector<Transformation> steps = legalSteps(optimizer);
    std::erase_if(steps, [&](const Transformation &step) { return seen.contains(step.state); });
    steps.resize(std::min(steps.size(), kChoices));
    double now = optimizer.figures().microseconds;
    const Transformation *chosen = nullptr;
    if (!steps.empty()) {
      const Transformation &one = steps[random.bits(20) % steps.size()];
      const Transformation &first = steps.front();
      chosen = first.savedMicroseconds() > kWorthwhile * now ? &first : &one;
      double worse = std::max(0.0, chosen->after.microseconds - best) / best;
      double chance = std::exp(-worse / kTolerated);
      if (static_cast<double>(random.bits(20)) / (1 << 20) > chance)
        chosen = nullptr;
    }
    if (!chosen) {
      if (optimizer.position() > begin) {
        (void)optimizer.undo();
        --length;
      }
    } else {
      seen.insert(chosen->state);
      (void)optimizer.applyUnchecked(chosen->step);
      ++length;
    }
    if (optimizer.figures().microseconds < best * (1 - kWorthwhile)) {
      best = optimizer.figures().microseconds;
      bestSteps.clear();
      for (size_t i = begin + 1; i <= begin + length; ++i)
        bestSteps.push_back(optimizer.states()[i].step);
    }
    if (progress)
      progress(done + 1, best);
  }
  while (optimizer.position() > begin)
    (void)optimizer.undo();
  for (const std::string &step : bestSteps)
    (void)optimizer.apply(step);
}

} // namespace headrace::optimize
