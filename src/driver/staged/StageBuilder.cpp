#include "driver/staged/StageBuilder.h"

#include "driver/Contexts.h"
#include "driver/programs/LevelOneProgram.h"
#include "frontend/onnx/import/StageImporter.h"
#include "runtime/program/BindInputs.h"
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

int64_t integerAt(const Tensor &tensor, size_t element) {
  return tensor.dtype() == DType::I32 ? tensor.as<int32_t>()[element]
                                      : tensor.as<int64_t>()[element];
}

Tensor asSizes(const Tensor &value, const std::vector<size_t> &open) {
  Shape shape{0};
  for (size_t element : open)
    shape.push_back(integerAt(value, element));
  return Tensor::allocate(DType::U8, std::move(shape));
}

std::shared_ptr<const Stage> StageBuilder::build() {
  for (Opening opening : {Opening::SizesAndValues, Opening::Sizes, Opening::Multiples})
    if (auto open = similar ? buildOpen(opening) : nullptr)
      return open;
  return import(Opening::None);
}

/// Null if operators need their sizes, or these sizes are outside of what they take.
std::shared_ptr<Stage> StageBuilder::buildOpen(Opening opening) {
  constexpr int maxAttempts = 8;
  try {
    SizeRanges sizes;
    for (int attempt = 0; attempt < maxAttempts; ++attempt) {
      std::shared_ptr<Stage> open = import(opening, sizes);
      if (!moveBesideGuards(sizes))
        return open;
    }
  } catch (const Error &) { // NOLINT(bugprone-empty-catch)
    // Such sizes are imported as the numbers that they are.
  }
  return nullptr;
}

/// Whether sizes of this run are outside of what the stage was imported for, which are narrowed to
/// their side then (see Imports.h). Throws Error if its inputs do not fit.
bool StageBuilder::moveBesideGuards(SizeRanges &sizes) const {
  std::vector<int64_t> symbols;
  if (bindInputs(interface, frame.inputsOf(*stage), symbols))
    return false;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = interface.symbols[i];
    if (SizeRange served{symbol.min, symbol.max}; !served.contains(symbols[i]))
      sizes[symbol.name].moveBeside(served, symbols[i]);
  }
  return true;
}

std::shared_ptr<Stage> StageBuilder::import(Opening asked, const SizeRanges &sizes) {
  opening = asked;
  stage = std::make_shared<Stage>();
  computed.clear();
  numbers.clear();
  constants.clear();
  LevelOneProgram program{
      plan.model.name, contextFor(findTarget(plan.model.settings.target)), {}, {}};
  {
    CompilerSection section;
    onnx::StageImporter stageImporter(plan.model.name, *program.context, plan.model.opset, sizes);
    importer = &stageImporter;
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      pollInterruption();
      if (!frame.done[i] && isReady(i))
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
  interface = program.interface();
  stage->model = std::make_shared<Model>(std::move(program), plan.model.settings);
  return stage;
}

/// Whether the node's inputs are numeric tensors that are available, or that this stage computes.
bool StageBuilder::isReady(size_t index) const {
  const PlannedNode &node = plan.nodes[index];
  if (node.isHostAlways || plan.isChanging[index])
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
  if (!addOpenValue(value, tensor))
    addInput(value, tensor);
}

/// The largest power of two that divides both: sizes of images are multiples of one.
static int64_t commonStep(int64_t a, int64_t b) {
  uint64_t bits = static_cast<uint64_t>(a) | static_cast<uint64_t>(b);
  return bits == 0 ? 1 : int64_t(1) << std::countr_zero(bits);
}

/// Dynamic dimensions are equal if they were equal at both times.
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

/// Numbers that were the same at both times have one symbol, sizes included; those equally far
/// from each other, as begin and end of a slice, differ by a constant.
onnx::StageImporter::Number StageBuilder::openNumber(int64_t then, int64_t now) {
  auto nameOf = [](const Changed &number) {
    return "n" + std::to_string(number.then) + "_" + std::to_string(number.now) + "_1";
  };
  for (const Changed &other : numbers)
    if (int64_t more = 0; !__builtin_sub_overflow(now, other.now, &more) &&
                          then - other.then == more && other.then != other.now)
      return {nameOf(other), more};
  numbers.push_back({then, now});
  return {nameOf(numbers.back()), 0};
}

/// Elements that were others when the similar stage was made, or open then.
std::map<size_t, onnx::StageImporter::Number> StageBuilder::openElements(int value,
                                                                         const Tensor &tensor) {
  constexpr int64_t most = 16; // what has more elements is hardly a shape
  std::map<size_t, onnx::StageImporter::Number> open;
  if (opening != Opening::SizesAndValues || tensor.elements() > most ||
      (tensor.dtype() != DType::I64 && tensor.dtype() != DType::I32))
    return open;
  for (const NeededValue &before : similar->needed) {
    if (before.value != value)
      continue;
    for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
      int64_t then = integerAt(before.tensor, i), now = integerAt(tensor, i);
      bool wasOpen = std::find(before.open.begin(), before.open.end(), i) != before.open.end();
      if ((wasOpen || then != now) && then >= 1 && now >= 1)
        open[i] = openNumber(then, now);
    }
  }
  return open;
}

/// Whether the value was made known to the importer by numbers, some of them open.
bool StageBuilder::addOpenValue(int value, const Tensor &tensor) {
  std::map<size_t, onnx::StageImporter::Number> open = openElements(value, tensor);
  if (open.empty())
    return false;
  importer->addSizes(plan.names[value], tensor, open);
  NeededValue needed{value, tensor, {}};
  for (const auto &[element, number] : open)
    needed.open.push_back(element);
  stage->inputs.push_back(Stage::bringing(stage->needed.size()));
  stage->sizes.push_back(asSizes(tensor, needed.open).shape());
  stage->steps.push_back(Shape(needed.open.size() + 1, 1));
  stage->needed.push_back(std::move(needed));
  return true;
}

/// A node that needs a value gets it if it is available; a node that needs a result of this stage
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
    bool isGiven = std::any_of(stage->needed.begin(), stage->needed.end(),
                               [&](const auto &given) { return given.value == needed->second; });
    if (isGiven || plan.constants[needed->second].tensor())
      throw refusal->error;
    importer->fixInput(refusal->needed, tensor);
    stage->needed.push_back({needed->second, tensor, {}});
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

/// The values that other nodes or the graph itself still ask for.
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
