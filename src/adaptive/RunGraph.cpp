// The run of a graph in parts.
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include "adaptive/Graph.h"
#include <algorithm>
#include <set>

namespace headrace::adaptive {

std::vector<Tensor> Graph::Frame::inputsOf(const Region &region) const {
  std::vector<Tensor> tensors;
  tensors.reserve(region.inputs.size());
  for (int input : region.inputs) {
    if (input >= 0) {
      tensors.push_back(*tensor(input));
      continue;
    }
    const NeededValue &needed = region.needed[Region::decodeShapeInput(input)];
    tensors.push_back(asSizes(*tensor(needed.value), needed.open));
  }
  return tensors;
}

/// Values that no node reads any more are let go.
void Graph::Frame::finish(size_t node) {
  done.insert(node);
  for (int value : graph.nodes[node].reads)
    if (--usesLeft[value] == 0)
      values[value].reset();
}

bool Graph::Frame::skips(size_t node, bool couldRun) const {
  if (unneeded.empty() || !unneeded[node] || done.contains(node))
    return false;
  const std::vector<int> &reads = graph.nodes[node].reads;
  return couldRun ||
         std::any_of(reads.begin(), reads.end(), [&](int value) { return skipped[value]; });
}

/// Nodes that no requested output depends on.
std::vector<bool> Graph::unneededNodes(const std::vector<bool> &wanted) const {
  std::vector<bool> isNeeded(names.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (i >= wanted.size() || wanted[i])
      isNeeded[outputs[i]] = true;
  std::vector<bool> unneeded(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;) {
    unneeded[i] = std::none_of(nodes[i].outputs.begin(), nodes[i].outputs.end(),
                               [&](int value) { return value >= 0 && isNeeded[value]; });
    for (int value : nodes[i].reads)
      if (!unneeded[i])
        isNeeded[value] = true;
  }
  return unneeded;
}

std::vector<RuntimeValue> Graph::run(std::span<const RuntimeValue> given, const Frame *around,
                                     GraphCall &call, const std::vector<bool> &wanted) {
  if (given.size() != inputs.size())
    throw Error(ErrorKind::InvalidModel, "graph " + inQuotes(name) + ": expected " +
                                             std::to_string(given.size()) + " inputs, got " +
                                             std::to_string(inputs.size()));
  Frame frame{*this, around, {}, uses, NodeSet(nodes.size())};
  frame.values.resize(names.size());
  if (std::find(wanted.begin(), wanted.end(), false) != wanted.end()) {
    frame.unneeded = unneededNodes(wanted);
    frame.skipped.resize(names.size());
  }
  for (size_t i = 0; i < given.size(); ++i)
    frame.values[inputs[i]] = given[i];
  setCaptures(frame);
  for (auto [value, outer] : captures)
    if (!frame.has(value))
      throw InternalError("value '" + names[value] + "' is read before it is computed");
  while (true) {
    pollInterruption();
    runHostNodes(frame, call);
    if (frame.done.isFull())
      break;
    runRegion(frame, call);
  }
  std::vector<RuntimeValue> results;
  for (int output : outputs) {
    const RuntimeValue *found = frame.at(output);
    results.push_back(found ? *found : RuntimeValue());
  }
  return results;
}

void Graph::setCaptures(Frame &frame) const {
  for (auto [value, outer] : captures)
    if (const RuntimeValue *found = frame.outer ? frame.outer->at(outer) : nullptr)
      frame.values[value] = *found;
}

bool Graph::runsOnHost(size_t index, const Frame &frame) const {
  const GraphNode &node = nodes[index];
  if (node.isHostAlways || changing[index])
    return true;
  return std::any_of(node.reads.begin(), node.reads.end(),
                     [&](int value) { return !frame.tensor(value); });
}

/// Runs all host nodes whose inputs are available, in order: one may make the next one ready.
void Graph::runHostNodes(Frame &frame, GraphCall &call) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int> &reads = nodes[i].reads;
    bool isReady =
        !frame.done.contains(i) &&
        std::all_of(reads.begin(), reads.end(), [&](int value) { return frame.has(value); });
    bool isOurs = isReady && runsOnHost(i, frame);
    if (frame.skips(i, isOurs)) {
      for (int output : nodes[i].outputs)
        if (output >= 0)
          frame.skipped[output] = true;
      frame.finish(i);
    } else if (isOurs) {
      runOnHost(i, frame, call);
    }
  }
}

