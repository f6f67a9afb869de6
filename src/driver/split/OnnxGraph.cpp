#include "driver/split/OnnxGraph.h"

#include "driver/split/RegionBuilder.h"
#include "frontend/onnx/import/NodeOrder.h"
#include "frontend/onnx/import/RegionImporter.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <set>

namespace headrace::split {

using adaptive::GraphNode;

OnnxGraph::OnnxGraph(const onnx::Graph &given, const SplitModelFile &model, const OnnxGraph *outer)
    : model(model), graph(model.name, model.settings.planCacheSize), source(given), outer(outer) {
  graph.name = source.name;
  graph.source = this;
  addConstants();
  for (const onnx::ValueInfo &input : source.inputs)
    if (!ids.contains(input.name) || outer) {
      graph.inputs.push_back(idOf(input.name));
      graph.constants[graph.inputs.back()] = {}; // bodies are always given their inputs
    }
  addNodes();
  for (const onnx::ValueInfo &output : source.outputs)
    graph.outputs.push_back(definedId(output.name, "output " + inQuotes(output.name)));
  graph.dropUnneeded();
  computeConstantNodes();
}

std::shared_ptr<const adaptive::Region> OnnxGraph::make(const adaptive::Graph::Frame &frame,
                                                        const adaptive::Region *similar) {
  return RegionBuilder(*this, frame, similar).build();
}

int OnnxGraph::idOf(const std::string &name) {
  auto [found, isNew] = ids.try_emplace(name, static_cast<int>(graph.names.size()));
  if (isNew) {
    graph.names.push_back(name);
    graph.constants.emplace_back();
  }
  return found->second;
}

int OnnxGraph::definedId(const std::string &name, const std::string &reader) const {
  auto found = ids.find(name);
  if (found == ids.end())
    throw Error(ErrorKind::InvalidModel, reader + ": " + inQuotes(name) +
                                             " is not an input, an initializer or a node's output");
  return found->second;
}

void OnnxGraph::addConstants() {
  for (const onnx::Initializer &initializer : source.initializers)
    graph.constants[idOf(initializer.name)] =
        initializer.strings ? RuntimeValue(initializer.strings) : RuntimeValue(initializer.tensor);
}

bool OnnxGraph::isOuter(const std::string &name) const {
  for (const OnnxGraph *around = outer; around; around = around->outer)
    if (around->ids.contains(name))
      return true;
  return false;
}

/// Values of the graph around become values here where they are first read; constants stay such.
/// The graph around has them by then, from further outside if need be.
void OnnxGraph::capture(const std::string &name) {
  if (ids.contains(name) || !isOuter(name))
    return;
  int id = idOf(name), outside = outer->ids.at(name);
  graph.constants[id] = outer->graph.constants[outside];
  if (graph.constants[id].isNothing())
    graph.captures.emplace_back(id, outside);
}

RuntimeValue constantOf(const onnx::Node &node) {
  const onnx::Attribute *value = node.find("value");
  bool isConstant = node.opType == "Constant" && node.domain.empty() && node.outputs.size() == 1;
  if (!isConstant || !value || value->kind != onnx::Attribute::Tensor)
    return {};
  return value->stringTensor ? RuntimeValue(value->stringTensor) : RuntimeValue(value->tensor);
}

void OnnxGraph::addNodes() {
  std::vector<const onnx::Node *> order =
      onnx::orderedNodes(source, [this](const std::string &name) { return isOuter(name); });
  for (const onnx::Node *node : order) {
    pollInterruption();
    for (const std::string &name : onnx::readsOf(*node))
      capture(name);
    // Constants among the nodes are constants from the start, so that graphs inside know them.
    if (RuntimeValue constant = constantOf(*node); !constant.isNothing())
      graph.constants[idOf(node->outputs[0])] = constant;
    else
      graph.nodes.push_back(planned(*node));
  }
  for (const onnx::ValueInfo &output : source.outputs)
    capture(output.name);
  checkOperators();
}

GraphNode OnnxGraph::planned(const onnx::Node &node) {
  int64_t opset = node.opset.value_or(model.opset);
  GraphNode result{hostNodeOf(node, opset)};
  result.origin = static_cast<size_t>(&node - source.nodes.data());
  for (const std::string &input : node.inputs)
    result.inputs.push_back(input.empty() ? -1 : definedId(input, node.describe()));
  for (const std::string &read : onnx::readsOf(node))
    result.reads.push_back(definedId(read, node.describe()));
  for (const std::string &output : node.outputs)
    result.outputs.push_back(output.empty() ? -1 : idOf(output));
  if (const operators::HostOperator *host = findHostOperator(node, opset)) {
    result.host = host->function;
    result.prepared = std::make_shared<operators::Prepared>();
    result.parametersFrom = host->parametersFrom;
  }
  result.isHostAlways =
      result.host && (!onnx::isImportable(node, model.opset) || yieldsStrings(node) ||
                      isCheaperOnHost(node, opset, model.settings.target));
  for (const onnx::Attribute &attribute : node.attributes)
    if (attribute.graph) {
      auto body = std::make_shared<OnnxGraph>(*attribute.graph, model, this);
      result.bodies.emplace(attribute.name, std::shared_ptr<adaptive::Graph>(body, &body->graph));
      bodies.push_back(std::move(body));
    }
  return result;
}

/// All operators that are missing in one message, each with the first node that uses it.
void OnnxGraph::checkOperators() const {
  std::set<std::string> kinds;
  std::string message;
  for (const GraphNode &planned : graph.nodes) {
    const onnx::Node &node = nodeOf(planned);
    if (planned.host || onnx::isImportable(node, model.opset))
      continue;
    std::string kind = node.domain.empty() ? node.opType : node.domain + "." + node.opType;
    if (!kinds.insert(kind).second)
      continue;
    message += (message.empty() ? "" : "; ") + node.describe() + ": operator " + inQuotes(kind) +
               (node.domain.empty() ? " (opset " + std::to_string(model.opset) + ")" : "") +
               " is not supported";
  }
  if (!message.empty())
    throw Error(ErrorKind::Unsupported, message);
}

std::pair<OnnxGraph::NodeList, OnnxGraph::NodeList> OnnxGraph::nodesByPlace() const {
  std::pair<NodeList, NodeList> result;
  for (const GraphNode &node : graph.nodes)
    (node.isHostAlways ? result.second : result.first).push_back(&nodeOf(node));
  for (const auto &body : bodies) {
    auto [compiled, host] = body->nodesByPlace();
    result.first.insert(result.first.end(), compiled.begin(), compiled.end());
    result.second.insert(result.second.end(), host.begin(), host.end());
  }
  return result;
}

} // namespace headrace::split
