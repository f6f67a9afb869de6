#include "frontend/onnx/import/GraphView.h"

#include "frontend/onnx/import/NodeOrder.h"

#include <algorithm>

namespace headrace::onnx {

static bool is(const Node &node, std::string_view opType) {
  return node.domain.empty() && node.opType == opType;
}

GraphView::GraphView(const Graph &graph, const GraphView *around) : around(around) {
  for (const ValueInfo &input : graph.inputs)
    inputs.insert(input.name);
  for (const Initializer &initializer : graph.initializers)
    if (initializer.tensor)
      constants[initializer.name] = &initializer.tensor;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    for (const std::string &output : node.outputs)
      producers[output] = i;
    for (const std::string &value : readsOf(node)) {
      if (value.empty())
        continue;
      if (!std::ranges::count(node.inputs, value))
        elsewhere.insert(value);
      std::vector<size_t> &readers = uses[value];
      if (readers.empty() || readers.back() != i)
        readers.push_back(i);
    }
    if (node.outputs.empty())
      continue;
    const Attribute *value = is(node, "Constant") ? node.find("value") : nullptr;
    if (value && value->tensor)
      constants[node.outputs[0]] = &value->tensor;
    if (is(node, "Identity") && !node.inputs.empty() && constants.contains(node.inputs[0]))
      constants[node.outputs[0]] = constants[node.inputs[0]];
  }
  for (const ValueInfo &output : graph.outputs) {
    outputs.insert(output.name);
    elsewhere.insert(output.name);
  }
}

std::optional<size_t> GraphView::producer(const std::string &value) const {
  auto found = producers.find(value);
  return found == producers.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<size_t> &GraphView::readers(const std::string &value) const {
  static const std::vector<size_t> none;
  auto found = uses.find(value);
  return found == uses.end() ? none : found->second;
}

std::optional<size_t> GraphView::onlyReader(const std::string &value) const {
  const std::vector<size_t> &found = readers(value);
  return found.size() == 1 && !isSeenElsewhere(value) ? std::optional(found[0]) : std::nullopt;
}

const Tensor *GraphView::constant(const std::string &value) const {
  if (auto found = constants.find(value); found != constants.end())
    return found->second;
  bool isOwn = inputs.contains(value) || producers.contains(value);
  return around && !isOwn ? around->constant(value) : nullptr;
}

void FreshNames::collect(const Graph &graph) {
  for (const ValueInfo &input : graph.inputs)
    taken.insert(input.name);
  for (const Initializer &initializer : graph.initializers)
    taken.insert(initializer.name);
  for (const Node &node : graph.nodes) {
    taken.insert(node.outputs.begin(), node.outputs.end());
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        collect(*attribute.graph);
  }
}

std::string FreshNames::operator()(const std::string &base) {
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

} // namespace headrace::onnx
