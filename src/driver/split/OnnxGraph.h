// A graph of ONNX as one that runs in parts: its values by number, its nodes in order, and the
// compiler as the source of regions.
#pragma once

#include "driver/split/HostNodes.h"
#include "driver/split/SplitModelFile.h"

#include "adaptive/Graph.h"
#include <unordered_map>

namespace headrace::split {

class OnnxGraph : public adaptive::RegionSource {
public:
  /// `outer` is the graph around, null for the model's. Throws Error if an operator is not
  /// supported or a value is not defined.
  OnnxGraph(const onnx::Graph &graph, const SplitModelFile &model, const OnnxGraph *outer);

  std::shared_ptr<const adaptive::Region> make(const adaptive::Graph::Frame &frame,
                                               const adaptive::Region *similar) override;

  /// The nodes that are compiled, and those that always run on the host, here and in the graphs
  /// inside.
  using NodeList = std::vector<const onnx::Node *>;
  std::pair<NodeList, NodeList> nodesByPlace() const;

  const onnx::Node &nodeOf(const adaptive::GraphNode &node) const {
    return source.nodes[node.origin];
  }

  const SplitModelFile &model;
  adaptive::Graph graph;

private:
  int idOf(const std::string &name);
  int definedId(const std::string &name, const std::string &reader) const;
  bool isOuter(const std::string &name) const;
  void capture(const std::string &name);
  void addConstants();
  void addNodes();
  void checkOperators() const;
  adaptive::GraphNode planned(const onnx::Node &node);
  void computeConstantNodes();

  const onnx::Graph &source;
  const OnnxGraph *outer;
  std::unordered_map<std::string, int> ids;
  std::vector<std::shared_ptr<OnnxGraph>> bodies; // of nodes
};

/// The tensor of a node that is a constant, of any type; nothing for any other node.
RuntimeValue constantOf(const onnx::Node &node);

} // namespace headrace::split
