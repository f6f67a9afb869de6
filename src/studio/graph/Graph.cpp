#include "studio/graph/Graph.h"

#include "runtime/system/Error.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace headrace::studio {

using json = nlohmann::ordered_json;

Graph readGraph(const json &document) {
  Graph graph;
  try {
    std::unordered_map<std::string, int> numbers;
    for (const json &node : document.at("nodes")) {
      Node read;
      node.at("id").get_to(read.id);
      node.at("kind").get_to(read.kind);
      node.at("operators").get_to(read.operators);
      read.isConstant = read.kind == "constant";
      numbers.emplace(read.id, static_cast<int>(graph.nodes.size()));
      graph.nodes.push_back(std::move(read));
    }
    size_t number = 0;
    for (const json &node : document.at("nodes")) {
      if (const json &inside = node.at("inside"); !inside.is_null())
        graph.nodes[number].inside = numbers.at(inside.get<std::string>());
      ++number;
    }
    for (const json &edge : document.at("edges")) {
      const json &bytes = edge.at("bytes");
      graph.edges.push_back({numbers.at(edge.at("from").get<std::string>()),
                             numbers.at(edge.at("to").get<std::string>()),
                             bytes.is_number_integer() ? bytes.get<int64_t>() : 0,
                             edge.at("type").get<std::string>() + edge.at("shape").dump()});
    }
  } catch (const std::exception &error) {
    throw Error(ErrorKind::InvalidFile,
                std::string("expected the graph of a program as JSON, got ") + error.what());
  }
  return graph;
}

} // namespace headrace::studio
