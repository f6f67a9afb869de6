#include "frontend/onnx/import/Subgraph.h"

#include "frontend/onnx/import/NodeOrder.h"
#include "frontend/onnx/import/Operators.h"
#include "runtime/system/Text.h"

#include <unordered_set>

using namespace mlir;

namespace headrace::onnx {

/// The graph with names of its own, which the prefix sets apart from all others.
static Graph renamed(const Graph &graph, const std::string &prefix) {
  std::unordered_set<std::string> own;
  for (const ValueInfo &input : graph.inputs)
    own.insert(input.name);
  for (const Initializer &initializer : graph.initializers)
    own.insert(initializer.name);
  for (const Node &node : graph.nodes)
    own.insert(node.outputs.begin(), node.outputs.end());
  auto rename = [&](std::string &name) {
    if (!name.empty() && own.contains(name))
      name.insert(0, prefix);
  };
  Graph result = graph;
  std::unordered_set<std::string> outer;
  for (Node &node : result.nodes) {
    for (std::string &input : node.inputs) {
      if (!input.empty() && !own.contains(input) && outer.insert(input).second)
        result.inputs.push_back({input, std::nullopt, std::nullopt});
      rename(input);
    }
    llvm::for_each(node.outputs, rename);
  }
  for (ValueInfo &input : result.inputs)
    rename(input.name);
  for (ValueInfo &output : result.outputs)
    rename(output.name);
  for (Initializer &initializer : result.initializers)
    rename(initializer.name);
  return result;
}

Value applySubgraph(NodeContext &c, const char *attribute, Value argument) {
  const Attribute *found = c.node.find(attribute);
  if (!found || !found->graph)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected a graph", attribute);
  if (found->graph->inputs.size() != 1 || found->graph->outputs.size() != 1)
    c.fail(ErrorKind::InvalidModel,
           "attribute '{0}': expected one input and one output, got {1}, {2}", attribute,
           found->graph->inputs.size(), found->graph->outputs.size());
  ImportState &state = c.sharedState();
  // No other value's name has it: outputs are named once.
  Graph graph = renamed(*found->graph, c.node.outputs.front() + "/" + attribute + "/");
  state.values.define(graph.inputs.front().name, argument);
  for (const Initializer &initializer : graph.initializers)
    state.values.define(initializer.name, initializer.tensor);
  for (const Node *node : orderedNodes(graph)) {
    for (const std::string &input : node->inputs)
      if (!input.empty() && !state.values.find(input))
        c.fail(ErrorKind::InvalidModel, "attribute '{0}': value {1} is not defined", attribute,
               inQuotes(input));
    importNode(*node, state);
  }
  const std::string &output = graph.outputs.front().name;
  if (!state.values.find(output))
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': its output {1} is not defined", attribute,
           inQuotes(output));
  return state.values.tensor(output);
}

} // namespace headrace::onnx
