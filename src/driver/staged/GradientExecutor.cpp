#include "driver/staged/GradientExecutor.h"

#include "driver/CompiledRegion.h"

#include <algorithm>
#include <cstring>

namespace headrace::staged {

static bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

static Tensor zerosLike(const Tensor &value) {
  Tensor zeros = Tensor::allocate(value.dtype(), value.shape());
  std::memset(zeros.data(), 0, zeros.bytes());
  return zeros;
}

/// In double precision, rounded once.
static Tensor sum(const Tensor &a, const Tensor &b) {
  Tensor result = a.converted(DType::F64), more = b.converted(DType::F64);
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<double>()[i] += more.as<double>()[i];
  return result.converted(a.dtype());
}

std::shared_ptr<const RegionGradients::Programs>
RegionGradients::of(const std::shared_ptr<const adaptive::Region> &region,
                    const std::vector<size_t> &inputs) {
  std::lock_guard guard(lock);
  std::erase_if(entries, [](const auto &entry) { return entry.second.region.expired(); });
  Entry &entry = entries[{region.get(), inputs}];
  if (entry.programs)
    return entry.programs;
  Model &model = modelOf(*region);
  GradientOptions options;
  for (size_t input : inputs)
    options.wrt.push_back(model.inputs()[input].name);
  auto programs = std::make_shared<Programs>();
  try {
    programs->pair = model.forwardAndBackward(options);
  } catch (const Error &error) {
    if (error.kind() != ErrorKind::Unsupported)
      throw;
    programs->unsupported = error;
  }
  entry = {region, programs};
  return programs;
}

void GradientExecutor::follow(const Tensor &tensor) {
  if (isFloat(tensor.dtype()) && tensor.elements() > 0)
    keys.insert(keyOf(tensor));
}

bool GradientExecutor::isFollowed(const RuntimeValue &value) const {
  if (const Tensor *tensor = value.tensor())
    return keys.contains(keyOf(*tensor));
  return value.sequence() &&
         std::ranges::any_of(*value.sequence(),
                             [&](const RuntimeValue &element) { return isFollowed(element); });
}

std::vector<Tensor> GradientExecutor::run(Model &model, std::span<const Tensor> inputs) const {
  return isReference ? model.reference(inputs) : model.run(inputs);
}

std::vector<Tensor>
GradientExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                            std::span<const Tensor> inputs) {
  Used program;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isFollowed(inputs[i]))
      program.followed.push_back(i);
  Model &model = modelOf(*region);
  if (program.followed.empty())
    return run(model, inputs);
  program.programs = known.of(region, program.followed);
  program.unsupported = program.programs->unsupported;
  program.inputs.assign(inputs.begin(), inputs.end());
  const ForwardBackward &pair = program.programs->pair;
  std::vector<Tensor> results = run(program.unsupported ? model : *pair.forward, inputs);
  for (const SavedTensor &saved : pair.kept)
    program.saved.push_back(saved.place == SavedTensor::Place::Input ? inputs[saved.index]
                                                                     : results[saved.index]);
  results.resize(model.outputs().size());
  for (const Tensor &result : results)
    if (isFloat(result.dtype())) {
      program.outputs.push_back(result);
      follow(result);
    }
  used.push_back(std::move(program));
  return results;
}

/// Tensors that the node made.
void GradientExecutor::addOpaque(const RuntimeValue &value, Used &node) {
  if (const Tensor *tensor = value.tensor();
      tensor && isFloat(tensor->dtype()) && !isFollowed(value))
    node.outputs.push_back(*tensor);
  if (value.sequence())
    for (const RuntimeValue &element : *value.sequence())
      addOpaque(element, node);
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
  Used node;
  for (const RuntimeValue &result : results)
    addOpaque(result, node);
  node.unsupported = Error(ErrorKind::Unsupported,
                           call.node.describe() + ": expected a node with a gradient between an "
                                                  "input and a result to differentiate, got one "
                                                  "that the host computes between programs");
  for (const Tensor &output : node.outputs)
    follow(output);
  used.push_back(std::move(node));
  return results;
}

void GradientExecutor::add(const Tensor &value, const Tensor &gradient) {
  if (!isFollowed(value))
    return;
  Tensor &total = gradients[keyOf(value)];
  total = total ? sum(total, gradient) : gradient;
}

static bool isZero(const Tensor &tensor) {
  Tensor values = tensor.converted(DType::F64);
  return std::all_of(values.as<double>(), values.as<double>() + values.elements(),
                     [](double value) { return value == 0; });
}

void GradientExecutor::propagate() {
  for (auto program = used.rbegin(); program != used.rend(); ++program) {
    bool isReached = std::ranges::any_of(program->outputs, [&](const Tensor &output) {
      auto found = gradients.find(keyOf(output));
      return found != gradients.end() && (!program->unsupported || !isZero(found->second));
    });
    if (!isReached)
      continue;
    if (program->unsupported)
      throw *program->unsupported;
    std::vector<Tensor> inputs = program->saved;
    for (const Tensor &output : program->outputs)
      inputs.push_back(gradientOf(output).reshaped(output.shape()));
    for (const Tensor &output : program->outputs)
      gradients.erase(keyOf(output));
    std::vector<Tensor> results = run(*program->programs->pair.backward, inputs);
    for (size_t i = 0; i < results.size(); ++i)
      add(program->inputs[program->followed[i]], results[i]);
  }
}

Tensor GradientExecutor::gradientOf(const Tensor &value) const {
  auto found = gradients.find(keyOf(value));
  return found == gradients.end() ? zerosLike(value) : found->second.reshaped(value.shape());
}

} // namespace headrace::staged
