#include "quantize/QuantizationPlan.h"

#include "frontend/onnx/read/MovingOperators.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include "quantize/Units.h"
#include <algorithm>

namespace headrace::quantize {

namespace {

/// Sets of values, joined if it shows that they share a scale.
class Sets {
public:
  const std::string &find(const std::string &value) {
    std::string &parent = parents.try_emplace(value, value).first->second;
    if (parent == value)
      return parent;
    return parent = find(parent);
  }
  void join(const std::string &a, const std::string &b) {
    std::string root = find(a);
    parents[find(b)] = root;
  }

private:
  std::map<std::string, std::string> parents;
};

class Planner {
public:
  Planner(const onnx::Graph &graph, const onnx::GraphView &view, const Options &options,
          const std::map<size_t, std::string> &refused)
      : graph(graph), view(view), options(options) {
    plan.reasons = refused;
  }

  QuantizationPlan run();

private:
  void findShapeNodes();
  void findUnits();
  void findMovers();
  void joinValues();
  void makeGroups();
  void explainOthers();

  const onnx::Graph &graph;
  const onnx::GraphView &view;
  const Options &options;
  QuantizationPlan plan;
  std::set<size_t> inUnits;
  std::set<size_t> candidates; // nodes that could keep a scale
  std::set<size_t> ofShapes;   // nodes that compute on sizes, not on data
  Sets sets;
};

} // namespace

QuantizationPlan Planner::run() {
  for (const std::string &name : options.keptFloat)
    if (std::ranges::none_of(graph.nodes,
                             [&](const onnx::Node &node) { return node.name == name; }))
      throw Error(ErrorKind::InvalidArgument,
                  "expected the name of a node to leave float, got " + inQuotes(name));
  findShapeNodes();
  findUnits();
  findMovers();
  joinValues();
  makeGroups();
  explainOthers();
  return std::move(plan);
}

void Planner::findShapeNodes() {
  std::set<std::string> sizes;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const onnx::Node &node = graph.nodes[i];
    bool isSize = isOperator(node, "Shape") || isOperator(node, "Size") ||
                  std::ranges::all_of(node.inputs, [&](const std::string &input) {
                    return input.empty() || sizes.contains(input) || view.constant(input);
                  });
    if (!isSize)
      continue;
    ofShapes.insert(i);
    sizes.insert(node.outputs.begin(), node.outputs.end());
  }
}

void Planner::findUnits() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (inUnits.contains(i) || ofShapes.contains(i) || plan.reasons.contains(i))
      continue;
    if (options.keptFloat.contains(graph.nodes[i].name)) {
      plan.reasons[i] = "left float as asked";
      continue;
    }
    std::variant<Unit, std::string> found = unitAt(i, graph, view);
    if (auto *reason = std::get_if<std::string>(&found)) {
      if (!reason->empty())
        plan.reasons[i] = *reason;
      continue;
    }
    auto &unit = std::get<Unit>(found);
    inUnits.insert(unit.nodes.begin(), unit.nodes.end());
    plan.units.push_back(std::move(unit));
  }
}

static bool keepsScale(const onnx::Node &node, const onnx::GraphView &view) {
  const onnx::MovingOperator *known = onnx::findMovingOperator(node.opType);
  if (!node.domain.empty() || !known || !known->keepsScale || node.inputs.empty())
    return false;
  if (node.opType == "MaxPool" || node.opType == "Dropout") // positions, a mask
    return node.outputs.size() == 1 || node.outputs[1].empty();
  if (node.opType == "Pad" && node.inputs.size() > 2 && !node.inputs[2].empty()) {
    const Tensor *value = view.constant(node.inputs[2]);
    return value && value->elements() == 1 && *value->converted(DType::F32).as<float>() == 0;
  }
  return node.opType != "Pad" || node.getFloat("value", 0) == 0;
}

void Planner::findMovers() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const onnx::Node &node = graph.nodes[i];
    bool keeps = keepsScale(node, view) || isOperator(node, "Concat");
    if (keeps && !inUnits.contains(i) && !plan.reasons.contains(i))
      candidates.insert(i);
  }
}

void Planner::joinValues() {
  for (size_t i : candidates) {
    const onnx::Node &node = graph.nodes[i];
    size_t inputs = isOperator(node, "Concat") ? node.inputs.size() : 1;
    for (size_t k = 0; k < inputs; ++k)
      for (const std::string &output : node.outputs)
        if (!output.empty())
          sets.join(node.inputs[k], output);
  }
}

/// A set becomes a group if a unit reads or writes one of its values.
void Planner::makeGroups() {
  std::map<std::string, size_t> numbers;
  auto take = [&](const std::string &value) {
    auto [number, isNew] = numbers.try_emplace(sets.find(value), plan.groups.size());
    if (isNew)
      plan.groups.emplace_back();
    if (plan.groupOf.try_emplace(value, number->second).second)
      plan.groups[number->second].members.push_back(value);
  };
  for (const Unit &unit : plan.units) {
    for (const std::string &input : unit.inputs)
      take(input);
    take(unit.output);
  }
  std::set<std::string> moved;
  for (size_t i : candidates) {
    const onnx::Node &node = graph.nodes[i];
    if (!numbers.contains(sets.find(node.inputs[0])))
      continue;
    plan.movers.insert(i);
    size_t inputs = isOperator(node, "Concat") ? node.inputs.size() : 1;
    for (size_t k = 0; k < inputs; ++k)
      take(node.inputs[k]);
    for (const std::string &output : node.outputs)
      if (!output.empty()) {
        take(output);
        moved.insert(output);
      }
  }
  for (Group &group : plan.groups)
    for (const std::string &value : group.members)
      if (!moved.contains(value))
        group.sources.push_back(value);
}

void Planner::explainOthers() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (inUnits.contains(i) || plan.movers.contains(i) || ofShapes.contains(i))
      plan.reasons.erase(i);
    else if (candidates.contains(i))
      plan.reasons.try_emplace(i, "no matmul or convolution next to it");
    else
      plan.reasons.try_emplace(i, "no integer implementation");
  }
}

QuantizationPlan makePlan(const onnx::Graph &graph, const onnx::GraphView &view,
                          const Options &options, const std::map<size_t, std::string> &refused) {
  return Planner(graph, view, options, refused).run();
}

} // namespace headrace::quantize
