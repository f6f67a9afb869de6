// All that is compiled of a model: a program, or a forward and a backward one.
#pragma once

#include "optimize/Follow.h"
#include "optimize/Plan.h"

namespace headrace::optimize {

/// A program, or one of a program with gradients.
struct Part {
  std::string name; // empty for the only one
  std::unique_ptr<Planner> planner;
  Plan plan;

  /// What steps on it begin with.
  std::string prefix() const { return name.empty() ? "" : name + ": "; }
  Plan frozen(const CompleteRecipe &recipe) {
    return planFrozen([&](const std::string &text) { return planner->plan(text); }, recipe);
  }
};

/// The parts under one recipe.
struct Whole {
  CompleteRecipe split; // choices that are made before there are several parts
  std::vector<Part> parts;

  std::string recipe() const;
  Figures figures() const;
};

/// The figures of programs that run one after the other.
Figures sumOf(const std::vector<const Figures *> &parts);

} // namespace headrace::optimize
