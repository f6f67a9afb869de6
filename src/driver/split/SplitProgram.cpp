#include "driver/split/SplitProgram.h"

#include "driver/CompiledRegion.h"
#include "driver/DeclaredValues.h"
#include "driver/split/Executors.h"
#include "driver/split/GradientTape.h"
#include "driver/split/InputCheck.h"
#include "driver/split/ProfilingExecutor.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/import/IntegerGraph.h"
#include "frontend/onnx/import/RegionImporter.h"
#include "runtime/system/Text.h"
#include "transform/choices/ProgramRecipe.h"
#include "transform/choices/Verbs.h"

#include "adaptive/Iterations.h"
#include <algorithm>
#include <set>

namespace headrace::split {

static bool isPlainTensor(const onnx::ValueInfo &value) {
  bool isTensor = value.kind == onnx::ValueInfo::Tensor && !value.isString && value.shape;
  return isTensor || value.kind == onnx::ValueInfo::Unknown; // which no program takes
}

static int64_t versionOf(const onnx::Model &file) {
  auto opset = file.opsets.find("");
  return opset == file.opsets.end() ? INT64_MAX : opset->second;
}

bool SplitProgram::isCheaperFor(const onnx::Model &file, const std::string &target) {
  return std::any_of(file.graph.nodes.begin(), file.graph.nodes.end(), [&](const onnx::Node &node) {
    return isCheaperOnHost(node, node.opset.value_or(versionOf(file)), target);
  });
}

bool SplitProgram::isNeededFor(const onnx::Model &file) {
  int64_t version = versionOf(file);
  for (const onnx::ValueInfo &input : file.graph.inputs)
    if (!isPlainTensor(input))
      return true;
  for (const onnx::ValueInfo &output : file.graph.outputs)
    if (output.isString || output.kind == onnx::ValueInfo::Sequence ||
        output.kind == onnx::ValueInfo::Optional || output.kind == onnx::ValueInfo::Map)
      return true;
  for (const onnx::Initializer &initializer : file.graph.initializers)
    if (initializer.strings)
      return true;
  for (const onnx::Node &node : file.graph.nodes) {
    const onnx::Attribute *value = node.find("value");
    bool isString = yieldsStrings(node) || (value && value->stringTensor);
    bool isHost =
        findHostOperator(node, node.opset.value_or(version)) && !onnx::isImportable(node, version);
    if (isString || isHost)
      return true;
  }
  return false;
}

static void addNames(const onnx::Graph &graph, std::vector<std::string> &names) {
  for (const onnx::Node &node : graph.nodes) {
    names.push_back(node.name);
    for (const onnx::Attribute &attribute : node.attributes)
      if (attribute.graph)
        addNames(*attribute.graph, names);
  }
}

/// A recipe names nodes of the whole model; each program follows the steps that it has nodes for.
/// So a name that no node has is seen here alone. Throws Error.
static void checkRecipe(const onnx::Graph &graph, const std::string &recipe) {
  std::vector<std::string> names;
  addNames(graph, names);
  if (std::ranges::find(names, "") != names.end())
    return; // nodes without names are called after their values
  for (const ProgramStep &step : ProgramRecipe::parse(recipe).steps) {
    if (step.verb == verbs::plan.name || step.verb == verbs::follow.name)
      continue;
    auto isNamed = [&](const std::string &name) {
      return step.subject == name || step.subject.starts_with(name + "/");
    };
    if (std::ranges::none_of(names, isNamed))
      throw Error(ErrorKind::InvalidArgument, "recipe, line " + std::to_string(step.line) +
                                                  ": expected a node of the model, got " +
                                                  inQuotes(step.subject));
  }
}

static std::vector<std::string> symbolsOf(const std::vector<onnx::ValueInfo> &inputs) {
  std::vector<std::string> names;
  for (const onnx::ValueInfo &input : inputs)
    for (const onnx::Dim &dim : input.shape.value_or(std::vector<onnx::Dim>()))
      if (!dim.value && onnx::isNamed(dim) &&
          std::find(names.begin(), names.end(), dim.symbol) == names.end())
        names.push_back(dim.symbol);
  return names;
}

SplitProgram::SplitProgram(std::string name, onnx::Model file, const Settings &settings,
                           std::string reason)
    : model{std::move(name), std::move(file), 0, settings}, reason(std::move(reason)) {
  try {
    checkRecipe(model.file.graph, settings.recipe);
    if (std::optional<onnx::Graph> integers = onnx::integerGraph(model.file.graph))
      model.file.graph = std::move(*integers);
    model.opset = onnx::checkedOpset(model.file);
    onnxGraph = std::make_shared<OnnxGraph>(model.file.graph, model, nullptr);
  } catch (const Error &error) {
    throw Error(error.kind(), model.name + ": " + error.what());
  }
  const onnx::Graph &graph = model.file.graph;
  for (const onnx::ValueInfo &input : graph.inputs)
    if (std::ranges::find(graph.initializers, input.name, &onnx::Initializer::name) ==
        graph.initializers.end())
      declaredInputs.push_back(input);
  nameDimensions();
}

/// A dynamic dimension without a name gets one, as the importer of a single program gives it.
void SplitProgram::nameDimensions() {
  std::set<std::string> names;
  for (const std::string &name : symbolsOf(declaredInputs))
    names.insert(name);
  for (onnx::ValueInfo &input : declaredInputs)
    for (size_t i = 0; input.shape && i < input.shape->size(); ++i)
      if (onnx::Dim &dim = (*input.shape)[i]; !dim.value && !onnx::isNamed(dim))
        for (dim.symbol = input.name + "_dim" + std::to_string(i);
             !names.insert(dim.symbol).second;)
          dim.symbol += "_";
}

std::vector<TensorSpec> SplitProgram::weights() const {
  std::vector<TensorSpec> specs;
  auto add = [&](const std::string &name, const Tensor &tensor) {
    if (!isFloat(tensor.dtype()))
      return;
    TensorSpec &spec = specs.emplace_back(TensorSpec{name, tensor.dtype(), {}});
    for (int64_t size : tensor.shape())
      spec.dims.push_back(DimExpr::constant(size));
  };
  for (const onnx::Initializer &initializer : model.file.graph.initializers)
    if (!initializer.strings)
      add(initializer.name, initializer.tensor);
  for (const onnx::Node &node : model.file.graph.nodes)
    if (RuntimeValue constant = constantOf(node); constant.tensor())
      add(node.outputs[0], *constant.tensor());
  return specs;
}

std::shared_ptr<SplitProgram>
SplitProgram::withWeightsAsInputs(const std::vector<std::string> &names,
                                  std::vector<Tensor> &values) const {
  onnx::Model file = model.file;
  onnx::Graph &graph = file.graph;
  for (const std::string &name : names) {
    auto initializer = std::ranges::find(graph.initializers, name, &onnx::Initializer::name);
    if (initializer != graph.initializers.end()) {
      values.push_back(initializer->tensor);
      graph.initializers.erase(initializer);
    } else {
      auto node = std::ranges::find_if(graph.nodes, [&](const onnx::Node &each) {
        return constantOf(each).tensor() && each.outputs[0] == name;
      });
      values.push_back(*constantOf(*node).tensor());
      graph.nodes.erase(node);
    }
    std::erase_if(graph.inputs, [&](const auto &input) { return input.name == name; });
    onnx::ValueInfo input;
    input.name = name;
    input.kind = onnx::ValueInfo::Tensor;
    input.dtype = values.back().dtype();
    input.shape.emplace();
    for (int64_t size : values.back().shape())
      input.shape->push_back({size, ""});
    graph.inputs.push_back(std::move(input));
  }
  return std::make_shared<SplitProgram>(model.name, std::move(file), model.settings, reason);
}

std::vector<std::string> SplitProgram::compiledNodes() const {
  std::vector<std::string> names;
  for (const onnx::Node *node : onnxGraph->nodesByPlace().first)
    names.push_back(node->name.empty() ? node->opType : node->name);
  return names;
}

std::vector<ValueSpec> SplitProgram::inputSpecs() const { return specsOf(declaredInputs); }
std::vector<ValueSpec> SplitProgram::outputSpecs() const { return specsOf(outputs()); }

Program SplitProgram::interface() const {
  Program result;
  result.name = model.name;
  std::vector<std::string> symbols = symbolsOf(declaredInputs);
  for (const std::string &symbol : symbols)
    result.symbols.push_back({symbol, 0, INT64_MAX});
  auto add = [&](const std::vector<onnx::ValueInfo> &values, std::vector<TensorSpec> &specs) {
    for (const onnx::ValueInfo &value : values) {
      TensorSpec &spec =
          specs.emplace_back(TensorSpec{value.name, value.dtype.value_or(DType::F32), {}});
      for (const onnx::Dim &dim : value.shape.value_or(std::vector<onnx::Dim>())) {
        auto found = std::find(symbols.begin(), symbols.end(), dim.symbol);
        spec.dims.push_back(dim.value || found == symbols.end()
                                ? DimExpr::constant(dim.value.value_or(1))
                                : DimExpr::symbol(found - symbols.begin()));
      }
    }
  };
  add(declaredInputs, result.inputs);
  add(outputs(), result.outputs);
  return result;
}

size_t SplitProgram::compiledVersions() const {
  size_t count = 0;
  for (const auto &region : regions())
    count += modelOf(*region).compiledVersions();
  return count;
}

std::vector<int64_t> SplitProgram::bind(std::span<const RuntimeValue> inputs) const {
  if (inputs.size() != declaredInputs.size())
    throw Error(ErrorKind::InvalidArgument, "program '" + model.name + "': expected " +
                                                std::to_string(declaredInputs.size()) +
                                                " inputs, got " + std::to_string(inputs.size()));
  InputCheck check;
  for (size_t i = 0; i < inputs.size(); ++i)
    check.check(declaredInputs[i], inputs[i]);
  std::vector<int64_t> symbols;
  for (const std::string &name : symbolsOf(declaredInputs))
    symbols.push_back(check.sizes.contains(name) ? check.sizes.at(name) : 0);
  return symbols;
}

void SplitProgram::finishCompiling() const {
  for (const auto &region : regions())
    modelOf(*region).finishCompiling();
}

std::vector<RuntimeValue> SplitProgram::run(std::span<const RuntimeValue> inputs,
                                            const std::vector<bool> &wanted) {
  adaptive::Executor executor;
  return run(inputs, executor, wanted);
}

std::vector<RuntimeValue> SplitProgram::reference(std::span<const RuntimeValue> inputs) {
  ReferenceExecutor executor;
  return run(inputs, executor, {});
}

std::vector<RuntimeValue> SplitProgram::roundedReference(std::span<const RuntimeValue> inputs,
                                                         uint64_t seed, double scale) {
  RoundedExecutor executor(seed, scale);
  return run(inputs, executor, {});
}

std::vector<RuntimeValue> SplitProgram::runProfiled(std::span<const RuntimeValue> inputs,
                                                    std::vector<ProfiledStep> &steps) {
  ProfilingExecutor profile(/*predicts=*/false);
  profile.beginCall();
  std::vector<RuntimeValue> results = run(inputs, profile, {});
  steps = profile.steps();
  return results;
}

std::vector<ProfiledStep> SplitProgram::profile(std::span<const RuntimeValue> inputs, int calls) {
  ProfilingExecutor profile(/*predicts=*/true);
  for (int i = 0; i < std::max(calls, 1); ++i) {
    profile.beginCall();
    run(inputs, profile, {});
  }
  return profile.steps();
}

std::vector<RuntimeValue> SplitProgram::run(std::span<const RuntimeValue> inputs,
                                            adaptive::Executor &executor,
                                            const std::vector<bool> &wanted) {
  bind(inputs);
  adaptive::GraphCall call{executor, adaptive::maxIterations(model.settings.maxIterations)};
  std::vector<RuntimeValue> results = onnxGraph->graph.run(inputs, nullptr, call, wanted);
  for (size_t i = 0; i < results.size(); ++i) {
    const onnx::ValueInfo &declared = outputs()[i];
    const Tensor *tensor = results[i].tensor();
    if (tensor && declared.dtype && *declared.dtype != tensor->dtype())
      throw Error(ErrorKind::TypeMismatch, model.name + ": output " + inQuotes(declared.name) +
                                               ": expected " + declared.typeText() +
                                               " as declared, got " + describe(results[i]));
  }
  return results;
}

} // namespace headrace::split
