// The run of a graph in stages.
#include "driver/staged/GraphPlan.h"
#include "driver/staged/StageBuilder.h"
#include "driver/staged/StageProfile.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <set>

namespace headrace::staged {

const RuntimeValue *GraphPlan::Frame::find(const std::string &name) const {
  for (const Frame *frame = this; frame; frame = frame->outer) {
    auto found = frame->plan.ids.find(name);
    if (found != frame->plan.ids.end())
      return frame->at(found->second);
  }
  return nullptr;
}

std::vector<Tensor> GraphPlan::Frame::inputsOf(const Stage &stage) const {
  std::vector<Tensor> tensors;
  for (int input : stage.inputs) {
    if (input >= 0) {
      tensors.push_back(*tensor(input));
      continue;
    }
    const NeededValue &needed = stage.needed[Stage::broughtBy(input)];
    tensors.push_back(asSizes(*tensor(needed.value), needed.open));
  }
  return tensors;
}

/// Values that no node reads any more are let go.
void GraphPlan::Frame::finish(size_t node) {
  done[node] = true;
  for (int value : plan.nodes[node].reads)
    if (--usesLeft[value] == 0)
      values[value].reset();
}

/// Nodes that no requested output depends on.
GraphPlan::Done GraphPlan::unneededNodes(const std::vector<bool> &wanted) const {
  std::vector<bool> isNeeded(names.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (i >= wanted.size() || wanted[i])
      isNeeded[outputs[i]] = true;
  Done unneeded(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;) {
    unneeded[i] = std::none_of(nodes[i].outputs.begin(), nodes[i].outputs.end(),
                               [&](int value) { return value >= 0 && isNeeded[value]; });
    for (int value : nodes[i].reads)
      if (!unneeded[i])
        isNeeded[value] = true;
  }
  return unneeded;
}

bool GraphPlan::Frame::skips(size_t node, bool couldRun) const {
  if (unneeded.empty() || !unneeded[node] || done[node])
    return false;
  const std::vector<int> &reads = plan.nodes[node].reads;
  return couldRun ||
         std::any_of(reads.begin(), reads.end(), [&](int value) { return skipped[value]; });
}

std::vector<RuntimeValue> GraphPlan::run(std::span<const RuntimeValue> given, const Frame *around,
                                         Call &call, const std::vector<bool> &wanted) {
  if (given.size() != inputs.size())
    throw Error(ErrorKind::InvalidModel, "graph " + inQuotes(source.name) + ": expected " +
                                             std::to_string(given.size()) + " inputs, got " +
                                             std::to_string(inputs.size()));
  Frame frame{*this, around, {}, useCounts, Done(nodes.size(), false)};
  frame.values.resize(names.size());
  if (std::find(wanted.begin(), wanted.end(), false) != wanted.end()) {
    frame.unneeded = unneededNodes(wanted);
    frame.skipped.resize(names.size());
  }
  for (size_t i = 0; i < given.size(); ++i)
    frame.values[inputs[i]] = given[i];
  for (int value : captures) {
    const RuntimeValue *found = around->find(names[value]);
    if (!found)
      throw InternalError("value '" + names[value] + "' is read before it is computed");
    frame.values[value] = *found;
  }
  auto isDone = [](bool done) { return done; };
  while (true) {
    pollInterruption();
    runHostNodes(frame, call);
    if (std::all_of(frame.done.begin(), frame.done.end(), isDone))
      break;
    runStage(frame, call);
  }
  std::vector<RuntimeValue> results;
  for (int output : outputs) {
    const RuntimeValue *found = frame.at(output);
    results.push_back(found ? *found : RuntimeValue());
  }
  return results;
}

bool GraphPlan::runsOnHost(size_t index, const Frame &frame) const {
  const PlannedNode &node = nodes[index];
  if (node.isHostAlways || isChanging[index])
    return true;
  return std::any_of(node.reads.begin(), node.reads.end(),
                     [&](int value) { return !frame.tensor(value); });
}

/// Runs all host nodes whose inputs are available, in order: one may make the next one ready.
void GraphPlan::runHostNodes(Frame &frame, Call &call) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<int> &reads = nodes[i].reads;
    bool isReady = !frame.done[i] && std::all_of(reads.begin(), reads.end(),
                                                 [&](int value) { return frame.has(value); });
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

void GraphPlan::runOnHost(size_t index, Frame &frame, Call &call) {
  const PlannedNode &planned = nodes[index];
  const onnx::Node &node = *planned.node;
  if (!planned.host)
    throw Error(ErrorKind::TypeMismatch,
                node.describe() + ": expected numeric tensors as inputs, got others");
  operators::HostCall host{planned.hostNode, {}, *planned.prepared, call.iterationsLeft, {}};
  for (int input : planned.inputs)
    host.inputs.push_back(input < 0 ? nullptr : frame.at(input));
  host.runBody = [&](const std::string &attribute, std::span<const RuntimeValue> inputs) {
    auto body = planned.bodies.find(attribute);
    if (body == planned.bodies.end())
      host.fail(ErrorKind::InvalidModel,
                "attribute " + inQuotes(attribute) + ": expected a graph, got none");
    if (inputs.size() != body->second->inputs.size())
      host.fail(ErrorKind::InvalidModel,
                "attribute " + inQuotes(attribute) + ": expected a graph of " +
                    std::to_string(inputs.size()) + " inputs, got one of " +
                    std::to_string(body->second->inputs.size()));
    return body->second->run(inputs, &frame, call);
  };
  std::vector<RuntimeValue> results =
      call.profile ? call.profile->timed(node, [&] { return planned.host(host); })
                   : planned.host(host);
  for (size_t i = 0; i < planned.outputs.size(); ++i) {
    if (planned.outputs[i] < 0)
      continue;
    if (i >= results.size())
      host.fail(ErrorKind::InvalidModel, "expected " + std::to_string(results.size()) +
                                             " outputs, got " +
                                             std::to_string(node.outputs.size()));
    frame.values[planned.outputs[i]] = std::move(results[i]);
  }
  frame.finish(index);
}

/// In the declared types, as the nodes between programs take them.
static std::vector<Tensor> roundedResults(Model &model, std::span<const Tensor> inputs,
                                          Rounding rounding) {
  std::vector<Tensor> results = model.roundedReference(inputs, rounding.seed, rounding.scale);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].dtype() == DType::F64)
      results[i] = results[i].converted(model.outputs()[i].dtype);
  return results;
}

