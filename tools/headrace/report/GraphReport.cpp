#include "report/GraphReport.h"

#include "report/Text.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using json = nlohmann::ordered_json;

namespace {

json asJson(const ProgramGraph &graph) {
  auto amount = [&](const DimExpr &value) -> json {
    if (std::optional<int64_t> constant = value.asConstant())
      return *constant;
    return value.str(graph.symbols);
  };
  json nodes = json::array(), edges = json::array();
  for (const GraphNode &node : graph.nodes) {
    json alternatives = json::array(), times = json::array();
    for (const AlternativeStep &other : node.alternatives) {
      alternatives.push_back(other.step);
      times.push_back(other.microseconds ? json(*other.microseconds) : json());
    }
    nodes.push_back({{"id", node.id},
                     {"kind", node.kind},
                     {"operators", node.operators},
                     {"inside", node.inside.empty() ? json() : json(node.inside)},
                     {"bytes_read", amount(node.bytesRead)},
                     {"bytes_written", amount(node.bytesWritten)},
                     {"operations", amount(node.operations)},
                     {"predicted_us", node.microseconds ? json(*node.microseconds) : json()},
                     {"recipe", node.recipe},
                     {"alternatives", alternatives},
                     {"alternatives_us", times}});
  }
  for (const GraphEdge &edge : graph.edges) {
    json shape = json::array();
    for (const DimExpr &size : edge.shape)
      shape.push_back(amount(size));
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"type", edge.type},
                     {"shape", shape},
                     {"bytes", amount(edge.bytes)}});
  }
  return {{"model", graph.model},
          {"phase", graph.phase},
          {"symbols", graph.symbols},
          {"nodes", nodes},
          {"edges", edges}};
}

} // namespace

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
