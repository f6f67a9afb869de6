#include "frontend/onnx/import/NodeOrder.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace headrace::onnx {

static constexpr size_t kGiven = SIZE_MAX;

/// Which node makes each value; kGiven for inputs and initializers.
static std::unordered_map<std::string, size_t> producers(const Graph &graph) {
  std::unordered_map<std::string, size_t> result;
  for (const ValueInfo &input : graph.inputs)
    result.emplace(input.name, kGiven);
  for (const Initializer &initializer : graph.initializers)
    result.emplace(initializer.name, kGiven);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::string &output : graph.nodes[i].outputs)
      if (!output.empty() && !result.emplace(output, i).second)
        throw Error(ErrorKind::InvalidModel, graph.nodes[i].describe() + ": output " +
                                                 inQuotes(output) + " is defined elsewhere too");
  return result;
}

/// Adds what a graph reads and does not define, each name once.
static void addCaptures(const Graph &graph, std::vector<std::string> &names,
                        std::unordered_set<std::string> &known) {
  auto producedInside = producers(graph);
  auto add = [&](const std::string &name) {
    if (!name.empty() && !producedInside.contains(name) && known.insert(name).second)
      names.push_back(name);
  };
  for (const Node &node : graph.nodes)
    for (const std::string &name : readsOf(node))
      add(name);
  for (const ValueInfo &output : graph.outputs)
    add(output.name);
}

std::vector<std::string> readsOf(const Node &node) {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const std::string &input : node.inputs)
    if (!input.empty() && known.insert(input).second)
      names.push_back(input);
  for (const Attribute &attribute : node.attributes)
    if (attribute.graph)
      addCaptures(*attribute.graph, names, known);
  return names;
}

std::vector<const Node *> orderedNodes(const Graph &graph) {
  return orderedNodes(graph, [](const std::string &) { return false; });
}

std::vector<const Node *> orderedNodes(const Graph &graph,
                                       const std::function<bool(const std::string &)> &isOuter) {
  auto producedBy = producers(graph);
  size_t count = graph.nodes.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> missing(count, 0);
  for (size_t i = 0; i < count; ++i) {
    std::unordered_set<size_t> before;
    for (const std::string &input : readsOf(graph.nodes[i])) {
      auto found = producedBy.find(input);
      if (found == producedBy.end() && isOuter(input))
        continue;
      if (found == producedBy.end())
        throw Error(ErrorKind::InvalidModel,
                    graph.nodes[i].describe() + ": input " + inQuotes(input) +
                        " is not an input, an initializer or a node's output");
      if (found->second != kGiven && before.insert(found->second).second)
        readers[found->second].push_back(i);
    }
    missing[i] = before.size();
  }

  // Of the nodes that are ready always the first in the file.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<const Node *> order;
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    order.push_back(&graph.nodes[next]);
    for (size_t reader : readers[next])
      if (--missing[reader] == 0)
        ready.push(reader);
  }
  for (size_t i = 0; i < count; ++i)
    if (missing[i] != 0)
      throw Error(ErrorKind::InvalidModel,
                  graph.nodes[i].describe() +
                      ": its inputs depend on its own outputs, expected an acyclic graph");
  return order;
}

} // namespace headrace::onnx
