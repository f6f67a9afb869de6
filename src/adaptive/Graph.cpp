#include "adaptive/Graph.h"

#include <algorithm>

namespace headrace::adaptive {

/// Places in a graph where regions begin; each may have as many versions as a model.
static constexpr size_t kMaxPlaces = 64;

Graph::Graph(std::string givenModel, size_t versionsPerPlace)
    : model(std::move(givenModel)),
      versions(
          kMaxPlaces * std::clamp<size_t>(versionsPerPlace, 1, SIZE_MAX / kMaxPlaces),
          [this](const NodeSet &, const Region &region) {
            return VersionName{this->model + ", " + describe(region), ""};
          },
          versionsPerPlace),
      buildLock("model '" + model + "'") {}

int Graph::find(const std::string &value) const {
  auto found = std::find(names.begin(), names.end(), value);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

void Graph::dropUnneeded() {
  uses.assign(names.size(), 0);
  for (int output : outputs)
    ++uses[output];
  std::vector<GraphNode> needed;
  for (; !nodes.empty(); nodes.pop_back()) {
    GraphNode &node = nodes.back();
    for (int &output : node.outputs)
      if (output >= 0 && uses[output] == 0)
        output = -1;
    if (std::all_of(node.outputs.begin(), node.outputs.end(), [](int id) { return id < 0; }))
      continue;
    for (int value : node.reads)
      ++uses[value];
    needed.push_back(std::move(node));
  }
  nodes.assign(std::make_move_iterator(needed.rbegin()), std::make_move_iterator(needed.rend()));
  changing = std::vector<std::atomic<bool>>(nodes.size());
}

std::string Graph::describe(const Region &region) const {
  std::string text = nodes[region.nodes.front()].node.describe();
  size_t more = region.nodes.size() - 1;
  return more == 0
             ? text
             : text + " and " + std::to_string(more) + (more == 1 ? " more node" : " more nodes");
}

void Graph::addRegion(const NodeSet &done, std::shared_ptr<const Region> region) {
  versions.add(done, std::move(region));
}

std::vector<std::shared_ptr<const Region>> Graph::regions() const {
  std::vector<std::shared_ptr<const Region>> result = versions.all();
  for (const GraphNode &node : nodes)
    for (const auto &[name, body] : node.bodies)
      for (auto &region : body->regions())
        result.push_back(std::move(region));
  return result;
}

std::vector<std::pair<NodeSet, std::shared_ptr<const Region>>> Graph::ownRegions() const {
  return versions.entriesNow();
}

} // namespace headrace::adaptive
