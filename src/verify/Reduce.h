// The smallest part of a model found that still differs from the reference.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "runtime/value/RuntimeValue.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headrace::verify {

/// Part of a model. Values that nodes outside of it compute are inputs, and have initializers with
/// what the reference computes there: the file holds all that shows the difference.
struct ReducedModel {
  onnx::Model model;
  std::map<std::string, Tensor> inputs;

  std::vector<std::string> nodeNames() const;
  /// The model with the inputs as initializers, which verify takes as inputs.
  onnx::Model withValues() const;
};

/// Reduces a model that differs on these tensors, by name. `suspects` are names of nodes, as
/// reports have them, that are tried alone first. `differs` runs a model. Throws Error if the model
/// does not differ.
ReducedModel reduced(const onnx::Model &model, const std::map<std::string, Tensor> &inputs,
                     const std::vector<std::string> &suspects,
                     const std::function<bool(const ReducedModel &)> &differs);

} // namespace headrace::verify
