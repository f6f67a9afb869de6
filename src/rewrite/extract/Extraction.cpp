#include "rewrite/extract/Extraction.h"

#include "rewrite/extract/Choices.h"

#include <algorithm>

namespace headrace::rewrite {

std::string_view nameOf(ExtractionMethod method) {
  return method == ExtractionMethod::Exact ? "exact" : "greedy";
}

namespace {

class TermBuilder {
public:
  TermBuilder(const EGraph &graph, const Choices &choices, const Selection &selection, Terms &into,
              Extraction &result)
      : graph(graph), choices(choices), selection(selection), into(into), result(result) {
    for (uint32_t i = 0; i < choices.ids.size(); ++i)
      numbers[choices.ids[i]] = i;
  }

  // Operands first, without recursion: terms may be deeper than the stack.
  TermId build() {
    std::vector<uint32_t> path = {choices.root};
    std::unordered_map<uint32_t, TermId> done;
    while (!path.empty()) {
      uint32_t id = path.back();
      NodeId node = choices.classes[id][selection[id]].node;
      std::vector<TermId> operands;
      bool ready = true;
      for (ClassId operand : graph.operandsOf(node)) {
        auto found = done.find(numbers.at(operand));
        if (found == done.end()) {
          path.push_back(numbers.at(operand));
          ready = false;
        } else {
          operands.push_back(found->second);
        }
      }
      if (!ready)
        continue;
      path.pop_back();
      if (done.contains(id))
        continue;
      result.chosen[choices.ids[id]] = node;
      done[id] = into.add(graph.opId(node), std::move(operands));
    }
    return done.at(choices.root);
  }

private:
  const EGraph &graph;
  const Choices &choices;
  const Selection &selection;
  Terms &into;
  Extraction &result;
  std::unordered_map<ClassId, uint32_t> numbers;
};

} // namespace

Extraction extract(const EGraph &graph, ClassId root, const CostModel &cost, Terms &into,
                   const ExtractionLimits &limits) {
  Choices choices = choicesFor(graph, root, cost);
  Selection selection = selectGreedily(choices, limits.greedySteps);
  Extraction result;
  result.cost = rewrite::costOf(choices, selection);
  result.least = minCost(choices, result.cost);
  if (result.cost - result.least <= limits.tolerance) {
    result.method = ExtractionMethod::Exact;
  } else if (choices.classes.size() <= limits.exactClasses) {
    bool isLeast = selectExactly(choices, selection, limits.exactSteps);
    result.cost = rewrite::costOf(choices, selection);
    if (isLeast) {
      result.method = ExtractionMethod::Exact;
      result.least = result.cost;
    }
  }
  result.term = TermBuilder(graph, choices, selection, into, result).build();
  return result;
}

} // namespace headrace::rewrite
