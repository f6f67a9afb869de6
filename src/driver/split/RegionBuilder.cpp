#include "driver/split/RegionBuilder.h"

#include "driver/CompiledRegion.h"
#include "driver/Contexts.h"
#include "driver/LevelOneProgram.h"
#include "frontend/onnx/import/RegionImporter.h"
#include "runtime/program/BindInputs.h"
#include "runtime/system/Interruption.h"
#include "runtime/tensor/TensorFiles.h"
#include "transform/choices/ProgramRecipe.h"

#include <algorithm>
#include <bit>

namespace headrace::split {

using adaptive::asSizes, adaptive::GraphNode, adaptive::integerAt, adaptive::NeededValue,
    adaptive::Region;

std::shared_ptr<const Region> RegionBuilder::build() {
  for (Opening opening : {Opening::SizesAndValues, Opening::Sizes, Opening::Multiples})
    if (auto open = similar ? buildOpen(opening) : nullptr)
      return opening == Opening::Multiples ? withFinerSteps(open) : open;
  return import(Opening::None);
}

/// The region with sizes that are multiples of less, if the same nodes can do with that: of a batch
/// of images any number, their height and width multiples of 32.
std::shared_ptr<Region> RegionBuilder::withFinerSteps(std::shared_ptr<Region> open) {
  for (size_t i = 0; i < open->inputs.size(); ++i)
    for (size_t d = 0; d < open->steps[i].size(); ++d) {
      int64_t step = open->steps[i][d];
      if (step <= 1 || open->inputs[i] < 0)
        continue;
      std::pair<int64_t, int64_t> sizes = {sizesBefore(open->inputs[i])->at(d), open->sizes[i][d]};
      if (finestSteps.contains(sizes))
        continue;
      int64_t &finest = finestSteps[sizes];
      for (finest = 1; finest < step; finest *= 2)
        if (auto finer = buildOpen(Opening::Multiples); finer && finer->nodes == open->nodes) {
          open = finer;
          break;
        }
    }
  return open;
}

/// The input's sizes when the similar region was made; null if it had no such input.
const Shape *RegionBuilder::sizesBefore(int value) const {
  auto found = std::find(similar->inputs.begin(), similar->inputs.end(), value);
  return found == similar->inputs.end() ? nullptr
                                        : &similar->sizes[found - similar->inputs.begin()];
}

/// Null if operators need their sizes, or these sizes are outside of what they take.
std::shared_ptr<Region> RegionBuilder::buildOpen(Opening opening) {
  constexpr int maxAttempts = 8;
  try {
    SizeRanges sizes;
    for (int attempt = 0; attempt < maxAttempts; ++attempt) {
      std::shared_ptr<Region> open = import(opening, sizes);
      if (!moveBesideGuards(sizes))
        return open;
    }
  } catch (const Error &) { // NOLINT(bugprone-empty-catch)
    // Such sizes are imported as the numbers that they are.
  }
  return nullptr;
}

/// Whether sizes of this run are outside of what the region was imported for, which are narrowed to
/// their side then (see Imports.h). Throws Error if its inputs do not fit.
bool RegionBuilder::moveBesideGuards(SizeRanges &sizes) const {
  std::vector<int64_t> symbols;
  if (bindInputs(interface, frame.inputsOf(*region), symbols))
    return false;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = interface.symbols[i];
    if (SizeRange served{symbol.min, symbol.max}; !served.contains(symbols[i]))
      sizes[symbol.name].moveBeside(served, symbols[i]);
  }
  return true;
}

std::shared_ptr<Region> RegionBuilder::import(Opening asked, const SizeRanges &sizes) {
  opening = asked;
  region = std::make_shared<Region>();
  computed.clear();
  numbers.clear();
  constants.clear();
  LevelOneProgram program{
      source.model.name, contextFor(findTarget(source.model.settings.target)), {}, {}};
  {
    CompilerSection section;
    onnx::RegionImporter regionImporter(source.model.name, *program.context, source.model.opset,
                                        sizes);
    importer = &regionImporter;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      pollInterruption();
      if (!frame.done.contains(i) && isReady(i))
        importNode(i);
    }
    importer = nullptr;
    if (region->nodes.empty() && frame.waiting)
      return nullptr;
    if (region->nodes.empty())
      throw InternalError("a graph has no node that can run next");
    chooseOutputs();
    std::vector<std::string> outputs;
    for (int output : region->outputs)
      outputs.push_back(graph.names[output]);
    program.module = regionImporter.finish(outputs);
  }
  program.files = filesHolding(constants);
  program.part = graph.describe(*region);
  interface = program.interface();
  Settings settings = source.model.settings;
  if (!settings.recipe.empty()) // the model's: it speaks of nodes of other regions, too
    settings.recipe = followedWherePossible(settings.recipe);
  region->code = std::make_shared<CompiledRegion>(std::move(program), settings);
  return region;
}

