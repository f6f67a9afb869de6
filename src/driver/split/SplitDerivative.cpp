#include "driver/split/SplitDerivative.h"

#include "driver/split/GradientExecutor.h"
#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cstring>

namespace headrace::split {

static bool isFloat(const ValueSpec &value) {
  std::optional<DType> type = parseDType(value.type);
  return type && isFloat(*type);
}

template <class Spec> static Spec gradientOf(Spec value) {
  value.name += ".grad";
  return value;
}

/// The names to differentiate by: those asked for, or all inputs of floating-point type.
static std::vector<std::string> checkedNames(const std::vector<std::string> &names,
                                             const SplitProgram &model) {
  std::vector<std::string> candidates, quoted;
  for (const ValueSpec &input : model.inputSpecs())
    if (isFloat(input))
      candidates.push_back(input.name);
  if (names.empty() && candidates.empty())
    throw Error(ErrorKind::InvalidArgument,
                model.name() + ": expected an input of floating-point type to differentiate by, "
                               "got none; name weights instead");
  if (names.empty())
    return candidates;
  for (const std::string &input : candidates)
    quoted.push_back(inQuotes(input));
  for (const TensorSpec &weight : model.weights())
    candidates.push_back(weight.name);
  for (const std::string &name : names) {
    if (std::ranges::find(candidates, name) == candidates.end())
      throw Error(ErrorKind::InvalidArgument,
                  model.name() + ": expected an input (" + listed(quoted) +
                      ") or a weight of floating-point type to differentiate by, got " +
                      inQuotes(name));
    if (std::ranges::count(names, name) > 1)
      throw Error(ErrorKind::InvalidArgument,
                  model.name() + ": expected each name to differentiate by once, got " +
                      inQuotes(name) + " twice");
  }
  return names;
}

SplitDerivative::SplitDerivative(const std::shared_ptr<SplitProgram> &model,
                                 const std::vector<std::string> &names)
    : inputs(model->inputSpecs()), outputs(model->outputSpecs()), interface(model->interface()),
      differentiated(model), known(model->name()) {
  std::vector<std::string> by = checkedNames(names, *model), lifted;
  for (const std::string &name : by)
    if (std::ranges::find(inputs, name, &ValueSpec::name) == inputs.end())
      lifted.push_back(name);
  if (!lifted.empty())
    differentiated = model->withWeightsAsInputs(lifted, weights);
  std::vector<ValueSpec> values = differentiated->inputSpecs();
  std::vector<TensorSpec> tensors = differentiated->interface().inputs;
  for (const std::string &name : by) {
    wrt.push_back(std::ranges::find(values, name, &ValueSpec::name) - values.begin());
    gradients.push_back(gradientOf(values[wrt.back()]));
    gradientTensors.push_back(gradientOf(tensors[wrt.back()]));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (isFloat(outputs[i])) {
      seeded.push_back(i);
      seeds.push_back(gradientOf(outputs[i]));
      seedTensors.push_back(gradientOf(interface.outputs[i]));
    }
}

std::vector<RuntimeValue> SplitDerivative::withWeights(std::span<const RuntimeValue> given) const {
  std::vector<RuntimeValue> values(given.begin(), given.end());
  values.insert(values.end(), weights.begin(), weights.end());
  return values;
}

std::vector<int64_t> SplitDerivative::bind(std::span<const RuntimeValue> given) const {
  return differentiated->bind(withWeights(given));
}

SplitDerivative::Values SplitDerivative::run(std::span<const RuntimeValue> given,
                                             bool isReference) {
  std::vector<RuntimeValue> values = withWeights(given);
  (void)differentiated->bind(values);
  GradientExecutor executor(known, isReference);
  Values result;
  for (size_t input : wrt) { // each in memory that nothing else shares
    const Tensor &tensor = *values[input].tensor();
    Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
    result.tape.inputs.push_back(executor.follow(copy));
    values[input] = copy;
  }
  result.outputs = differentiated->run(values, executor);
  for (const RuntimeValue &output : result.outputs) {
    const Tensor *tensor = output.tensor();
    result.tape.outputs.push_back(tensor && isFloat(tensor->dtype()) ? executor.asFollowed(*tensor)
                                                                     : FollowedTensor());
  }
  result.tape.used = std::move(executor.used);
  return result;
}

std::vector<RuntimeValue> SplitDerivative::propagate(const GradientTape &tape,
                                                     std::span<const Tensor> seedsOfOutputs,
                                                     bool isReference) {
  std::vector<RuntimeValue> results;
  for (Tensor &gradient : known.propagate(tape, seedsOfOutputs, isReference))
    results.emplace_back(std::move(gradient));
  return results;
}

Tensor SplitDerivative::checkedSeed(size_t output, const FollowedTensor &value,
                                    const RuntimeValue &given) const {
  const Tensor *seed = given.tensor();
  if (!seed || seed->dtype() != value.type || seed->shape() != value.shape)
    throw Error(ErrorKind::ShapeMismatch,
                interface.name + ": input " + inQuotes(outputs[output].name + ".grad") +
                    ": expected " + std::string(nameOf(value.type)) + " of " +
                    shapeString(value.shape) + ", got " + describe(given));
  return *seed;
}

GradientTape SplitDerivative::decoded(const RuntimeValue &value) const {
  GradientTape tape = split::decoded(value, known.origin, interface.name);
  if (tape.inputs.size() != wrt.size() || tape.outputs.size() != outputs.size())
    throw Error(ErrorKind::InvalidArgument, interface.name + ": input 'tape': expected " +
                                                std::to_string(outputs.size()) + " outputs, got " +
                                                std::to_string(tape.outputs.size()));
  return tape;
}

} // namespace headrace::split
