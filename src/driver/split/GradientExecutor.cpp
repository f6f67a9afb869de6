#include "driver/split/GradientExecutor.h"

#include "driver/CompiledRegion.h"

#include <algorithm>

namespace headrace::split {

FollowedTensor GradientExecutor::follow(const Tensor &tensor) {
  if (tensor.elements() == 0) // its memory is not its own
    return {nextValue++, tensor.dtype(), tensor.shape()};
  auto [value, isNew] = values.try_emplace(keyOf(tensor), nextValue);
  if (isNew) {
    ++nextValue;
    held.push_back(tensor);
  }
  return {value->second, tensor.dtype(), tensor.shape()};
}

FollowedTensor GradientExecutor::asFollowed(const Tensor &tensor) const {
  auto value = tensor.elements() == 0 ? values.end() : values.find(keyOf(tensor));
  return {value == values.end() ? -1 : value->second, tensor.dtype(), tensor.shape()};
}

bool GradientExecutor::isFollowed(const RuntimeValue &value) const {
  if (const Tensor *tensor = value.tensor())
    return asFollowed(*tensor).value >= 0;
  return value.sequence() &&
         std::ranges::any_of(*value.sequence(),
                             [&](const RuntimeValue &element) { return isFollowed(element); });
}

/// A program that is made for the elements of a value has no gradient by it. Such a value is known
/// by its elements, because a region keeps those of the call that it was made for.
void GradientExecutor::refuseNeeded(const adaptive::Region &region) const {
  for (const adaptive::NeededValue &needed : region.needed)
    if (isFloat(needed.tensor.dtype()) && std::ranges::any_of(held, [&](const Tensor &tensor) {
          return adaptive::isSame(tensor, needed.tensor);
        }))
      throw Error(ErrorKind::Unsupported,
                  codeOf(region).part +
                      ": expected a gradient by values that no program is made "
                      "for, got one by " +
                      describe(RuntimeValue(needed.tensor)) + " that decides the code");
}

std::vector<Tensor>
GradientExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                            std::span<const Tensor> inputs) {
  std::vector<size_t> followed;
  UsedProgram program;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (FollowedTensor input = asFollowed(inputs[i]); input.value >= 0) {
      followed.push_back(i);
      program.inputs.push_back(std::move(input));
    }
  refuseNeeded(*region);
  Model &model = modelOf(*region);
  if (followed.empty())
    return runOrEvaluate(model, inputs, isReference);
  auto [number, programs] = known.of(region, followed);
  program.number = number;
  Model &forward = programs->unsupported ? model : *programs->pair.forward;
  std::vector<Tensor> results = runOrEvaluate(forward, inputs, isReference);
  for (const SavedTensor &saved : programs->pair.kept)
    program.saved.push_back(saved.place == SavedTensor::Place::Input ? inputs[saved.index]
                                                                     : results[saved.index]);
  results.resize(model.outputs().size());
  for (const Tensor &result : results)
    if (isFloat(result.dtype()))
      program.outputs.push_back(follow(result));
  used.push_back(std::move(program));
  return results;
}

/// Adds the tensors that the node made.
void GradientExecutor::addResult(const RuntimeValue &value, UsedProgram &node) {
  if (const Tensor *tensor = value.tensor();
      tensor && isFloat(tensor->dtype()) && !isFollowed(value))
    node.outputs.push_back(follow(*tensor));
  if (value.sequence())
    for (const RuntimeValue &element : *value.sequence())
      addResult(element, node);
}

std::vector<RuntimeValue> GradientExecutor::runNode(operators::HostFunction function,
                                                    operators::HostCall &call) {
  bool isReached = std::ranges::any_of(
      call.inputs, [&](const RuntimeValue *input) { return input && isFollowed(*input); });
  call.runBody = [&, body = call.runBody](const std::string &attribute,
                                          std::span<const RuntimeValue> inputs) {
    std::vector<RuntimeValue> results = body(attribute, inputs);
    for (const RuntimeValue &result : results)
      isReached |= isFollowed(result);
    return results;
  };
  std::vector<RuntimeValue> results = function(call);
  if (!isReached)
    return results;
  UsedProgram node;
  for (const RuntimeValue &result : results)
    addResult(result, node);
  if (!node.outputs.empty()) {
    node.number = known.of(call.node);
    used.push_back(std::move(node));
  }
  return results;
}

} // namespace headrace::split
