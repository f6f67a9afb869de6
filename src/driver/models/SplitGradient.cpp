#include "driver/models/SplitGradient.h"

#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"
#include "target/Target.h"

#include <cstring>

namespace headrace {

static bool isFloat(const ValueSpec &value) {
  return value.type == "f16" || value.type == "bf16" || value.type == "f32" || value.type == "f64";
}

static bool isOneElement(const ValueSpec &value) {
  return value.shape && std::ranges::all_of(*value.shape, [](const auto &size) {
           const int64_t *known = std::get_if<int64_t>(&size);
           return known && *known == 1;
         });
}

static ValueSpec gradientOf(ValueSpec value) {
  value.name += ".grad";
  return value;
}

/// The numbers of the inputs to differentiate by.
static std::vector<size_t> inputsNamed(const std::vector<std::string> &names,
                                       const std::vector<ValueSpec> &inputs,
                                       const std::string &model) {
  std::vector<size_t> found;
  std::vector<std::string> candidates;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isFloat(inputs[i])) {
      candidates.push_back(inQuotes(inputs[i].name));
      if (names.empty())
        found.push_back(i);
    }
  for (const std::string &name : names) {
    auto input = std::ranges::find(inputs, name, &ValueSpec::name);
    if (input == inputs.end() || !isFloat(*input))
      throw Error(ErrorKind::InvalidArgument,
                  model + ": expected an input of floating-point type to differentiate by (" +
                      listed(candidates) + "), got " + inQuotes(name));
    found.push_back(input - inputs.begin());
  }
  if (found.empty())
    throw Error(ErrorKind::InvalidArgument,
                model + ": expected an input of floating-point type to differentiate by, got none");
  return found;
}

SplitGradient::SplitGradient(std::shared_ptr<staged::StagedProgram> given,
                             const GradientOptions &options)
    : Impl(given->name(), given->settings()), program(std::move(given)), hasValues(options.values),
      inputs(program->inputSpecs()), gradients(name) {
  wrt = inputsNamed(options.wrt, inputs, name);
  Program both = program->interface();
  std::vector<TensorSpec> tensors = both.inputs, results = both.outputs;
  std::vector<ValueSpec> values = program->outputSpecs();
  if (!hasValues)
    both.outputs.clear();
  else
    outputs = values;
  for (size_t input : wrt) {
    outputs.push_back(gradientOf(inputs[input]));
    both.outputs.push_back(tensors[input]);
    both.outputs.back().name += ".grad";
  }
  for (size_t i = 0; i < values.size(); ++i) {
    seeds.emplace_back();
    if (!isFloat(values[i]) || isOneElement(values[i]))
      continue;
    seeds.back() = inputs.size();
    inputs.push_back(gradientOf(values[i]));
    both.inputs.push_back(results[i]);
    both.inputs.back().name += ".grad";
  }
  setInterface(both);
}

std::string SplitGradient::engine() const { return findTarget(settings.target).engine(); }

std::vector<int64_t> SplitGradient::bind(std::span<const Tensor> given) const {
  return program->bind(asValues(given.first(std::min(given.size(), program->inputSpecs().size()))));
}

/// The gradient of a result that its value has in this call.
Tensor SplitGradient::seedOf(size_t output, const Tensor &value,
                             std::span<const RuntimeValue> given) const {
  if (!seeds[output]) {
    Tensor one = Tensor::allocate(DType::F64, value.shape());
    *one.as<double>() = 1;
    return one.converted(value.dtype());
  }
  const Tensor *seed = given[*seeds[output]].tensor();
  if (!seed || seed->dtype() != value.dtype() || seed->shape() != value.shape())
    throw Error(ErrorKind::ShapeMismatch,
                name + ": input " + inQuotes(inputs[*seeds[output]].name) + ": expected " +
                    describe(RuntimeValue(value)) + ", got " + describe(given[*seeds[output]]));
  return *seed;
}

std::vector<RuntimeValue> SplitGradient::evaluate(std::span<const RuntimeValue> given,
                                                  bool isReference) {
  if (given.size() != inputs.size())
    throw Error(ErrorKind::InvalidArgument, "program '" + name + "': expected " +
                                                std::to_string(inputs.size()) + " inputs, got " +
                                                std::to_string(given.size()));
  size_t count = program->inputSpecs().size();
  std::vector<RuntimeValue> values(given.begin(),
                                   given.begin() + static_cast<std::ptrdiff_t>(count));
  (void)program->bind(values);
  staged::GradientExecutor executor(gradients, isReference);
  std::vector<Tensor> followed; // each in memory that nothing else shares
  for (size_t input : wrt) {
    const Tensor &tensor = *values[input].tensor();
    Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
    executor.follow(copy);
    followed.push_back(copy);
    values[input] = copy;
  }
  std::vector<RuntimeValue> results = program->run(values, executor);
  for (size_t i = 0; i < results.size(); ++i)
    if (const Tensor *result = results[i].tensor())
      if (isFloat({"", std::string(nameOf(result->dtype())), {}}) &&
          (seeds[i] || result->elements() == 1))
        executor.add(*result, seedOf(i, *result, given));
  executor.propagate();
  if (!hasValues)
    results.clear();
  for (const Tensor &tensor : followed)
    results.emplace_back(executor.gradientOf(tensor));
  return results;
}

std::vector<RuntimeValue> SplitGradient::runValues(std::span<const RuntimeValue> given,
                                                   const std::vector<bool> &) {
  return evaluate(given, /*isReference=*/false);
}

std::vector<Tensor> SplitGradient::run(std::span<const Tensor> given) {
  return asTensors(evaluate(asValues(given), false), interface.outputs, "output");
}

std::vector<RuntimeValue> SplitGradient::referenceValues(std::span<const RuntimeValue> given,
                                                         bool) {
  return evaluate(given, /*isReference=*/true);
}

std::vector<Tensor> SplitGradient::reference(std::span<const Tensor> given, bool) {
  return asTensors(evaluate(asValues(given), true), interface.outputs, "output");
}

std::shared_ptr<const Executable> SplitGradient::compile(std::span<const Tensor>) {
  (void)single("its executable");
  return nullptr;
}

Explanation SplitGradient::explain(const Sizes &) {
  (void)single("the kernels of its gradient");
  return {};
}

SingleModel &SplitGradient::single(const char *what) {
  throw Error(ErrorKind::Unsupported, name + ": expected a model that is one program to show " +
                                          what +
                                          ", got the gradient of one that is split into several "
                                          "programs");
}

} // namespace headrace
