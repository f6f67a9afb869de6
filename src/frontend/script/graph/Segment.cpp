#include "frontend/script/graph/Segment.h"

#include "frontend/script/Printer.h"

#include <algorithm>

namespace headrace::script {

static void collectSymbols(const Known &known, std::set<int> &used) {
  for (const Size *size : {&known.rows, &known.cols})
    for (const Size::Term &term : size->terms())
      used.insert(term.symbol);
}

void closeSegment(const Dag &dag, Segment &segment, const std::vector<bool> &wanted) {
  std::set<int> inside(segment.nodes.begin(), segment.nodes.end());
  std::set<int> usedSymbols, shown;
  segment.inputs.clear();
  segment.outputs.clear();
  auto addInput = [&](int input) {
    const Node &node = dag.nodes[input];
    bool isNew = std::ranges::find(segment.inputs, input) == segment.inputs.end();
    if (inside.contains(input) || node.op == Op::Literal || !isNew)
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
  auto position = [](const std::vector<int> &list, int id) {
    return std::to_string(std::ranges::find(list, id) - list.begin());
  };
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
      else if (std::ranges::find(segment.inputs, input) != segment.inputs.end())
        key += ",i" + position(segment.inputs, input);
      else
        key += ",n" + position(segment.nodes, input);
    }
  }
  for (int id : segment.outputs)
    key += " >" + position(segment.nodes, id);
  return key;
}

} // namespace headrace::script