void GraphPlan::runStage(Frame &frame, Call &call) {
  std::shared_ptr<const Stage> stage = stageFor(frame);
  if (!stage)
    return;
  std::vector<Tensor> tensors = frame.inputsOf(*stage);
  std::vector<Tensor> results = call.how == Evaluation::Reference ? stage->model->reference(tensors)
                                : call.how == Evaluation::Rounded
                                    ? roundedResults(*stage->model, tensors, call.rounding)
                                : call.profile ? call.profile->timed(stage, tensors)
                                               : stage->model->run(tensors);
  for (size_t i = 0; i < results.size(); ++i)
    frame.values[stage->outputs[i]] = std::move(results[i]);
  for (size_t node : stage->nodes)
    frame.finish(node);
}

/// Whether the value is one that the stage holds for.
static bool fits(const NeededValue &needed, const Tensor &found) {
  if (needed.open.empty())
    return isSame(found, needed.tensor);
  if (found.dtype() != needed.tensor.dtype() || found.shape() != needed.tensor.shape())
    return false;
  for (int64_t i = 0; i < found.elements(); ++i) {
    bool isOpen = std::find(needed.open.begin(), needed.open.end(), i) != needed.open.end();
    int64_t number = integerAt(found, i);
    if (isOpen ? number < 1 : number != integerAt(needed.tensor, i))
      return false;
  }
  return true;
}

/// The tensors for the stage's inputs, null for what comes without one; nothing if types or
/// ranks are others than when it was made.
static std::optional<std::vector<const Tensor *>> inputsLike(const Stage &stage,
                                                             const GraphPlan::Frame &frame) {
  std::vector<const Tensor *> found(stage.inputs.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (stage.inputs[i] < 0)
      continue;
    found[i] = frame.tensor(stage.inputs[i]);
    if (!found[i] || found[i]->dtype() != stage.model->inputs()[i].dtype ||
        found[i]->shape().size() != stage.sizes[i].size())
      return std::nullopt;
  }
  return found;
}

