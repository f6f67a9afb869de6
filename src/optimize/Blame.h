// Which lines of a recipe make a program slower or faster than another recipe.
#pragma once

#include "optimize/Optimizer.h"

namespace headrace::optimize {

/// The part of a difference in time that one step accounts for.
struct BlamedStep {
  std::string step;
  double microseconds = 0; // that it adds
};

struct Blame {
  double before = 0, after = 0;
  /// The most costly first.
  std::vector<BlamedStep> steps;
  /// Steps that cannot be done one by one, with the reason: together they are one
  /// of `steps`.
  std::vector<std::pair<std::string, std::string>> left;
  /// What no step accounts for.
  double unexplained() const;
};

/// Leads the optimizer's program, step by step, to that of another complete recipe. The time of
/// each state is predicted; with `seconds`, all are measured in turns that take this long
/// altogether.
Blame blame(Optimizer &optimizer, const std::string &recipe, double seconds = 0);

} // namespace headrace::optimize
