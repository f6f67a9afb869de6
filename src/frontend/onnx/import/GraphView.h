// A graph's values: who computes them, who reads them, which are constants. Of a graph that is not
// changed meanwhile, and of its own nodes; graphs inside of them only read.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include <map>
#include <set>

namespace headrace::onnx {

class GraphView {
public:
  explicit GraphView(const Graph &graph);

  /// The node that computes a value, by its place in the graph.
  std::optional<size_t> producer(const std::string &value) const;
  /// The nodes that read it, each once; with `isSeenElsewhere` false these are all readers.
  const std::vector<size_t> &readers(const std::string &value) const;
  /// Whether it is an output of the graph, or read by graphs inside of nodes.
  bool isSeenElsewhere(const std::string &value) const { return elsewhere.contains(value); }
  bool isOutput(const std::string &value) const { return outputs.contains(value); }
  /// The node that reads it where that is the only use.
  std::optional<size_t> onlyReader(const std::string &value) const;
  /// Its numbers where it is an initializer, a Constant node's value, or a copy of one.
  const Tensor *constant(const std::string &value) const;

private:
  std::map<std::string, size_t> producers;
  std::map<std::string, std::vector<size_t>> uses;
  std::map<std::string, const Tensor *> constants;
  std::set<std::string> outputs, elsewhere;
};

/// A name that is not in the graph yet, beginning with `base`.
class FreshNames {
public:
  explicit FreshNames(const Graph &graph) { collect(graph); }
  std::string operator()(const std::string &base);

private:
  void collect(const Graph &graph);
  std::set<std::string> taken;
};

} // namespace headrace::onnx