/// Whether the stage's values and sizes are those of this run.
static bool fits(const Stage &stage, const GraphPlan::Frame &frame) {
  for (const NeededValue &needed : stage.needed) {
    const Tensor *found = frame.tensor(needed.value);
    if (!found || !fits(needed, *found))
      return false;
  }
  std::optional<std::vector<const Tensor *>> inputs = inputsLike(stage, frame);
  if (!inputs)
    return false;
  for (size_t i = 0; i < inputs->size(); ++i)
    for (size_t d = 0; (*inputs)[i] && d < stage.sizes[i].size(); ++d)
      if (stage.steps[i][d] == 0 && (*inputs)[i]->shape()[d] != stage.sizes[i][d])
        return false;
  try {
    stage.model->bind(frame.inputsOf(stage));
    return true;
  } catch (const Error &) {
    return false; // dynamic dimensions that are not equal here, or outside of its range
  }
}

/// Whether it differs in sizes and numbers alone, so that those may be left open.
static bool isSimilar(const Stage &stage, const GraphPlan::Frame &frame, bool whateverValues) {
  for (const NeededValue &needed : stage.needed) {
    const Tensor *found = frame.tensor(needed.value);
    if (!found || (!whateverValues && !isSame(*found, needed.tensor)) ||
        found->dtype() != needed.tensor.dtype() || found->shape() != needed.tensor.shape())
      return false;
  }
  return inputsLike(stage, frame).has_value();
}

std::shared_ptr<const Stage> GraphPlan::findStage(const Frame &frame) {
  std::list<std::shared_ptr<const Stage>> known;
  {
    std::lock_guard lock(cacheMutex);
    if (auto found = cache.find(frame.done); found != cache.end())
      known = found->second;
  }
  for (const std::shared_ptr<const Stage> &stage : known)
    if (fits(*stage, frame)) {
      if (stage != known.front()) {
        std::lock_guard lock(cacheMutex);
        auto &list = cache[frame.done];
        list.remove(stage);
        list.push_front(stage);
      }
      return stage;
    }
  return nullptr;
}

/// Whether nodes whose parameters differ from those that the last stage was made for run on the
/// host from now on. Sizes do not count as parameters: they are dynamic dimensions of a stage.
bool GraphPlan::moveToHost(const Frame &frame, const Stage &last) {
  std::set<int> changed;
  for (const NeededValue &needed : last.needed)
    if (const Tensor *found = frame.tensor(needed.value); found && !isSame(*found, needed.tensor))
      changed.insert(needed.value);
  auto isChanged = [&](int value) { return value >= 0 && changed.contains(value); };
  bool isAny = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode &node = nodes[i];
    if (frame.done[i] || node.node->opType == "Shape" || node.node->opType == "Size")
      continue;
    if (std::any_of(node.reads.begin(), node.reads.end(), isChanged))
      changed.insert(node.outputs.begin(), node.outputs.end());
    size_t first = std::min(node.parametersFrom.value_or(node.inputs.size()), node.inputs.size());
    if (std::any_of(node.inputs.begin() + first, node.inputs.end(), isChanged))
      isAny |= !isChanging[i].exchange(true);
  }
  return isAny;
}

/// Null if nodes went to the host, which have to run first.
std::shared_ptr<const Stage> GraphPlan::stageFor(const Frame &frame) {
  if (auto known = findStage(frame))
    return known;
  std::lock_guard lock(buildLock);
  if (auto known = findStage(frame))
    return known;
  std::shared_ptr<const Stage> similar;
  std::list<std::shared_ptr<const Stage>> known;
  {
    std::lock_guard guard(cacheMutex);
    known = cache[frame.done];
  }
  for (bool whateverValues : {false, true})
    for (const std::shared_ptr<const Stage> &stage : known)
      if (!similar && isSimilar(*stage, frame, whateverValues))
        similar = stage;
  constexpr size_t maxVersions = 3;
  if (known.size() >= maxVersions && moveToHost(frame, *known.front()))
    return nullptr;
  std::shared_ptr<const Stage> made = StageBuilder(*this, frame, similar.get()).build();
  decltype(known) dropped; // outside of the lock
  std::lock_guard guard(cacheMutex);
  auto &list = cache[frame.done];
  list.push_front(made);
  while (list.size() > std::max<size_t>(model.settings.planCacheSize, 1))
    dropped.splice(dropped.begin(), list, std::prev(list.end()));
  return made;
}

} // namespace headrace::staged
