// The gradients of a model that is split into several programs: with its values, or as a forward
// and a backward model, which take and pass on the tape of a call.
#pragma once

#include "driver/models/SplitModel.h"
#include "driver/split/SplitDerivative.h"

namespace headrace {

class SplitGradient : public SplitKind {
public:
  /// With `seedsScalars`, the gradient of an output of one element is 1; each other output of
  /// floating-point type has one more input, NAME.grad.
  SplitGradient(std::shared_ptr<split::SplitDerivative> derivative, bool hasValues,
                bool seedsScalars);

  std::vector<ValueSpec> inputValues() const override { return inputs; }
  std::vector<ValueSpec> outputValues() const override { return outputs; }
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override;
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &) override {
    return evaluate(inputs, /*isReference=*/false);
  }
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs, bool) override {
    return evaluate(inputs, /*isReference=*/true);
  }

private:
  std::vector<RuntimeValue> evaluate(std::span<const RuntimeValue> inputs, bool isReference);

  std::shared_ptr<split::SplitDerivative> derivative;
  bool hasValues, seedsScalars;
  std::vector<ValueSpec> inputs, outputs;
  std::vector<std::optional<size_t>> seeds; // by output: the input that is its gradient
};

/// The outputs of the model, then the tape.
class SplitForward : public SplitKind {
public:
  explicit SplitForward(std::shared_ptr<split::SplitDerivative> derivative);

  std::vector<ValueSpec> inputValues() const override { return derivative->inputs; }
  std::vector<ValueSpec> outputValues() const override;
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const override {
    return derivative->bind(asValues(inputs));
  }
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &) override {
    return evaluate(inputs, /*isReference=*/false);
  }
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs, bool) override {
    return evaluate(inputs, /*isReference=*/true);
  }

private:
  std::vector<RuntimeValue> evaluate(std::span<const RuntimeValue> inputs, bool isReference);

  std::shared_ptr<split::SplitDerivative> derivative;
};

/// Gradients of the tape, and of the outputs of floating-point type.
class SplitBackward : public SplitKind {
public:
  explicit SplitBackward(std::shared_ptr<split::SplitDerivative> derivative);

  std::vector<ValueSpec> inputValues() const override;
  std::vector<ValueSpec> outputValues() const override { return derivative->gradients; }
  std::vector<int64_t> bind(std::span<const Tensor>) const override { return {}; }
  std::vector<RuntimeValue> runValues(std::span<const RuntimeValue> inputs,
                                      const std::vector<bool> &) override {
    return evaluate(inputs, /*isReference=*/false);
  }
  std::vector<RuntimeValue> referenceValues(std::span<const RuntimeValue> inputs, bool) override {
    return evaluate(inputs, /*isReference=*/true);
  }

private:
  std::vector<RuntimeValue> evaluate(std::span<const RuntimeValue> inputs, bool isReference);

  std::shared_ptr<split::SplitDerivative> derivative;
};

/// A tape among inputs or outputs that are tensors.
TensorSpec tapeSpec();

} // namespace headrace
