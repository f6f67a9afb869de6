// Everything there is to compare about programs: each operator with a choice by itself, whole
// programs, programs that are rivals, and parts that run one after the other.
#pragma once

#include "explore/search/Search.h"

namespace headrace::explore {

/// Parts of a program that run one after the other, each as it is fastest.
struct Sequence {
  struct Part {
    std::string name, implementation;
    int64_t runs = 1;
    int64_t cycles = 0, offChip = 0, lowerBound = 0; ///< of all runs
  };
  int processingElements = 0;
  std::vector<Part> parts;

  /// Their sum.
  Part total() const;
};

/// Implementations that compete, as a table.
struct Exploration {
  std::string name;
  std::vector<Outcome> outcomes;
  std::vector<std::string> remarks;  ///< lines below the table
  std::vector<Sequence> sequences{}; ///< of parts that do not compete but add up
};

/// A table for each operator that has a choice, those of equal sizes as one, and one for the whole
/// program if that is more than such an operator.
std::vector<Exploration> exploreOperators(const OperatorGraph &program,
                                          const ExploreOptions &options,
                                          const ArrayMachine &machine);

/// One table of the best of several programs; `wholes` are their own tables.
Exploration exploreRivals(const std::vector<Exploration> &wholes, const ExploreOptions &options,
                          const ArrayMachine &machine);

/// Parts that run one after the other, the part of a table `runs` times.
Exploration exploreSequence(const std::string &name, const std::vector<Exploration> &parts,
                            const std::vector<int64_t> &runs, const ExploreOptions &options,
                            const ArrayMachine &machine);

/// Task graphs are rivals: implementations of one program.
Exploration exploreGraphs(const std::vector<TaskGraph> &graphs, const ExploreOptions &options,
                          const ArrayMachine &machine);

/// All of it as JSON, with the times of every task.
std::string explorationJson(const std::vector<Exploration> &explorations, Convention convention);

} // namespace headrace::explore
