// Programs with their gradients, from programs.
#pragma once

#include "driver/LevelOneProgram.h"
#include "driver/Model.h"

namespace headrace {

/// The program with the gradients of its results: inputs, then the gradients of results that are
/// not scalars (`NAME.grad`); outputs, then the gradients of what is asked for (`NAME.grad`).
LevelOneProgram differentiated(LevelOneProgram program, const GradientOptions &options);

/// A program with gradients, split into a forward and a backward one.
struct DirectionPrograms {
  LevelOneProgram forward, backward;
  std::vector<SavedTensor> kept;
  std::vector<std::string> computedAgain;
  /// The choices that were made before it was split, as steps of a recipe.
  std::string choices;
};

/// The differentiated program as two programs (see Model::forwardAndBackward), for a target. Values
/// that the recipe names are split as it says (GradientRecipe::split).
DirectionPrograms splitByDirection(LevelOneProgram program, const GradientOptions &options,
                                   const std::string &target = hostTarget,
                                   const std::string &recipe = "");

/// One program of values and gradients, or one forward and one backward.
enum class Direction { Joint, Apart };

/// The program after a phase of its gradient; nullopt if there is no such phase. `recipe` has the
/// meaning that it has for `splitByDirection`.
std::optional<LevelOneProgram> afterGradientPhase(LevelOneProgram program,
                                                  const GradientOptions &options,
                                                  Direction direction, llvm::StringRef phase,
                                                  const std::string &target = hostTarget,
                                                  const std::string &recipe = "");

/// The programs "forward" and "backward" of one that has been split; else itself, without a name.
std::vector<std::pair<std::string, LevelOneProgram>> programsByDirection(LevelOneProgram program);

} // namespace headrace
