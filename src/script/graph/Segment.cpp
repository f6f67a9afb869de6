#include "script/graph/Segment.h"

#include "script/language/Printer.h"
#include <algorithm>
#include <unordered_map>

namespace headrace::script {

static void collectSymbols(const Known &known, std::set<int> &used) {
  for (const Size *size : {&known.rows, &known.cols})
    if (size->known())
      for (unsigned symbol : size->value().symbols())
        used.insert(static_cast<int>(symbol));
}

void closeSegment(const Dag &dag, Segment &segment, const std::vector<bool> &wanted) {
  std::set<int> inside(segment.nodes.begin(), segment.nodes.end()), seen;
  std::set<int> usedSymbols, shown;
  segment.inputs.clear();
  segment.outputs.clear();
  auto addInput = [&](int input) {
    const Node &node = dag.nodes[input];
    if (inside.contains(input) || node.op == Op::Literal || !seen.insert(input).second)
      return;
    segment.inputs.push_back(input);
    if (!node.isMatrix())
      return;
    collectSymbols(node.known, usedSymbols);
    for (const Size *size : {&node.known.rows, &node.known.cols})
      if (auto symbol = size->asSymbol())
        shown.insert(*symbol);
  };
  for (int id : segment.nodes) {
    const Node &node = dag.nodes[id];
    if (node.isMatrix())
      collectSymbols(node.known, usedSymbols);
    // The sizes of a fill are in its type.
    size_t operands = node.op == Op::Fill ? 1 : node.inputs.size();
    for (size_t i = 0; i < operands; ++i)
      addInput(node.inputs[i]);
    if (wanted[id])
      segment.outputs.push_back(id);
  }
  segment.hiddenSymbols.clear();
  std::ranges::set_difference(usedSymbols, shown, std::back_inserter(segment.hiddenSymbols));
}

std::string segmentName(const Dag &dag, const Segment &segment) {
  const Node &first = dag.nodes[segment.nodes.front()];
  return first.place.source ? first.place.source->name() + ":" +
                                  std::to_string(first.place.source->line(first.place.offset))
                            : "block";
}

static std::string typeText(const Node &node) {
  if (!node.isMatrix())
    return "scalar";
  return node.known.rows.text() + "x" + node.known.cols.text();
}

std::string segmentKey(const Dag &dag, const Segment &segment) {
  std::unordered_map<int, size_t> inputAt, nodeAt;
  for (size_t i = 0; i < segment.inputs.size(); ++i)
    inputAt[segment.inputs[i]] = i;
  for (size_t i = 0; i < segment.nodes.size(); ++i)
    nodeAt[segment.nodes[i]] = i;
  std::string key;
  for (int id : segment.inputs)
    key += typeText(dag.nodes[id]) + ";";
  for (int symbol : segment.hiddenSymbols)
    key += "s" + std::to_string(symbol) + ";";
  for (int id : segment.nodes) {
    const Node &node = dag.nodes[id];
    key += " " + operationName(node) + ":" + typeText(node);
    size_t operands = node.op == Op::Fill ? 1 : node.inputs.size();
    for (size_t i = 0; i < operands; ++i) {
      int input = node.inputs[i];
      if (input < 0)
        key += ",-";
      else if (dag.nodes[input].op == Op::Literal)
        key += "," + std::to_string(dag.nodes[input].literal.index()) + "'" +
               print(dag.nodes[input].literal);
      else if (auto found = inputAt.find(input); found != inputAt.end())
        key += ",i" + std::to_string(found->second);
      else
        key += ",n" + std::to_string(nodeAt.at(input));
    }
  }
  for (int id : segment.outputs)
    key += " >" + std::to_string(nodeAt.at(id));
  return key;
}

} // namespace headrace::script