/// Whether the node's inputs are numeric tensors that are available, or that this region computes.
bool RegionBuilder::isReady(size_t index) const {
  const GraphNode &node = graph.nodes[index];
  if (node.isHostAlways || graph.isChanging(index))
    return false;
  return std::all_of(node.reads.begin(), node.reads.end(),
                     [&](int value) { return computed.contains(value) || frame.tensor(value); });
}

/// Makes a value that is there known to the importer.
void RegionBuilder::provide(int value) {
  const std::string &name = graph.names[value];
  if (computed.contains(value) || importer->has(name))
    return;
  const Tensor &tensor = *frame.tensor(value);
  if (graph.constants[value].tensor()) {
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
void RegionBuilder::addInput(int value, const Tensor &tensor) {
  const Shape *before = nullptr, *stepsBefore = nullptr;
  if (opening != Opening::None) {
    before = sizesBefore(value);
    if (before)
      stepsBefore = &similar->steps[before - similar->sizes.data()];
  }
  std::vector<onnx::RegionImporter::Size> sizes;
  Shape steps;
  for (size_t i = 0; i < tensor.shape().size(); ++i) {
    int64_t size = tensor.shape()[i];
    bool isOpen = before && before->size() > i && ((*stepsBefore)[i] != 0 || (*before)[i] != size);
    auto &added = sizes.emplace_back();
    if (isOpen) {
      if (opening == Opening::Multiples) {
        auto finest = finestSteps.find({(*before)[i], size});
        added.step =
            finest != finestSteps.end()
                ? finest->second
                : commonStep((*stepsBefore)[i] > 1 ? (*stepsBefore)[i] : (*before)[i], size);
      }
      added.symbol = "n" + std::to_string((*before)[i]) + "_" + std::to_string(size) + "_" +
                     std::to_string(added.step);
    } else {
      added.value = size;
    }
    steps.push_back(isOpen ? added.step : 0);
  }
  importer->addInput(graph.names[value], tensor.dtype(), sizes);
  region->inputs.push_back(value);
  region->sizes.push_back(tensor.shape());
  region->steps.push_back(std::move(steps));
}

/// Numbers that were the same at both times have one symbol, sizes included; those equally far
/// from each other, as begin and end of a slice, differ by a constant.
onnx::RegionImporter::Number RegionBuilder::openNumber(int64_t then, int64_t now) {
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

/// Elements that were others when the similar region was made, or open then.
std::map<size_t, onnx::RegionImporter::Number> RegionBuilder::openElements(int value,
                                                                           const Tensor &tensor) {
  constexpr int64_t most = 16; // what has more elements is hardly a shape
  std::map<size_t, onnx::RegionImporter::Number> open;
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
bool RegionBuilder::addOpenValue(int value, const Tensor &tensor) {
  std::map<size_t, onnx::RegionImporter::Number> open = openElements(value, tensor);
  if (open.empty())
    return false;
  importer->addSizes(graph.names[value], tensor, open);
  NeededValue needed{value, tensor, {}};
  for (const auto &[element, number] : open)
    needed.open.push_back(element);
  region->inputs.push_back(Region::encodeShapeInput(region->needed.size()));
  region->sizes.push_back(asSizes(tensor, needed.open).shape());
  region->steps.push_back(Shape(needed.open.size() + 1, 1));
  region->needed.push_back(std::move(needed));
  return true;
}

/// A node that needs a value gets it if it is available; a node that needs a result of this region
/// waits.
void RegionBuilder::importNode(size_t index) {
  const GraphNode &node = graph.nodes[index];
  for (int value : node.reads)
    provide(value);
  while (auto refusal = importer->tryImport(source.nodeOf(node))) {
    int needed = refusal->needed.empty() ? -1 : graph.find(refusal->needed);
    if (needed < 0)
      throw refusal->error;
    if (computed.contains(needed) || !frame.isKnown(needed)) {
      if (frame.waiting)
        (*frame.waiting)[index] = needed;
      return;
    }
    const Tensor &tensor = *frame.tensor(needed);
    bool isGiven = std::any_of(region->needed.begin(), region->needed.end(),
                               [&](const auto &given) { return given.value == needed; });
    if (isGiven || graph.constants[needed].tensor())
      throw refusal->error;
    importer->fixInput(refusal->needed, tensor);
    region->needed.push_back({needed, tensor, {}});
  }
  region->nodes.push_back(index);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0) {
      if (!importer->has(graph.names[node.outputs[i]]))
        throw Error(ErrorKind::Unsupported,
                    node.node.describe() + ": output " + std::to_string(i) + " is not supported");
      computed.insert(node.outputs[i]);
    }
}

/// The values that other nodes or the graph itself still ask for.
void RegionBuilder::chooseOutputs() {
  std::map<int, int> uses;
  for (size_t node : region->nodes)
    for (int value : graph.nodes[node].reads)
      ++uses[value];
  for (int value : computed)
    if (uses[value] < graph.useCounts()[value])
      region->outputs.push_back(value);
}

} // namespace headrace::split
