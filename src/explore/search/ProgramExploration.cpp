#include "explore/search/ProgramExploration.h"

#include "runtime/system/Svg.h"

namespace headrace::explore {

namespace {

std::string numberText(double value) {
  std::string text = svgNumber(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

std::string conditions(const ArrayMachine &machine, int processingElements) {
  std::string text = std::to_string(processingElements) + " processing elements";
  if (machine.bandwidth)
    text += ", " + numberText(*machine.bandwidth) + " elements off-chip in a cycle";
  if (machine.memory)
    text += ", " + std::to_string(*machine.memory) + " elements in buffers";
  return text;
}

// A line for each number of processing elements: what to take there.
void addChoices(Exploration &exploration, const ExploreOptions &options,
                const ArrayMachine &machine) {
  for (int elements : options.processingElements) {
    std::string line = "fastest at " + conditions(machine, elements) + ": ";
    const Outcome *chosen = chooseFor(machine, exploration.outcomes, elements);
    if (!chosen) {
      exploration.remarks.push_back(line + "none has buffers that fit");
      continue;
    }
    int64_t cycles = cyclesOn(machine, *chosen);
    bool waits = cycles > chosen->schedule.makespan;
    line += chosen->forms.empty() ? chosen->implementation : chosen->forms;
    exploration.remarks.push_back(line + "; " + std::to_string(cycles) + " cycles" +
                                  (waits ? ", bound by off-chip memory" : ""));
  }
}

} // namespace

std::vector<Exploration> exploreOperators(const OperatorGraph &program,
                                          const ExploreOptions &options,
                                          const ArrayMachine &machine) {
  std::vector<Exploration> explorations;
  std::vector<Choice> choices = choicesOf(program);
  std::vector<std::vector<Outcome>> byChoice;
  for (const Choice &choice : choices) {
    int first = choice.operators.front();
    byChoice.push_back(exploreOperator(program, first, options));
    Exploration &own = explorations.emplace_back(program.operators[first].name, byChoice.back());
    if (choice.operators.size() > 1) {
      std::string others;
      for (size_t i = 1; i < choice.operators.size(); ++i)
        others += (others.empty() ? "" : ", ") + program.operators[choice.operators[i]].name;
      own.remarks.push_back("of the same sizes: " + others);
    }
    addChoices(own, options, machine);
  }
  auto isTask = [](const Operator &op) {
    return op.kind != Operator::Kind::Input && op.kind != Operator::Kind::View;
  };
  if (choices.size() == 1 && std::ranges::count_if(program.operators, isTask) == 1)
    return explorations;
  ProgramOutcomes whole = exploreProgram(program, options, choices, byChoice);
  Exploration &result = explorations.emplace_back(program.name, std::move(whole.outcomes));
  if (!choices.empty())
    result.remarks.push_back(std::to_string(whole.counts.scheduled) + " of " +
                             numberText(whole.counts.combinations) + " combinations scheduled");
  for (const Outcome &outcome : result.outcomes)
    if (outcome.implementation.starts_with("found"))
      result.remarks.push_back(outcome.implementation + " at " +
                               std::to_string(outcome.processingElements()) + ": " + outcome.forms);
  addChoices(result, options, machine);
  return explorations;
}

Exploration exploreRivals(const std::vector<Exploration> &wholes, const ExploreOptions &options,
                          const ArrayMachine &machine) {
  Exploration result{"rivals", {}, {}};
  for (int elements : options.processingElements)
    for (const Exploration &whole : wholes)
      for (const Outcome &outcome : whole.outcomes)
        if (outcome.processingElements() == elements && outcome.pareto) {
          result.outcomes.push_back(outcome);
          result.outcomes.back().implementation = whole.name + ": " + outcome.implementation;
          result.outcomes.back().forms.clear();
        }
  markPareto(result.outcomes);
  addChoices(result, options, machine);
  return result;
}

Exploration exploreGraphs(const std::vector<TaskGraph> &graphs, const ExploreOptions &options,
                          const ArrayMachine &machine) {
  Exploration result{"graphs", {}, {}};
  for (int elements : options.processingElements)
    for (const TaskGraph &graph : graphs)
      result.outcomes.push_back(evaluate(graph.name, graph, elements, options));
  markPareto(result.outcomes);
  if (graphs.size() > 1)
    addChoices(result, options, machine);
  return result;
}

} // namespace headrace::explore
