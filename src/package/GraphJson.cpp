#include "package/GraphJson.h"

#include <algorithm>
#include <array>
#include <bit>

namespace headrace {

using adaptive::Graph, adaptive::GraphNode, adaptive::NeededValue, adaptive::NodeSet,
    adaptive::Region;
using operators::Attribute, operators::BodyOutput, operators::HostNode;

namespace {

// More than any graph has; a bound on what a manifest can make us allocate.
constexpr int64_t maxParts = 1 << 24;

// --- lists of numbers ---

template <class T> std::vector<T> numbersFromJson(const Json &json, int64_t min, int64_t max) {
  if (!json.is_array())
    throw JsonFault("expected a list of integers");
  std::vector<T> numbers;
  for (const Json &item : json)
    numbers.push_back(static_cast<T>(integerOf(item, min, max)));
  return numbers;
}

Shape shapeFromJson(const Json &json) { return numbersFromJson<int64_t>(json, 0, INT64_MAX); }

std::vector<std::string> textsFromJson(const Json &json, const char *name) {
  std::vector<std::string> texts;
  for (const Json &item : list(json, name))
    texts.push_back(text(item));
  return texts;
}

bool flag(const Json &json, const char *name) {
  const Json &value = member(json, name);
  if (!value.is_boolean())
    throw JsonFault(std::string("expected true or false as '") + name + "'");
  return value.get<bool>();
}

DType dtypeOf(const std::string &name) {
  std::optional<DType> type = parseDType(name);
  if (!type)
    throw JsonFault("unknown type '" + name + "'");
  return *type;
}

// --- tensors, of numbers or of strings ---

Json tensorToJson(const Tensor &tensor, const KeepTensor &keep) {
  return {{"type", nameOf(tensor.dtype())}, {"shape", tensor.shape()}, {"weights", keep(tensor)}};
}

Tensor tensorFromJson(const Json &json, const FindTensor &find) {
  return find(static_cast<size_t>(integer(json, "weights", 0, maxParts)),
              dtypeOf(text(json, "type")), shapeFromJson(member(json, "shape")));
}

Json valueToJson(const RuntimeValue &value, const KeepTensor &keep) {
  if (const Tensor *tensor = value.tensor())
    return tensorToJson(*tensor, keep);
  return {{"shape", value.strings()->shape}, {"strings", value.strings()->elements}};
}

RuntimeValue valueFromJson(const Json &json, const FindTensor &find) {
  if (!json.contains("strings"))
    return tensorFromJson(json, find);
  StringTensor strings{shapeFromJson(member(json, "shape")), textsFromJson(json, "strings")};
  size_t elements = 1;
  for (int64_t size : strings.shape)
    if (__builtin_mul_overflow(elements, static_cast<size_t>(size), &elements))
      throw JsonFault("a tensor of strings is too large");
  if (elements != strings.elements.size())
    throw JsonFault("expected " + std::to_string(elements) + " strings, got " +
                    std::to_string(strings.elements.size()));
  return strings;
}

// --- attributes; floats as their bits, for JSON has no infinity ---

constexpr std::array<const char *, 7> kinds = {"int",    "float",   "string", "ints",
                                               "floats", "strings", "tensor"};

Json bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
float floatOf(const Json &json) {
  return std::bit_cast<float>(static_cast<uint32_t>(integerOf(json, 0, UINT32_MAX)));
}

Json attributeToJson(const Attribute &attribute, const KeepTensor &keep) {
  Json value;
  if (const auto *number = attribute.as<float>()) {
    value = bitsOf(*number);
  } else if (const auto *numbers = attribute.as<std::vector<float>>()) {
    value = Json::array();
    for (float number : *numbers)
      value.push_back(bitsOf(number));
  } else if (const auto *tensor = attribute.as<RuntimeValue>()) {
    value = valueToJson(*tensor, keep);
  } else if (const auto *integer = attribute.as<int64_t>()) {
    value = *integer;
  } else if (const auto *string = attribute.as<std::string>()) {
    value = *string;
  } else if (const auto *integers = attribute.as<std::vector<int64_t>>()) {
    value = *integers;
  } else {
    value = *attribute.as<std::vector<std::string>>();
  }
  return {{"name", attribute.name}, {"kind", kinds.at(attribute.value.index())}, {"value", value}};
}

Attribute attributeFromJson(const Json &json, const FindTensor &find) {
  std::string kind = text(json, "kind");
  const Json &value = member(json, "value");
  Attribute attribute{text(json, "name"), int64_t{0}};
  if (kind == "int") {
    attribute.value = integerOf(value);
  } else if (kind == "float") {
    attribute.value = floatOf(value);
  } else if (kind == "string") {
    attribute.value = text(value);
  } else if (kind == "ints") {
    attribute.value = numbersFromJson<int64_t>(value, INT64_MIN, INT64_MAX);
  } else if (kind == "floats") {
    std::vector<float> numbers;
    for (const Json &item : list(json, "value"))
      numbers.push_back(floatOf(item));
    attribute.value = std::move(numbers);
  } else if (kind == "strings") {
    attribute.value = textsFromJson(json, "value");
  } else if (kind == "tensor") {
    attribute.value = valueFromJson(value, find);
  } else {
    throw JsonFault("unknown kind of attribute '" + kind + "'");
  }
  return attribute;
}

// --- nodes ---

Json bodyOutputsToJson(const std::vector<BodyOutput> &outputs) {
  Json json = Json::array();
  for (const BodyOutput &output : outputs) {
    Json &item = json.emplace_back(Json{{"name", output.name}, {"shape", output.shape}});
    if (output.dtype)
      item["type"] = nameOf(*output.dtype);
    else if (output.isString)
      item["type"] = "string";
  }
  return json;
}

std::vector<BodyOutput> bodyOutputsFromJson(const Json &json) {
  std::vector<BodyOutput> outputs;
  for (const Json &item : json) {
    std::string type = item.contains("type") ? text(item, "type") : "";
    BodyOutput output{
        text(item, "name"), {}, type == "string", shapeFromJson(member(item, "shape"))};
    if (!type.empty() && !output.isString)
      output.dtype = dtypeOf(type);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

size_t numberOf(const GraphList &graphs, const Graph *graph) {
  auto found = std::ranges::find(graphs, graph, &std::shared_ptr<Graph>::get);
  return static_cast<size_t>(found - graphs.begin());
}

/// What compiled code computes needs no attributes.
Json nodeToJson(const Graph &graph, size_t index, const GraphList &graphs, const KeepTensor &keep) {
  const GraphNode &node = graph.nodes[index];
  const HostNode &host = node.node;
  Json json = {{"name", host.name},
               {"operator", host.opType},
               {"domain", host.domain},
               {"version", host.version},
               {"input_names", host.inputs},
               {"output_names", host.outputs},
               {"inputs", node.inputs},
               {"reads", node.reads},
               {"outputs", node.outputs},
               {"host", node.isHostAlways},
               {"changing", graph.isChanging(index)}};
  if (!node.host)
    return json;
  Json &attributes = json["attributes"] = Json::array();
  for (const Attribute &attribute : host.attributes)
    attributes.push_back(attributeToJson(attribute, keep));
  Json &bodies = json["bodies"] = Json::array();
  for (const auto &[name, body] : node.bodies)
    bodies.push_back({{"attribute", name},
                      {"graph", numberOf(graphs, body.get())},
                      {"outputs", bodyOutputsToJson(host.bodies.at(name))}});
  return json;
}

GraphNode nodeFromJson(const Json &json, int64_t values, const GraphList &inside,
                       size_t firstInside, const FindTensor &find) {
  GraphNode node{HostNode{text(json, "name"),
                          text(json, "operator"),
                          text(json, "domain"),
                          integer(json, "version"),
                          textsFromJson(json, "input_names"),
                          textsFromJson(json, "output_names"),
                          {},
                          {}}};
  node.inputs = numbersFromJson<int>(member(json, "inputs"), -1, values - 1);
  node.reads = numbersFromJson<int>(member(json, "reads"), 0, values - 1);
  node.outputs = numbersFromJson<int>(member(json, "outputs"), -1, values - 1);
  if (node.node.inputs.size() != node.inputs.size())
    throw JsonFault(node.node.describe() + " has other inputs than names");
  node.isHostAlways = flag(json, "host");
  if (!json.contains("attributes"))
    return node;
  for (const Json &item : list(json, "attributes"))
    node.node.attributes.push_back(attributeFromJson(item, find));
  for (const Json &item : list(json, "bodies")) {
    auto number = static_cast<size_t>(integer(item, "graph", 0, maxParts));
    if (number < firstInside || number - firstInside >= inside.size())
      throw JsonFault("there is no graph " + std::to_string(number));
    std::string name = text(item, "attribute");
    node.bodies.emplace(name, inside[number - firstInside]);
    node.node.bodies.emplace(name, bodyOutputsFromJson(list(item, "outputs")));
  }
  const HostNode &host = node.node;
  const operators::HostOperator *found =
      operators::findHostOperator(host.domain, host.opType, host.version);
  if (!found)
    throw JsonFault("this runtime has no operator '" + host.opType + "'");
  node.host = found->function;
  node.prepared = std::make_shared<operators::Prepared>();
  node.parametersFrom = found->parametersFrom;
  return node;
}

// --- graphs ---

Json graphToJson(const Graph &graph, const GraphList &graphs, const KeepTensor &keep) {
  Json constants = Json::array(), captures = Json::array(), nodes = Json::array();
  for (size_t value = 0; value < graph.constants.size(); ++value)
    if (!graph.constants[value].isNothing() && graph.useCounts()[value] > 0)
      constants.push_back(
          {{"value", value}, {"tensor", valueToJson(graph.constants[value], keep)}});
  for (auto [value, outer] : graph.captures)
    captures.push_back({value, outer});
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    nodes.push_back(nodeToJson(graph, i, graphs, keep));
  return {{"name", graph.name},       {"values", graph.names},    {"constants", constants},
          {"inputs", graph.inputs},   {"outputs", graph.outputs}, {"captures", captures},
          {"nodes", std::move(nodes)}};
}

std::shared_ptr<Graph> graphFromJson(const Json &json, const std::string &model,
                                     const GraphList &inside, size_t firstInside,
                                     const FindTensor &find) {
  auto graph = std::make_shared<Graph>(model, /*versionsPerPlace=*/SIZE_MAX);
  graph->name = text(json, "name");
  graph->names = textsFromJson(json, "values");
  auto values = static_cast<int64_t>(graph->names.size());
  graph->constants.resize(graph->names.size());
  for (const Json &item : list(json, "constants"))
    graph->constants[static_cast<size_t>(integer(item, "value", 0, values - 1))] =
        valueFromJson(member(item, "tensor"), find);
  graph->inputs = numbersFromJson<int>(member(json, "inputs"), 0, values - 1);
  graph->outputs = numbersFromJson<int>(member(json, "outputs"), 0, values - 1);
  for (const Json &item : list(json, "captures")) {
    auto pair = numbersFromJson<int>(item, 0, maxParts);
    if (pair.size() != 2 || pair[0] >= values)
      throw JsonFault("expected a pair of values");
    graph->captures.emplace_back(pair[0], pair[1]);
  }
  for (const Json &item : list(json, "nodes"))
    graph->nodes.push_back(nodeFromJson(item, values, inside, firstInside, find));
  size_t count = graph->nodes.size();
  graph->dropUnneeded();
  if (graph->nodes.size() != count)
    throw JsonFault("graph '" + graph->name + "' has nodes that nobody reads");
  for (size_t i = 0; i < count; ++i)
    if (flag(list(json, "nodes")[i], "changing"))
      graph->setChanging(i);
  for (const GraphNode &node : graph->nodes)
    for (const auto &[name, body] : node.bodies)
      for (auto [value, outer] : body->captures)
        if (outer >= values)
          throw JsonFault("graph '" + body->name + "' reads a value that is not around it");
  return graph;
}

} // namespace

GraphList graphsWithin(const std::shared_ptr<Graph> &graph) {
  GraphList graphs{graph};
  for (size_t i = 0; i < graphs.size(); ++i)
    for (const GraphNode &node : graphs[i]->nodes)
      for (const auto &[name, body] : node.bodies)
        graphs.push_back(body);
  return graphs;
}

Json graphsToJson(const GraphList &graphs, const KeepTensor &keep) {
  Json json = Json::array();
  for (const auto &graph : graphs)
    json.push_back(graphToJson(*graph, graphs, keep));
  return json;
}

/// The last one first: those inside come after the graph around them.
GraphList graphsFromJson(const Json &json, const std::string &model, const FindTensor &find) {
  if (!json.is_array() || json.empty())
    throw JsonFault("expected graphs");
  GraphList graphs;
  for (size_t i = json.size(); i-- > 0;)
    graphs.insert(graphs.begin(), graphFromJson(json[i], model, graphs, i + 1, find));
  if (!graphs.front()->captures.empty())
    throw JsonFault("the first graph reads values from around it");
  return graphs;
}

Json regionToJson(const Region &region, const NodeSet &done, const KeepTensor &keep) {
  Json before = Json::array(), needed = Json::array();
  for (size_t node : done.nodes())
    before.push_back(node);
  for (const NeededValue &value : region.needed)
    needed.push_back({{"value", value.value},
                      {"tensor", tensorToJson(value.tensor, keep)},
                      {"open", value.open}});
  return {{"after", before},           {"nodes", region.nodes}, {"inputs", region.inputs},
          {"outputs", region.outputs}, {"needed", needed},      {"sizes", region.sizes},
          {"steps", region.steps}};
}

Region regionFromJson(const Json &json, const Graph &graph, NodeSet &done, const FindTensor &find) {
  auto lastNode = static_cast<int64_t>(graph.nodes.size()) - 1;
  auto lastValue = static_cast<int64_t>(graph.names.size()) - 1;
  done = NodeSet(graph.nodes.size());
  for (size_t node : numbersFromJson<size_t>(member(json, "after"), 0, lastNode))
    done.insert(node);
  Region region;
  region.nodes = numbersFromJson<size_t>(member(json, "nodes"), 0, lastNode);
  NodeSet ran = done;
  for (size_t node : region.nodes)
    if (ran.contains(node))
      throw JsonFault("a region runs a node twice");
    else
      ran.insert(node);
  if (region.nodes.empty())
    throw JsonFault("a region has no node");
  for (const Json &item : list(json, "needed")) {
    NeededValue value{static_cast<int>(integer(item, "value", 0, lastValue)),
                      tensorFromJson(member(item, "tensor"), find),
                      {}};
    value.open = numbersFromJson<size_t>(member(item, "open"), 0, value.tensor.elements() - 1);
    bool isInteger = value.tensor.dtype() == DType::I32 || value.tensor.dtype() == DType::I64;
    if (!value.open.empty() && !isInteger)
      throw JsonFault("a size is not an integer");
    region.needed.push_back(std::move(value));
  }
  auto needed = static_cast<int64_t>(region.needed.size());
  region.inputs = numbersFromJson<int>(member(json, "inputs"), -needed, lastValue);
  region.outputs = numbersFromJson<int>(member(json, "outputs"), 0, lastValue);
  for (const Json &item : list(json, "sizes"))
    region.sizes.push_back(shapeFromJson(item));
  for (const Json &item : list(json, "steps"))
    region.steps.push_back(shapeFromJson(item));
  bool fits = region.sizes.size() == region.inputs.size() &&
              std::ranges::equal(region.sizes, region.steps, [](const Shape &a, const Shape &b) {
                return a.size() == b.size();
              });
  if (!fits)
    throw JsonFault("a region has sizes of other inputs");
  return region;
}

} // namespace headrace
