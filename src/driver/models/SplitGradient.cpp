#include "driver/models/SplitGradient.h"

#include <algorithm>

namespace headrace {

using split::FollowedTensor, split::GradientTape, split::SplitDerivative;

static constexpr const char *kindOfGradient = "the gradient of one split into several programs";

TensorSpec tapeSpec() { return {"tape", DType::I64, {}}; }

static ValueSpec tapeValue() { return {"tape", "sequence(?)", {}}; }

static void requireInputs(const std::string &name, size_t expected, size_t given) {
  if (given != expected)
    throw Error(ErrorKind::InvalidArgument, "program '" + name + "': expected " +
                                                std::to_string(expected) + " inputs, got " +
                                                std::to_string(given));
}

static bool isOneElement(const ValueSpec &value) {
  return value.shape && std::ranges::all_of(*value.shape, [](const auto &size) {
           const int64_t *known = std::get_if<int64_t>(&size);
           return known && *known == 1;
         });
}

template <class Element>
static void append(std::vector<Element> &list, const std::vector<Element> &more) {
  list.insert(list.end(), more.begin(), more.end());
}

SplitGradient::SplitGradient(std::shared_ptr<SplitDerivative> given, bool hasValues,
                             bool seedsScalars)
    : SplitKind(given->program(), kindOfGradient), derivative(std::move(given)),
      hasValues(hasValues), seedsScalars(seedsScalars), inputs(derivative->inputs),
      seeds(derivative->outputs.size()) {
  Program both = derivative->interface;
  if (hasValues)
    outputs = derivative->outputs;
  else
    both.outputs.clear();
  append(outputs, derivative->gradients);
  append(both.outputs, derivative->gradientTensors);
  for (size_t i = 0; i < derivative->seeded.size(); ++i) {
    size_t output = derivative->seeded[i];
    if (seedsScalars && isOneElement(derivative->outputs[output]))
      continue;
    seeds[output] = inputs.size();
    inputs.push_back(derivative->seeds[i]);
    both.inputs.push_back(derivative->seedTensors[i]);
  }
  setInterface(both);
}

std::vector<int64_t> SplitGradient::bind(std::span<const Tensor> given) const {
  return derivative->bind(asValues(given.first(std::min(given.size(), derivative->inputs.size()))));
}

static Tensor oneOf(DType type, const Shape &shape) {
  Tensor one = Tensor::allocate(DType::F64, shape);
  *one.as<double>() = 1;
  return one.converted(type);
}

std::vector<RuntimeValue> SplitGradient::evaluate(std::span<const RuntimeValue> given,
                                                  bool isReference) {
  requireInputs(name, inputs.size(), given.size());
  SplitDerivative::Values values =
      derivative->run(given.first(derivative->inputs.size()), isReference);
  const GradientTape &tape = values.tape;
  std::vector<Tensor> gradients(tape.outputs.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor *output = values.outputs[i].tensor();
    if (!output || !split::isFloat(output->dtype()))
      continue;
    if (seeds[i])
      gradients[i] = derivative->checkedSeed(i, tape.outputs[i], given[*seeds[i]]);
    else if (seedsScalars && output->elements() == 1)
      gradients[i] = oneOf(output->dtype(), output->shape());
  }
  std::vector<RuntimeValue> results =
      hasValues ? std::move(values.outputs) : std::vector<RuntimeValue>();
  append(results, derivative->propagate(tape, gradients, isReference));
  return results;
}

SplitForward::SplitForward(std::shared_ptr<SplitDerivative> given)
    : SplitKind(given->program(), kindOfGradient), derivative(std::move(given)) {
  Program forward = derivative->interface;
  forward.outputs.push_back(tapeSpec());
  setInterface(forward);
}

std::vector<ValueSpec> SplitForward::outputValues() const {
  std::vector<ValueSpec> outputs = derivative->outputs;
  outputs.push_back(tapeValue());
  return outputs;
}

std::vector<RuntimeValue> SplitForward::evaluate(std::span<const RuntimeValue> given,
                                                 bool isReference) {
  requireInputs(name, derivative->inputs.size(), given.size());
  SplitDerivative::Values values = derivative->run(given, isReference);
  values.outputs.push_back(derivative->encoded(values.tape));
  return std::move(values.outputs);
}

SplitBackward::SplitBackward(std::shared_ptr<SplitDerivative> given)
    : SplitKind(given->program(), kindOfGradient), derivative(std::move(given)) {
  Program backward = derivative->interface;
  backward.inputs = {tapeSpec()};
  append(backward.inputs, derivative->seedTensors);
  backward.outputs = derivative->gradientTensors;
  setInterface(backward);
}

std::vector<ValueSpec> SplitBackward::inputValues() const {
  std::vector<ValueSpec> inputs = {tapeValue()};
  append(inputs, derivative->seeds);
  return inputs;
}

std::vector<RuntimeValue> SplitBackward::evaluate(std::span<const RuntimeValue> given,
                                                  bool isReference) {
  requireInputs(name, derivative->seeds.size() + 1, given.size());
  GradientTape tape = derivative->decoded(given.front());
  std::vector<Tensor> gradients(tape.outputs.size());
  for (size_t i = 0; i < derivative->seeded.size(); ++i) {
    size_t output = derivative->seeded[i];
    gradients[output] = derivative->checkedSeed(output, tape.outputs[output], given[i + 1]);
  }
  return derivative->propagate(tape, gradients, isReference);
}

} // namespace headrace
