// Graphs that run in parts (adaptive/Graph.h) as JSON and back; see docs/packages.md.
#pragma once

#include "runtime/system/Json.h"

#include "adaptive/Graph.h"
#include <functional>

namespace headrace {

/// A graph and those inside of it, each with the nodes around it before it.
using GraphList = std::vector<std::shared_ptr<adaptive::Graph>>;

/// The graph and those inside of its nodes, in the order of their numbers in JSON.
GraphList graphsWithin(const std::shared_ptr<adaptive::Graph> &graph);

/// `keep` stores a tensor's bytes and gives the number to find them by.
using KeepTensor = std::function<size_t(const Tensor &)>;
using FindTensor = std::function<Tensor(size_t, DType, const Shape &)>;

Json graphsToJson(const GraphList &graphs, const KeepTensor &keep);
/// Without regions. Throws JsonFault where parts do not fit together.
GraphList graphsFromJson(const Json &json, const std::string &model, const FindTensor &find);

/// A region without its code.
Json regionToJson(const adaptive::Region &region, const adaptive::NodeSet &done,
                  const KeepTensor &keep);
adaptive::Region regionFromJson(const Json &json, const adaptive::Graph &graph,
                                adaptive::NodeSet &done, const FindTensor &find);

} // namespace headrace
