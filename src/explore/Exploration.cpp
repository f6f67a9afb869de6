#include "explore/Exploration.h"

#include "explore/Baseline.h"
#include "explore/Measures.h"

namespace headrace::explore {

namespace {

Form formNamed(std::string_view name) {
  for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector, Form::Direct})
    if (nameOf(form) == name)
      return form;
  return Form::MatrixVector;
}

bool isBetter(const Outcome &a, const Outcome &b) {
  auto noWorse = a.offChip <= b.offChip && a.schedule.makespan <= b.schedule.makespan &&
                 a.buffers <= b.buffers;
  return noWorse && (a.offChip < b.offChip || a.schedule.makespan < b.schedule.makespan ||
                     a.buffers < b.buffers);
}

} // namespace

Outcome evaluate(std::string implementation, TaskGraph graph, int processingElements,
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
  outcome.baseline = scheduleWithoutStreams(graph, processingElements).makespan;
  outcome.streamingRatio = double(outcome.schedule.makespan) / streamingDepth(graph);
  if (options.simulate && totalVolume(graph) <= options.simulateUpTo) {
    Simulation simulation = simulate(graph, outcome.schedule);
    outcome.simulated = simulation.makespan;
    outcome.deadlock = deadlockText(graph, simulation);
  }
  outcome.graph = std::move(graph);
  return outcome;
}

void markPareto(std::vector<Outcome> &outcomes) {
  for (Outcome &outcome : outcomes)
    outcome.pareto = std::ranges::none_of(outcomes, [&](const Outcome &other) {
      return other.schedule.options.processingElements ==
                 outcome.schedule.options.processingElements &&
             isBetter(other, outcome);
    });
}

std::vector<Outcome> exploreOperator(const SizedProgram &program, size_t number,
                                     Convention convention, const ExploreOptions &options) {
  std::vector<Outcome> outcomes;
  std::vector<Form> forms(program.operators.size(), Form::MatrixVector);
  for (int processingElements : options.processingElements)
    for (Form form : formsOf(program.operators[number])) {
      forms[number] = form;
      outcomes.push_back(evaluate(std::string(nameOf(form)),
                                  taskGraphOf(program, forms, convention, number, number + 1),
                                  processingElements, options));
    }
  markPareto(outcomes);
  return outcomes;
}

ProgramOutcomes exploreProgram(const SizedProgram &program, Convention convention,
                               const ExploreOptions &options,
                               const std::vector<std::vector<Outcome>> &byOperator) {
  ProgramOutcomes result;
  size_t count = program.operators.size();
  for (int processingElements : options.processingElements) {
    auto add = [&](std::string name, const std::vector<Form> &forms) {
      result.outcomes.push_back(evaluate(std::move(name),
                                         taskGraphOf(program, forms, convention, 0, count),
                                         processingElements, options));
    };
    for (Form form : {Form::MatrixVector, Form::OuterProduct, Form::LeftMatrixVector})
      add("all " + std::string(nameOf(form)), std::vector<Form>(count, form));
    std::vector<Form> chosen(count, Form::MatrixVector);
    std::string names;
    for (size_t i = 0; i < count; ++i) {
      const Outcome *fastest = nullptr;
      for (const Outcome &outcome : byOperator[i])
        if (outcome.schedule.options.processingElements == processingElements &&
            (!fastest || outcome.schedule.makespan < fastest->schedule.makespan))
          fastest = &outcome;
      if (!fastest)
        continue;
      chosen[i] = formNamed(fastest->implementation);
      names +=
          (names.empty() ? "" : ", ") + program.operators[i].name + " " + fastest->implementation;
    }
    add("fastest each", chosen);
    result.choices.emplace_back(processingElements, names);
  }
  markPareto(result.outcomes);
  return result;
}

} // namespace headrace::explore
