// Nodes that only move constants, as exporters write them for the weights of recurrent layers
// (Slice, Concat), are computed once, when the graph is made. Their readers then have constants,
// which are packed, instead of values that every run copies anew.
#include "driver/CompiledRegion.h"
#include "driver/split/OnnxGraph.h"
#include "frontend/onnx/read/MovingOperators.h"

#include <algorithm>

namespace headrace::split {

static bool onlyRearranges(const onnx::Node &node) {
  const onnx::MovingOperator *known = onnx::findMovingOperator(node.opType);
  return node.domain.empty() && known && known->onlyRearranges;
}

void OnnxGraph::computeConstantNodes() {
  size_t nodes = graph.nodes.size(), values = graph.names.size();
  std::vector<bool> isKnown(values);
  for (size_t value = 0; value < values; ++value)
    isKnown[value] = graph.constants[value].tensor() != nullptr;
  adaptive::Graph::Frame frame{graph, nullptr, {}, graph.useCounts(), adaptive::NodeSet(nodes)};
  frame.values.resize(values);
  bool hasSome = false;
  for (size_t i = 0; i < nodes; ++i) {
    const adaptive::GraphNode &node = graph.nodes[i];
    bool isConstant =
        !node.isHostAlways && onlyRearranges(nodeOf(node)) &&
        std::all_of(node.reads.begin(), node.reads.end(), [&](int id) { return isKnown[id]; });
    if (!isConstant) {
      frame.done.insert(i); // as if it had run: it is of no region here
      continue;
    }
    hasSome = true;
    for (int output : node.outputs)
      if (output >= 0)
        isKnown[output] = true;
  }
  if (!hasSome)
    return;
  try {
    std::shared_ptr<const adaptive::Region> region = make(frame, /*similar=*/nullptr);
    std::vector<Tensor> results = modelOf(*region).reference({});
    for (size_t i = 0; i < results.size(); ++i)
      graph.constants[region->outputs[i]] = results[i];
    for (size_t i = region->nodes.size(); i-- > 0;)
      graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(region->nodes[i]));
  } catch (const Error &) {
    return; // a node that is wrong is one where it runs
  }
  graph.dropUnneeded();
  for (size_t value = 0; value < graph.names.size(); ++value)
    if (graph.useCounts()[value] == 0)
      graph.constants[value] = {};
}

} // namespace headrace::split
