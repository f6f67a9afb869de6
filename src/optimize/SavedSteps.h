// A recipe with the steps that led to it, as text: the steps can be done again, also on another
// model.
#pragma once

#include "optimize/Optimizer.h"

namespace headrace::optimize {

/// The optimizer's recipe. Comments before it say which steps led to it, and on which operators.
std::string savedRecipe(const Optimizer &optimizer, const std::string &title);

/// A step that was not possible, and why.
struct RefusedStep {
  std::string step, reason;
};

/// Does the steps that a saved recipe notes. By their names each has to be possible: throws Error
/// if one is not. In a program that has others, they are done wherever it has operators of that
/// structure; returns those that were not possible there, and throws Error if there is no such
/// place.
std::vector<RefusedStep> replaySteps(Optimizer &optimizer, const std::string &saved);

} // namespace headrace::optimize
