#include "driver/staged/GraphPlan.h"

#include "driver/staged/StageBuilder.h"
#include "frontend/onnx/import/NodeOrder.h"
#include "frontend/onnx/import/StageImporter.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <set>

namespace headrace::staged {

GraphPlan::GraphPlan(const onnx::Graph &graph, const StagedModel &model, const GraphPlan *outer)
    : source(graph), model(model), outer(outer), buildLock("model '" + model.name + "'") {
  addConstants();
  for (const onnx::ValueInfo &input : graph.inputs)
    if (!ids.contains(input.name) || outer) {
      inputs.push_back(idOf(input.name));
      constants[inputs.back()] = {}; // bodies are always given their inputs
    }
  addNodes();
  for (const onnx::ValueInfo &output : graph.outputs)
    outputs.push_back(definedId(output.name, "output " + inQuotes(output.name)));
  dropUnneeded();
  isChanging = std::vector<std::atomic<bool>>(nodes.size());
  computeConstantNodes();
}

int GraphPlan::idOf(const std::string &name) {
  auto [found, isNew] = ids.try_emplace(name, static_cast<int>(names.size()));
  if (isNew) {
    names.push_back(name);
    constants.emplace_back();
  }
  return found->second;
}

/// Values of the graph around become values here where they are first read; constants stay such.
int GraphPlan::definedId(const std::string &name, const std::string &reader) const {
  auto found = ids.find(name);
  if (found == ids.end())
    throw Error(ErrorKind::InvalidModel, reader + ": " + inQuotes(name) +
                                             " is not an input, an initializer or a node's output");
  return found->second;
}

void GraphPlan::addConstants() {
  for (const onnx::Initializer &initializer : source.initializers) {
    int id = idOf(initializer.name);
    constants[id] =
        initializer.strings ? RuntimeValue(initializer.strings) : RuntimeValue(initializer.tensor);
  }
}

/// Constants among the nodes are constants from the start, so that graphs inside know them.
static RuntimeValue constantOf(const onnx::Node &node) {
  const onnx::Attribute *value = node.find("value");
  bool isConstant = node.opType == "Constant" && node.domain.empty() && node.outputs.size() == 1;
  if (!isConstant || !value || value->kind != onnx::Attribute::Tensor)
    return {};
  return value->stringTensor ? RuntimeValue(value->stringTensor) : RuntimeValue(value->tensor);
}

void GraphPlan::addNodes() {
  auto isOuter = [this](const std::string &name) {
    for (const GraphPlan *plan = outer; plan; plan = plan->outer)
      if (plan->ids.contains(name))
        return true;
    return false;
  };
  std::vector<const onnx::Node *> order = onnx::orderedNodes(source, isOuter);
  auto capture = [&](const std::string &name) {
    if (ids.contains(name) || !isOuter(name))
      return;
    int id = idOf(name);
    for (const GraphPlan *plan = outer; plan; plan = plan->outer)
      if (auto found = plan->ids.find(name); found != plan->ids.end()) {
        constants[id] = plan->constants[found->second];
        break;
      }
    if (constants[id].isNothing())
      captures.push_back(id);
  };
  for (const onnx::Node *node : order) {
    pollInterruption();
    for (const std::string &name : onnx::readsOf(*node))
      capture(name);
    if (RuntimeValue constant = constantOf(*node); !constant.isNothing())
      constants[idOf(node->outputs[0])] = constant;
    else
      nodes.push_back(planned(*node));
  }
  for (const onnx::ValueInfo &output : source.outputs)
    capture(output.name);
  checkOperators();
}

PlannedNode GraphPlan::planned(const onnx::Node &node) {
  PlannedNode result;
  result.node = &node;
  for (const std::string &input : node.inputs)
    result.inputs.push_back(input.empty() ? -1 : definedId(input, node.describe()));
  for (const std::string &read : onnx::readsOf(node))
    result.reads.push_back(definedId(read, node.describe()));
  for (const std::string &output : node.outputs)
    result.outputs.push_back(output.empty() ? -1 : idOf(output));
  int64_t opset = node.opset.value_or(model.opset);
  if (const operators::HostOperator *host = findHostOperator(node, opset)) {
    result.host = host->function;
    result.hostNode = hostNodeOf(node, opset);
    result.prepared = std::make_unique<operators::Prepared>();
    result.parametersFrom = host->parametersFrom;
  }
  result.isHostAlways =
      result.host && (!onnx::isImportable(node, model.opset) || yieldsStrings(node) ||
                      isCheaperOnHost(node, opset, model.settings.target));
  for (const onnx::Attribute &attribute : node.attributes)
    if (attribute.graph)
      result.bodies.emplace(attribute.name,
                            std::make_unique<GraphPlan>(*attribute.graph, model, this));
  return result;
}

/// All operators that are missing in one message, each with the first node that uses it.
void GraphPlan::checkOperators() const {
  std::set<std::string> kinds;
  std::string message;
  for (const PlannedNode &planned : nodes) {
    const onnx::Node &node = *planned.node;
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

/// Nodes that nobody reads are not run.
void GraphPlan::dropUnneeded() {
  useCounts.assign(names.size(), 0);
  for (int output : outputs)
    ++useCounts[output];
  std::vector<PlannedNode> needed;
  for (; !nodes.empty(); nodes.pop_back()) {
    PlannedNode &node = nodes.back();
    for (int &output : node.outputs)
      if (output >= 0 && useCounts[output] == 0)
        output = -1;
    if (std::all_of(node.outputs.begin(), node.outputs.end(), [](int id) { return id < 0; }))
      continue;
    for (int value : node.reads)
      ++useCounts[value];
    needed.push_back(std::move(node));
  }
  nodes.assign(std::make_move_iterator(needed.rbegin()), std::make_move_iterator(needed.rend()));
}

std::pair<GraphPlan::NodeList, GraphPlan::NodeList> GraphPlan::nodesByPlace() const {
  std::pair<NodeList, NodeList> result;
  for (const PlannedNode &node : nodes) {
    (node.isHostAlways ? result.second : result.first).push_back(node.node);
    for (const auto &[name, body] : node.bodies) {
      auto [compiled, host] = body->nodesByPlace();
      result.first.insert(result.first.end(), compiled.begin(), compiled.end());
      result.second.insert(result.second.end(), host.begin(), host.end());
    }
  }
  return result;
}

std::vector<std::shared_ptr<const Stage>> GraphPlan::stages() const {
  std::vector<std::shared_ptr<const Stage>> result;
  {
    std::lock_guard lock(cacheMutex);
    for (const auto &[done, list] : cache)
      result.insert(result.end(), list.begin(), list.end());
  }
  for (const PlannedNode &node : nodes)
    for (const auto &[name, body] : node.bodies)
      for (auto &stage : body->stages())
        result.push_back(std::move(stage));
  return result;
}

} // namespace headrace::staged
