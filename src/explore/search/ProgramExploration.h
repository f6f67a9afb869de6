// Everything there is to compare about programs: each operator with a choice by itself, whole
// programs, and programs that are rivals.
#pragma once

#include "explore/search/Search.h"

namespace headrace::explore {

/// Implementations that compete, as a table.
struct Exploration {
  std::string name;
  std::vector<Outcome> outcomes;
  std::vector<std::string> remarks; ///< lines below the table
};

/// A table for each operator that has a choice, those of equal sizes as one, and one for the whole
/// program where that is more than such an operator.
std::vector<Exploration> exploreOperators(const OperatorGraph &program,
                                          const ExploreOptions &options,
                                          const ArrayMachine &machine);

/// One table of the best of several programs; `wholes` are their own tables.
Exploration exploreRivals(const std::vector<Exploration> &wholes, const ExploreOptions &options,
                          const ArrayMachine &machine);

/// Task graphs are rivals: implementations of one program.
Exploration exploreGraphs(const std::vector<TaskGraph> &graphs, const ExploreOptions &options,
                          const ArrayMachine &machine);

/// All of it as JSON, with the times of every task.
std::string explorationJson(const std::vector<Exploration> &explorations, Convention convention);

} // namespace headrace::explore
