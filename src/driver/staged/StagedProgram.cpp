#include "driver/staged/StagedProgram.h"

#include "driver/CompiledRegion.h"
#include "driver/DeclaredValues.h"
#include "driver/staged/Executors.h"
#include "driver/staged/ProfilingExecutor.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/import/IntegerGraph.h"
#include "frontend/onnx/import/StageImporter.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"
#include "transform/choices/ProgramRecipe.h"
#include "transform/choices/Verbs.h"

#include "adaptive/Iterations.h"
#include <algorithm>

namespace headrace::staged {

static bool isPlainTensor(const onnx::ValueInfo &value) {
  bool isTensor = value.kind == onnx::ValueInfo::Tensor && !value.isString && value.shape;
  return isTensor || value.kind == onnx::ValueInfo::Unknown; // which no program takes
}

static int64_t versionOf(const onnx::Model &file) {
  auto opset = file.opsets.find("");
  return opset == file.opsets.end() ? INT64_MAX : opset->second;
}

bool StagedProgram::isCheaperFor(const onnx::Model &file, const std::string &target) {
  return std::any_of(file.graph.nodes.begin(), file.graph.nodes.end(), [&](const onnx::Node &node) {
    return isCheaperOnHost(node, node.opset.value_or(versionOf(file)), target);
  });
}

bool StagedProgram::isNeededFor(const onnx::Model &file) {
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

StagedProgram::StagedProgram(std::string name, onnx::Model file, const Settings &settings,
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
  for (const onnx::ValueInfo &input : graph.inputs) {
    auto isDefault = [&](const onnx::Initializer &given) { return given.name == input.name; };
    if (std::none_of(graph.initializers.begin(), graph.initializers.end(), isDefault))
      declaredInputs.push_back(input);
  }
}

namespace {

/// Compares values with what a model declares; sizes of one name are equal.
class InputCheck {
public:
  std::map<std::string, int64_t> sizes; // by name

  void check(const onnx::ValueInfo &declared, const RuntimeValue &value) {
    what = "input " + inQuotes(declared.name) + ": ";
    checkValue(declared, value);
  }

private:
  [[noreturn]] void refuse(ErrorKind kind, const std::string &expected,
                           const RuntimeValue &value) const {
    throw Error(kind, what + "expected " + expected + ", got " + describe(value));
  }

  void checkValue(const onnx::ValueInfo &declared, const RuntimeValue &value) {
    switch (declared.kind) {
    case onnx::ValueInfo::Optional:
      if (!value.isNothing() && declared.element)
        checkValue(*declared.element, value);
      return;
    case onnx::ValueInfo::Sequence:
      if (!value.sequence())
        refuse(ErrorKind::TypeMismatch, "a sequence", value);
      isElement = true;
      for (const RuntimeValue &element : *value.sequence())
        if (declared.element)
          checkValue(*declared.element, element);
      isElement = false;
      return;
    case onnx::ValueInfo::Map:
      return checkMap(declared, value);
    case onnx::ValueInfo::Tensor:
      return checkTensor(declared, value);
    case onnx::ValueInfo::Unknown:
      return;
    }
  }

  void checkMap(const onnx::ValueInfo &declared, const RuntimeValue &value) {
    auto typeOf = [](const RuntimeValue &list) {
      return list.tensor() ? std::string(nameOf(list.tensor()->dtype())) : "string";
    };
    auto lengthOf = [](const RuntimeValue &list) {
      const Shape *shape = operators::shapeOf(list);
      return shape && shape->size() == 1 ? shape->front() : -1;
    };
    const MapValue *map = value.map();
    bool isMap = map && lengthOf(map->keys) >= 0 && lengthOf(map->keys) == lengthOf(map->values);
    if (!isMap)
      refuse(ErrorKind::TypeMismatch, declared.typeText(), value);
    std::string type = "map(" + typeOf(map->keys) + ", " + typeOf(map->values) + ")";
    if (type != declared.typeText())
      throw Error(ErrorKind::TypeMismatch,
                  what + "expected " + declared.typeText() + ", got " + type);
  }

  void checkTensor(const onnx::ValueInfo &declared, const RuntimeValue &value) {
    const Shape *shape = nullptr;
    if (declared.isString && value.strings())
      shape = &value.strings()->shape;
    else if (const Tensor *tensor = value.tensor(); tensor && tensor->dtype() == declared.dtype)
      shape = &tensor->shape();
    if (!shape)
      refuse(ErrorKind::TypeMismatch, declared.typeText(), value);
    if (!declared.shape)
      return;
    if (shape->size() != declared.shape->size())
      refuse(ErrorKind::ShapeMismatch, "rank " + std::to_string(declared.shape->size()), value);
    for (size_t i = 0; i < shape->size(); ++i) {
      const onnx::Dim &dim = (*declared.shape)[i];
      int64_t expected = dim.value.value_or((*shape)[i]);
      if (!dim.value && onnx::isNamed(dim) && !isElement)
        expected = sizes.try_emplace(dim.symbol, expected).first->second;
      if (expected != (*shape)[i])
        refuse(ErrorKind::ShapeMismatch,
               "size " + std::to_string(expected) +
                   (dim.value ? "" : " of " + inQuotes(dim.symbol) + " as elsewhere") +
                   " in dimension " + std::to_string(i),
               value);
    }
  }

  std::string what;
  bool isElement = false; // of a sequence: each has sizes of its own
};

} // namespace

static std::vector<std::string> symbolsOf(const std::vector<onnx::ValueInfo> &inputs) {
  std::vector<std::string> names;
  for (const onnx::ValueInfo &input : inputs)
    for (const onnx::Dim &dim : input.shape.value_or(std::vector<onnx::Dim>()))
      if (!dim.value && onnx::isNamed(dim) &&
          std::find(names.begin(), names.end(), dim.symbol) == names.end())
        names.push_back(dim.symbol);
  return names;
}

std::vector<ValueSpec> StagedProgram::inputSpecs() const { return specsOf(declaredInputs); }
std::vector<ValueSpec> StagedProgram::outputSpecs() const { return specsOf(outputs()); }

Program StagedProgram::interface() const {
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

size_t StagedProgram::compiledVersions() const {
  size_t count = 0;
  for (const auto &region : regions())
    count += modelOf(*region).compiledVersions();
  return count;
}

std::vector<int64_t> StagedProgram::bind(std::span<const RuntimeValue> inputs) const {
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

void StagedProgram::finishCompiling() const {
  for (const auto &region : regions())
    modelOf(*region).finishCompiling();
}

std::vector<RuntimeValue> StagedProgram::run(std::span<const RuntimeValue> inputs,
                                             const std::vector<bool> &wanted) {
  adaptive::Executor executor;
  return run(inputs, executor, wanted);
}

std::vector<RuntimeValue> StagedProgram::reference(std::span<const RuntimeValue> inputs) {
  ReferenceExecutor executor;
  return run(inputs, executor, {});
}

std::vector<RuntimeValue> StagedProgram::roundedReference(std::span<const RuntimeValue> inputs,
                                                          uint64_t seed, double scale) {
  RoundedExecutor executor(seed, scale);
  return run(inputs, executor, {});
}

std::vector<RuntimeValue> StagedProgram::runProfiled(std::span<const RuntimeValue> inputs,
                                                     std::vector<StageStep> &steps) {
  ProfilingExecutor profile(/*predicts=*/false);
  profile.beginCall();
  std::vector<RuntimeValue> results = run(inputs, profile, {});
  steps = profile.steps();
  return results;
}

std::vector<StageStep> StagedProgram::profile(std::span<const RuntimeValue> inputs, int calls) {
  ProfilingExecutor profile(/*predicts=*/true);
  for (int i = 0; i < std::max(calls, 1); ++i) {
    profile.beginCall();
    run(inputs, profile, {});
  }
  return profile.steps();
}

std::vector<RuntimeValue> StagedProgram::run(std::span<const RuntimeValue> inputs,
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

} // namespace headrace::staged