void Graph::runOnHost(size_t index, Frame &frame, GraphCall &call) {
  const GraphNode &node = nodes[index];
  if (!node.host)
    throw Error(ErrorKind::TypeMismatch,
                node.node.describe() + ": expected numeric tensors as inputs, got others");
  operators::HostCall host{node.node, {}, *node.prepared, call.iterationsLeft, {}};
  for (int input : node.inputs)
    host.inputs.push_back(input < 0 ? nullptr : frame.at(input));
  host.runBody = [&](const std::string &attribute, std::span<const RuntimeValue> inputs) {
    auto body = node.bodies.find(attribute);
    if (body == node.bodies.end())
      host.fail(ErrorKind::InvalidModel,
                "attribute " + inQuotes(attribute) + ": expected a graph, got none");
    if (inputs.size() != body->second->inputs.size())
      host.fail(ErrorKind::InvalidModel,
                "attribute " + inQuotes(attribute) + ": expected a graph of " +
                    std::to_string(inputs.size()) + " inputs, got one of " +
                    std::to_string(body->second->inputs.size()));
    return body->second->run(inputs, &frame, call);
  };
  std::vector<RuntimeValue> results = call.executor.runNode(node.host, host);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0)
      continue;
    if (i >= results.size())
      host.fail(ErrorKind::InvalidModel, "expected " + std::to_string(results.size()) +
                                             " outputs, got " +
                                             std::to_string(node.outputs.size()));
    frame.values[node.outputs[i]] = std::move(results[i]);
  }
  frame.finish(index);
}

void Graph::runRegion(Frame &frame, GraphCall &call) {
  std::shared_ptr<const Region> region = regionFor(frame);
  if (!region)
    return;
  std::vector<Tensor> results = call.executor.runRegion(region, frame.inputsOf(*region));
  for (size_t i = 0; i < results.size(); ++i)
    frame.values[region->outputs[i]] = std::move(results[i]);
  for (size_t node : region->nodes)
    frame.finish(node);
}

/// The tensors for the region's inputs, null for what comes without one; nothing if types or ranks
/// differ from those that it was made for.
static std::optional<std::vector<const Tensor *>> inputsLike(const Region &region,
                                                             const Graph::Frame &frame) {
  std::vector<const Tensor *> found(region.inputs.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (region.inputs[i] < 0)
      continue;
    found[i] = frame.tensor(region.inputs[i]);
    if (!found[i] || found[i]->dtype() != region.code->inputs()[i].dtype ||
        found[i]->shape().size() != region.sizes[i].size())
      return std::nullopt;
  }
  return found;
}

/// The first needed value that the region does not serve; null if it serves all.
static const NeededValue *otherValue(const Region &region, const Graph::Frame &frame) {
  for (const NeededValue &needed : region.needed) {
    const Tensor *found = frame.tensor(needed.value);
    if (!found || !needed.serves(*found))
      return &needed;
  }
  return nullptr;
}

/// Whether the region's values and sizes are those of this run.
static bool fits(const Region &region, const Graph::Frame &frame) {
  if (otherValue(region, frame))
    return false;
  std::optional<std::vector<const Tensor *>> inputs = inputsLike(region, frame);
  if (!inputs)
    return false;
  bool isDynamic = false;
  for (size_t i = 0; i < inputs->size(); ++i) {
    isDynamic |= !(*inputs)[i]; // a shape
    for (size_t d = 0; (*inputs)[i] && d < region.sizes[i].size(); ++d) {
      if (region.steps[i][d] == 0 && (*inputs)[i]->shape()[d] != region.sizes[i][d])
        return false;
      isDynamic |= region.steps[i][d] != 0;
    }
  }
  return !isDynamic || region.code->accepts(frame.inputsOf(region));
}

/// Whether it differs in sizes and integers alone, so that those may stay dynamic.
static bool isSimilar(const Region &region, const Graph::Frame &frame, bool whateverValues) {
  for (const NeededValue &needed : region.needed) {
    const Tensor *found = frame.tensor(needed.value);
    if (!found || (!whateverValues && !isSame(*found, needed.tensor)) ||
        found->dtype() != needed.tensor.dtype() || found->shape() != needed.tensor.shape())
      return false;
  }
  return inputsLike(region, frame).has_value();
}

std::shared_ptr<const Region> Graph::findRegion(const Frame &frame) {
  return versions.findIf([&](const NodeSet &done, const Region &region) {
    return done == frame.done && fits(region, frame);
  });
}

