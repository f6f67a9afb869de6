#include "explore/search/Search.h"

#include <map>
#include <tuple>

namespace headrace::explore {

namespace {

// A form for each choice, by its number among the forms of the choice.
using Selection = std::vector<size_t>;

// The costs of a selection's operators by themselves.
struct Estimate {
  Selection selection;
  int64_t makespan = 0, offChip = 0, buffers = 0;

  bool beats(const Estimate &other) const {
    return makespan <= other.makespan && offChip <= other.offChip && buffers <= other.buffers &&
           (makespan < other.makespan || offChip < other.offChip || buffers < other.buffers);
  }
};

class Search {
public:
  Search(const OperatorGraph &program, const ExploreOptions &options,
         const std::vector<Choice> &choices, const std::vector<std::vector<Outcome>> &byChoice,
         int processingElements)
      : program(program), options(options), choices(choices),
        processingElements(processingElements) {
    for (const std::vector<Outcome> &outcomes : byChoice) {
      std::vector<const Outcome *> &own = alone.emplace_back();
      for (const Outcome &outcome : outcomes)
        if (outcome.processingElements() == processingElements)
          own.push_back(&outcome);
    }
  }

  std::vector<Outcome> run(SearchCounts &counts) {
    Selection fastest = bestBy([](const Outcome &o) { return o.schedule.makespan; });
    for (Form form : allForms())
      look("all " + std::string(nameOf(form)), uniform(form, fastest));
    look("fastest each", fastest);
    look("", bestBy([](const Outcome &o) { return o.offChip; }));
    look("", bestBy([](const Outcome &o) { return o.buffers; }));
    size_t half = (static_cast<size_t>(options.evaluations) + found.size()) / 2;
    std::vector<Estimate> front = estimatedFront();
    for (size_t i = 0; i < front.size() && found.size() < half; ++i)
      look("",
           front[i * front.size() / std::max<size_t>(1, std::min(front.size(), half))].selection);
    if (combinations() <= static_cast<double>(options.evaluations))
      lookAtAll();
    climb();
    lookAround();
    counts.scheduled += static_cast<int>(found.size());
    return worthHaving();
  }

private:
  std::vector<Form> allForms() const {
    std::vector<Form> forms;
    for (const Choice &choice : choices)
      for (Form form : choice.forms)
        if (std::ranges::find(forms, form) == forms.end())
          forms.push_back(form);
    return forms;
  }

  // Operators without that form take their fastest.
  Selection uniform(Form form, Selection otherwise) const {
    for (size_t i = 0; i < choices.size(); ++i)
      if (auto found = std::ranges::find(choices[i].forms, form); found != choices[i].forms.end())
        otherwise[i] = static_cast<size_t>(found - choices[i].forms.begin());
    return otherwise;
  }

  Selection bestBy(auto measure) const {
    Selection selection;
    for (const std::vector<const Outcome *> &outcomes : alone)
      selection.push_back(static_cast<size_t>(
          std::ranges::min_element(outcomes, {},
                                   [&](const Outcome *o) {
                                     return std::tuple(measure(*o), o->schedule.makespan,
                                                       o->offChip, o->buffers);
                                   }) -
          outcomes.begin()));
    return selection;
  }

  // Sums over operators, of which none beats another. Operators that stream to each other take
  // less: so these only say where to look.
  std::vector<Estimate> estimatedFront() const {
    constexpr size_t most = 64;
    std::vector<Estimate> front(1);
    for (size_t i = 0; i < choices.size(); ++i) {
      auto count = static_cast<int64_t>(choices[i].operators.size());
      std::vector<Estimate> next;
      for (const Estimate &estimate : front)
        for (size_t form = 0; form < alone[i].size(); ++form) {
          const Outcome &own = *alone[i][form];
          Estimate extended = estimate;
          extended.selection.push_back(form);
          extended.makespan += count * own.schedule.makespan;
          extended.offChip += count * own.offChip;
          extended.buffers += count * own.buffers;
          next.push_back(std::move(extended));
        }
      std::erase_if(next, [all = next](const Estimate &estimate) {
        return std::ranges::any_of(all, [&](const Estimate &o) { return o.beats(estimate); });
      });
      std::ranges::sort(next, {}, [](const Estimate &estimate) {
        return std::tie(estimate.makespan, estimate.selection);
      });
      front.clear();
      for (size_t j = 0; j < std::min(next.size(), most); ++j)
        front.push_back(next[j * next.size() / std::min(next.size(), most)]);
    }
    return front;
  }

  // From the fastest on: one choice after the other, those first that take the longest.
  void climb() {
    auto best = std::ranges::min_element(found, {}, [](const Found &f) {
                  return f.outcome.schedule.makespan;
                })->selection;
    auto makespanOf = [&](const Selection &selection) {
      return found[seen.at(selection)].outcome.schedule.makespan;
    };
    std::vector<size_t> order(choices.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) {
      auto count = static_cast<int64_t>(choices[i].operators.size());
      return std::pair(-count * alone[i][best[i]]->schedule.makespan, i);
    });
    for (size_t i : order)
      for (size_t form = 0; form < choices[i].forms.size(); ++form) {
        if (found.size() >= static_cast<size_t>(options.evaluations))
          return;
        Selection moved = best;
        moved[i] = form;
        look("", moved);
        if (makespanOf(moved) < makespanOf(best))
          best = moved;
      }
  }

