#include "frontend/script/graph/Segment.h"

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

} // namespace headrace::script