/// Whether nodes whose parameters differ from those that the last region was made for run on the
/// host from now on. Sizes do not count as parameters: they are dynamic dimensions of a region.
bool Graph::moveToHost(const Frame &frame, const Region &last) {
  std::set<int> changed;
  for (const NeededValue &needed : last.needed)
    if (const Tensor *found = frame.tensor(needed.value); found && !isSame(*found, needed.tensor))
      changed.insert(needed.value);
  auto isChanged = [&](int value) { return value >= 0 && changed.contains(value); };
  bool isAny = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const GraphNode &node = nodes[i];
    if (frame.done.contains(i) || node.node.opType == "Shape" || node.node.opType == "Size")
      continue;
    if (std::any_of(node.reads.begin(), node.reads.end(), isChanged))
      changed.insert(node.outputs.begin(), node.outputs.end());
    size_t first = std::min(node.parametersFrom.value_or(node.inputs.size()), node.inputs.size());
    if (std::any_of(node.inputs.begin() + static_cast<std::ptrdiff_t>(first), node.inputs.end(),
                    isChanged) &&
        !changing[i].exchange(true)) {
      isAny = true;
      logVersion(VersionEvent::Replaced, {model + ", " + node.node.describe(), ""},
                 "its parameters keep changing; it runs on the host from now on");
    }
  }
  return isAny;
}

/// Null if nodes went to the host, which have to run first.
std::shared_ptr<const Region> Graph::regionFor(const Frame &frame) {
  if (auto known = findRegion(frame))
    return known;
  if (!source)
    failWithoutRegion(frame);
  std::lock_guard lock(buildLock);
  if (auto known = findRegion(frame))
    return known;
  std::shared_ptr<const Region> similar;
  std::vector<std::shared_ptr<const Region>> known = versions.versions(frame.done);
  for (bool whateverValues : {false, true})
    for (const std::shared_ptr<const Region> &region : known)
      if (!similar && isSimilar(*region, frame, whateverValues))
        similar = region;
  constexpr size_t maxVersions = 3;
  if (known.size() >= maxVersions && moveToHost(frame, *known.front()))
    return nullptr;
  std::shared_ptr<const Region> made = source->make(frame, similar.get());
  if (similar && isCompilationLogged())
    logVersion(VersionEvent::Replaced, {model + ", " + describe(*similar), ""},
               "sizes or values differ in this call; one that leaves them dynamic serves both, if "
               "the nodes allow it");
  addRegion(frame.done, made);
  return made;
}

static std::string textOf(const Tensor &tensor) {
  constexpr int64_t maxElements = 8;
  bool isInteger = tensor.dtype() == DType::I64 || tensor.dtype() == DType::I32;
  if (!isInteger || tensor.elements() > maxElements)
    return describe(RuntimeValue(tensor));
  std::string text;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    text += (i ? ", " : "") + std::to_string(integerAt(tensor, static_cast<size_t>(i)));
  return "[" + text + "]";
}

/// Names the node that cannot run, and the value or the shape that none of the regions serves.
void Graph::failWithoutRegion(const Frame &frame) const {
  std::vector<std::shared_ptr<const Region>> known = versions.versions(frame.done);
  auto readerOf = [&](const Region &region, int value) {
    for (size_t node : region.nodes)
      if (std::ranges::find(nodes[node].reads, value) != nodes[node].reads.end())
        return nodes[node].node.describe();
    return describe(region);
  };
  for (const std::shared_ptr<const Region> &region : known)
    if (const NeededValue *other = otherValue(*region, frame)) {
      const RuntimeValue *found = frame.at(other->value);
      const Tensor *tensor = frame.tensor(other->value);
      throw Error(ErrorKind::Unsupported,
                  model + ": " + readerOf(*region, other->value) + ": value " +
                      inQuotes(names[other->value]) + ": expected " + textOf(other->tensor) +
                      " or another value that the package was compiled for, got " +
                      (tensor  ? textOf(*tensor)
                       : found ? headrace::describe(*found)
                               : "none"));
    }
  for (const std::shared_ptr<const Region> &region : known)
    for (int input : region->inputs)
      if (const Tensor *found = input >= 0 ? frame.tensor(input) : nullptr)
        throw Error(ErrorKind::Unsupported,
                    model + ": " + readerOf(*region, input) + ": value " + inQuotes(names[input]) +
                        ": the package was not compiled for " +
                        headrace::describe(RuntimeValue(*found)) +
                        " here; compile it with a sample of this size (--input)");
  size_t next = 0;
  while (frame.done.contains(next))
    ++next;
  throw Error(ErrorKind::Unsupported,
              model + ": " + nodes[next].node.describe() +
                  ": no trial run reached it this way; compile the package with a sample that does "
                  "(--input)");
}

} // namespace headrace::adaptive
