#include "report/GraphReport.h"

#include "report/Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using json = nlohmann::ordered_json;

namespace {

json amountOf(const DimExpr &value, const ProgramGraph &graph) {
  if (std::optional<int64_t> constant = value.asConstant())
    return *constant;
  return value.str(graph.symbols);
}

json shapeOf(const GraphEdge &edge, const ProgramGraph &graph) {
  json shape = json::array();
  for (const DimExpr &size : edge.shape)
    shape.push_back(amountOf(size, graph));
  return shape;
}

json nodeJson(const GraphNode &node, const ProgramGraph &graph) {
  json alternatives = json::array(), times = json::array();
  for (const AlternativeStep &other : node.alternatives) {
    alternatives.push_back(other.step);
    times.push_back(other.microseconds ? json(*other.microseconds) : json());
  }
  json entry = {{"id", node.id},
                {"kind", node.kind},
                {"operators", node.operators},
                {"inside", node.inside.empty() ? json() : json(node.inside)},
                {"bytes_read", amountOf(node.bytesRead, graph)},
                {"bytes_written", amountOf(node.bytesWritten, graph)},
                {"operations", amountOf(node.operations, graph)},
                {"predicted_us", node.microseconds ? json(*node.microseconds) : json()},
                {"recipe", node.recipe},
                {"alternatives", alternatives},
                {"alternatives_us", times}};
  if (!node.code.empty())
    entry["code"] = node.code;
  return entry;
}

json asJson(const ProgramGraph &graph) {
  json nodes = json::array(), edges = json::array();
  for (const GraphNode &node : graph.nodes)
    nodes.push_back(nodeJson(node, graph));
  for (const GraphEdge &edge : graph.edges)
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"type", edge.type},
                     {"shape", shapeOf(edge, graph)},
                     {"bytes", amountOf(edge.bytes, graph)}});
  return {{"model", graph.model},
          {"phase", graph.phase},
          {"symbols", graph.symbols},
          {"nodes", nodes},
          {"edges", edges}};
}

std::string textOf(const json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Nested by the directories of its name, stages in their kernel.
std::string namespaceOf(const GraphNode &node) {
  if (!node.inside.empty())
    return node.inside.substr(node.inside.front() == '/' ? 1 : 0);
  size_t end = node.id.rfind('/');
  return end == std::string::npos || end == 0 ? "" : node.id.substr(1, end - 1);
}

json modelExplorerNode(const GraphNode &node, const ProgramGraph &graph) {
  json attributes = json::array();
  auto add = [&](const char *key, const json &value) {
    attributes.push_back({{"key", key}, {"value", textOf(value)}});
  };
  add("bytes_read", amountOf(node.bytesRead, graph));
  add("bytes_written", amountOf(node.bytesWritten, graph));
  add("operations", amountOf(node.operations, graph));
  if (node.microseconds)
    add("predicted_us", *node.microseconds);
  if (!node.recipe.empty())
    add("recipe", node.recipe);
  for (const std::string &name : node.operators)
    add("operator", name);
  return {{"id", node.id},
          {"label", node.kind == "kernel" ? node.id : node.kind},
          {"namespace", namespaceOf(node)},
          {"attrs", attributes},
          {"incomingEdges", json::array()},
          {"outputsMetadata", json::array()}};
}

/// A value is one output of its node, and an incoming edge of each user.
json modelExplorerGraph(const ProgramGraph &graph) {
  json nodes = json::array();
  std::map<std::string, size_t> numbers;
  for (const GraphNode &node : graph.nodes) {
    numbers[node.id] = nodes.size();
    nodes.push_back(modelExplorerNode(node, graph));
  }
  for (const GraphEdge &edge : graph.edges) {
    std::string shape = edge.type + shapeOf(edge, graph).dump();
    json &outputs = nodes[numbers.at(edge.from)]["outputsMetadata"];
    auto isShape = [&](const json &output) { return output["attrs"][0]["value"] == shape; };
    auto found = std::find_if(outputs.begin(), outputs.end(), isShape);
    std::string output = std::to_string(found - outputs.begin());
    if (found == outputs.end())
      outputs.push_back({{"id", output}, {"attrs", {{{"key", "tensor_shape"}, {"value", shape}}}}});
    json &incoming = nodes[numbers.at(edge.to)]["incomingEdges"];
    incoming.push_back({{"sourceNodeId", edge.from},
                        {"sourceNodeOutputId", output},
                        {"targetNodeInputId", std::to_string(incoming.size())}});
  }
  return {{"id", graph.phase}, {"nodes", nodes}};
}

} // namespace

void printModelExplorer(const std::string &model, const std::vector<ProgramGraph> &graphs) {
  json all = json::array();
  for (const ProgramGraph &graph : graphs)
    all.push_back(modelExplorerGraph(graph));
  fmt::print("{}\n", jsonText({{"label", model}, {"graphs", all}}));
}

void printJson(const ProgramGraph &graph) { fmt::print("{}\n", jsonText(asJson(graph))); }

void printJson(const std::vector<std::pair<std::string, ProgramGraph>> &graphs) {
  json all;
  for (const auto &[name, graph] : graphs)
    if (name.empty())
      all = asJson(graph);
    else
      all[name] = asJson(graph);
  fmt::print("{}\n", jsonText(all));
}

} // namespace headrace::cli
