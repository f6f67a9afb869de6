#include "explore/search/Exploration.h"

#include "explore/graph/Measures.h"
#include "explore/schedule/Baseline.h"

#include <cmath>
#include <tuple>

namespace headrace::explore {

Outcome scheduled(std::string implementation, TaskGraph graph, int processingElements,
                  const ExploreOptions &options) {
  Outcome outcome;
  outcome.implementation = std::move(implementation);
  for (Partitioner partitioner : {Partitioner::LargestFirst, Partitioner::Relaxed}) {
    if (options.partitioner && *options.partitioner != partitioner)
      continue;
    Schedule candidate =
        schedule(graph, {.processingElements = processingElements, .partitioner = partitioner});
    if (outcome.schedule.tasks.empty() || candidate.makespan < outcome.schedule.makespan)
      outcome.schedule = std::move(candidate);
  }
  outcome.work = outcome.comparedWork = totalWork(graph);
  outcome.offChip = offChipVolume(graph, outcome.schedule);
  outcome.buffers = bufferSpace(outcome.schedule);
  outcome.graph = std::move(graph);
  return outcome;
}

void complete(Outcome &outcome, const ExploreOptions &options) {
  const TaskGraph &graph = outcome.graph;
  outcome.baseline = scheduleWithoutStreams(graph, outcome.processingElements()).makespan;
  outcome.baselineOffChip = offChipVolumeWithoutStreams(graph);
  outcome.minOffChip = minOffChipVolume(graph);
  outcome.criticalPath = streamingCriticalPath(graph);
  outcome.streamingRatio = double(outcome.schedule.makespan) / streamingDepth(graph);
  if (!options.simulate || totalVolume(graph) > options.simulateUpTo)
    return;
  Simulation simulation = simulate(graph, outcome.schedule);
  outcome.simulated = simulation.makespan;
  outcome.deadlock = deadlockText(graph, simulation);
}

Outcome evaluate(std::string implementation, TaskGraph graph, int processingElements,
                 const ExploreOptions &options) {
  Outcome outcome =
      scheduled(std::move(implementation), std::move(graph), processingElements, options);
  complete(outcome, options);
  return outcome;
}

bool isBetter(const Outcome &a, const Outcome &b) {
  bool noWorse = a.offChip <= b.offChip && a.schedule.makespan <= b.schedule.makespan &&
                 a.buffers <= b.buffers;
  return noWorse && (a.offChip < b.offChip || a.schedule.makespan < b.schedule.makespan ||
                     a.buffers < b.buffers);
}

void compare(std::vector<Outcome> &outcomes) {
  int64_t least = INT64_MAX;
  for (const Outcome &outcome : outcomes)
    least = std::min(least, outcome.work);
  for (Outcome &outcome : outcomes) {
    outcome.comparedWork = least;
    outcome.pareto = std::ranges::none_of(outcomes, [&](const Outcome &other) {
      return other.processingElements() == outcome.processingElements() && isBetter(other, outcome);
    });
  }
}

std::vector<Outcome> exploreOperator(const OperatorGraph &program, int number,
                                     const ExploreOptions &options) {
  std::vector<Outcome> outcomes;
  std::vector<Form> forms(program.operators.size(), Form::MatrixVector);
  for (int processingElements : options.processingElements)
    for (Form form : formsOf(program.operators[number])) {
      forms[number] = form;
      outcomes.push_back(evaluate(std::string(nameOf(form)),
                                  taskGraphOf(program, forms, options.tasks, number),
                                  processingElements, options));
    }
  compare(outcomes);
  return outcomes;
}

static int64_t cyclesToMove(const ArrayMachine &machine, int64_t elements) {
  return machine.bandwidth ? static_cast<int64_t>(std::ceil(double(elements) / *machine.bandwidth))
                           : 0;
}

LowerBound lowerBound(const ArrayMachine &machine, const Outcome &outcome) {
  int64_t elements = outcome.processingElements();
  LowerBound bound{(outcome.work + elements - 1) / elements, "work"};
  if (outcome.criticalPath > bound.cycles)
    bound = {outcome.criticalPath, "critical path"};
  if (int64_t moving = cyclesToMove(machine, outcome.minOffChip); moving > bound.cycles)
    bound = {moving, "off-chip memory"};
  return bound;
}

std::string Chosen::text() const {
  std::string text = outcome->forms.empty() ? outcome->implementation : outcome->forms;
  return text + (streams ? "" : ", without streams");
}

Chosen chooseFor(const ArrayMachine &machine, const std::vector<Outcome> &outcomes,
                 int processingElements) {
  Chosen best;
  auto consider = [&](const Outcome &outcome, bool streams, int64_t makespan, int64_t offChip,
                      int64_t buffers) {
    int64_t cycles = std::max(makespan, cyclesToMove(machine, offChip));
    bool fits = buffers <= machine.memory.value_or(buffers);
    if (fits && (!best.outcome || std::tuple(cycles, offChip, buffers) <
                                      std::tuple(best.cycles, best.offChip, best.buffers)))
      best = {&outcome, streams, cycles, offChip, buffers, cycles > makespan};
  };
  for (const Outcome &outcome : outcomes) {
    if (outcome.processingElements() != processingElements)
      continue;
    consider(outcome, true, outcome.schedule.makespan, outcome.offChip, outcome.buffers);
    if (outcome.baseline)
      consider(outcome, false, *outcome.baseline, outcome.baselineOffChip, 0);
  }
  return best;
}

} // namespace headrace::explore
