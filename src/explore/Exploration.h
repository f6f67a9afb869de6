// The same program as several task graphs, each scheduled, tried out and compared.
#pragma once

#include "explore/Simulator.h"
#include "explore/SizedProgram.h"

namespace headrace::explore {

/// A task graph on a number of processing elements, by the partitioner that serves it better.
struct Outcome {
  std::string implementation;
  TaskGraph graph;
  Schedule schedule;
  int64_t work = 0, offChip = 0, buffers = 0, baseline = 0;
  double streamingRatio = 0;        ///< makespan over the streaming depth (SSLR)
  std::optional<int64_t> simulated; ///< none where it was not asked for or would take too long
  std::string deadlock;
  /// No other implementation on as many processing elements is as good in off-chip volume, makespan
  /// and buffers, and better in one.
  bool pareto = false;

  double speedup() const { return double(work) / double(schedule.makespan); }
};

struct ExploreOptions {
  std::vector<int> processingElements = {16, 128};
  std::optional<Partitioner> partitioner; ///< both without
  bool simulate = true;
  int64_t simulateUpTo = int64_t{1} << 26; ///< elements that a graph moves
};

Outcome evaluate(std::string implementation, TaskGraph graph, int processingElements,
                 const ExploreOptions &options);

/// Sets `pareto` of the outcomes, which compete with those of as many processing elements.
void markPareto(std::vector<Outcome> &outcomes);

/// All forms of an operator by itself.
std::vector<Outcome> exploreOperator(const SizedProgram &program, size_t number,
                                     Convention convention, const ExploreOptions &options);

/// The whole program: with one form throughout, and with the fastest form of each operator, which
/// `choices` names ("conv1 lmv, conv2 mv").
struct ProgramOutcomes {
  std::vector<Outcome> outcomes;
  std::vector<std::pair<int, std::string>> choices; ///< by processing elements
};
ProgramOutcomes exploreProgram(const SizedProgram &program, Convention convention,
                               const ExploreOptions &options,
                               const std::vector<std::vector<Outcome>> &byOperator);

} // namespace headrace::explore
