// A run of a graph without its computations: which regions it has, as far as sizes tell.
#include "runtime/system/Text.h"

#include "adaptive/Graph.h"
#include <algorithm>

namespace headrace::adaptive {

void Graph::addPreview(std::span<const RuntimeValue> given, const Frame *around, GraphCall &call,
                       Preview &preview) {
  std::map<size_t, int> waiting;
  Frame frame{*this, around, {}, uses, NodeSet(nodes.size())};
  frame.values.resize(names.size());
  frame.onlySizes.resize(names.size());
  frame.waiting = &waiting;
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i].isNothing()) {
      frame.values[inputs[i]] = given[i];
      frame.onlySizes[inputs[i]] = true;
    }
  setCaptures(frame);
  for (auto [value, outer] : captures)
    frame.onlySizes[value] = around && !around->isKnown(outer);

  auto runsNow = [&](size_t i) {
    const std::vector<int> &reads = nodes[i].reads;
    return !frame.done.contains(i) && nodes[i].bodies.empty() &&
           std::all_of(reads.begin(), reads.end(), [&](int id) { return frame.isKnown(id); }) &&
           runsOnHost(i, frame);
  };
  for (bool isDone = false; !isDone;) {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (runsNow(i))
        runOnHost(i, frame, call);
    std::shared_ptr<const Region> region = source ? source->make(frame, nullptr) : nullptr;
    isDone = !region;
    if (isDone)
      break;
    preview.regions.push_back(region);
    std::vector<Tensor> results = call.executor.runRegion(region, frame.inputsOf(*region));
    for (size_t i = 0; i < results.size(); ++i) {
      frame.values[region->outputs[i]] = std::move(results[i]);
      frame.onlySizes[region->outputs[i]] = true;
    }
    for (size_t node : region->nodes)
      frame.finish(node);
  }

  for (size_t i = 0; i < nodes.size(); ++i) {
    if (frame.done.contains(i))
      continue;
    const std::vector<int> &reads = nodes[i].reads;
    std::string node = nodes[i].node.describe();
    if (auto found = waiting.find(i); found != waiting.end())
      preview.waiting.push_back({node, "needs the value of " + inQuotes(names[found->second])});
    else if (std::all_of(reads.begin(), reads.end(), [&](int id) { return frame.has(id); }))
      preview.waiting.push_back({node, "the host computes it from data"});
    else
      ++preview.followers;
    for (const auto &[attribute, body] : nodes[i].bodies)
      try {
        body->addPreview({}, &frame, call, preview);
      } catch (const Error &error) {
        preview.waiting.push_back({node, attribute + ": " + error.what()});
      }
  }
}

} // namespace headrace::adaptive
