// The derivative of a split model: its values with a tape of a call, and gradients from the tape.
#pragma once

#include "driver/split/RegionGradients.h"
#include "driver/split/SplitProgram.h"

namespace headrace::split {

class SplitDerivative {
public:
  /// Differentiates by inputs and weights of these names; by all inputs of floating-point type if
  /// there are none. Throws Error if another name is given.
  SplitDerivative(const std::shared_ptr<SplitProgram> &model,
                  const std::vector<std::string> &names);

  /// The model; weights that gradients are asked for are inputs of it, behind its own.
  const std::shared_ptr<SplitProgram> &program() const { return differentiated; }
  /// The model's own inputs, and its outputs.
  const std::vector<ValueSpec> inputs, outputs;
  /// These inputs and outputs as tensors, with the dynamic dimensions.
  const Program interface;
  /// The gradients by inputs and weights.
  std::vector<ValueSpec> gradients;
  std::vector<TensorSpec> gradientTensors;
  /// The gradients of outputs of floating-point type, and the numbers of these outputs.
  std::vector<ValueSpec> seeds;
  std::vector<TensorSpec> seedTensors;
  std::vector<size_t> seeded;

  struct Values {
    std::vector<RuntimeValue> outputs;
    GradientTape tape;
  };
  Values run(std::span<const RuntimeValue> inputs, bool isReference);
  /// The gradients from those of the outputs (null: none).
  std::vector<RuntimeValue> propagate(const GradientTape &tape, std::span<const Tensor> gradients,
                                      bool isReference);
  std::vector<int64_t> bind(std::span<const RuntimeValue> inputs) const;
  /// The gradient of an output that a caller gave. Throws Error if it is not like the output.
  Tensor checkedSeed(size_t output, const FollowedTensor &value, const RuntimeValue &seed) const;
  /// Tapes as values.
  RuntimeValue encoded(const GradientTape &tape) const {
    return split::encoded(tape, known.origin);
  }
  GradientTape decoded(const RuntimeValue &tape) const;

private:
  std::vector<RuntimeValue> withWeights(std::span<const RuntimeValue> inputs) const;

  std::shared_ptr<SplitProgram> differentiated;
  std::vector<Tensor> weights; // inputs of it
  std::vector<size_t> wrt;     // inputs of it
  RegionGradients known;
};

} // namespace headrace::split
