// For the comparison with another e-graph: saturates the terms of a file, one a line, under the
// rules of another, and prints for each the least number of nodes of an equal tree.
#include "rewrite/egraph/Saturation.h"
#include "rewrite/extract/Choices.h"
#include "rewrite/rule/Parse.h"

#include <cstdio>

using namespace headrace::rewrite;

namespace {

class NodeCount : public CostModel {
public:
  double costOf(const EGraph &, NodeId) const override { return 1; }
};

double treeCost(const EGraph &graph, const Choices &choices, uint32_t id) {
  double sum = 1;
  for (ClassId operand : graph.operandsOf(choices.classes[id][choices.cheapestTree[id]].node))
    for (uint32_t i = 0; i < choices.ids.size(); ++i)
      if (choices.ids[i] == operand)
        sum += treeCost(graph, choices, i);
  return sum;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: best_tree RULES TERMS\n");
    return 2;
  }
  Vocabulary vocabulary;
  RuleSet rules;
  parseRules(rules, Source::read(argv[1]), vocabulary, nullptr);
  std::vector<RuleInstance> instances;
  for (const Rule &rule : rules)
    instances.push_back({&rule, {}});
  auto file = Source::read(argv[2]);
  std::string_view lines = file->text();
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size());
    Terms terms(vocabulary);
    EGraph graph(vocabulary);
    auto line = std::make_shared<Source>("term", std::string(lines.substr(0, end)));
    ClassId root = graph.add(terms, parseTerm(line, terms, nullptr));
    Saturation result = saturate(graph, instances, NoFacts(), {.seconds = 100});
    Choices choices = choicesFor(graph, root, NodeCount());
    std::printf("%g %zu %s\n", treeCost(graph, choices, 0), graph.classCount(),
                std::string(textOf(result.reason)).c_str());
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return 0;
}
