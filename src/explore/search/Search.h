// Search for implementations of a whole program: a form for each operator that has a choice.
#pragma once

#include "explore/search/Exploration.h"

namespace headrace::explore {

/// Operators of equal sizes, which take equal forms.
struct Choice {
  std::vector<int> operators;
  std::vector<Form> forms;
};
std::vector<Choice> choicesOf(const OperatorGraph &program);

/// How often the search looked, out of how many combinations.
struct SearchCounts {
  int scheduled = 0;
  double combinations = 1;
};

struct ProgramOutcomes {
  /// One form wherever it applies, the fastest form of each operator by itself, and others that no
  /// outcome beats: up to 8, from the fastest to the slowest.
  std::vector<Outcome> outcomes;
  SearchCounts counts;
};

/// `byChoice` has the outcomes of an operator of each choice by itself, which say where to look.
ProgramOutcomes exploreProgram(const OperatorGraph &program, const ExploreOptions &options,
                               const std::vector<Choice> &choices,
                               const std::vector<std::vector<Outcome>> &byChoice);

} // namespace headrace::explore
