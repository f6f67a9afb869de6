// A graph's values: which node computes each, which nodes read it, which are constants. The graph
// must not change meanwhile. Graphs inside of its nodes count as readers alone.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include <map>
#include <set>

namespace headrace::onnx {

class GraphView {
public:
  /// `around` is the graph whose node has this one inside, null for a model's graph: its constants
  /// are constants here, too. It must outlive this view.
  explicit GraphView(const Graph &graph, const GraphView *around = nullptr);

  /// The node that computes a value, by its place in the graph.
  std::optional<size_t> producer(const std::string &value) const;
  /// The nodes that read it, each once; with `isSeenElsewhere` false these are all readers.
  const std::vector<size_t> &readers(const std::string &value) const;
  /// Whether it is an output of the graph, or read by graphs inside of nodes.
  bool isSeenElsewhere(const std::string &value) const { return elsewhere.contains(value); }
  bool isOutput(const std::string &value) const { return outputs.contains(value); }
  /// The node that reads it if that is the only use.
  std::optional<size_t> onlyReader(const std::string &value) const;
  /// Its numbers if it is an initializer, a Constant node's value, or a copy of one.
  const Tensor *constant(const std::string &value) const;

private:
  std::map<std::string, size_t> producers;
  std::map<std::string, std::vector<size_t>> uses;
  std::map<std::string, const Tensor *> constants;
  std::set<std::string> inputs, outputs, elsewhere;
  const GraphView *around;
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
