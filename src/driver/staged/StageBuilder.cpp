#include "driver/staged/StageBuilder.h"

#include "driver/Compiler.h"
#include "driver/programs/LevelOneProgram.h"
#include "frontend/onnx/import/StageImporter.h"
#include "runtime/system/Interruption.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headrace::staged {

bool isSame(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || a.data() == b.data() ||
          std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

std::shared_ptr<const Stage> StageBuilder::build() {
  for (Opening opening : {Opening::Any, Opening::Multiples})
    if (auto open = similar ? buildOpen(opening) : nullptr)
      return open;
  return import(Opening::None);
}

/// Null where operators need their sizes, or these sizes are outside of what they take.
std::shared_ptr<Stage> StageBuilder::buildOpen(Opening opening) {
  try {
    std::shared_ptr<Stage> open = import(opening);
    std::vector<Tensor> inputs;
    for (int input : open->inputs)
      inputs.push_back(*frame.tensor(input));
    open->model->bind(inputs);
    return open;
  } catch (const Error &) {
    return nullptr;
  }
}

std::shared_ptr<Stage> StageBuilder::import(Opening asked) {
  opening = asked;
  stage = std::make_shared<Stage>();
  computed.clear();
  constants.clear();
  LevelOneProgram program{
      plan.model.name, makeContext(findTarget(plan.model.settings.target)), {}, {}};
  {
    CompilerSection section;
    onnx::StageImporter stageImporter(plan.model.name, *program.context, plan.model.opset);
    importer = &stageImporter;
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      pollInterruption();
      if (!frame.done[i] && isReady(plan.nodes[i]))
        importNode(i);
    }
    importer = nullptr;
    if (stage->nodes.empty())
      throw InternalError("a graph has no node that can run next");
    chooseOutputs();
    std::vector<std::string> outputs;
    for (int output : stage->outputs)
      outputs.push_back(plan.names[output]);
    program.module = stageImporter.finish(outputs);
  }
  program.files = filesHolding(constants);
  stage->model = std::make_shared<Model>(std::move(program), plan.model.settings);
  return stage;
}

/// Whether its inputs are tensors of numbers that are there, or that this stage computes.
bool StageBuilder::isReady(const PlannedNode &node) const {
  if (node.isHostAlways)
    return false;
  return std::all_of(node.reads.begin(), node.reads.end(),
                     [&](int value) { return computed.contains(value) || frame.tensor(value); });
}

/// Makes a value that is there known to the importer.
void StageBuilder::provide(int value) {
  const std::string &name = plan.names[value];
  if (computed.contains(value) || importer->has(name))
    return;
  const Tensor &tensor = *frame.tensor(value);
  if (plan.constants[value].tensor()) {
    constants.push_back(tensor);
    return importer->addConstant(name, tensor);
  }
  addInput(value, tensor);
}

/// The largest power of two that divides both: sizes of images are multiples of one.
static int64_t commonStep(int64_t a, int64_t b) {
  uint64_t bits = static_cast<uint64_t>(a) | static_cast<uint64_t>(b);
  return bits == 0 ? 1 : int64_t(1) << std::countr_zero(bits);
}

/// Sizes that are open are equal where they were so at both times.
void StageBuilder::addInput(int value, const Tensor &tensor) {
  const Shape *before = nullptr, *stepsBefore = nullptr;
  if (opening != Opening::None) {
    auto found = std::find(similar->inputs.begin(), similar->inputs.end(), value);
    if (found != similar->inputs.end()) {
      before = &similar->sizes[found - similar->inputs.begin()];
      stepsBefore = &similar->steps[found - similar->inputs.begin()];
    }
  }
  std::vector<onnx::StageImporter::Size> sizes;
  Shape steps;
  for (size_t i = 0; i < tensor.shape().size(); ++i) {
    int64_t size = tensor.shape()[i];
    bool isOpen = before && before->size() > i && ((*stepsBefore)[i] != 0 || (*before)[i] != size);
    auto &added = sizes.emplace_back();
    if (isOpen) {
      if (opening == Opening::Multiples)
        added.step = commonStep((*stepsBefore)[i] > 1 ? (*stepsBefore)[i] : (*before)[i], size);
      added.symbol = "n" + std::to_string((*before)[i]) + "_" + std::to_string(size) + "_" +
                     std::to_string(added.step);
    } else {
      added.value = size;
    }
    steps.push_back(isOpen ? added.step : 0);
  }
  importer->addInput(plan.names[value], tensor.dtype(), sizes);
  stage->inputs.push_back(value);
  stage->sizes.push_back(tensor.shape());
  stage->steps.push_back(std::move(steps));
}

/// A node that needs a value gets it, if it is there; one that needs what this stage computes
/// waits.
void StageBuilder::importNode(size_t index) {
  const PlannedNode &node = plan.nodes[index];
  for (int value : node.reads)
    provide(value);
  while (auto refusal = importer->tryImport(*node.node)) {
    auto needed = plan.ids.find(refusal->needed);
    if (needed == plan.ids.end())
      throw refusal->error;
    if (computed.contains(needed->second))
      return;
    const Tensor &tensor = *frame.tensor(needed->second);
    bool isFixed = std::any_of(stage->fixed.begin(), stage->fixed.end(),
                               [&](const auto &fixed) { return fixed.first == needed->second; });
    if (isFixed || plan.constants[needed->second].tensor())
      throw refusal->error;
    importer->fixInput(refusal->needed, tensor);
    stage->fixed.emplace_back(needed->second, tensor);
  }
  stage->nodes.push_back(index);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0) {
      if (!importer->has(plan.names[node.outputs[i]]))
        throw Error(ErrorKind::Unsupported,
                    node.node->describe() + ": output " + std::to_string(i) + " is not supported");
      computed.insert(node.outputs[i]);
    }
}

/// What other nodes or the graph itself still ask for.
void StageBuilder::chooseOutputs() {
  std::map<int, int> uses;
  for (size_t node : stage->nodes)
    for (int value : plan.nodes[node].reads)
      ++uses[value];
  for (int value : computed)
    if (uses[value] < plan.useCounts[value])
      stage->outputs.push_back(value);
}

} // namespace headrace::staged
