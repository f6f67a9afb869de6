#include "quantize/Probe.h"

#include "driver/programs/OnnxModel.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::quantize {

static const TensorSpec *find(const std::vector<TensorSpec> &specs, const std::string &name) {
  auto found =
      std::ranges::find_if(specs, [&](const TensorSpec &spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

Probe::Probe(const onnx::Model &model, const std::string &name,
             const std::vector<std::string> &values)
    : values(values) {
  onnx::Model probed = model;
  // A program has outputs even if nobody asks for them.
  if (!values.empty())
    probed.graph.outputs.clear();
  for (const std::string &value : values) {
    bool isInput = std::ranges::any_of(
        model.graph.inputs, [&](const onnx::ValueInfo &input) { return input.name == value; });
    if (!isInput)
      probed.graph.outputs.push_back({value, {}, {}});
  }
  if (probed.graph.outputs.empty())
    probed.graph.outputs = model.graph.outputs;
  compiled = modelOf(std::move(probed), name);
}

DType Probe::typeOf(const std::string &value) const {
  for (const auto *specs : {&compiled->inputs(), &compiled->outputs()})
    if (const TensorSpec *spec = find(*specs, value))
      return spec->dtype;
  throw InternalError("the type of a value that was not asked for");
}

Probe::Observed Probe::run(const std::vector<Tensor> &inputs) {
  Observed result;
  for (size_t i = 0; i < inputs.size(); ++i)
    result[compiled->inputs()[i].name] = inputs[i];
  std::vector<Tensor> outputs = compiled->run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    result[compiled->outputs()[i].name] = outputs[i];
  return result;
}

} // namespace headrace::quantize
