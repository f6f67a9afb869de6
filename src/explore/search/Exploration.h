// The same program as several task graphs, each scheduled, tried out and compared.
#pragma once

#include "explore/operators/OperatorTasks.h"
#include "explore/schedule/Simulator.h"

namespace headrace::explore {

/// The memories around an array of processing elements.
struct ArrayMachine {
  std::optional<double> bandwidth; ///< elements that cross off-chip memory in a cycle
  std::optional<int64_t> memory;   ///< elements that all buffers of streams may hold
};

/// A task graph on a number of processing elements, by the partitioner that serves it better.
struct Outcome {
  std::string implementation;
  std::string forms; ///< of the operators that have a choice: "conv1 lmv, conv2 mv"
  TaskGraph graph;
  Schedule schedule;
  int64_t work = 0, offChip = 0, buffers = 0;
  /// Cycles and volume if every task waits for the end of its predecessors.
  std::optional<int64_t> baseline;
  int64_t baselineOffChip = 0;
  /// What no schedule of the graph is below: cycles of its critical path, volume off chip.
  int64_t criticalPath = 0, minOffChip = 0;
  /// The least work of all implementations that it is compared with; its own if there are none.
  int64_t comparedWork = 0;
  double streamingRatio = 0;        ///< makespan over the streaming depth (SSLR)
  std::optional<int64_t> simulated; ///< none if it was not asked for or would take too long
  std::string deadlock;
  /// No other implementation on as many processing elements is as good in off-chip volume, makespan
  /// and buffers, and better in one.
  bool pareto = false;

  int processingElements() const { return schedule.options.processingElements; }
  /// Over the implementation with the least work on one processing element.
  double speedup() const { return double(comparedWork) / double(schedule.makespan); }
};

struct ExploreOptions {
  std::vector<int> processingElements = {16, 128};
  std::optional<Partitioner> partitioner; ///< both without
  bool simulate = true;
  int64_t simulateUpTo = int64_t{1} << 26; ///< elements that a graph moves
  TaskOptions tasks = {};
  int evaluations = 32; ///< schedules of a whole program on as many processing elements
};

/// The schedule, with volumes and buffers; `complete` adds the simulation and the time without
/// streams.
Outcome scheduled(std::string implementation, TaskGraph graph, int processingElements,
                  const ExploreOptions &options);
void complete(Outcome &outcome, const ExploreOptions &options);
Outcome evaluate(std::string implementation, TaskGraph graph, int processingElements,
                 const ExploreOptions &options);

/// Whether `a` is as good as `b` in off-chip volume, makespan and buffers, and better in one.
bool isBetter(const Outcome &a, const Outcome &b);
/// Sets `pareto` of the outcomes, which compete with those of as many processing elements, and
/// `comparedWork`.
void compare(std::vector<Outcome> &outcomes);

/// All forms of an operator by itself.
std::vector<Outcome> exploreOperator(const OperatorGraph &program, int number,
                                     const ExploreOptions &options);

/// Cycles that no schedule of the outcome's task graph is below, and by what.
struct LowerBound {
  int64_t cycles = 0;
  std::string_view by; ///< "work", "critical path" or "off-chip memory"
};
LowerBound lowerBound(const ArrayMachine &machine, const Outcome &outcome);

/// What to run: an outcome as it is scheduled, or without streams.
struct Chosen {
  const Outcome *outcome = nullptr; ///< null if none fits
  bool streams = true;
  int64_t cycles = 0, offChip = 0, buffers = 0;
  bool isBoundByMemory = false;

  /// "all mv, without streams".
  std::string text() const;
};
/// The fastest with this number of processing elements whose buffers fit, of equally fast ones the
/// one that moves the least.
Chosen chooseFor(const ArrayMachine &machine, const std::vector<Outcome> &outcomes,
                 int processingElements);

} // namespace headrace::explore