  double combinations() const {
    double product = 1;
    for (const Choice &choice : choices)
      product *= static_cast<double>(choice.forms.size());
    return product;
  }

  void lookAtAll() {
    Selection selection(choices.size(), 0);
    for (size_t i = 0; i < choices.size();) {
      look("", selection);
      for (i = 0; i < choices.size() && ++selection[i] == choices[i].forms.size(); ++i)
        selection[i] = 0;
    }
  }

  // One choice away from what no other beats so far.
  void lookAround() {
    for (size_t next = 0; next < found.size(); ++next) {
      if (std::ranges::any_of(found, [&](const Found &other) {
            return isBetter(other.outcome, found[next].outcome);
          }))
        continue;
      for (size_t i = 0; i < choices.size(); ++i)
        for (size_t form = 0; form < choices[i].forms.size(); ++form) {
          if (found.size() >= static_cast<size_t>(options.evaluations))
            return;
          Selection moved = found[next].selection;
          moved[i] = form;
          look("", moved);
        }
    }
  }

  void look(const std::string &name, const Selection &selection) {
    if (auto [entry, isNew] = seen.try_emplace(selection, found.size()); !isNew) {
      std::string &known = found[entry->second].outcome.implementation;
      known += known.empty() || name.empty() ? name : ", " + name;
      return;
    }
    std::vector<Form> forms(program.operators.size(), Form::MatrixVector);
    std::string text;
    for (size_t i = 0; i < choices.size(); ++i) {
      Form form = choices[i].forms[selection[i]];
      for (int number : choices[i].operators)
        forms[number] = form;
      text += (text.empty() ? "" : ", ") + described(choices[i], program) + " " +
              std::string(nameOf(form));
    }
    Outcome outcome =
        scheduled(name, taskGraphOf(program, forms, options.tasks), processingElements, options);
    outcome.forms = std::move(text);
    found.push_back({selection, std::move(outcome)});
  }

  static std::string described(const Choice &choice, const OperatorGraph &program) {
    const std::string &first = program.operators[choice.operators.front()].name;
    size_t others = choice.operators.size() - 1;
    return first + (others == 0 ? "" : " and " + std::to_string(others) + " like it");
  }

  // Named ones, and of the others that none beats a few, from the fastest to the slowest.
  std::vector<Outcome> worthHaving() {
    constexpr size_t most = 8;
    std::vector<const Outcome *> front;
    std::vector<Outcome> outcomes;
    for (const Found &entry : found)
      if (!entry.outcome.implementation.empty())
        outcomes.push_back(entry.outcome);
      else if (std::ranges::none_of(found, [&](const Found &other) {
                 return isBetter(other.outcome, entry.outcome);
               }))
        front.push_back(&entry.outcome);
    std::ranges::sort(front, {}, [](const Outcome *outcome) {
      return std::tie(outcome->schedule.makespan, outcome->offChip, outcome->forms);
    });
    size_t count = std::min(front.size(), most);
    for (size_t i = 0; i < count; ++i) {
      outcomes.push_back(*front[count == 1 ? 0 : i * (front.size() - 1) / (count - 1)]);
      outcomes.back().implementation = "found " + std::to_string(i + 1);
    }
    for (Outcome &outcome : outcomes)
      complete(outcome, options);
    return outcomes;
  }

  struct Found {
    Selection selection;
    Outcome outcome;
  };

  const OperatorGraph &program;
  const ExploreOptions &options;
  const std::vector<Choice> &choices;
  int processingElements;
  std::vector<std::vector<const Outcome *>> alone; // of each choice, in the order of its forms
  std::vector<Found> found;
  std::map<Selection, size_t> seen;
};

bool areAlike(const Operator &a, const Operator &b) {
  auto sizes = [](const Operator &op) {
    const ContractionSizes &c = op.contraction;
    const SystemSizes &s = op.systems;
    return std::tuple(op.kind, op.output, op.operands.size(), c.m, c.n, c.k, c.batch, s.batch,
                      s.unknowns, s.columns, s.scale, s.positiveDefinite, op.fusedPoints);
  };
  return sizes(a) == sizes(b);
}

} // namespace

std::vector<Choice> choicesOf(const OperatorGraph &program) {
  std::vector<Choice> choices;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    std::vector<Form> forms = formsOf(program.operators[i]);
    if (forms.empty())
      continue;
    auto known = std::ranges::find_if(choices, [&](const Choice &choice) {
      return areAlike(program.operators[choice.operators.front()], program.operators[i]);
    });
    if (known != choices.end())
      known->operators.push_back(static_cast<int>(i));
    else
      choices.push_back({{static_cast<int>(i)}, std::move(forms)});
  }
  return choices;
}

ProgramOutcomes exploreProgram(const OperatorGraph &program, const ExploreOptions &options,
                               const std::vector<Choice> &choices,
                               const std::vector<std::vector<Outcome>> &byChoice) {
  ProgramOutcomes result;
  for (const Choice &choice : choices)
    result.counts.combinations *= static_cast<double>(choice.forms.size());
  result.counts.combinations *= static_cast<double>(options.processingElements.size());
  for (int processingElements : options.processingElements) {
    Search search(program, options, choices, byChoice, processingElements);
    for (Outcome &outcome : search.run(result.counts))
      result.outcomes.push_back(std::move(outcome));
  }
  compare(result.outcomes);
  return result;
}

} // namespace headrace::explore
