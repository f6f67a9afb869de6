// A model run for some of its inner values.
#pragma once

#include "driver/Model.h"
#include "frontend/onnx/read/OnnxModel.h"

#include "quantize/Samples.h"
#include <functional>

namespace headrace::quantize {

/// Runs the float model on samples to observe its values.
class Probe {
public:
  /// Values that are inputs of the model are known without running it.
  Probe(const onnx::Model &model, const std::string &name, const std::vector<std::string> &values);

  const Model &model() const { return *compiled; }
  /// The type of a value that was asked for.
  DType typeOf(const std::string &value) const;

  using Observed = std::map<std::string, Tensor>;
  /// The values in a run.
  Observed run(const std::vector<Tensor> &inputs);

private:
  std::vector<std::string> values;
  std::shared_ptr<Model> compiled;
};

} // namespace headrace::quantize
