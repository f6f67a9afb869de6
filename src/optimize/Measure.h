// Times of a model under several recipes, taken in turns, so that what else the machine does is shared
// by all of them.
#pragma once

#include "optimize/StepCheck.h"

#include "runtime/value/RuntimeValue.h"

#include <filesystem>
#include <memory>

namespace headrace::optimize {

/// A model compiled with several recipes, each as one program or as a forward and a backward one.
class CompiledRecipes {
public:
  CompiledRecipes();
  ~CompiledRecipes();
  void add(std::vector<CheckedProgram> programs, const Settings &settings);

  /// The median time of a call with each recipe, on one thread, over `rounds` turns of at least
  /// `seconds` for all recipes together.
  std::vector<double> microseconds(double seconds, int rounds = 9);

private:
  struct Program;
  std::vector<std::vector<Program>> recipes;
};

/// What a change was predicted to do, and did.
struct MeasuredChange {
  std::string model, step;
  double predictedBefore = 0, predictedAfter = 0, measuredBefore = 0, measuredAfter = 0;

  /// How many times the larger of predicted and measured saving is the smaller one; infinite if one is
  /// a saving and the other a loss.
  double factor() const;
  /// Whether the measured change exceeds what is left of noise: 5% of the time.
  bool isClear() const;
};

/// The file in the user's cache that changes are added to, a line of JSON each; empty if there is no
/// cache. `./dev bench choices --log` reads it.
std::filesystem::path changeLog();
/// Adds a line to the log, if there is a cache.
void logChange(const MeasuredChange &change);

} // namespace headrace::optimize
