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

// Schedules that lose to the same tasks without streams.
void addSlowerStreams(Exploration &exploration) {
  std::string names;
  for (const Outcome &outcome : exploration.outcomes)
    if (outcome.baseline && *outcome.baseline < outcome.schedule.makespan)
      names += (names.empty() ? "" : "; ") + outcome.implementation + " at " +
               std::to_string(outcome.processingElements());
  if (!names.empty())
    exploration.remarks.push_back("faster without streams: " + names);
}

// A line for each number of processing elements: what to take there.
void addChoices(Exploration &exploration, const ExploreOptions &options,
                const ArrayMachine &machine) {
  addSlowerStreams(exploration);
  for (int elements : options.processingElements) {
    std::string line = "fastest at " + conditions(machine, elements) + ": ";
    Chosen chosen = chooseFor(machine, exploration.outcomes, elements);
    if (!chosen.outcome) {
      exploration.remarks.push_back(line + "none has buffers that fit");
      continue;
    }
    LowerBound bound = lowerBound(machine, *chosen.outcome);
    exploration.remarks.push_back(
        line + chosen.text() + "; " + std::to_string(chosen.cycles) + " cycles" +
        (chosen.isBoundByMemory ? ", bound by off-chip memory" : "") + "; at least " +
        std::to_string(bound.cycles) + " by its " + std::string(bound.by));
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
  compare(result.outcomes);
  if (!wholes.empty())
    addChoices(result, options, machine);
  return result;
}

Sequence::Part Sequence::total() const {
  Part sum{"all", "", 1};
  for (const Part &part : parts) {
    sum.cycles += part.cycles;
    sum.offChip += part.offChip;
    sum.lowerBound += part.lowerBound;
  }
  return sum;
}

Exploration exploreSequence(const std::string &name, const std::vector<Exploration> &parts,
                            const std::vector<int64_t> &runs, const ExploreOptions &options,
                            const ArrayMachine &machine) {
  Exploration result{name, {}, {}};
  for (int elements : options.processingElements) {
    Sequence sequence{elements, {}};
    std::string unfit;
    for (size_t i = 0; i < parts.size(); ++i) {
      Chosen chosen = chooseFor(machine, parts[i].outcomes, elements);
      if (!chosen.outcome) {
        unfit += (unfit.empty() ? "" : ", ") + parts[i].name;
        continue;
      }
      sequence.parts.push_back({parts[i].name, chosen.text(), runs[i], runs[i] * chosen.cycles,
                                runs[i] * chosen.offChip,
                                runs[i] * lowerBound(machine, *chosen.outcome).cycles});
    }
    if (!unfit.empty()) {
      result.remarks.push_back("at " + conditions(machine, elements) +
                               ": none has buffers that fit of " + unfit);
      continue;
    }
    result.remarks.push_back("at " + conditions(machine, elements) + ": " +
                             std::to_string(sequence.total().cycles) + " cycles, one part after " +
                             "the other; at least " + std::to_string(sequence.total().lowerBound));
    result.sequences.push_back(std::move(sequence));
  }
  return result;
}

Exploration exploreGraphs(const std::vector<TaskGraph> &graphs, const ExploreOptions &options,
                          const ArrayMachine &machine) {
  Exploration result{"graphs", {}, {}};
  for (int elements : options.processingElements)
    for (const TaskGraph &graph : graphs)
      result.outcomes.push_back(evaluate(graph.name, graph, elements, options));
  compare(result.outcomes);
  if (graphs.size() > 1)
    addChoices(result, options, machine);
  else
    addSlowerStreams(result);
  return result;
}

} // namespace headrace::explore
