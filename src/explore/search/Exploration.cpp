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
  outcome.work = totalWork(graph);
  outcome.offChip = offChipVolume(graph, outcome.schedule);
  outcome.buffers = bufferSpace(outcome.schedule);
  outcome.graph = std::move(graph);
  return outcome;
}

void complete(Outcome &outcome, const ExploreOptions &options) {
  const TaskGraph &graph = outcome.graph;
  outcome.baseline = scheduleWithoutStreams(graph, outcome.processingElements()).makespan;
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

void markPareto(std::vector<Outcome> &outcomes) {
  for (Outcome &outcome : outcomes)
    outcome.pareto = std::ranges::none_of(outcomes, [&](const Outcome &other) {
      return other.processingElements() == outcome.processingElements() && isBetter(other, outcome);
    });
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
  markPareto(outcomes);
  return outcomes;
}

int64_t cyclesOn(const ArrayMachine &machine, const Outcome &outcome) {
  int64_t moving = 0;
  if (machine.bandwidth)
    moving = static_cast<int64_t>(std::ceil(double(outcome.offChip) / *machine.bandwidth));
  return std::max(outcome.schedule.makespan, moving);
}

const Outcome *chooseFor(const ArrayMachine &machine, const std::vector<Outcome> &outcomes,
                         int processingElements) {
  auto rank = [&](const Outcome &outcome) {
    return std::tuple(cyclesOn(machine, outcome), outcome.offChip, outcome.buffers);
  };
  const Outcome *chosen = nullptr;
  for (const Outcome &outcome : outcomes) {
    bool fits = outcome.processingElements() == processingElements &&
                outcome.buffers <= machine.memory.value_or(outcome.buffers);
    if (fits && (!chosen || rank(outcome) < rank(*chosen)))
      chosen = &outcome;
  }
  return chosen;
}

} // namespace headrace::explore
